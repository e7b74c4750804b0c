"""``wordveil compare``: a table, a file and a picture, and refusals in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lab.tasks.made_data import make_data, topic_space
from wordveil.cli import main


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_data(tmp_path_factory.mktemp("data"))
    space = topic_space()
    rows = (
        " ".join([word, *map(str, vector)])
        for word, vector in zip(space.vocabulary, space.matrix.tolist(), strict=True)
    )
    (folder / "topics.txt").write_text("\n".join(rows) + "\n")
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["compare", *arguments])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def test_table_file_and_pictures(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = (
        "--data", str(data), "--space", str(data / "topics.txt"), "-m", "graph:k=2", "-m", "laplace",
        "--task", "trec6", "--level", "0.3", "--prior", "both", "--draws", "3000", "--repeats", "1",
        "--figure", str(tmp_path / "f.svg"), "--output", str(tmp_path / "f.json"),
    )  # fmt: skip
    code, out, err = run(capsys, *asked)
    assert code == 0, err
    assert "graph:k=2" in out
    assert "30% of the time" in out
    assert "random words" in out
    facts = json.loads((tmp_path / "f.json").read_text())
    assert {point["mechanism"] for point in facts["points"]} == {"graph:k=2", "laplace"}
    assert {point["prior"] for point in facts["points"]} == {"text", "uniform"}
    for point in facts["points"]:
        assert point["adversary"] == pytest.approx(0.3, rel=0.1)
        assert set(point["shares"]) == {"TREC-6"}
    for prior in ("text", "uniform"):
        assert "laplace" in (tmp_path / f"f-{prior}.svg").read_text()
    code, _, err = run(capsys, *asked)  # one run writes its output anew after each mechanism, but not the next
    assert code == 2
    assert "f.json" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--level", "1.5"), "--level"),
        (("--prior", "psychic"), "--prior"),
        (("--select", "spans"), "--select"),
        (("--task", "trek"), "trek"),
        (("--mechanism", "grph"), "grph"),
        (("--figure", "f.gif"), ".png or .svg"),
    ],
)
def test_refusals(arguments: tuple[str, ...], told: str, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space = ("--space", str(data / "topics.txt"))
    code, _, err = run(capsys, "--data", str(data), "--task", "trec6", *space, *arguments)
    assert code == 2
    assert told in err
    assert err.count("\n") == 1
