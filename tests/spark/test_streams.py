"""A table that grows: every batch is drawn once, whatever Spark does again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from wordveil import spark as engine
from wordveil.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_each_batch_of_a_stream_is_drawn_once(
    session: SparkSession, toy: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    source, store, checkpoint, secret = (tmp_path / name for name in ("in", "out", "checkpoint", "secret"))
    source.mkdir()

    def add(name: str, *people: str) -> None:
        lines = [f'{{"who": "{person}", "text": "{" ".join(words[:12])}"}}' for person in people]
        (source / f"{name}.json").write_text("\n".join(lines) + "\n")

    def run(**more: Any) -> list[tuple[str, str]]:
        frame = session.readStream.schema("who string, text string").json(str(source))
        how: dict[str, Any] = {"once": "person", "person": "who", "secret": secret, "checkpoint": str(checkpoint)}
        query = engine.privatize_stream(
            frame, ["text"], store=str(store), trigger={"availableNow": True}, **{**toy, **how, **more}
        )
        query.awaitTermination()
        return sorted((row.who, row.text) for row in session.read.parquet(f"{store}/*").collect())

    add("one", "ann", "bob")
    first = run()
    assert [who for who, _ in first] == ["ann", "bob"]
    assert secret.stat().st_mode & 0o077 == 0
    add("two", "ann", "eve")
    second = run()
    assert second[0] == second[1] == first[0]  # a person's words are drawn once, in all batches
    # As after a crash between the store and the checkpoint: Spark does the batch again, and nothing is drawn.
    (checkpoint / "commits" / "1").unlink()
    (checkpoint / "commits" / ".1.crc").unlink(missing_ok=True)
    before = sorted(path.stat().st_mtime_ns for path in store.glob("*/*.parquet"))
    assert run() == second
    assert sorted(path.stat().st_mtime_ns for path in store.glob("*/*.parquet")) == before
    # As after a crash in the middle of a batch: what is there was never released, and goes.
    add("three", "zoe")
    third = run()
    (store / "batch-000000002" / "_SUCCESS").unlink()
    (checkpoint / "commits" / "2").unlink()
    (checkpoint / "commits" / ".2.crc").unlink(missing_ok=True)
    assert run() == third  # her draws follow from the secret
    # Another stream has other batches of the same number, which must not be taken for these.
    shutil.rmtree(checkpoint)
    from pyspark.errors import StreamingQueryException

    with pytest.raises(StreamingQueryException):
        run()


def test_streams_and_tables_are_told_apart(session: SparkSession, toy: dict[str, Any], tmp_path: Path) -> None:
    table = session.createDataFrame([("a ship",)], "text string")
    stream = session.readStream.text(str(tmp_path))
    store, checkpoint = str(tmp_path / "store"), str(tmp_path / "checkpoint")
    mistakes: list[Any] = [
        lambda: engine.privatize(stream, ["value"], store=store, **toy),
        lambda: engine.privatize_stream(table, ["text"], store=store, checkpoint=checkpoint, **toy),
        lambda: engine.privatize_stream(stream, ["value"], store=store, checkpoint=checkpoint, once="file", **toy),
        lambda: engine.privatize_stream(stream, ["value"], store=store, checkpoint=checkpoint, resume=True, **toy),
    ]
    for wrong in mistakes:
        with pytest.raises(OptionError):
            wrong()
    assert not Path(checkpoint).exists()
