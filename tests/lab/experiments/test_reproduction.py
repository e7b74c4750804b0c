"""Experiments: each can be named, gives tables, and its section finds its place on the page."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from wordveil.lab.experiments.result import Result, Setting, Table, written
from wordveil.lab.experiments.results import ResultFolder
from wordveil.lab.experiments.statistics import projected

from wordveil.canvas import new_figure
from wordveil.errors import FileError, OptionError
from wordveil.lab.experiments.page import write_page
from wordveil.lab.experiments.registry import EXPERIMENTS, run_experiment
from wordveil.spaces import EuclideanSpace


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_a_file_that_runs_it(name: str) -> None:
    if name.startswith("wsdm-table"):
        pytest.importorskip("torch")
    assert callable(importlib.import_module(EXPERIMENTS[name].module).run)
    assert EXPERIMENTS[name].paper


def test_the_density_and_its_samplers() -> None:
    result, facts = run_experiment("icdm-fig3", Setting(quick=True))
    for row in facts["facts"]["rows"]:
        assert row["our_z"] == pytest.approx(row["paper_z"], rel=1e-6)
        assert row["exact"] == pytest.approx(row["mean"], rel=0.05)
    assert abs(facts["facts"]["rows"][0]["metropolis"] - facts["facts"]["rows"][0]["mean"]) > 0.05
    assert facts["quick"]
    assert facts["seconds"] > 0
    assert result.figures[""].axes[0].lines


def test_lone_words_are_released_bare_by_nadp() -> None:
    _, facts = run_experiment("nadp-table1", Setting(quick=True))
    assert facts["facts"]["words_without_noise"] > 0.5
    shown = {row["word"]: row for row in facts["facts"]["rows"]}
    assert shown["police"]["nadp"][0] == "police"


def test_general_words_lie_inside() -> None:
    _, facts = run_experiment("icdm-fig4", Setting(quick=True))
    assert facts["facts"]["upper_nearer"] > 0.8


def test_what_is_missing_is_said() -> None:
    with pytest.raises(OptionError):
        run_experiment("icdm-fig99", Setting())
    with pytest.raises(OptionError):
        run_experiment("icdm-table6", Setting())
    with pytest.raises(OptionError):
        _ = Setting().data


def test_a_projection_keeps_the_largest_directions() -> None:
    generator = np.random.default_rng(0)
    flat = generator.normal(size=(200, 2)) @ generator.normal(size=(2, 6)) * 10
    from wordveil.spaces import Vocabulary

    space = EuclideanSpace("flat", Vocabulary([f"w{number}" for number in range(200)]), flat)
    found = projected(space, 2)
    assert found.dimension == 2
    ids = np.arange(20)
    assert np.allclose(found.distances(ids), space.distances(ids), atol=1e-3)


def kept(folder: ResultFolder, name: str, told: str, *, quick: bool = True, replace: bool = False) -> bool:
    table = Table("t", ("a", "b"), [(1, None), ("x|y", 0.12345)])
    facts = {
        "name": name, "title": "T", "paper": "P", "seed": 0, "quick": quick, "cuda": False, "seconds": 1.0,
        "changed": "", "reading": told, "tables": [table.to_dict()], "figures": [""], "facts": {},
    }  # fmt: skip
    figure = new_figure(1.0, 1.0)
    return folder.keep(Result([table], told, figures={"": figure}), facts, replace=replace)


def test_the_page_has_the_order_of_the_papers_and_the_newest_runs(tmp_path: Path) -> None:
    page, folder = tmp_path / "results.md", ResultFolder(tmp_path / "results")
    for name, told in (("wsdm-fig1", "second"), ("icdm-fig3", "first"), ("wsdm-fig1", "newer")):
        assert kept(folder, name, told)
    write_page(page, folder)
    text = page.read_text()
    assert text.index("first") < text.index("newer")
    assert "second" not in text
    assert text.count("## wsdm-fig1") == 1
    assert text.startswith("# Results")
    assert "| x\\|y | 0.123 |" in text
    assert "](results/icdm-fig3.png)" in text
    assert "--quick" in text
    assert "Not run: icdm-fig4," in text


def test_a_quick_run_leaves_a_full_one_unless_told(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path)
    assert kept(folder, "icdm-fig3", "full", quick=False)
    picture = folder.picture("icdm-fig3", "").stat().st_mtime_ns
    assert not kept(folder, "icdm-fig3", "quick")
    assert folder.found()["icdm-fig3"]["reading"] == "full"
    assert folder.picture("icdm-fig3", "").stat().st_mtime_ns == picture
    assert kept(folder, "icdm-fig3", "fuller", quick=False)
    assert kept(folder, "icdm-fig3", "quick", replace=True)
    assert folder.found()["icdm-fig3"]["reading"] == "quick"


@pytest.mark.parametrize("content", ["{", "[]", '{"name": "icdm-fig4", "quick": true}', '{"name": "icdm-fig3"}'])
def test_a_file_that_no_experiment_wrote_is_told(content: str, tmp_path: Path) -> None:
    (tmp_path / "icdm-fig3.json").write_text(content)
    with pytest.raises(FileError):
        ResultFolder(tmp_path).found()


@pytest.mark.parametrize(("cell", "shown"), [(None, "–"), (12345.6, "12,346"), (0.5, "0.5"), (7, "7"), ("a", "a")])
def test_cells(cell: str | float | int | None, shown: str) -> None:
    assert written(cell) == shown
