"""Mechanisms at the same success: every one takes part, and a better one is seen to be better."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordveil
from wordveil._mechanisms import MECHANISMS
from wordveil.calibration import maker
from wordveil.errors import FileError
from wordveil.lab.experiments.comparison import Contender, compare, entrant, everyone
from wordveil.lab.experiments.run import Parts
from wordveil.lab.tasks import AveragedVectors, load_task
from wordveil.spaces import EuclideanSpace, GraphSpace


def test_every_mechanism_of_the_registry_takes_part(topics: EuclideanSpace) -> None:
    ball = wordveil.load_space("wordnet-poincare").restrict(np.arange(100))
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
            AveragedVectors(topics),
            [0.2],
            repeats=1,
            draws=5000,
            workers=workers,
            keep=lambda so_far: kept.append(len(so_far.points)),
        )
        for workers in (1, 2)
    ]
    told = [one.to_dict() for one in found]
    for point in [point for one in told for point in one["points"]]:
        assert point.pop("words_per_second") > 0  # no two runs are equally fast
    assert told[0] == told[1]
    assert [point.label for point in found[1].points] == ["laplace", "graph", "ring"]
    assert kept == [1, 2, 3, 1, 2, 3]


def test_a_comparison_goes_on_from_its_parts(data: Path, topics: EuclideanSpace, tmp_path: Path) -> None:
    contenders = [entrant(name, name, {}, topics) for name in ("graph", "exponential")]
    tasks, model, file = [load_task("trec6", data)], AveragedVectors(topics), tmp_path / "parts.jsonl"

    def measured(some: list[Contender], parts: Parts, level: float = 0.2) -> tuple[dict[str, Any], list[int]]:
        kept: list[int] = []
        keep = lambda so_far: kept.append(len(so_far.points))  # noqa: E731
        found = compare(some, tasks, model, [level, 0.9999], repeats=1, keep=keep, parts=parts)
        return found.to_dict(), kept

    first, kept = measured(contenders[:1], Parts(file))
    assert kept == [2]
    both, kept = measured(contenders, Parts(file))
    assert kept == [4]  # only the second was measured
    assert both["points"][:2] == first["points"]  # with the very same speed
    assert measured(contenders, Parts(file)) == (both, [])
    text = file.read_text()
    for begun in ("{", '{"of": "a', text.splitlines()[0][:-9]):  # a run that was killed while it wrote
        file.write_text(text + begun)
        assert measured(contenders, Parts(file)) == (both, [])
        assert file.read_text() == text
    for other in ("the river\n", "the river", '{"name": 1}\n', '{"name": 1}', "[1]\n", f"{text}\n\0\n"):
        file.write_text(other)
        with pytest.raises(FileError):
            measured(contenders, Parts(file))
        assert file.read_text() == other
    file.write_text(text)
    afresh, _ = measured(contenders, Parts())
    for point in chain(both["points"], afresh["points"]):
        point.pop("words_per_second")
    assert both == afresh
    assert measured(contenders[:1], Parts(file), 0.3)[1] == [2]  # another level is another comparison


def test_compare_ranks_a_useful_mechanism_above_a_useless_one(data: Path, topics: EuclideanSpace) -> None:
    """At equal success, replacing within the topic must beat replacing by anything at all."""
    tasks = [load_task("trec6", data)]
    near = Contender("near", maker("exponential", topics), topics)
    # clipped below every distance all other words are equally likely: a lottery between the word and any other
    lottery = Contender("lottery", maker("exponential", topics, clip=0.05), topics)
    floor = Contender("unreached", maker("ring", topics), topics)
    found = compare([near, lottery, floor], tasks, AveragedVectors(topics), [0.001, 0.15], repeats=2)
    points = {(point.label, point.level): point for point in found.points}
    assert points["near", 0.001].epsilon is None
    best, worst = points["near", 0.15], points["lottery", 0.15]
    for point in (best, worst):
        assert point.attacker is not None
        assert point.attacker.value == pytest.approx(0.15, rel=0.03)
    assert best.mean_share is not None
    assert worst.mean_share is not None
    assert best.mean_share > worst.mean_share + 0.1
    assert set(found.to_dict()) == {"points", "bounds", "floors", "repeats"}
    random, clean = found.bounds["TREC-6"]
    assert clean.value > 0.95
    assert random.value < 0.5
