"""The scripts of examples/ that no page runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wordveil

SCRIPT = Path(__file__).parent.parent / "examples" / "vectors_of_spacy.py"


def run(*arguments: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)], capture_output=True, encoding="utf-8", check=False
    )


def test_the_vectors_of_a_spacy_model_become_a_space(tmp_path: Path) -> None:
    vocab = pytest.importorskip("spacy.vocab")
    made = vocab.Vocab()
    made.reset_vectors(shape=(3, 2))
    for row, word in enumerate(["fleuve", "moulin", "3"]):
        made.vectors.add(made.strings.add(word), vector=np.array([row, 1.0], dtype=np.float32))
    made.vectors.add(made.strings.add("rivière"), row=0)  # a rarer word that shares a vector
    (tmp_path / "model" / "fr").mkdir(parents=True)
    made.to_disk(tmp_path / "model" / "fr" / "vocab")
    done = run(tmp_path / "model", tmp_path / "fr.vec")
    assert done.returncode == 0, done.stderr
    assert list(wordveil.load_space(tmp_path / "fr.vec").vocabulary) == ["fleuve", "moulin"]
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty", tmp_path / "x.vec").returncode == 1
