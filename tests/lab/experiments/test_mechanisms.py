"""Every mechanism takes part, on any number of processes, and the tables say what was found."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

import wordveil
from wordveil._mechanisms import MECHANISMS
from wordveil.lab.experiments import mechanisms
from wordveil.lab.experiments.comparison import compare
from wordveil.lab.experiments.contenders import entrant, everyone
from wordveil.lab.experiments.registry import run_experiment
from wordveil.lab.experiments.result import Setting
from wordveil.lab.tasks import AveragedVectors, Reader, load_task
from wordveil.spaces import EuclideanSpace, GraphSpace


def test_every_mechanism_of_the_registry_takes_part(topics: EuclideanSpace) -> None:
    ball = wordveil.load_space("wordnet-poincare")
    labels = [[one.label for one in everyone(space)] for space in (topics, ball, GraphSpace.of(topics, 3))]
    assert {label.partition(":")[0] for label in chain(*labels)} == set(MECHANISMS)
    assert all(len(set(some)) == len(some) for some in labels)
    for one in everyone(topics):
        made = one.make(5.0)
        assert one.label.startswith(made.name)
        for told in filter(None, one.label.partition(":")[2].split(",")):
            option, _, value = told.partition("=")
            assert str(made.options()[option]) == value


def test_the_figures_do_not_depend_on_how_many_processes(data: Path, topics: EuclideanSpace) -> None:
    contenders = [entrant(name, name, {}, topics) for name in ("laplace", "graph", "ring")]
    tasks = [load_task("trec6", data)]
    kept: list[int] = []
    found = [
        compare(
            contenders,
            tasks,
            AveragedVectors(Reader(topics)),
            [0.2],
            repeats=1,
            draws=5000,
            workers=workers,
            keep=lambda so_far: kept.append(len(so_far.points)),
        )
        for workers in (1, 2)
    ]
    assert found[0].to_dict() == found[1].to_dict()
    assert [point.label for point in found[1].points] == ["laplace", "graph", "ring"]
    assert kept == [1, 2, 3, 1, 2, 3]


def test_the_tables_name_who_knows_what(data: Path, topics: EuclideanSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanisms, "load_space", lambda _: topics)
    result, facts = run_experiment("mechanisms", Setting(data, quick=True))
    informed, ignorant = result.tables
    assert "knows how often" in informed.title
    assert "equally likely" in ignorant.title
    for table in (informed, ignorant):
        assert [row[0] for row in table.rows][:2] == ["graph", "graph:first=1"]
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert set(result.figures) == {"text", "uniform"}
    assert not facts["cuda"]
