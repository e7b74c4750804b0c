"""DataFrames on the cluster: what is veiled, once, with which options, and what is said of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scipy import stats

from tests.conftest import ALPHA
from wordveil import spark as engine
from wordveil.errors import FileError, OptionError, UnprovenError, WordveilError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORDS = ["ship", "harbour", "letter", "music", "doctor", "garden", "winter", "bridge", "market", "river"]


def frame(spark: SparkSession, rows: int = 400) -> Any:
    data = [
        (f"user{n}", None if n % 50 == 7 else f"The {WORDS[n % 10]} was near the {WORDS[n % 7]}.", n)
        for n in range(rows)
    ]
    return spark.createDataFrame(data, "user string, text string, number int").repartition(4)


def test_columns_are_veiled_once(session: SparkSession, tmp_path: Path) -> None:
    data = frame(session)
    veiled = engine.privatize(data, ["text"], epsilon=3.0, store=str(tmp_path / "veiled"))
    assert veiled.columns == data.columns
    first = {row.number: row for row in veiled.collect()}
    assert {row.number: row for row in veiled.collect()} == first  # a second action draws nothing
    before = {row.number: row for row in data.collect()}
    assert set(first) == set(before)
    assert all(first[n].user == before[n].user for n in first)
    assert all((first[n].text is None) == (before[n].text is None) for n in first)
    texts = [(first[n].text, before[n].text) for n in first if before[n].text is not None]
    assert all(after.startswith("The ") and " was near the " in after for after, _ in texts)
    assert sum(after != text for after, text in texts) > 100
    assert len({first[n].text for n in range(3, 400, 70)}) > 1  # equal texts are drawn apart
    with pytest.raises(FileError):
        engine.privatize(data, ["text"], epsilon=3.0, store=str(tmp_path / "veiled"))


def test_a_shuffle_keeps_the_rows_and_drops_the_users(session: SparkSession, tmp_path: Path) -> None:
    data = frame(session)
    out = engine.shuffle(data, store=str(tmp_path / "keys"), drop=["user"])
    assert out.columns == ["text", "number"]
    numbers = [row.number for row in out.collect()]
    assert sorted(numbers) == list(range(400))
    assert abs(stats.spearmanr(numbers, range(400)).statistic) < 0.25
    assert [row.number for row in out.collect()] == numbers


def test_a_sample_has_its_size(session: SparkSession, tmp_path: Path) -> None:
    out = engine.subsample(frame(session), 0.1, store=str(tmp_path / "keys"), drop=["user"])
    assert out.count() == 40
    assert len({row.number for row in out.collect()}) == 40


def test_a_threshold_drops_the_rare(session: SparkSession, tmp_path: Path) -> None:
    data = session.createDataFrame([("often",)] * 300 + [("seldom",)] * 5, "word string").repartition(3)
    out = Counter(row.word for row in engine.k_threshold(data, ["word"], 20, 0.5, store=str(tmp_path / "s")).collect())
    assert set(out) == {"often"}
    assert stats.binomtest(out["often"], 300, 0.5).pvalue > ALPHA


def test_mistakes_are_told_before_anything_runs(session: SparkSession, tmp_path: Path) -> None:
    data, store = frame(session, 5), str(tmp_path / "never")
    mistakes: list[Callable[[], Any]] = [
        lambda: engine.privatize(data, ["nothing"], epsilon=3.0, store=store),
        lambda: engine.privatize(data, ["number"], epsilon=3.0, store=store),
        lambda: engine.privatize(data, [], epsilon=3.0, store=store),
        lambda: engine.privatize(data, ["text"], epsilon=-3.0, store=store),
        lambda: engine.privatize(data, ["text"], epsilon=3.0, store=store, mechanism="magic"),
        lambda: engine.privatize(data, ["text"], epsilon=3.0, store=store, select="spans"),
        lambda: engine.privatize(data, ["text"], epsilon=3.0, store=store, select="rare"),
        lambda: engine.subsample(data, 0.0, store=store),
        lambda: engine.shuffle(data, store=store, drop=["nothing"]),
        lambda: engine.k_threshold(data, ["text"], 0, 0.5, store=store),
    ]
    for wrong in mistakes:
        with pytest.raises(WordveilError):
            wrong()
    assert not Path(store).exists()


def test_what_is_not_promised_is_said(session: SparkSession, toy: dict[str, Any], tmp_path: Path) -> None:
    data = frame(session, 5).na.drop()
    how = {"epsilon": 3.0, "space": toy["space"]}
    with pytest.raises(UnprovenError):
        engine.privatize(data, ["text"], store=str(tmp_path / "never"), mechanism="jaccard", **how)
    assert not (tmp_path / "never").exists()
    with pytest.warns(UserWarning, match="jaccard"):
        engine.privatize(data, ["text"], store=str(tmp_path / "a"), mechanism="jaccard", unproven=True, **how)
    said: list[str] = []
    engine.privatize(data, ["text"], store=str(tmp_path / "b"), oov="keep", tell=said.append, **how)
    assert len(said) == 2  # nothing is promised; and nothing was veiled, since the space knows none of the words


def test_equal_words_are_drawn_once_in_every_task(session: SparkSession, tmp_path: Path) -> None:
    rows = [("ann" if n % 2 else "bob" if n % 4 else None, "river mill river", "mill") for n in range(40)]
    data = session.createDataFrame(rows, ["who", "text", "more"]).repartition(4)
    data = data.withMetadata("text", {"values": "river mill"}).withMetadata("who", {"about": "customers"})
    how: dict[str, Any] = {"case": "lower", "once": "person", "person": "who"}
    written = engine.privatize(data, ["text", "more"], epsilon=1.0, store=str(tmp_path / "person"), **how)
    assert [written.schema[name].metadata for name in ("text", "who")] == [{}, {"about": "customers"}]
    veiled = written.collect()
    by_person: dict[Any, set[tuple[str, str]]] = {}
    for row in veiled:
        by_person.setdefault(row["who"], set()).add((row["text"], row["more"]))
        first, second, third = row["text"].split()
        assert first == third
        assert second == row["more"]
    assert len(by_person["ann"]) == len(by_person["bob"]) == 1
    assert by_person["ann"] != by_person["bob"]
    assert len(by_person[None]) > 1
    with pytest.raises(OptionError):
        engine.privatize(data, ["text"], epsilon=1.0, once="person", store=str(tmp_path / "none"))


def test_the_options_of_a_veil_reach_every_task(session: SparkSession, tmp_path: Path) -> None:
    text = "river to ann@home.net, ann@home.net or bob@home.net on 3 May 2021"
    data = session.createDataFrame([("ann", text)] * 4, ["who", "text"]).repartition(2)

    def veiled(name: str, **how: Any) -> set[str]:
        out = engine.privatize(data, ["text"], epsilon=1.0, store=str(tmp_path / name), **how)
        return {row.text.partition(" to ")[2] for row in out.collect()}

    assert veiled("record", numbered=True, numbers="drop") == {"<EMAIL_1>, <EMAIL_1> or <EMAIL_2> on"}
    (found,) = veiled("person", numbered=True, once="person", person="who")  # the same in every task
    first, second = found.split(", ")
    assert second.startswith(first)
    assert len(first) == len("<EMAIL_123456789>")
    assert all("<DATE>" not in told for told in veiled("metric", numbers="metric", numbers_epsilon=0.01))
    listed = veiled("words", select="words", words=["river"])
    assert listed == {"<EMAIL>, <EMAIL> or <EMAIL> on 3 May 2021"}
    mistakes: list[dict[str, Any]] = [{"colour": "red"}, {"numbers": "metric"}, {"language": "xx"}]
    for wrong in mistakes:
        with pytest.raises(OptionError):
            engine.privatize(data, ["text"], epsilon=1.0, store=str(tmp_path / "never"), **wrong)
    assert not (tmp_path / "never").exists()
