"""What one word may become, and what lies around it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.calibration.explain import Chances, chances_of, outputs_of
from wordveil.service.problems import Problem
from wordveil.spaces import EuclideanSpace, GraphSpace, PoincareSpace
from wordveil.spaces.hyperbolic_geometry import from_hyperboloid, hyperboloid_distance, log_map, time_coordinate
from wordveil.text.lookup import Lookup
from wordveil.text.tokens import is_number, lookup_key

__all__ = ["find_word", "word_facts"]

_DRAWS = 5000  # somebody is waiting
_NEIGHBOURS = 12
_NODES = 40
_DISK_NODES = 28
_HOPS = 3


def find_word(space: EuclideanSpace | PoincareSpace, word: str) -> int:
    """Return the id of a word as a text would be looked up, or say that the space lacks it."""
    found = Lookup(space.vocabulary).id(word, lookup_key(word))
    if found is None and is_number(word):
        raise Problem(
            404, "this number is not in the space: in a text it is replaced by random digits, as many as it has."
        )
    if found is None:
        raise Problem(
            404, "this word is not in the space: in a text it is replaced by a draw that does not depend on it."
        )
    return found


def word_facts(mechanism: Mechanism[Any], space: EuclideanSpace | PoincareSpace, word: str, top: int) -> dict[str, Any]:
    """Say what a word may become, with its neighbours and a map of them.

    Parameters
    ----------
    mechanism : Mechanism
        What replaces it.
    space : EuclideanSpace or PoincareSpace
        The space that the mechanism was made on.
    word : str
        The word.
    top : int
        How many outputs to list.
    """
    place = find_word(space, word)
    chances = chances_of(mechanism, place, draws=_DRAWS)
    facts = outputs_of(mechanism, place, top, chances)
    near, distances = mechanism.space.neighbours(np.array([place]), _NEIGHBOURS)
    names = mechanism.space.vocabulary.take(near[0])
    return {
        **{name: facts[name] for name in _KEPT},
        "space": space.name,
        "neighbours": [
            {"word": name, "distance": float(distance)} for name, distance in zip(names, distances[0], strict=True)
        ],
        "map": _disk(mechanism, space, place, chances)
        if isinstance(space, PoincareSpace)
        else _graph(mechanism, space, place, chances),
    }


_KEPT = (
    "word",
    "mechanism",
    "epsilon",
    "exact",
    "draws",
    "stays",
    "distinct_in_1000_draws",
    "words_for_95_percent",
    "outputs",
    "guarantee",
)


def _graph(mechanism: Mechanism[Any], space: EuclideanSpace, place: int, chances: Chances) -> dict[str, Any]:
    """Walk the neighbour graph outwards from a word: the mechanism's own graph where it has one."""
    graph = mechanism.space if isinstance(mechanism.space, GraphSpace) else GraphSpace.of(space)
    rings = {place: 0}
    shell = [place]
    for hop in range(1, _HOPS + 1):
        reached = {
            int(other): None
            for one in shell
            for other in graph.indices[graph.indptr[one] : graph.indptr[one + 1]]
            if int(other) not in rings
        }
        if len(rings) + len(reached) > _NODES and hop > 1:
            break
        shell = list(reached)
        rings |= dict.fromkeys(shell, hop)
    order = {word: number for number, word in enumerate(rings)}
    edges = [
        [number, order[other]]
        for word, number in order.items()
        for other in graph.indices[graph.indptr[word] : graph.indptr[word + 1]].tolist()
        if order.get(other, -1) > number
    ]
    return _map("graph", mechanism, chances, rings, edges, None)


def _disk(mechanism: Mechanism[Any], space: PoincareSpace, place: int, chances: Chances) -> dict[str, Any]:
    """Show a word and its nearest words in the disk, seen from the middle between them.

    Distances from that middle are kept. The directions of the space, of any dimension, are shown by the two in which
    the words differ most.
    """
    around = np.concatenate([[place], space.neighbours(np.array([place]), _DISK_NODES)[0][0]]).astype(np.int64)
    points = space.points(around)
    # The sum of points on the hyperboloid, brought back to it, lies between them.
    whole, time = points.sum(axis=0), time_coordinate(points).sum()
    middle = np.repeat([whole / np.sqrt(time**2 - whole @ whole)], len(around), axis=0)
    ways = log_map(from_hyperboloid(middle), from_hyperboloid(points))
    _, _, axes = np.linalg.svd(ways - ways.mean(axis=0), full_matrices=False)
    flat = np.zeros((len(around), 2))
    flat[:, : len(axes[:2])] = ways @ axes[:2].T
    lengths = np.linalg.norm(flat, axis=1, keepdims=True)
    radii = np.tanh(0.5 * hyperboloid_distance(middle, points))
    places = radii[:, None] * flat / np.where(lengths > 0, lengths, 1.0)
    order = {int(word): number for number, word in enumerate(around)}
    known = [] if space.is_a is None else space.is_a[np.isin(space.is_a, around).all(axis=1)].tolist()
    edges = [[order[child], order[parent]] for child, parent in known]
    rings = {int(word): int(number > 0) for number, word in enumerate(around)}
    return _map("disk", mechanism, chances, rings, edges, places)


def _map(
    kind: str,
    mechanism: Mechanism[Any],
    chances: Chances,
    rings: dict[int, int],
    edges: list[list[int]],
    places: NDArray[np.float64] | None,
) -> dict[str, Any]:
    return {
        "kind": kind,
        "nodes": [
            {
                "word": mechanism.space.vocabulary[word],
                "ring": ring,
                "probability": float(chances.values[word]),
                "x": None if places is None else float(places[number, 0]),
                "y": None if places is None else float(places[number, 1]),
            }
            for number, (word, ring) in enumerate(rings.items())
        ],
        "edges": edges,
    }
