"""``wordveil reproduce``: the list, one experiment into files and a page, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wordveil.cli import main
from wordveil.lab.experiments.registry import EXPERIMENTS


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["reproduce", *arguments])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--list", "--json")
    assert code == 0
    assert [one["name"] for one in json.loads(out)] == list(EXPERIMENTS)
    assert "icdm-table6" in run(capsys, "--list")[1]


def test_one_experiment_into_files_and_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "results.md"
    code, out, err = run(
        capsys, "icdm-fig3", "--quick", "--seed", "3", "-o", str(tmp_path / "results"), "--page", str(page), "-q"
    )
    assert code == 0, err
    assert "Z of the paper" in out
    facts = json.loads((tmp_path / "results/icdm-fig3.json").read_text())
    assert facts["seed"] == 3
    assert (tmp_path / "results/icdm-fig3.png").read_bytes().startswith(b"\x89PNG")
    assert "](results/icdm-fig3.png)" in page.read_text()
    before = page.read_text()
    page.unlink()
    assert run(capsys, "-o", str(tmp_path / "results"), "--page", str(page))[0] == 0
    assert page.read_text() == before


def test_json_alone_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "icdm-fig3", "--quick", "--json", "-q")
    assert code == 0
    assert json.loads(out)["name"] == "icdm-fig3"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "--list"),
        (("fig99",), "fig99"),
        (("icdm-table6",), "--data"),
        (("mechanisms", "--data", "nowhere", "--workers", "100000"), "workers"),
        (("icdm-fig3", "--page", "results.md"), "--output"),
        (("icdm-fig3", "--rows", "100"), "rows"),
        (("tasks", "--data", "nowhere", "--level", "0.2"), "levels"),
        (("mechanisms", "--data", "nowhere", "--level", "2"), "probability"),
        (("reading", "--data", "tests", "--parts", "nowhere/parts.jsonl"), "nowhere"),
        (("icdm-fig3", "-o", ".", "--page", "nowhere/at/all.md"), "nowhere"),
    ],
)
def test_refusals(arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert told in err
    assert err.count("\n") == 1
