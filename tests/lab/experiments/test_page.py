"""The folder of results keeps full runs, and the page is written from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wordveil.errors import FileError
from wordveil.extras import new_figure
from wordveil.lab.experiments.page import ResultFolder, write_page
from wordveil.lab.experiments.run import Result, Table, written


def kept(
    folder: ResultFolder, name: str, told: str, *, quick: bool = True, replace: bool = False, **more: object
) -> bool:
    table = Table("t", ("a", "b"), [(1, None), ("x|y", 0.12345)])
    facts = {
        "name": name, "title": "T", "paper": "P", "seed": 0, "quick": quick, "cuda": False, "seconds": 1.0,
        "changed": "", "reading": told, "tables": [table.to_dict()], "figures": [""], "facts": {}, **more,
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


def test_a_run_by_another_attacker_stands_beside_and_says_how_it_was_made(tmp_path: Path) -> None:
    page, folder = tmp_path / "results.md", ResultFolder(tmp_path)
    assert kept(folder, "mechanisms", "one word at a time", quick=False)
    ran: dict[str, Any] = {"rows": 300, "levels": [0.25], "date": "2026-11-18"}
    how = {"attacker": "context", "reader": "shipped", **ran}
    assert kept(folder, "mechanisms", "in context", quick=False, **how)
    assert kept(folder, "mechanisms", "in context, fitted", quick=False, **{**how, "reader": "context"})
    assert list(folder.found()) == ["mechanisms", "mechanisms-context", "mechanisms-shipped"]
    assert folder.picture("mechanisms-shipped", "").exists()
    write_page(page, folder)
    alone, fitted, context = page.read_text().split("\n## ")[1:]
    assert "in context, fitted" in fitted
    assert "one word at a time" in alone
    assert "--attacker" not in alone
    assert "--attacker context --reader shipped --rows 300 --level 0.25" in context
    assert "at most 300 examples" in context
    assert "2026-11-18" in context
    assert "(mechanisms-shipped.png)" in context


@pytest.mark.parametrize("content", ["{", "[]", '{"name": "icdm-fig4", "quick": true}', '{"name": "icdm-fig3"}'])
def test_a_file_that_no_experiment_wrote_is_told(content: str, tmp_path: Path) -> None:
    (tmp_path / "icdm-fig3.json").write_text(content)
    with pytest.raises(FileError):
        ResultFolder(tmp_path).found()


@pytest.mark.parametrize(("cell", "shown"), [(None, "–"), (12345.6, "12,346"), (0.5, "0.5"), (7, "7"), ("a", "a")])
def test_cells(cell: str | float | int | None, shown: str) -> None:
    assert written(cell) == shown
