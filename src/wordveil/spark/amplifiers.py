"""Amplifiers of a veiled DataFrame: random order, a random share of the rows, or only values that many rows share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from wordveil.lac.bounds import check_rate, check_threshold, sample_size
from wordveil.noise import Entropy
from wordveil.spark.frames import check_columns
from wordveil.spark.store import write_once

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["k_threshold", "shuffle", "subsample"]

_KEYS = ("wordveil_key_1", "wordveil_key_2")


def shuffle(frame: DataFrame, *, store: str, drop: Sequence[str] = ()) -> DataFrame:
    """Return the rows in a uniformly random order, without the columns that identify users.

    Parameters
    ----------
    frame : DataFrame
        Veiled data.
    store : str
        A folder that does not exist yet (what a stopped job left there is deleted first), for the rows with their
        random sort keys. It is the shuffler's memory and still shows the old order, so nobody else may read it.
    drop : sequence of str
        The columns that link a row to a user.
    """
    return _keyed(frame, store, drop).orderBy(*_KEYS).drop(*_KEYS)


def subsample(frame: DataFrame, rate: float, *, store: str, drop: Sequence[str] = ()) -> DataFrame:
    """Return a random share of the rows, in random order, without the columns that identify users.

    Parameters
    ----------
    frame : DataFrame
        Veiled data.
    rate : float
        The share. The sample is that share of all rows, rounded.
    store : str
        As for `shuffle`.
    drop : sequence of str
        The columns that link a row to a user.
    """
    check_rate(rate)
    keyed = _keyed(frame, store, drop)
    return keyed.orderBy(*_KEYS).limit(sample_size(rate, keyed.count())).drop(*_KEYS)


def k_threshold(frame: DataFrame, columns: Sequence[str], k: int, rate: float, *, store: str) -> DataFrame:
    """Take each row with probability β, then return the values of some columns that at least k of these rows share.

    Parameters
    ----------
    frame : DataFrame
        Veiled data.
    columns : sequence of str
        The columns to compare and return. The others are left out.
    k : int
        How many sampled rows must share the values.
    rate : float
        β, the probability of taking a row.
    store : str
        As for `shuffle`, but for the sample.
    """
    check_threshold(k, rate)
    check_columns(frame, columns)

    def sampled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        entropy = Entropy()
        for batch in batches:
            yield batch.filter(pa.array(entropy.uniform(batch.num_rows) < rate))

    from pyspark.sql import functions  # noqa: PLC0415 - an extra

    chosen = _once(frame.select(*columns), sampled, store)
    count = "wordveil_count"
    often = chosen.groupBy(*columns).agg(functions.count("*").alias(count)).where(functions.col(count) >= k)
    repeated = often.withColumn(count, functions.expr(f"explode(array_repeat(1, cast({count} AS INT)))"))
    return repeated.orderBy(*columns).drop(count)


def _keyed(frame: DataFrame, store: str, drop: Sequence[str]) -> DataFrame:
    from pyspark.sql import types  # noqa: PLC0415 - an extra

    check_columns(frame, drop)
    bare = frame.drop(*drop)
    schema = types.StructType([*bare.schema.fields, *(types.StructField(key, types.LongType()) for key in _KEYS)])

    def keyed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        entropy = Entropy()
        for batch in batches:
            # 128 bits a row, so that two rows practically never tie
            keys = [pa.array(entropy.generator.integers(-(2**63), 2**63, batch.num_rows)) for _ in _KEYS]
            yield pa.RecordBatch.from_arrays([*batch.columns, *keys], names=[*batch.schema.names, *_KEYS])

    return _once(bare, keyed, store, schema)


def _once(
    frame: DataFrame,
    work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    store: str,
    schema: Any = None,
) -> DataFrame:
    """Do random work on a DataFrame, write the result once, and read it back."""
    return write_once(frame.sparkSession, store, "amplifier", lambda: frame.mapInArrow(work, schema or frame.schema))[0]
