"""The shape of a space: why one ε means different things in different spaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import skew

from wordveil._mechanisms.laws import sample
from wordveil.extras import check_can_draw, new_figure
from wordveil.parallel import blocks
from wordveil.progress import Watch, ignore, run_watched
from wordveil.spaces import EuclideanSpace, GraphSpace, Space, Vocabulary
from wordveil.spaces.space import neighbourhoods

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The neighbours whose distance is measured, and the percentiles over words that are reported.
NEIGHBOURS = (1, 5, 10, 20, 50, 100, 200, 500, 1000)
PERCENTILES = (5, 20, 50, 80, 95)

_LISTED = 10
_REACHES = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)
_CELLS = 1 << 22
_HOPS = 3
_NAMED = 10
_BINS = 40


@dataclass(frozen=True)
class Geometry:
    """What was measured of a space."""

    space: dict[str, Any]
    unit: str  # the unit of its distance
    dimension: int | None  # the number of coordinates of a point
    words: int  # the number of words on which distances were measured
    neighbours: list[int]
    distances: NDArray[np.float64]  # the distance to each of them
    reaches: list[float]  # radii, as multiples of a word's distance to its nearest word
    balls: NDArray[np.float64]  # the median number of words within each radius
    # by what factor the number of words within a radius grows with each unit, from the 10th to the 1000th neighbour
    growth: float
    intrinsic: float  # the intrinsic dimension around the median word (maximum likelihood, Levina & Bickel 2004)
    listed: NDArray[np.int64]  # for every word, how many words have it among their ten nearest
    # for each k of a neighbour graph, how many of a word's ten most similar words are within 1, 2 and 3 hops
    hops: dict[int, list[float]]

    @property
    def skewness(self) -> float:
        """Hubness: the skewness of how often words are among the ten nearest of others. It is 0 without hubs."""
        return float(skew(self.listed)) if np.ptp(self.listed) else 0.0

    def to_dict(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """Return it as plain values, with the names of the hubs."""
        hubs = np.argsort(-self.listed, kind="stable")[:_NAMED]
        return {
            "space": self.space,
            "unit": self.unit,
            "dimension": self.dimension,
            "words_measured": self.words,
            "distance_to_neighbour": [
                {
                    "neighbour": k,
                    **{f"p{percent}": float(value) for percent, value in zip(PERCENTILES, row, strict=True)},
                }
                for k, row in zip(self.neighbours, self.distances, strict=True)
            ],
            "balls": [
                {"radius": reach, "median_words": float(count)}
                for reach, count in zip(self.reaches, self.balls, strict=True)
            ],
            "growth_per_unit": self.growth if np.isfinite(self.growth) else None,
            "intrinsic_dimension": self.intrinsic if np.isfinite(self.intrinsic) else None,
            "hubness": {
                "skewness": self.skewness,
                "largest": int(self.listed.max()),
                "never_listed": float((self.listed == 0).mean()),
                "hubs": [{"word": vocabulary[place], "listed_by": int(self.listed[place])} for place in hubs.tolist()],
            },
            "similar_within_hops": {str(k): shares for k, shares in self.hops.items()},
            "sentences": self.sentences(),
        }

    def sentences(self) -> list[str]:
        """Return sentences on what the shape means for ε."""
        nearest, last = float(self.distances[0, 2]), float(self.distances[-1, 2])
        said = [
            f"For half of the words the nearest other word is more than {nearest:.3g} {_plural(self.unit)} away. At "
            f"ε = 1, a promise of ε per {self.unit} allows a factor of e^{nearest:.3g} between the two; a factor of e "
            f"needs ε = {1 / nearest:.2g}."
            if nearest > 0
            else "For half of the words another word lies at the same place; no ε can tell the two apart."
        ]
        if nearest > 0:
            said.append(
                f"Neighbour number {self.neighbours[-1]:,} is {last / nearest:.2g} times as far away as the nearest: "
                "the closer that is to 1, the more abruptly a mechanism goes from keeping a word to replacing it by an "
                "unrelated one."
            )
        if np.isfinite(self.growth):
            said.append(
                f"With every {self.unit} the number of words within reach grows {self.growth:.3g}-fold. Draws with "
                "probability ∝ exp(-ε·d/2) stay near only where e^(ε/2) is larger than that: for ε above "
                f"{2 * np.log(self.growth):.2g}."
            )
        said.append(
            f"{100 * (self.listed == 0).mean():.0f}% of the words are not among the ten nearest of any other word, and "
            f"one is among those of {int(self.listed.max()):,} words: noise tends to land on such hubs."
        )
        for k, shares in self.hops.items():
            said.append(
                f"On the neighbour graph with k = {k}, {shares[0]:.1f} of a word's ten most similar words are one hop "
                f"away, {shares[1]:.1f} at most two, {shares[2]:.1f} at most three."
            )
        return said


def geometry_of(
    space: Space, *, words: int = 5000, graphs: tuple[int, ...] = (10,), seed: int = 0, watch: Watch = ignore
) -> Geometry:
    """Measure the shape of a space.

    Distances are measured on `words` random words, or on all if 0. `graphs` holds the k of neighbour graphs to measure.
    """
    ids = sample(len(space), words or len(space), seed)
    distances, counts, intrinsic = _around(space, ids, watch)
    used = [k for k in NEIGHBOURS if k < len(space)] or [0]
    columns = np.array([distances[:, k - 1] if k else np.zeros(len(ids)) for k in used])
    inner, outer = distances[:, min(9, distances.shape[1] - 1)], distances[:, -1]
    ratio = np.log(distances.shape[1] / min(10, distances.shape[1]))
    wide = outer - inner
    growth = float(np.exp(ratio / np.median(wide))) if np.median(wide) > 0 and ratio > 0 else np.inf
    return Geometry(
        space=space.describe(),
        unit=space.unit,
        dimension=getattr(space, "dimension", None),
        words=len(ids),
        neighbours=used,
        distances=np.percentile(columns, PERCENTILES, axis=1).T,
        reaches=list(_REACHES),
        balls=counts,
        growth=growth,
        intrinsic=intrinsic,
        listed=_listed(space, watch),
        hops={k: _similar_hops(space, k, ids[:1000], watch) for k in graphs}
        if isinstance(space, EuclideanSpace) and len(space) > 1
        else {},
    )


def _plural(unit: str) -> str:
    """Return the plural of a unit: hops, units of distance."""
    head, space, rest = unit.partition(" ")
    return f"{head}s{space}{rest}"


def _around(space: Space, ids: NDArray[np.int64], watch: Watch) -> tuple[NDArray[Any], NDArray[np.float64], float]:
    """Return the sorted distances to the nearest words, the sizes of balls, and the intrinsic dimension."""
    most = min(NEIGHBOURS[-1], len(space) - 1)
    nearest = np.zeros((len(ids), max(most, 1)), dtype=np.float32)
    balls = np.zeros((len(ids), len(_REACHES)))

    def work(part: slice) -> None:
        rows = space.distances(ids[part])
        rows[np.arange(len(rows)), ids[part]] = np.inf
        if most:
            nearest[part] = np.sort(np.partition(rows, most - 1, axis=1)[:, :most], axis=1)
        for column, reach in enumerate(_REACHES):
            balls[part, column] = (rows <= reach * nearest[part, :1] * (1 + 1e-6)).sum(axis=1)

    run_watched(work, list(blocks(len(ids), max(1, _CELLS // len(space)))), "measuring distances", watch)
    used = nearest[:, : min(100, max(most, 1))].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.log(used[:, -1:] / used[:, :-1]).mean(axis=1) if used.shape[1] > 1 else np.zeros(len(used))
        typical = np.median(slopes)
    intrinsic = float(1.0 / typical) if np.isfinite(typical) and typical > 0 else np.inf
    return nearest, np.median(balls, axis=0), intrinsic


def _listed(space: Space, watch: Watch) -> NDArray[np.int64]:
    """Return, for every word, how many words have it among their ten nearest."""
    near, _ = neighbourhoods(space, _LISTED, watch)
    return np.bincount(near.ravel(), minlength=len(space))


def _similar_hops(space: EuclideanSpace, k: int, ids: NDArray[np.int64], watch: Watch) -> list[float]:
    """Return how many of the ten most similar words are within 1, 2, 3 hops on the neighbour graph, on average."""
    watch(f"looking at the neighbour graph with k = {k}", 0.0)
    graph = GraphSpace.of(space, k)
    near, _ = space.similar(ids, _LISTED)
    hops = graph.distances_to(ids, near)
    return [float((hops <= limit).sum() / len(ids)) for limit in range(1, _HOPS + 1)]


def draw_distances(geometry: Geometry) -> Figure:
    """Plot the distance to the k-th neighbour at some percentiles of the words (Figure 1 of the WSDM paper)."""
    check_can_draw()
    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    for column, percentile in enumerate(PERCENTILES):
        label = f"{percentile}th percentile"
        axes.plot(geometry.neighbours, geometry.distances[:, column], marker="o", markersize=3, label=label)
    distance = f"distance, in {_plural(geometry.unit)}"
    axes.set(xscale="log", xlabel="k-th nearest word", ylabel=distance, title=geometry.space["name"])
    axes.legend(fontsize="small")
    return figure


def draw_growth(geometry: Geometry) -> Figure:
    """Plot how many words lie within a radius, and how often words are among the ten nearest of others."""
    check_can_draw()
    figure = new_figure(9.0, 3.6)
    balls, hubs = figure.subplots(1, 2)
    balls.plot(geometry.reaches, np.maximum(geometry.balls, 0.5), marker="o")
    radius = "radius, as a multiple of the distance to the nearest word"
    balls.set(yscale="log", xlabel=radius, ylabel="words within it (median)")
    hubs.hist(geometry.listed, bins=_BINS, color="tab:green")
    hubs.set(yscale="log", xlabel="words that have it among their ten nearest", ylabel="words")
    return figure
