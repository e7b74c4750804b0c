"""What one word may become, and its neighbourhood."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.calibration.explain import outputs_of, word_law
from wordveil.service.problems import Problem
from wordveil.spaces import EuclideanSpace, GraphSpace, PoincareSpace
from wordveil.spaces.hyperbolic_geometry import from_hyperboloid, hyperboloid_distance, log_map, time_coordinate
from wordveil.text.lookup import Lookup
from wordveil.text.tokens import is_number, lookup_key

__all__ = ["find_word", "word_facts"]

Floats = NDArray[np.float64]

_DRAWS = 5000  # few, because somebody is waiting
_NEIGHBOURS = 12
_NODES = 40
_DISK_NODES = 28
_HOPS = 3


def word_facts(mechanism: Mechanism[Any], space: EuclideanSpace | PoincareSpace, word: str, top: int) -> dict[str, Any]:
    """Return what a word may become, with its neighbours and a map. `mechanism` must have been made on `space`."""
    place = find_word(space, word)
    law = word_law(mechanism, draws=_DRAWS)
    chances = law.rows(np.array([place]))[0]
    facts = outputs_of(mechanism, place, top, law, chances)
    del facts["options"]
    near, distances = mechanism.space.neighbours(np.array([place]), _NEIGHBOURS)
    pairs = zip(mechanism.space.vocabulary.take(near[0]), distances[0].tolist(), strict=True)
    draw = _disk(space, place) if isinstance(space, PoincareSpace) else _graph(mechanism, space, place)
    return {
        **facts,
        "space": space.name,
        "neighbours": [{"word": name, "distance": float(distance)} for name, distance in pairs],
        "map": _map(space, chances, *draw),
    }


def find_word(space: EuclideanSpace | PoincareSpace, word: str) -> int:
    """Return the id of a word, looked up as in a text, or raise a 404."""
    found = Lookup(space.vocabulary).id(word, lookup_key(word))
    if found is None and is_number(word):
        raise Problem(404, "this number is not in the space; in a text, random digits replace it.")
    if found is None:
        raise Problem(
            404, "this word is not in the space; in a text, a draw that does not depend on the word replaces it."
        )
    return found


def _graph(
    mechanism: Mechanism[Any], space: EuclideanSpace, place: int
) -> tuple[dict[int, int], list[list[int]], Floats | None]:
    """Walk the neighbour graph outwards from a word. Uses the mechanism's own graph if it has one."""
    graph = mechanism.space if isinstance(mechanism.space, GraphSpace) else GraphSpace.of(space)

    def joined(word: int) -> list[int]:
        edges: list[int] = graph.indices[graph.indptr[word] : graph.indptr[word + 1]].tolist()
        return edges

    rings = {place: 0}
    shell = [place]
    for hop in range(1, _HOPS + 1):
        reached = {other: hop for one in shell for other in joined(one) if other not in rings}
        if len(rings) + len(reached) > _NODES and hop > 1:
            break
        shell = list(reached)
        rings |= reached
    order = {word: number for number, word in enumerate(rings)}
    edges = [
        [number, order[other]]
        for word, number in order.items()
        for other in joined(word)
        if order.get(other, -1) > number
    ]
    return rings, edges, None


def _disk(space: PoincareSpace, place: int) -> tuple[dict[int, int], list[list[int]], Floats | None]:
    """Place a word and its nearest words in the disk, as seen from their centre.

    Distances from the centre are exact. Of the space's directions, only the two in which the words differ most show.
    """
    around = np.concatenate([[place], space.neighbours(np.array([place]), _DISK_NODES)[0][0]]).astype(np.int64)
    points = space.points(around)
    # The sum of points on the hyperboloid, scaled back onto it, is their centre.
    whole, time = points.sum(axis=0), time_coordinate(points).sum()
    middle = np.repeat([whole / np.sqrt(time**2 - whole @ whole)], len(around), axis=0)
    ways = log_map(from_hyperboloid(middle), from_hyperboloid(points))
    _, _, axes = np.linalg.svd(ways - ways.mean(axis=0), full_matrices=False)
    flat = np.zeros((len(around), 2))
    flat[:, : len(axes[:2])] = ways @ axes[:2].T
    lengths = np.linalg.norm(flat, axis=1, keepdims=True)
    radii = np.tanh(0.5 * hyperboloid_distance(middle, points))
    order = {word: number for number, word in enumerate(around.tolist())}
    known = [] if space.is_a is None else space.is_a[np.isin(space.is_a, around).all(axis=1)].tolist()
    edges = [[order[child], order[parent]] for child, parent in known]
    rings = {word: int(number > 0) for word, number in order.items()}
    return rings, edges, radii[:, None] * flat / np.where(lengths > 0, lengths, 1.0)


def _map(
    space: EuclideanSpace | PoincareSpace,
    chances: Floats,
    rings: dict[int, int],
    edges: list[list[int]],
    places: Floats | None,
) -> dict[str, Any]:
    x, y = ([None] * len(rings),) * 2 if places is None else places.T.tolist()
    return {
        "kind": "graph" if places is None else "disk",
        "nodes": [
            {"word": space.vocabulary[word], "ring": ring, "probability": float(chances[word]), "x": x[i], "y": y[i]}
            for i, (word, ring) in enumerate(rings.items())
        ],
        "edges": edges,
    }
