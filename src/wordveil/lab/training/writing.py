"""From a training to a space on disk."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from wordveil.lab.training.pairs import Pairs
from wordveil.lab.training.trainer import Trained
from wordveil.lab.training.wordnet import WordNet
from wordveil.spaces import PoincareSpace, Vocabulary
from wordveil.spaces.formats.arrays import write_folder

__all__ = ["to_space", "write_forms", "write_trained"]

_FORMS = ("noun.exc", "verb.exc")


def to_space(name: str, trained: Trained, pairs: Pairs, facts: dict[str, Any] | None = None) -> PoincareSpace:
    """Make a Poincaré space of the nodes that are words, with the steps of their hierarchy."""
    shown = pairs.visible()
    steps = shown.reduced()
    return PoincareSpace(
        name,
        Vocabulary(shown.names),
        trained.shape.hyperboloid(trained.points)[: len(shown.names)],
        is_a=np.stack([steps.child, steps.parent], axis=1),
        facts=facts,
    )


def write_trained(folder: Path, trained: Trained, pairs: Pairs, facts: dict[str, Any]) -> None:
    """Write what was learnt: a Poincaré space, or the vectors of a Euclidean embedding."""
    folder.mkdir(parents=True, exist_ok=True)
    if trained.shape.name == "euclidean":
        names = pairs.visible().names
        write_folder(folder, names, trained.points[: len(names)].astype(np.float32))
    else:
        to_space(folder.name, trained, pairs, facts).save(folder)


def write_forms(folder: Path, wordnet: WordNet) -> None:
    """Put WordNet's lists of irregular forms and its notice beside a space of its words."""
    for name in _FORMS:
        if (wordnet.folder / name).is_file():
            shutil.copyfile(wordnet.folder / name, folder / name)
    (folder / "LICENSE").write_text(wordnet.notice, encoding="utf-8")
