"""ICDM Fig. 4: IS-A relations in the Poincaré disk."""

from __future__ import annotations

import numpy as np

from wordveil.lab.experiments.result import Result, Setting, Table
from wordveil.lab.plots.disk import draw_disk
from wordveil.lab.plots.layout import family, in_two_dimensions
from wordveil.spaces import load_space

__all__ = ["run"]

_SHOWN = ("london", "paris", "dog", "salmon", "guitar", "doctor", "apple", "car")


def run(setting: Setting) -> Result:
    """Draw some words and what they are, and measure whether general words are nearer to the centre."""
    space = load_space("wordnet-poincare")
    words = [word for word in _SHOWN if word in space.vocabulary.ids]
    ids = family(space, words, most=setting.pick(40, 60))
    is_a = np.asarray(space.is_a)
    radii = space.radii
    nearer = float((radii[is_a[:, 1]] < radii[is_a[:, 0]]).mean())
    table = Table(
        "Hierarchy and distance from the centre",
        ("figure", "value"),
        [
            ("IS-A steps in the space", len(is_a)),
            ("steps whose upper word is nearer to the centre", f"{nearer:.1%}"),
            ("median radius of the 100 words with most words below them", _median(radii, is_a, most=True)),
            ("median radius of words with none below them", _median(radii, is_a, most=False)),
        ],
    )
    return Result(
        [table],
        "As in the paper's picture: general words lie towards the centre and their instances towards the rim. The "
        "share says how often that holds for a single step, which a picture of a few words cannot.",
        changed="WordNet's nouns and verbs stand for WebIsADb. The space has three dimensions; the picture shows the "
        "words laid out anew in two, keeping their distances as well as two dimensions allow.",
        facts={"steps": len(is_a), "upper_nearer": nearer, "words": words},
        figures={"": draw_disk(in_two_dimensions(space, ids))},
    )


def _median(radii: np.ndarray, is_a: np.ndarray, *, most: bool) -> float:
    below = np.bincount(is_a[:, 1], minlength=len(radii))
    chosen = np.argsort(-below)[:100] if most else np.flatnonzero(below == 0)
    return float(np.median(radii[chosen]))
