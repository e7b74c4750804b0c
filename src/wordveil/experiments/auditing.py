"""The membership auditor of the WSDM paper's Tables 2 and 3, on persons of PAN11."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from wordveil.attacks import Corpus, Membership, attack_membership
from wordveil.attacks.word_model import ModelSettings
from wordveil.experiments import corpora
from wordveil.experiments.result import Cell, Setting
from wordveil.tasks import Rewriter

__all__ = ["CHANGED", "COLUMNS", "audited", "cells", "persons", "seeded"]

CHANGED = (
    "The AOL search log is not in the data; authors of PAN11's e-mail stand for its users, so there are tens of "
    "persons and not hundreds, and the intervals are wide. The model is a GRU."
)
COLUMNS = ("precision", "recall", "accuracy", "AUC")


def persons(setting: Setting) -> Corpus:
    """Return the texts by person."""
    return corpora.limited(corpora.pan11(setting.data, "LargeTrain.xml"), setting.pick(800, 9337), setting.seed)


def audited(
    setting: Setting,
    corpus: Corpus,
    veil: Callable[[Sequence[str]], Sequence[str]] | None,
    plans: Sequence[str],
) -> list[Membership]:
    """Audit models of the corpus, the size of the setting."""
    settings = ModelSettings(words=setting.pick(1500, 5000), width=setting.pick(32, 96), epochs=setting.pick(5, 20))
    return attack_membership(
        corpus, veil, plans=plans, shadows=setting.pick(2, 8), settings=settings, seed=setting.seed, watch=setting.watch
    )


def cells(found: Membership) -> list[Cell]:
    """Write the four figures, AUC with its interval."""
    rates = [found.precision.value, found.recall.value, found.accuracy.value]
    written: list[Cell] = ["–" if math.isnan(one) else f"{one:.2f}" for one in rates]  # nobody was taken for a member
    return [*written, f"{found.auc.value:.2f} [{found.auc.low:.2f}, {found.auc.high:.2f}]"]


def seeded(rewrite: Rewriter, seed: int) -> Callable[[Sequence[str]], Sequence[str]]:
    """Return a rewriter of texts with its random numbers fixed."""
    return lambda texts: rewrite(texts, seed)
