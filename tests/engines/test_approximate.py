"""Approximate nearest words: only where they are measured to be good enough, and never silently."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ALPHA, make_space, names
from wordveil import Veil, mechanism
from wordveil._mechanisms import Mechanism
from wordveil.cli import main
from wordveil.engines import approximately
from wordveil.engines.approximate import RECALL, IndexedSpace
from wordveil.errors import ExtraError, OptionError
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, Space, Vocabulary
from wordveil.spaces.files import write_vectors


@pytest.fixture(scope="module")
def clustered() -> EuclideanSpace:
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(100, 8)) * 3.0
    vectors = centres[generator.integers(0, 100, 5000)] + generator.normal(size=(5000, 8))
    return EuclideanSpace("clustered", Vocabulary(names(5000)), vectors.astype(np.float32))


def laplace(epsilon: float) -> Any:
    def make(space: Space) -> Mechanism[Any]:
        return mechanism("laplace", space, epsilon=epsilon)

    return make


def test_a_good_index_is_used_and_told_of(clustered: EuclideanSpace) -> None:
    made = approximately(laplace(30.0), clustered)
    assert isinstance(made.space, IndexedSpace)
    assert made.space.recall >= RECALL
    # On fresh noisy points it is as good as it says, or the bound would be wrong more often than ALPHA.
    ids = np.random.default_rng(5).integers(0, 5000, 20_000)
    points = mechanism("laplace", clustered, epsilon=30.0).perturb(ids, Entropy(9))
    recall = (made.space.nearest(points) == clustered.nearest(points)).mean()
    assert recall > made.space.recall - 4.0 * np.sqrt(0.01 / 20_000) > 1.0 - 0.02 - ALPHA
    veil = Veil(made, unproven=True)
    assert any("approximate index" in caveat for caveat in veil.guarantee.caveats)
    assert veil.guarantee.loss(1.0) == 30.0
    assert veil.describe()["space"]["index"]["recall_at_least"] == made.space.recall


def test_an_index_that_misses_too_often_is_refused() -> None:
    # In 64 dimensions noise at this ε throws points far from every word, where cells say nothing about neighbours.
    generator = np.random.default_rng(1)
    vectors = generator.normal(size=(20_000, 64)).astype(np.float32)
    space = EuclideanSpace("round", Vocabulary(names(20_000)), vectors)
    with pytest.raises(OptionError, match=r"epsilon \(0\.\d+"):
        approximately(laplace(2.0), space)


def test_choosing_an_index_is_repeatable(clustered: EuclideanSpace) -> None:
    first, second = (approximately(laplace(30.0), clustered).describe() for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", ["graph", "exponential", "remapped", "vickrey"])
def test_a_mechanism_without_one_nearest_word_is_refused(name: str, toy: EuclideanSpace) -> None:
    with pytest.raises(OptionError, match=name):
        approximately(lambda space: mechanism(name, space, epsilon=2.0), toy)


def test_few_words_need_no_index() -> None:
    with pytest.raises(OptionError):
        approximately(laplace(5.0), make_space(100, 3))


def test_without_faiss_one_sentence_says_what_to_install(
    clustered: EuclideanSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ExtraError, match=r"pip install '\.\[faiss\]'"):
        approximately(laplace(30.0), clustered)


def test_the_command_says_in_its_report_that_it_was_approximate(clustered: EuclideanSpace, tmp_path: Path) -> None:
    vectors, source, out = tmp_path / "space.npz", tmp_path / "in.txt", tmp_path / "out.txt"
    write_vectors(vectors, clustered.vocabulary.words, clustered.matrix)
    source.write_text("zqb zqc zqd\n", encoding="utf-8")
    report = tmp_path / "report.json"
    options = ["--space", str(vectors), "--mechanism", "laplace", "--epsilon", "30", "--unproven"]
    options += ["--index", "approximate"]
    with pytest.raises(SystemExit) as ended:
        main(["privatize", str(source), "-o", str(out), *options, "--report", str(report)])
    assert ended.value.code == 0
    facts = json.loads(report.read_text(encoding="utf-8"))
    assert facts["space"]["index"]["recall_at_least"] >= RECALL
    assert any("approximate index" in sentence for sentence in facts["not_protected"])
    assert facts["guarantee"]["epsilon"] == 30.0


def test_mahalanobis_says_that_its_nearest_words_are_approximate(clustered: EuclideanSpace) -> None:
    made = approximately(lambda space: mechanism("mahalanobis", space, epsilon=200.0), clustered)
    assert any("approximate index" in caveat for caveat in made.guarantee.caveats)
    assert made.describe()["space"]["index"]["recall_at_least"] >= 0.99


def test_workers_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["privatize", "-e", "20", "-m", "laplace", "--index", "approximate", "--workers", "2"])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "--workers" in told
    assert "--index" in told
