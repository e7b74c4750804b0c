"""The membership auditor of the WSDM paper's Tables 2 and 3, on persons of PAN11."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from wordveil.lab.attacks import Corpus, Membership, MembershipAuditor
from wordveil.lab.attacks.word_model import ModelSettings
from wordveil.lab.experiments import corpora
from wordveil.lab.experiments.result import Cell, Setting
from wordveil.lab.tasks import Rewriter
from wordveil.spaces import EuclideanSpace, load_space

__all__ = ["COLUMNS", "auditor", "cells", "changed", "known_words", "persons", "seeded"]

COLUMNS = ("precision", "recall", "accuracy", "AUC")


def changed(setting: Setting) -> str:
    """Say what stands in for what the paper used."""
    quick = " The quick run veils with the 10,000 most frequent words." if setting.quick else ""
    return (
        "The AOL search log is not in the data; authors of PAN11's e-mail stand for its users, so there are tens of "
        f"persons and not hundreds, and the intervals are wide. The model is a GRU.{quick}"
    )


def persons(setting: Setting) -> Corpus:
    """Return the texts by person."""
    return corpora.limited(corpora.pan11(setting.data, "LargeTrain.xml"), setting.pick(800, 1500), setting.seed)


def known_words(setting: Setting) -> EuclideanSpace:
    """Return the space of the words that are veiled; a quick run knows the most frequent ones."""
    return load_space("glove-50k").restrict(np.arange(setting.pick(10_000, 50_000)))


def auditor(setting: Setting, corpus: Corpus) -> MembershipAuditor:
    """Return who audits models of the corpus, of the size of the setting."""
    settings = ModelSettings(words=setting.pick(1500, 2000), width=setting.pick(32, 64), epochs=setting.pick(12, 10))
    return MembershipAuditor(corpus, shadows=2, settings=settings, seed=setting.seed, watch=setting.watch)


def cells(found: Membership) -> list[Cell]:
    """Write the four figures, AUC with its interval."""
    rates = [found.precision.value, found.recall.value, found.accuracy.value]
    written: list[Cell] = ["–" if math.isnan(one) else f"{one:.2f}" for one in rates]  # nobody was taken for a member
    return [*written, f"{found.auc.value:.2f} [{found.auc.low:.2f}, {found.auc.high:.2f}]"]


def seeded(rewrite: Rewriter, seed: int) -> Callable[[Sequence[str]], Sequence[str]]:
    """Return a rewriter of texts with its random numbers fixed."""
    return lambda texts: rewrite(texts, seed)
