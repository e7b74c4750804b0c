"""Every mechanism at equal success of the adversary, who knows word frequencies or does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wordveil.lab.experiments.adversary import PRIORS
from wordveil.lab.experiments.comparison import Frontier, compare
from wordveil.lab.experiments.contenders import everyone
from wordveil.lab.experiments.frontier_figure import draw_frontier
from wordveil.lab.experiments.points import points_table
from wordveil.lab.experiments.result import Result, Setting
from wordveil.lab.tasks import AveragedVectors, Reader, load_task
from wordveil.spaces import load_space

__all__ = ["run"]

_BALL = "wordnet-poincare"
_SLOW = ("density", "elastic", "vickrey", "nadp", "jaccard", "gaussian", "mahalanobis", "knn-truncated", "ring")
_KNOWS = {"text": "knows how often each word occurs", "uniform": "takes every word for equally likely"}

_FOUND = (
    " Against an adversary who knows word frequencies no mechanism that promises anything keeps more at 25% and 40% "
    "than the default, though most intervals overlap; of the near losses that can be computed only that of "
    "graph:first=1 is smaller. At 10% little is left under any, and vickrey, jaccard, elastic, the spanning tree "
    "(k=0), laplace and gaussian keep somewhat more than the default; their near losses, where any is stated, are 9 or "
    "far more, where its is 2. Where every word is equally likely, ring keeps most and hides nothing between similar "
    "words; from 10% on the default comes second, or third after exponential with a frequency prior."
)


def run(setting: Setting) -> Result:
    """Compare them at four levels of success, under both priors."""
    glove = load_space("glove-50k")
    glove = glove.restrict(np.arange(min(len(glove), setting.pick(4000, 10_000))))
    flat = everyone(glove, setting.engine)
    ball = [replace(one, label=f"{one.label}@{_BALL}") for one in everyone(load_space(_BALL), setting.engine)]
    contenders = [one for one in flat if one.label not in _SLOW] if setting.quick else [*flat, *ball]
    tasks = [load_task(name, setting.data).limited(setting.pick(600, 1_000_000)) for name in ("trec6", "mr", "cr")]
    found = compare(
        contenders,
        tasks,
        AveragedVectors(Reader(glove)),
        (0.25,) if setting.quick else (0.05, 0.1, 0.25, 0.4),
        priors=PRIORS,
        repeats=1,
        draws=setting.pick(10_000, 100_000),
        seed=setting.seed,
        workers=setting.workers,
        watch=setting.watch,
    )
    names = [task.name for task in tasks]
    quick = " The quick run takes few words, examples and mechanisms, and one level." if setting.quick else ""
    return Result(
        [
            points_table(_title(found, prior), "mechanism", [one for one in found.points if one.prior == prior], names)
            for prior in PRIORS
        ],
        "A share is how far utility is on the way from random words to clean text; guess right is what the adversary "
        "reached. The near loss is the median over words of the largest log-ratio between a word and one of its ten "
        "most similar words: computed where probabilities are known, else what is promised (≤), or nothing. "
        "A near loss of 600 is where weights are clipped: it is that or more. "
        "A row without figures: no ε was found at which the guess is right that often, because the likeliest word "
        "alone is guessed right more often, because the mechanism accepts no ε so small (hyperbolic), or because it "
        "leaves words as they are at every ε (nadp those without neighbours; remapped finds words again). Mechanisms "
        "on the ball know nouns and verbs alone: all other words are replaced by words that do not depend on them, "
        "which costs most of the utility, and the adversary guesses at nouns and verbs. Their rows compare with each "
        "other only. The adversary of mechanisms that state no probabilities learns from ten draws for each word of "
        "the vocabulary and falls short of the best one by some percent of his success, so their rows are flattered a "
        f"little.{'' if setting.quick else _FOUND}",
        changed="None of the papers compares mechanisms at equal success of an adversary. Those on vectors "
        f"know the {len(glove):,} most frequent words (the experiments frontier and challenges: 20,000).{quick}",
        facts=found.to_dict(),
        figures={prior: draw_frontier(found, prior) for prior in PRIORS},
    )


def _title(found: Frontier, prior: str) -> str:
    floor = f"always guessing the likeliest word is right {found.floors[prior]:.3f} of the time"
    return f"The adversary {_KNOWS[prior]} ({floor})"
