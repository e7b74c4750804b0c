"""The command of a careless user: what protects little is always said, and what protects nothing is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import make_space
from wordveil.cli import main
from wordveil.spaces import load_space
from wordveil.spaces.files import write_vectors

TEXT = "the zqa met zqb and zqc near zqd\n"
ADDRESS = "mail ann@example.com\n"  # replaced wherever it stands, which is not what was asked for


@pytest.fixture(autouse=True, scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("space") / "toy.txt"
    toy = make_space(100, 6)
    write_vectors(path, toy.vocabulary.words, toy.points(np.arange(100)))
    return path


def run(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(map(str, arguments)))
    out, err = capfd.readouterr()
    return int(caught.value.code or 0), out, err


@pytest.mark.parametrize("quiet", [(), ("-q",), ("--report", "report.json"), ("-q", "--report", "report.json")])
@pytest.mark.parametrize(
    ("how", "text"),
    [
        (("--epsilon", "4", "--oov", "keep"), TEXT),  # nothing is promised
        (("--epsilon", "4", "--seed", "1"), TEXT),
        (("--epsilon", "20"), TEXT),  # most words stay
        (("--epsilon", "4"), "zqa kaufte gestern zwei neue Fahrräder\n"),  # another language
        (("--epsilon", "4"), "… !\n"),  # no words
    ],
)
def test_no_option_silences_a_warning(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    space: Path,
    how: tuple[str, ...],
    text: str,
    quiet: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text(text, encoding="utf-8")
    code, _, err = run(capfd, "privatize", "in.txt", "-o", "out.txt", "--space", space, *how, *quiet)
    assert code == 0, err
    assert err.count("wordveil: warning:") >= 1
    if "--report" in quiet and "20" in how:
        assert json.loads(Path("report.json").read_text("utf-8"))["warnings"]


@pytest.mark.parametrize("epsilon", ["50000", "1e9"])
def test_an_absurd_epsilon_is_refused(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, space: Path, epsilon: str
) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text(TEXT)
    arguments = ("privatize", source, "-o", out, "--space", space, "--epsilon", epsilon)
    code, _, err = run(capfd, *arguments)
    assert (code, err.count("\n"), out.exists()) == (2, 1, False)
    assert "--unproven" in err
    code, _, err = run(capfd, *arguments, "--unproven")
    assert code == 0
    assert "warning" in err


@pytest.mark.parametrize("how", [("--select", "marked"), ("--select", "words", "--words", "list.txt")])
@pytest.mark.parametrize("folder", [False, True])
def test_a_job_that_veils_nothing_writes_nothing(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    space: Path,
    how: tuple[str, ...],
    folder: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("list.txt").write_text("absent\n")
    source = Path("in")
    if folder:
        source.mkdir()
        for name in ("a.txt", "b.txt"):
            (source / name).write_text(TEXT + ADDRESS)
    else:
        source = Path("in.txt")
        source.write_text(TEXT + ADDRESS)
    before = sorted(tmp_path.iterdir())
    arguments = ("privatize", source, "-o", "out" if folder else "out.txt", "--space", space, "--epsilon", "4", *how)
    code, _, err = run(capfd, *arguments)
    assert (code, err.count("\n"), err.count("warning")) == (2, 2, 1), err
    assert sorted(tmp_path.iterdir()) == before
    code, _, err = run(capfd, *arguments, "--unproven")
    assert code == 0
    assert "warning" in err


@pytest.mark.parametrize("blocks", [1, 3])
def test_a_stream_that_veils_nothing_fails(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, space: Path, blocks: int
) -> None:
    source = tmp_path / "in.txt"
    source.write_text(TEXT * 100 * blocks)
    code, out, err = run(
        capfd, "privatize", source, "--space", space, "-e", "4", "--select", "marked", "--batch-words", "800", "--quiet"
    )
    assert (code, err.count("\n"), err.count("warning")) == (2, 2, 1)
    assert (out == "") == (blocks == 1)
    assert ("itself" in err) == (blocks > 1)


def test_an_empty_list_of_words_is_refused(capfd: pytest.CaptureFixture[str], tmp_path: Path, space: Path) -> None:
    source, listed = tmp_path / "in.txt", tmp_path / "list.txt"
    source.write_text(TEXT)
    listed.write_text("\n \n")
    code, out, err = run(
        capfd, "privatize", source, "--space", space, "-e", "4", "--select", "words", "--words", listed
    )
    assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("epsilon", ["1e-4", "4"])
def test_no_grid_is_finer_than_the_numbers(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, space: Path, epsilon: str
) -> None:
    out = tmp_path / "noisy.npz"
    asked = ("vectors", "--mechanism", "laplace", "--space", space, "-e", epsilon, "-o", out)
    code, _, err = run(capfd, *asked, "--grid", "9e-13")
    assert (code, out.exists()) == (2, False)
    assert "--grid" in err
    assert run(capfd, *asked)[0] == 0
    opened = load_space(out)
    noisy = opened.points(np.arange(len(opened))).astype(np.float64)
    largest = np.spacing(np.float32(np.abs(noisy).max()))
    steps = noisy / max(2.0**-10, 32 * float(largest))
    assert np.array_equal(steps, np.round(steps))
