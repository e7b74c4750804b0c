"""The scripts of examples/ that no page runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wordveil

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(script: str, *arguments: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLES / script), *map(str, arguments)], capture_output=True, encoding="utf-8",
        check=False,
    )  # fmt: skip


def test_the_vectors_of_a_spacy_model_become_a_space(tmp_path: Path) -> None:
    vocab = pytest.importorskip("spacy.vocab")
    made = vocab.Vocab()
    made.reset_vectors(shape=(3, 2))
    for row, word in enumerate(["fleuve", "moulin", "3"]):
        made.vectors.add(made.strings.add(word), vector=np.array([row, 1.0], dtype=np.float32))
    made.vectors.add(made.strings.add("rivière"), row=0)  # a rarer word that shares a vector
    (tmp_path / "model" / "fr").mkdir(parents=True)
    made.to_disk(tmp_path / "model" / "fr" / "vocab")
    done = run("vectors_of_spacy.py", tmp_path / "model", tmp_path / "fr.vec")
    assert done.returncode == 0, done.stderr
    assert list(wordveil.load_space(tmp_path / "fr.vec").vocabulary) == ["fleuve", "moulin"]
    (tmp_path / "empty").mkdir()
    assert run("vectors_of_spacy.py", tmp_path / "empty", tmp_path / "x.vec").returncode == 1


def test_the_vectors_of_navec_become_a_space_with_frequent_words_first(tmp_path: Path) -> None:
    navec = pytest.importorskip("navec")
    words, counts = ["<unk>", "река", "a-b", "мельница"], [9, 1, 7, 5]
    codes = np.arange(8, dtype=np.float32).reshape(2, 4, 1)
    indexes = np.array([[0, 0], [1, 2], [2, 2], [3, 1]], dtype=np.uint8)
    pq = navec.pq.PQ(4, 2, 2, 4, indexes, codes)
    (tmp_path / "unpacked").mkdir()
    navec.Navec(navec.meta.Meta("t"), navec.vocab.Vocab(words, counts), pq).dump(tmp_path / "unpacked" / "navec_t.tar")
    done = run("vectors_of_navec.py", tmp_path / "unpacked", tmp_path / "ru.vec")
    assert done.returncode == 0, done.stderr
    assert list(wordveil.load_space(tmp_path / "ru.vec").vocabulary) == ["мельница", "река"]
    (tmp_path / "empty").mkdir()
    assert run("vectors_of_navec.py", tmp_path / "empty", tmp_path / "y.vec").returncode == 1
