"""ICDM Table IV: hyperbolic against Euclidean noise, at equal worst case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wordveil.calibration import Effort, Meter, Side, maker, match, meter_for, side
from wordveil.errors import WordveilError
from wordveil.lab.experiments.hearst import DIMENSION, hearst_ball
from wordveil.lab.experiments.result import Cell, Result, Setting, Table
from wordveil.lab.experiments.statistics import projected
from wordveil.spaces import EuclideanSpace, PoincareSpace, load_space

__all__ = ["run"]

_PAPER = {
    0.125: (134, 1.25, 38.54, 39.66, 39.88),
    0.5: (148, 1.62, 42.48, 43.62, 43.44),
    1.0: (172, 2.07, 48.80, 50.26, 53.82),
    2.0: (297, 3.92, 92.42, 93.75, 90.90),
    8.0: (960, 140.67, 602.21, 613.11, 587.68),
}
# The exact mechanism needs an ε above its dimension less one, at which nearly every word stays: noise that small is put
# to use by moving its points inward first.
_INWARD = (4.0, 6.0, 8.0)
_FLAT = 50  # the second dimension of GloVe


def run(setting: Setting) -> Result:
    """Match laplace on GloVe to the hyperbolic mechanisms by the word that stays most."""
    words = setting.pick(100, 1000)
    settings = Effort(words=words, near_words=100, seed=setting.seed)
    rows: list[list[Cell]] = []
    facts = []
    sizes = []
    for label, ball in _balls(setting):
        sizes.append(f"{len(ball):,} of {label}")
        for found in _matched(ball, settings, setting):
            facts.append({"ball": label, **found})
            flat: list[Cell] = [figure for one in found["euclidean"] for figure in (one["epsilon"], one["mean"])]
            rows.append([label, found["mechanism"], found["epsilon"], found["worst"], found["mean"], *flat])
    paper = Table(
        "The paper: N_w, the ball in 100 dimensions",
        ("ε", "worst", "mean, hyperbolic", "mean, GloVe 100-d", "mean, GloVe 200-d", "mean, GloVe 300-d"),
        [(epsilon, *figures) for epsilon, figures in _PAPER.items()],
    )
    dimensions = (100, _FLAT)
    headings = [f"{what} {one}-d" for one in dimensions for what in ("ε of laplace,", "mean, GloVe")]
    ours = Table(
        f"Ours: N_w of {words:,} words out of {' and '.join(sizes)}",
        ("ball", "mechanism", "ε", "worst", "mean, hyperbolic", *headings),
        rows,
    )
    left_out = " The quick run leaves the ball in 100 dimensions out." if setting.quick else ""
    return Result(
        [paper, ours],
        "The hyperbolic mean lies below the Euclidean one at the same worst case where the worst word is a lonely "
        "one: in a ball the general words near the centre have room around them and stay often, while most words, "
        "crowded at the rim, hardly ever do. That is a fact about spread, not a promise: the paper's mechanism keeps "
        "none (see the guarantees), and a low mean goes with replacements that are far away. The exact mechanism, "
        "which keeps its promise at an ε just above its dimension less one and moves its points inward, shows the "
        "contrary: where it hides words well, its mean lies above the Euclidean one at the same worst case. The worst "
        "is that of the words measured, counted in 1,000 draws of each: the largest of many counts, so a little too "
        "large.",
        changed=f"Hearst's patterns in a {DIMENSION}-d ball stand for WebIsADb, beside WordNet's nouns and verbs in a "
        f"3-d ball; the same words of GloVe 100-d, and its {_FLAT} main directions, stand for GloVe in 100, 200 and "
        f"300 dimensions.{left_out}",
        facts={"rows": facts},
    )


def _balls(setting: Setting) -> Iterator[tuple[str, PoincareSpace]]:
    """Give the balls; the one in 100 dimensions takes too long for a quick run."""
    yield "WordNet, 3-d", load_space("wordnet-poincare")
    if not setting.quick:
        yield f"Hearst, {DIMENSION}-d", hearst_ball(setting)


def _matched(ball: PoincareSpace, settings: Effort, setting: Setting) -> Iterator[dict[str, Any]]:
    """Give for each mechanism and ε the worst and the mean N_w, and the means of laplace at the same worst."""
    meters = [meter_for(maker("laplace", flat), flat, settings, setting.watch) for flat in _same_words(ball)]
    plans: list[tuple[str, dict[str, float], tuple[float, ...]]] = [("hyperbolic-icdm19", {}, tuple(_PAPER))]
    plans += [("hyperbolic", {"generalise": inward}, (ball.dimension - 0.5,)) for inward in _INWARD]
    for name, options, epsilons in plans:
        meter = meter_for(maker(name, ball, **options), ball, settings, setting.watch)
        for epsilon in epsilons:
            known = side(meter, epsilon, "worst")
            yield {
                "mechanism": ", ".join([name, *(f"{option}={value:g}" for option, value in options.items())]),
                "epsilon": epsilon,
                "worst": 1000 * known.value("worst"),
                "mean": 1000 * known.stays.mean,
                "euclidean": [_at_the_same_worst(known, other) for other in meters],
            }


def _at_the_same_worst(known: Side, other: Meter) -> dict[str, float | None]:
    try:
        found = match(known, other, "worst")
    except WordveilError:  # a hyperbolic word that always stays has no match
        return {"epsilon": None, "mean": None}
    return {"epsilon": found.epsilon, "mean": 1000 * found.stays.mean}


def _same_words(ball: PoincareSpace) -> list[EuclideanSpace]:
    """Return GloVe on the words of the ball, as it is and on its main directions."""
    glove = load_space("glove-50k")
    places = (glove.vocabulary.ids.get(word) for word in ball.vocabulary)
    flat = glove.restrict(np.array([place for place in places if place is not None]))
    return [flat, projected(flat, _FLAT)]
