"""The commands calibrate, geometry and match, as people run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import make_space
from wordveil.cli import main


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    space = make_space(120, 5, seed=51)
    path = tmp_path_factory.mktemp("space") / "vectors.txt"
    lines = [
        f"{word} {' '.join(f'{value:.5f}' for value in row)}"
        for word, row in zip(space.vocabulary, space.matrix, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def here(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(map(str, arguments)))
    out, err = capfd.readouterr()
    return int(caught.value.code or 0), out, err


def test_calibrate_prints_a_table_and_advice(capfd: pytest.CaptureFixture[str], vectors: str) -> None:
    code, out, err = here(capfd, "calibrate", "--space", vectors, "--points", "4")
    assert (code, err) == (0, "")
    code, told, _ = here(capfd, "calibrate", "--space", vectors, "--points", "4", "--json")
    facts = json.loads(told)
    assert f"{facts['recommended_epsilon']:g}" in out
    assert all(sentence in out for sentence in facts["advice"])


def test_calibrate_gives_json_and_files(capfd: pytest.CaptureFixture[str], vectors: str, tmp_path: Path) -> None:
    arguments = ("calibrate", "--space", vectors, "-e", "1", "-e", "2.5", "--stays", "0.4", "--alternatives", "20")
    files = ("--html", tmp_path / "r.html", "--output", tmp_path / "c.json", "--figures", tmp_path / "f.svg")
    code, out, err = here(capfd, *arguments, *files, "--json", "--quiet", "--draws", "100")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts == json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    assert [one["target"] for one in facts["targets"]] == ["stays", "alternatives"]
    at = next(one for one in facts["measurements"] if one["epsilon"] == facts["recommended_epsilon"])
    assert at["stays"]["worst"] <= 0.4
    assert at["distinct"]["worst"] >= 20
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["c.json", "f-averages.svg", "f-histograms.svg", "f-panels.svg", "r.html"]
    compared = ("--compare", tmp_path / "c.json", "--figures", tmp_path / "g.png")
    code, _, err = here(capfd, "calibrate", "--space", vectors, "-m", "ring", "-e", "0.5", *compared)
    assert (code, err) == (0, "")
    assert (tmp_path / "g-averages.png").stat().st_size > 5000


def test_calibrate_noise_and_a_target(capfd: pytest.CaptureFixture[str], vectors: str) -> None:
    code, out, err = here(
        capfd, "calibrate", "--space", vectors, "-m", "laplace", "--adversary", "0.3", "--points", "3", "--json",
        "--words", "50", "--draws", "100",
    )  # fmt: skip
    assert code == 0
    assert all(line.startswith("wordveil: calibrating") for line in err.splitlines())
    facts = json.loads(out)
    assert not facts["exact"]
    at = next(one for one in facts["measurements"] if one["epsilon"] == facts["recommended_epsilon"])
    assert at["adversary"]["uniform"]["high"] <= 0.33
    assert at["stays"]["words"] == 50


def test_calibrate_attacks_texts_of_ones_own(capfd: pytest.CaptureFixture[str], vectors: str, tmp_path: Path) -> None:
    words = [line.split()[0] for line in Path(vectors).read_text(encoding="utf-8").splitlines()]
    (tmp_path / "own.csv").write_text(
        "id,text\n" + "".join(f"{i},{' '.join(words[i : i + 6])}\n" for i in range(60)), encoding="utf-8"
    )
    own = ("calibrate", tmp_path / "own.csv", "--column", "text", "--select", "all", "--reader", "population")
    code, out, err = here(capfd, *own, "--space", vectors, "--attacker", "0.2", "-e", "1", "-e", "6", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    by_epsilon = {one["epsilon"]: one for one in facts["measurements"]}
    theirs = [[who["value"] for who in one["attackers"] if who["on"] == "your texts"] for one in by_epsilon.values()]
    assert all(len(one) == 1 for one in theirs), "at every ε that was asked for, and at the recommended one"
    own_attackers = [who for one in by_epsilon.values() for who in one["attackers"] if who["on"] == "your texts"]
    assert not any(who["uses_context"] for who in own_attackers)  # a population reader has none
    assert by_epsilon[6.0]["strongest"]["value"] > by_epsilon[1.0]["strongest"]["value"]
    at = by_epsilon[facts["recommended_epsilon"]]
    assert max(who["high"] for who in at["attackers"]) <= 0.2
    code, told, _ = here(capfd, *own, "--space", vectors, "-e", "2")
    assert code == 0
    assert "your texts" in told


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--column", "text"), "--column"),
        (("TEXTS", "--column", "none"), "none"),
        (("TEXTS", "--column", "text", "--select", "spans"), "--select"),
        (("TEXTS", "--column", "text", "--reader", "tea-leaves", "-e", "1"), "reader"),
        (("--attacker", "1.5"), "probability"),
        (("/nowhere/own.csv", "--column", "text"), "/nowhere/own.csv"),
    ],
)
def test_calibrate_refuses_texts_it_cannot_attack(
    capfd: pytest.CaptureFixture[str], vectors: str, tmp_path: Path, arguments: tuple[str, ...], named: str
) -> None:
    (tmp_path / "own.csv").write_text("id,text\n1,hello\n", encoding="utf-8")
    given = [str(tmp_path / "own.csv") if one == "TEXTS" else one for one in arguments]
    code, out, err = here(capfd, "calibrate", *given, "--space", vectors)
    assert (code, out) == (2, "")
    assert err.startswith("wordveil: ")
    assert named in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--epsilon", "0"), "--epsilon"),
        (("--stays", "1.5"), "probability"),
        (("--share", "2", "--stays", "0.5"), "share"),
        (("--words", "none"), "--words"),
        (("--alternatives", "5000"), "--draws"),
        (("--figures", "x.pdf"), ".png"),
        (("--html", "/nowhere/x.html"), "/nowhere/x.html"),
        (("--compare", "/nowhere/x.json"), "/nowhere/x.json"),
        (("--mechanism", "magic"), "'magic'"),
        (("--option", "colour=red"), "colour"),
        (("--word", "unheardof", "-e", "1"), "word"),
        (("--eta", "3"), "eta"),
    ],
)
def test_calibrate_refuses_in_one_line_that_names_what_to_change(
    capfd: pytest.CaptureFixture[str], vectors: str, arguments: tuple[str, ...], named: str
) -> None:
    code, out, err = here(capfd, "calibrate", "--space", vectors, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("wordveil: ")
    assert named in err
    assert err.count("\n") == 1


def test_geometry(capfd: pytest.CaptureFixture[str], vectors: str, tmp_path: Path) -> None:
    code, out, err = here(capfd, "geometry", vectors, "--k", "2", "--k", "4", "--figure", tmp_path / "g.png", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert list(facts["similar_within_hops"]) == ["2", "4"]
    assert [row["neighbour"] for row in facts["distance_to_neighbour"]] == [1, 5, 10, 20, 50, 100]
    assert {path.name for path in tmp_path.iterdir()} == {"g.png", "g-growth.png"}
    code, out, err = here(capfd, "geometry", vectors)
    assert code == 0
    assert len(out.splitlines()) > 6


def test_match(capfd: pytest.CaptureFixture[str], vectors: str) -> None:
    arguments = ("match", "--space", vectors, "-m", "graph", "-e", "2", "-m", "graph", "-O", "2:k=5", "-m", "laplace")
    code, out, err = here(capfd, *arguments, "--by", "mean", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["matched"][0]["options"]["k"] == 5
    for one in facts["matched"]:
        assert one["stays_mean"] == pytest.approx(facts["known"]["stays_mean"], rel=0.05)
    code, out, err = here(capfd, *arguments, "--by", "adversary")
    assert code == 0
    assert "adversary" in out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("-m", "graph", "-e", "1"), "--mechanism"),
        (("-m", "graph", "-m", "ring"), "--epsilon"),
        (("-m", "graph", "-e", "1", "-m", "ring", "--by", "colour"), "--by"),
        (("-m", "graph", "-e", "1", "-m", "ring", "-O", "k=5"), "2:k=5"),
        (("-m", "graph", "-e", "1", "-m", "ring", "-O", "3:k=5"), "2:k=5"),
        (("-m", "graph", "-e", "1", "-m", "ring", "-s", "a", "-s", "b", "-s", "c"), "--space"),
    ],
)
def test_match_refuses_in_one_line_that_names_what_to_change(
    capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], named: str
) -> None:
    code, out, err = here(capfd, "match", *arguments)
    assert (code, out) == (2, "")
    assert named in err
    assert err.count("\n") == 1


def test_the_default_mechanism_on_the_bundled_space_as_a_process() -> None:
    command = [sys.executable, "-c", "from wordveil.cli import main; main()", "match"]
    arguments = ["-m", "graph", "-e", "6", "-m", "ring", "--by", "mean", "--words", "200", "--json"]
    done = subprocess.run([*command, *arguments], capture_output=True, timeout=120, check=True)
    facts = json.loads(done.stdout)
    assert done.stderr == b""
    assert np.isclose(facts["known"]["stays_mean"], 0.157, atol=0.02)
    assert np.isclose(facts["matched"][0]["stays_mean"], facts["known"]["stays_mean"], rtol=0.01)
