"""``wordveil compare``: a table, a file and a picture, and refusals in a sentence."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.lab.tasks.made_data import make_data, sentence, topic_space
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


def table(path: Path, *, rows: int = 120, labels: int = 3, authors: int = 6) -> Path:
    """Write texts whose words are of the topic that their label names, a few of them without a text or a label."""
    generator = np.random.default_rng(1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "intent", "who"])
        for number in range(rows):
            topic = number % labels
            text = f"{sentence(topic, generator, 2)} {sentence(int(generator.integers(4)), generator, 3)}"
            writer.writerow([text, f"topic {topic}", f"author {number % authors}"])
        writer.writerows([["", "topic 0", "author 0"], ["qa qb", "", "author 1"], ["qa qb", "a rare one", "author 1"]])
    return path


OWN = ("--column", "body", "--label", "intent", "-m", "graph:k=2", "--level", "0.25", "--draws", "2000")


@pytest.mark.parametrize(("attacker", "told"), [("sentences", "trigrams"), ("alone", "word frequencies")])
def test_a_file_of_ones_own(
    attacker: str, told: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, space = str(table(tmp_path / "own.csv")), str(data / "topics.txt")
    asked = (source, *OWN, "--space", space, "--attacker", attacker)
    code, out, err = run(capsys, *asked, "--figure", str(tmp_path / "f.svg"))
    assert code == 0, err
    assert "120 texts with 3 labels" in err
    assert "left out: 2" in err
    assert "minutes" in err
    assert told in out
    assert "over 5 veilings" in out
    assert (tmp_path / "f.svg").exists()
    code, out, err = run(capsys, *asked, "--author", "who", "--json", "--quiet")
    assert code == 0
    assert err == ""
    facts = json.loads(out)
    assert facts["input"] == {
        "records": 123, "empty": 2, "rare_labels": 1, "texts": 120, "labels": 3, "authors": 6
    }  # fmt: skip
    (point,) = facts["points"]
    assert point["prior"] == {"sentences": "sentences", "alone": "text"}[attacker]
    assert point["adversary"] == pytest.approx(0.25, rel=0.25)
    assert point["words_per_second"] > 0
    share = point["shares"]["intent"]
    assert share["low"] < share["value"] < share["high"]
    assert share["n"] == 6
    assert point["near_loss_median"] > 0


@pytest.mark.parametrize(
    ("written", "changed", "told"),
    [
        ({}, {"--column": "text"}, "'text'"),
        ({}, {"--label": "topic"}, "'topic'"),
        ({}, {"--author": "name"}, "'name'"),
        ({}, {"--label": "body"}, "different columns"),
        ({}, {"--repeats": "3"}, "--repeats"),
        ({}, {"--task": "cr"}, "--task"),
        ({}, {"--attacker": "psychic"}, "--attacker"),
        ({"labels": 1}, {}, "labels"),
        ({"rows": 12}, {}, "labels"),
        ({"rows": 30}, {}, "30"),
        ({"authors": 2}, {"--author": "who"}, "2 authors"),
    ],
)
def test_a_file_that_will_not_do(
    written: dict[str, int],
    changed: dict[str, str],
    told: str,
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = str(table(tmp_path / "own.csv", **written))
    usual = dict(zip(OWN[::2], OWN[1::2], strict=True)) | {"--space": str(data / "topics.txt"), "--attacker": "alone"}
    code, _, err = run(capsys, source, *(word for option in (usual | changed).items() for word in option))
    assert code == 2
    assert told in err
    assert err.count("\n") == 1


def test_empty_files_and_labels_that_say_nothing(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.csv"
    space = ("--space", str(data / "topics.txt"), "--attacker", "alone")
    path.write_text("body,intent\n" + ",topic\n" * 60)
    assert "no record has" in run(capsys, str(path), *OWN, *space)[2]
    path.write_text("body,intent\n" + "".join(f"qa qb,topic {number % 2}\n" for number in range(60)))
    assert "cannot be predicted" in run(capsys, str(path), *OWN, *space)[2]
    assert run(capsys, str(path), "--data", str(data))[0] == 2
    assert run(capsys)[0] == 2
    assert run(capsys, "--data", str(data), "--label", "intent")[0] == 2
    assert run(capsys, str(path), "--column", "body")[0] == 2


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
