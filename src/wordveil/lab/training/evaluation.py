"""How well an embedding shows what is a kind of what."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from wordveil.errors import FileError, InputError
from wordveil.lab.training.geometries import Floats, Geometry
from wordveil.lab.training.pairs import Pairs
from wordveil.parallel import blocks, run

_BLOCK = 128
_GENERALITY = 1000.0  # the weight of a difference of radii in the score of Nickel & Kiela (2017)


class Reconstruction(NamedTuple):
    """How well the pairs can be read off the distances."""

    mean_rank: float  # of a parent among all nodes that are not parents, as a mean over pairs; 1 is best
    # of the parents among all other nodes, as a mean over nodes with a parent; 1 is best
    mean_average_precision: float
    nodes: int  # how many nodes were examined


def reconstruction(
    shape: Geometry, points: Floats, pairs: Pairs, *, sample: int | None = None, seed: int = 0
) -> Reconstruction:
    """Measure mean rank and mean average precision of the pairs.

    `sample` is how many random nodes to examine. The default is all of them.
    """
    indptr, parents = pairs.rows.indptr, pairs.rows.indices
    nodes = np.flatnonzero(np.diff(indptr))
    if sample is not None and sample < len(nodes):
        nodes = np.sort(np.random.default_rng(seed).choice(nodes, sample, replace=False))

    def measure(part: slice) -> tuple[float, float, int]:
        some = nodes[part]
        rows = shape.rows(points[some], points)
        rows[np.arange(len(some)), some] = np.inf
        ranks = precision = 0.0
        count = 0
        for node, row in zip(some, rows, strict=True):
            own = parents[indptr[node] : indptr[node + 1]]
            values = np.sort(row[own])
            closer = (row < values[:, None]).sum(axis=1)
            order = np.arange(len(own))
            ranks += float((closer - order + 1).sum())
            precision += float(((order + 1) / (closer + 1)).mean())
            count += len(own)
        return ranks, precision, count

    parts = run(measure, blocks(len(nodes), _BLOCK))
    ranks, precision, count = (sum(column) for column in zip(*parts, strict=True)) if parts else (0.0, 0.0, 0)
    return Reconstruction(ranks / max(count, 1), precision / max(len(nodes), 1), len(nodes))


class HyperLex(NamedTuple):
    """Rank correlation with human ratings of "how much is this a kind of that"."""

    correlation: float  # Spearman's ρ over the pairs that the embedding knows
    covered: int  # the number of these pairs
    pairs: int  # the number of all pairs


def read_hyperlex(path: Path | str) -> list[tuple[str, str, float]]:
    """Read a tab-separated table with the columns ``word1``, ``word2`` and ``score``."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        header = lines[0].lower().split("\t")
        first, second, score = (header.index(name) for name in ("word1", "word2", "score"))
        rows = [line.split("\t") for line in lines[1:] if line]
        return [(row[first].lower(), row[second].lower(), float(row[score])) for row in rows]
    except OSError:
        raise FileError(f"cannot read {path}; name the file of HyperLex.") from None
    except (IndexError, ValueError):
        raise InputError(f"{path} is not a tab-separated table with the columns word1, word2 and score.") from None


def hyperlex(
    shape: Geometry, points: Floats, senses: dict[str, NDArray[np.int64]], rated: list[tuple[str, str, float]]
) -> HyperLex:
    """Correlate the score ``-(1 + 1000(‖v‖ - ‖u‖))·d(u, v)`` for "u is a v" with the ratings.

    If a word has several nodes, the pair of nodes with the best score counts.
    """
    radii = shape.radii(points)
    norms = np.tanh(radii / 2) if shape.number else radii
    scores, ratings = [], []
    for word, other, rating in rated:
        if word in senses and other in senses:
            u, v = senses[word], senses[other]
            difference = points[u][:, None] - points[v]
            pulls = shape.slopes(points[u], np.broadcast_to(points[v], difference.shape), difference)
            scores.append(float((-(1 + _GENERALITY * (norms[v] - norms[u][:, None])) * pulls.distance).max()))
            ratings.append(rating)
    found = float(spearmanr(scores, ratings).statistic) if len(scores) > 1 else 0.0
    return HyperLex(found, len(scores), len(rated))
