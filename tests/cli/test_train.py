"""``wordveil train``, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lab.training.conftest import wordnet_folder  # noqa: F401 - a fixture
from wordveil import load_space
from wordveil.cli import main
from wordveil.spaces import EuclideanSpace, PoincareSpace

TREE = "".join(f"n{node}\tn{node // 2}\t{node}\n" for node in range(2, 32)) + "the\tn1\t99\n"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["train", *arguments])
    captured = capsys.readouterr()
    return int(left.value.code or 0), captured.out, captured.err


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text(TREE, encoding="utf-8")
    return path


def test_a_space_from_pairs(pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "space"
    options = ["-o", str(folder), "--dim", "3", "--closure", "--epochs", "40", "--negatives", "5", "--device", "cpu"]
    code, out, err = run(capsys, str(pairs), *options)
    assert code == 0, err
    assert "31 words in 3 dimensions (lorentz)" in out
    assert "mean average precision 0." in out
    assert "epoch 20 of 40" in err
    assert "mean rank" in err
    space = load_space(folder)
    assert isinstance(space, PoincareSpace)
    assert len(space) == 31
    assert "the" not in space.vocabulary
    assert space.facts["training"]["pairs"] == sum(len(bin(node)) - 3 for node in range(2, 32))
    assert not (folder / "checkpoint.npz").exists()
    code, _, err = run(capsys, str(pairs), *options)
    assert (code, "--overwrite" in err) == (2, True)
    code, _, _ = run(capsys, str(pairs), *options, "--overwrite", "--quiet")
    assert code == 0


def test_a_folder_is_replaced_only_if_nothing_else_is_in_it(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.tsv"
    wrong.write_text("no pair\n")
    how = ("--dim", "2", "--epochs", "1", "--quiet", "--device", "cpu")
    out = tmp_path / "out"
    assert run(capsys, str(wrong), "-o", str(out), *how)[0] == 2
    assert not out.exists()
    for geometry in ("euclidean", "lorentz"):
        assert run(capsys, str(pairs), "-o", str(out), *how, "--overwrite", "--geometry", geometry)[0] == 0
    before = sorted(path.name for path in out.iterdir())
    assert "vectors.npy" not in before
    assert run(capsys, str(wrong), "-o", str(out), *how, "--overwrite")[0] == 2
    assert sorted(path.name for path in out.iterdir()) == before
    (out / "thesis.txt").write_text("years of work\n")
    code, _, err = run(capsys, str(pairs), "-o", str(out), *how, "--overwrite")
    assert (code, err.count("\n")) == (2, 1)
    assert sorted(path.name for path in out.iterdir()) == sorted([*before, "thesis.txt"])


def test_figures_as_json_and_filters(pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ratings = tmp_path / "ratings.tsv"
    ratings.write_text("word1\tword2\tscore\nn20\tn10\t6\nn10\tn20\t1\nn3\tx\t2\n", encoding="utf-8")
    words = tmp_path / "words.txt"
    words.write_text("\n".join(f"n{node}" for node in range(1, 24)), encoding="utf-8")
    code, out, err = run(
        capsys, str(pairs), "-o", str(tmp_path / "s"), "--json", "--quiet", "--epochs", "5", "--device", "cpu",
        "--min-count", "5", "--vocabulary", str(words), "--hyperlex", str(ratings), "--weighted", "--sharpness", "2",
    )  # fmt: skip
    assert code == 0, err
    facts = json.loads(out)
    assert facts["pairs"] == 23 - 4
    assert facts["hyperlex"]["covered"] == 2
    assert facts["device"] == "cpu"


def test_words_and_synsets_of_wordnet(
    wordnet_folder: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    vocabulary = tmp_path / "words.txt"
    vocabulary.write_text("run\ndog\npoodle\nanimal\nentity\nmove\nrex\n", encoding="utf-8")
    common = ["--wordnet", str(wordnet_folder), "--epochs", "3", "--quiet", "--device", "cpu"]
    code, out, err = run(capsys, *common, "-o", str(tmp_path / "w"), "--vocabulary", str(vocabulary))
    assert code == 0, err
    assert "7 words" in out
    space = load_space(tmp_path / "w")
    assert space.vocabulary.words == ["run", "dog", "poodle", "animal", "entity", "move", "rex"]
    assert space.vocabulary.forms == tmp_path / "w"
    assert "WordNet 3.0 Copyright" in (tmp_path / "w" / "LICENSE").read_text()
    code, out, err = run(
        capsys, *common, "-o", str(tmp_path / "s"), "--nodes", "synsets", "--part", "noun", "--root", "animal.n.01",
        "--geometry", "euclidean",
    )  # fmt: skip
    assert code == 0, err
    assert "6 words in 10 dimensions (euclidean)" in out
    assert isinstance(load_space(tmp_path / "s"), EuclideanSpace)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "--wordnet"),
        (["PAIRS", "--wordnet", "x"], "--wordnet"),
        (["nowhere.tsv"], "nowhere.tsv"),
        (["PAIRS", "--dim", "0"], "dimension"),
        (["PAIRS", "--geometry", "flat"], "lorentz"),
        (["PAIRS", "--min-count", "1000"], "pairs"),
        (["PAIRS", "--vocabulary", "nowhere.txt"], "nowhere.txt"),
        (["PAIRS", "--root", "n99"], "n99"),
        (["--wordnet", "nowhere"], "nowhere"),
        (["PAIRS", "--hyperlex", "nowhere.tsv", "--epochs", "1"], "nowhere.tsv"),
    ],
)
def test_mistakes_are_told_in_one_sentence(
    arguments: list[str], told: str, pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(pairs) if part == "PAIRS" else part for part in arguments]
    code, out, err = run(capsys, *given, "-o", str(tmp_path / "out"), "--quiet", "--device", "cpu")
    assert code == 2
    assert out == ""
    assert err.startswith("wordveil: ")
    assert told in err
    assert err.count("\n") == 1
