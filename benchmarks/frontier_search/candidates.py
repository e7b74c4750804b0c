"""The candidates: spaces and priors of each kind that could serve better than the default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.frontier_search import graphs
from benchmarks.frontier_search.channels import Candidate
from benchmarks.frontier_search.graphs import Measure
from benchmarks.frontier_search.ground import Edges, Ground, Tensor
from benchmarks.frontier_search.hierarchies import cluster_distance
from benchmarks.frontier_search.paths import shortest_paths
from wordveil._mechanisms.priors import log_prior
from wordveil.text import stop_words

__all__ = ["DEFAULT", "FORMER", "Entry", "entries"]

Joined: TypeAlias = Callable[[Ground], Edges]

DEFAULT = "10 nearest, first hop 0.5 (the default)"
FORMER = "3 nearest, plain hops (the former default)"

_FIRST = 0.5
_REMOVED = 3  # main directions of all vectors
_ROUNDS = 10  # of retrofitting
_NEVER = -200.0  # the log-prior of words that never come out: 0 in single precision, but ratios stay finite


@dataclass(frozen=True)
class Entry:
    """A candidate, and how to make it."""

    family: str
    label: str
    make: Callable[[Ground], Candidate]


def entries(*, wordnet: bool, quick: bool = False) -> list[Entry]:
    """List the candidates: the default, the one before it, then those of each family."""
    everyone = [
        Entry("neighbour graphs", DEFAULT, _hops(_nearest(10))),
        Entry("neighbour graphs", FORMER, _hops(_nearest(3), first=1.0)),
        Entry("neighbour graphs", "10 nearest, plain hops", _hops(_nearest(10), first=1.0)),
        *(Entry("neighbour graphs", f"{k} nearest", _hops(_nearest(k))) for k in (5, 7, 15, 20, 40)),
        *(
            Entry("neighbour graphs", f"10 nearest, first hop {first:g}", _hops(_nearest(10), first=first))
            for first in (0.0, 0.25, 0.75)
        ),
        *_trees(),
        *_lower_growth(),
        *_weighted(),
        *_uneven(),
        *_priors(),
        *_outputs(),
        *_hierarchical(),
        *_without_graph(),
        *_sense_aware(wordnet=wordnet),
    ]
    if not quick:
        return everyone
    leading = {entry.family: entry for entry in reversed(everyone)}
    return [entry for entry in everyone if entry is leading[entry.family] or entry.label == FORMER]


def _trees() -> list[Entry]:
    def trees(count: int) -> Joined:
        return lambda ground: graphs.spanning_trees(ground, count)

    return [
        Entry("trees", "spanning tree", _hops(trees(1))),
        Entry("trees", "spanning tree, plain hops", _hops(trees(1), first=1.0)),
        Entry("trees", "spanning tree, edges by chord", _weighed(trees(1), graphs.chords)),
        Entry("trees", "2 disjoint spanning trees", _hops(trees(2))),
        Entry("trees", "4 disjoint spanning trees", _hops(trees(4))),
    ]


def _lower_growth() -> list[Entry]:
    family = "lower growth"

    def both(ground: Ground) -> Edges:
        return np.concatenate([graphs.nearest(ground, 10), graphs.hubless(ground, 10)])

    return [
        *(Entry(family, f"{k} nearest, hubs corrected", _hops(_hubless(k))) for k in (20, 10, 15, 30)),
        Entry(family, "10 nearest and 10 with hubs corrected", _hops(both)),
        *(Entry(family, f"mutual among {k} nearest", _hops(_mutual(k))) for k in (30, 60)),
        Entry(family, f"10 nearest without the {_REMOVED} main directions", _without_main_directions),
    ]


def _weighted() -> list[Entry]:
    family = "weighted graphs"
    return [
        *(Entry(family, f"{k} nearest, edges by chord", _weighed(_nearest(k), graphs.chords)) for k in (10, 15, 20)),
        Entry(family, "10 nearest, edges by local scale", _weighed(_nearest(10), graphs.locally)),
        *(
            Entry(family, f"10 nearest, edges by rank^{power}", _weighed(_nearest(10), graphs.by_frequency(power)))
            for power in (0.1, 0.2, -0.1)
        ),
    ]


def _uneven() -> list[Entry]:
    family = "uneven neighbours"

    def also(base: Joined, words: int, k: int) -> Joined:
        return lambda ground: np.concatenate([base(ground), graphs.nearest(ground, k, words)])

    def close(ground: Ground) -> Edges:
        return np.concatenate([graphs.nearest(ground, 10), graphs.above(ground, 0.6)])

    return [
        Entry(family, "10 nearest, 40 for the 300 most frequent", _hops(also(_nearest(10), 300, 40))),
        Entry(family, "10 nearest, 100 for the 1,000 most frequent", _hops(also(_nearest(10), 1000, 100))),
        Entry(family, "20 with hubs corrected, 60 for the 300 most frequent", _hops(also(_hubless(20), 300, 60))),
        Entry(family, "10 nearest and all of cosine above 0.6", _hops(close)),
    ]


def _priors() -> list[Entry]:
    family = "frequency priors"
    return [
        *(Entry(family, f"10 nearest, prior^{power}", _hops(_nearest(10), power=power)) for power in (0.4, 0.2, 0.6)),
        Entry(family, "10 nearest, first hop 0.3, prior^0.4", _hops(_nearest(10), first=0.3, power=0.4)),
        Entry(family, "20 with hubs corrected, prior^0.3", _hops(_hubless(20), power=0.3)),
    ]


def _outputs() -> list[Entry]:
    """List candidates that let only some words come out, the same for every input, so the guarantee stays the same."""

    def only(chosen: Callable[[Ground], NDArray[np.bool_]]) -> Callable[[Ground], Candidate]:
        def make(ground: Ground) -> Candidate:
            barred = torch.as_tensor(np.where(chosen(ground), 0.0, _NEVER), device=ground.device).float()
            return Candidate.free(_distance(ground, _nearest(10), graphs.unit), 1.0 - _FIRST, barred)

        return make

    def content(ground: Ground) -> NDArray[np.bool_]:
        left_alone = stop_words()
        return np.array([word not in left_alone for word in ground.space.vocabulary])

    def frequent(words: int) -> Callable[[Ground], NDArray[np.bool_]]:
        return lambda ground: np.arange(len(ground)) < words

    return [
        Entry("output sets", "10 nearest, content words come out", only(content)),
        Entry("output sets", "10 nearest, the 10,000 most frequent come out", only(frequent(10_000))),
        Entry("output sets", "10 nearest, the 5,000 most frequent come out", only(frequent(5000))),
    ]


def _hierarchical() -> list[Entry]:
    def clusters(trees: int, offset: float) -> Callable[[Ground], Candidate]:
        return lambda ground: Candidate.free(cluster_distance(ground, trees), offset)

    family = "hierarchical spaces"
    return [
        Entry(family, "nested 2-means, 8 trees, 2 free", clusters(8, 2.0)),
        Entry(family, "nested 2-means, 1 tree", clusters(1, 0.0)),
        Entry(family, "nested 2-means, 1 tree, 2 free", clusters(1, 2.0)),
        Entry(family, "nested 2-means, 8 trees", clusters(8, 0.0)),
        Entry(family, "nested 2-means, 32 trees, 2 free", clusters(32, 2.0)),
        Entry(family, "nested 2-means, 32 trees, 4 free", clusters(32, 4.0)),
    ]


def _without_graph() -> list[Entry]:
    def sphere(offset: float) -> Callable[[Ground], Candidate]:
        return lambda ground: Candidate.free(_chord_distance(ground), offset)

    return [
        Entry("no graph", "chord on the unit sphere", sphere(0.0)),
        Entry("no graph", "chord on the unit sphere, 0.7 free", sphere(0.7)),
    ]


def _sense_aware(*, wordnet: bool) -> list[Entry]:
    family = "sense-aware neighbours"

    def spread(k: int, among: int) -> Joined:
        return lambda ground: graphs.spread(ground, k, among)

    def synonyms(ground: Ground) -> Edges:
        return np.concatenate([graphs.nearest(ground, 10), ground.synonyms])

    return [
        Entry(family, "up to 10 of 40 in different directions", _hops(spread(10, 40))),
        Entry(family, "up to 6 of 40 in different directions", _hops(spread(6, 40))),
        *(
            [
                Entry(family, "10 nearest and synonyms of WordNet", _hops(synonyms)),
                Entry(family, "10 nearest, vectors retrofitted to WordNet", _retrofitted),
            ]
            if wordnet
            else []
        ),
    ]


def _nearest(k: int) -> Joined:
    return lambda ground: graphs.nearest(ground, k)


def _hubless(k: int) -> Joined:
    return lambda ground: graphs.hubless(ground, k)


def _mutual(k: int) -> Joined:
    return lambda ground: graphs.mutual(ground, k)


def _hops(joined: Joined, *, first: float = _FIRST, power: float = 0.0) -> Callable[[Ground], Candidate]:
    """Make the candidate of a graph: hops, the first of which costs less, and a prior that is a power of frequency."""

    def make(ground: Ground) -> Candidate:
        prior = None if power == 0.0 else power * _log_frequency(ground)
        return Candidate.free(_distance(ground, joined, graphs.unit), 1.0 - first, prior)

    return make


def _weighed(joined: Joined, measure: Measure) -> Callable[[Ground], Candidate]:
    return lambda ground: Candidate.free(_distance(ground, joined, measure), 1.0 - _FIRST)


def _distance(ground: Ground, joined: Joined, measure: Measure) -> Tensor:
    pairs = graphs.connected(ground, joined(ground))
    return shortest_paths(len(ground), pairs, measure(ground, pairs), ground.device)


def _log_frequency(ground: Ground) -> Tensor:
    return torch.as_tensor(log_prior(ground.space, "frequency"), device=ground.device).float()


def _chord_distance(ground: Ground) -> Tensor:
    squares = 2.0 - 2.0 * ground.directions @ ground.directions.T
    return squares.clamp_(min=0.0).sqrt_().fill_diagonal_(0.0)


def _without_main_directions(ground: Ground) -> Candidate:
    """Remove what all vectors share before looking for neighbours (Mu & Viswanath 2018)."""
    centred = ground.space.matrix - ground.space.matrix.mean(axis=0)
    main = np.linalg.svd(centred.T @ centred)[0][:, :_REMOVED]
    return _hops(_nearest(10))(ground.with_vectors(centred - centred @ main @ main.T))


def _retrofitted(ground: Ground) -> Candidate:
    """Move every vector halfway to its synonyms before looking for neighbours (Faruqui et al. 2015)."""
    vectors: NDArray[np.float32] = ground.space.directions
    moved = vectors.copy()
    word, synonym = ground.synonyms.T
    counts = np.bincount(word, minlength=len(ground))
    for _ in range(_ROUNDS):
        sums = np.zeros_like(vectors)
        np.add.at(sums, word, moved[synonym])
        means = sums / np.maximum(counts, 1)[:, None]
        moved = np.where(counts[:, None] > 0, 0.5 * (vectors + means), vectors).astype(np.float32)
    return _hops(_nearest(10))(ground.with_vectors(moved))
