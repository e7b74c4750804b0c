"""Every experiment of the registry is run, tiny, on made data, and gives what its page needs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordveil._mechanisms import MECHANISMS, mechanism
from wordveil.calibration import maker, meter_for
from wordveil.errors import OptionError
from wordveil.lab.experiments.page import ResultFolder, write_page
from wordveil.lab.experiments.registry import EXPERIMENTS, run_experiment
from wordveil.lab.experiments.run import Result, Run

NEED_TORCH = ("wsdm-fig5", "wsdm-table2", "wsdm-table3")


def density_and_samplers(result: Result, facts: dict[str, Any]) -> None:
    for row in facts["rows"]:
        assert row["our_z"] == pytest.approx(row["paper_z"], rel=1e-6)
        assert row["exact"] == pytest.approx(row["mean"], rel=0.05)
    assert abs(facts["rows"][0]["metropolis"] - facts["rows"][0]["mean"]) > 0.05
    assert result.figures[""].axes[0].lines


def general_words_inside(_: Result, facts: dict[str, Any]) -> None:
    assert facts["upper_nearer"] > 0.8


def lone_words_bare(_: Result, facts: dict[str, Any]) -> None:
    assert facts["words_without_noise"] > 0.5
    shown = {row["word"]: row for row in facts["rows"]}
    assert shown["wikileaks"]["nadp"][0] == "wikileaks"


def everybody_takes_part(result: Result, facts: dict[str, Any]) -> None:
    informed, ignorant = result.tables
    assert informed.title != ignorant.title
    for table in (informed, ignorant):
        labels = [str(row[0]) for row in table.rows]
        assert labels[:2] == ["graph", "graph:first=1"]
        assert {label.partition("@")[0].partition(":")[0] for label in labels} == set(MECHANISMS)
    assert set(result.figures) == {"text", "uniform"}


def default_beside_the_former(result: Result, facts: dict[str, Any]) -> None:
    space = Run(size="tiny").glove(20_000, 8000)
    default = mechanism("graph", space, epsilon=1.0).options()
    _, held_out = result.tables
    assert f"graph, k={default['k']}, first hop {default['first']} (the default)" in [row[0] for row in held_out.rows]
    meter = meter_for(maker("graph", space, k=3, first=1.0), space)
    for table in result.tables:
        place = {name: number for number, name in enumerate(table.columns)}
        former, *others = [row for row in table.rows if row[place["ε"]] is not None]
        assert former[place["more than the first"]] is None
        assert all(row[place["more than the first"]] is not None for row in others)
        epsilon = float(former[place["ε"]] or 0.0)
        uniform = meter.laws([epsilon])[0].best_guess(np.ones(len(space))).success.value
        assert former[place["guess right, uniform prior"]] == uniform
        assert former[place["near loss, of 10"]] == f"{np.median(meter.near_loss([epsilon])[0].values):.1f}"
        assert float(str(former[place["of 1"]])) <= float(str(former[place["near loss, of 10"]]))
    assert set(facts) == {"chosen", "held_out"}


#: What else must be true of some of them.
CHECKS: dict[str, Callable[[Result, dict[str, Any]], None]] = {
    "icdm-fig3": density_and_samplers,
    "icdm-fig4": general_words_inside,
    "nadp-table1": lone_words_bare,
    "mechanisms": everybody_takes_part,
    "frontier": default_beside_the_former,
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_runs(name: str, common_data: Path, tmp_path: Path) -> None:
    if name in NEED_TORCH:
        pytest.importorskip("torch")
    told: list[float] = []
    run = Run(common_data, "tiny", seed=1, watch=lambda _, share: told.append(share))
    result, facts = run_experiment(name, run)
    assert result.reading
    assert result.tables
    for table in result.tables:
        assert table.rows, table.title
        assert {len(row) for row in table.rows} == {len(table.columns)}, table.title
    ours = [str(cell) for row in result.tables[-1].rows for cell in row if cell is not None]
    assert any(letter.isdigit() for cell in ours for letter in cell) or name == "nadp-table1"  # that one has words
    assert all(0.0 <= share <= 1.0 + 1e-9 for share in told)
    assert facts["quick"]
    if name in CHECKS:
        CHECKS[name](result, facts["facts"])
    folder = ResultFolder(tmp_path / "results")
    assert folder.keep(result, facts)
    assert json.loads((folder.path / f"{name}.json").read_text())["tables"] == facts["tables"]
    write_page(tmp_path / "results.md", folder)
    page = (tmp_path / "results.md").read_text()
    assert f"## {name}\n" in page
    assert page.count("![") == len(result.figures)


def test_what_is_missing_is_refused() -> None:
    for run, name in ((Run(), "icdm-fig99"), (Run(), "icdm-table6")):
        with pytest.raises(OptionError):
            run_experiment(name, run)
    with pytest.raises(OptionError):
        _ = Run().data
    with pytest.raises(OptionError):
        Run(size="huge")


def test_a_run_has_as_many_words_as_its_size_says() -> None:
    assert len(Run(size="full").glove(1000, 100)) == 1000
    few = Run(size="quick").glove(1000, 100, also=("hockey", "the"))
    assert len(few) == 101
    assert "hockey" in few.vocabulary.ids
    assert len(Run(size="tiny").ball()) == len(Run(size="tiny").glove()) < 1000
