"""No command writes over what it reads, nor over another file unless told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import make_poincare, make_space
from wordveil.cli import main
from wordveil.spaces.files import write_vectors

#: Commands that write the file OLD (and pictures OLD-…), in a folder with a space small.txt, a ball and texts.
WRITERS = {
    "demo --save": (["demo", "--save", "old.csv"], "old.csv"),
    "demo --svg": (["demo", "--svg", "old.svg", "-s", "small.txt"], "old.svg"),
    "calibrate -o": (["calibrate", "-s", "small.txt", "-e", "1", "-o", "old.json"], "old.json"),
    "calibrate --html": (["calibrate", "-s", "small.txt", "-e", "1", "--html", "old.html"], "old.html"),
    "calibrate --figures": (["calibrate", "-s", "small.txt", "-e", "1", "--figures", "old.svg"], "old-panels.svg"),
    "geometry --figure": (["geometry", "small.txt", "--figure", "old.svg"], "old-growth.svg"),
    "plot disk": (["plot", "disk", "zqa", "-s", "ball", "-o", "old.svg"], "old.svg"),
    "plot density": (["plot", "density", "-o", "old.svg"], "old.svg"),
    "compare -o": (["compare", "--data", "data", "-s", "small.txt", "-o", "old.json"], "old.json"),
    "compare --figure": (
        ["compare", "--data", "data", "-s", "small.txt", "--prior", "both", "--figure", "old.svg"],
        "old-uniform.svg",
    ),
    "lac --figure": (["lac", "simulate", "-e", "1", "-s", "small.txt", "--figure", "old.svg"], "old.svg"),
    "attack bayes": (["attack", "bayes", "text.txt", "-s", "small.txt", "-e", "1", "--figure", "old.svg"], "old.svg"),
    "attack sentence": (
        ["attack", "sentence", "text.txt", "--reference", "text.txt", "-s", "small.txt", "-e", "1", "--figure",
         "old.svg"],
        "old.svg",
    ),
    "attack authors": (
        ["attack", "authors", "mail.csv", "-s", "small.txt", "-e", "1", "--figure", "old.svg"],
        "old.svg",
    ),
    "attack vectors": (["attack", "vectors", "-s", "small.txt", "-e", "1", "--figure", "old.svg"], "old.svg"),
    "vectors -o": (["vectors", "-e", "1", "-s", "small.txt", "-o", "old.txt"], "old.txt"),
    "privatize -o": (["privatize", "text.txt", "-e", "1", "-s", "small.txt", "-o", "old.txt"], "old.txt"),
    "privatize --report": (
        ["privatize", "text.txt", "-e", "1", "-s", "small.txt", "-o", "new.txt", "--report", "old.json"],
        "old.json",
    ),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    space = make_space(40)
    write_vectors(tmp_path / "small.txt", space.vocabulary.words, space.matrix)
    make_poincare(10).save(tmp_path / "ball")
    (tmp_path / "text.txt").write_text("zqa zqb.\n", encoding="utf-8")
    (tmp_path / "mail.csv").write_text("author,text\na,zqa\nb,zqb\n", encoding="utf-8")
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return int(left.value.code or 0), capfd.readouterr().err


@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_that_is_there_is_kept(writer: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command, old = WRITERS[writer]
    (folder / old).write_text("kept", encoding="utf-8")
    code, err = run(capfd, *command)
    assert (code, err.count("\n")) == (2, 1)
    assert old in err
    assert "--overwrite" in err
    assert (folder / old).read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize(
    "writer", ["demo --save", "calibrate -o", "calibrate --html", "geometry --figure", "plot density", "vectors -o"]
)
def test_a_file_is_replaced_if_asked(writer: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command, old = WRITERS[writer]
    (folder / old).write_text("kept", encoding="utf-8")
    assert run(capfd, *command, "--overwrite")[0] == 0
    assert (folder / old).read_text(encoding="utf-8") != "kept"


@pytest.mark.parametrize(
    "command",
    [
        "calibrate -s small.txt -e 1 -o small.txt",
        "calibrate -s small.txt -e 1 --html linked",
        "calibrate -e 1 --compare earlier.json -o earlier.json",
        "calibrate -e 1 -s ball -o ball/space.json",
        "demo -s small.txt --svg small.txt",
        "geometry drawn.svg --figure drawn.svg",
        "compare --data data -o data/some.json",
        "compare --data data -m graph@small.txt -o small.txt",
        "lac simulate -e 1 -s drawn.svg --figure drawn.svg",
        "plot disk zqa -s drawn.svg -o drawn.svg",
        "attack bayes drawn.svg -e 1 --figure drawn.svg",
        "attack bayes text.txt --reference drawn.svg -e 1 --figure drawn.svg",
        "attack vectors --released drawn.svg --figure drawn.svg",
        "vectors -e 1 -s small.txt -o small.txt",
        "privatize text.txt -e 1 -s small.txt -o small.txt",
        "privatize text.txt -e 1 --select words --words list.txt -o list.txt",
        "privatize text.txt -e 1 -s small.txt -o new.txt --report small.txt",
    ],
)
def test_an_input_is_never_replaced(command: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("earlier.json", "drawn.svg", "list.txt", "data/some.json", "ball/space.json"):
        (folder / name).touch()
    (folder / "linked").symlink_to("small.txt")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for overwrite in ([], ["--overwrite"]):
        code, err = run(capfd, *command.split(), *overwrite)
        assert (code, err.count("\n")) == (2, 1)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_training_does_not_remove_its_pairs(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "out").mkdir()
    pairs = folder / "out" / "pairs.tsv"
    pairs.write_text("dog\tanimal\n", encoding="utf-8")
    for source in (pairs, folder / "out"):
        given = [str(source)] if source.is_file() else ["--wordnet", str(source)]
        code, _err = run(capfd, "train", *given, "-o", "out", "--overwrite")
        assert code == 2
    assert pairs.is_file()


def test_a_page_of_results_does_not_replace_data(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "data" / "some.md").write_text("kept", encoding="utf-8")
    code, _err = run(capfd, "reproduce", "--data", "data", "--output", "results", "--page", "data/some.md")
    assert code == 2
    assert (folder / "data" / "some.md").read_text(encoding="utf-8") == "kept"


def test_two_outputs_need_two_names(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, err = run(capfd, "calibrate", "-s", "small.txt", "-e", "1", "-o", "x.html", "--html", "data/../x.html")
    assert code == 2
    assert err.count("\n") == 1
