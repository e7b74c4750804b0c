"""Veiling the columns of a DataFrame."""

from __future__ import annotations

import hashlib
import pickle
import secrets
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from wordveil.errors import InputError, OptionError
from wordveil.io import Tally, missing_promise, report_of
from wordveil.spark.sending import send_space
from wordveil.spark.store import write_once
from wordveil.spark.tasks import TALLIED, Recipe, tally_of, veil_batches
from wordveil.text import Once, Veil, told_before

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["check_columns", "privatize"]

#: Options of `Veil` that `privatize` passes on.
_OF_VEIL = (
    "words", "language", "stop_words", "identifiers", "numbered", "numbers", "numbers_epsilon", "date_order", "markup",
    "block",
)  # fmt: skip
_SECRET_BYTES = 32
_FOLLOWS = (
    "Draws follow from a secret of the job by a keyed hash (BLAKE2b), so that a repeated task draws the same. The "
    "promise is for attackers who cannot break the hash and do not have the secret, which the driver and the tasks "
    "hold in memory."
)
_ORDER = (
    "The number of records is released, and roughly where in the input each of them was. The size of each file shows "
    "how long its texts were together."
)
_OTHERS = "All other columns, and which values are null, are released as they are."


def privatize(
    frame: DataFrame,
    columns: Sequence[str],
    *,
    epsilon: float,
    store: str,
    mechanism: str = "graph",
    space: str = "glove-50k",
    normalise: bool = False,
    options: Mapping[str, Any] | None = None,
    select: str = "content",
    oov: str = "replace",
    case: str = "sentence",
    once: str | Once | None = "record",
    person: str | None = None,
    seed: int | None = None,
    unproven: bool = False,
    resume: bool = False,
    source: object = None,
    tell: Callable[[str], object] = warnings.warn,
    report: Callable[[dict[str, Any]], object] | None = None,
    **how: Any,
) -> DataFrame:
    """Veil some columns of a DataFrame. The others stay as they are.

    Parameters
    ----------
    frame : DataFrame
        The data.
    columns : sequence of str
        The columns to veil; they must hold strings. A null stays null.
    epsilon : float
        The privacy loss per unit of the mechanism's distance.
    store : str
        A folder for the veiled data as Parquet, which every machine must reach. A complete one is refused unless you
        `resume`. What a stopped job left there is deleted first.
    mechanism : str
        The name of the mechanism.
    space : str
        The name of a bundled space, or the path of an embedding that the driver can open and sends to the executors.
    normalise : bool
        Scale every vector of the space to length 1.
    options : mapping, optional
        Options of the mechanism.
    select, oov, case : str
        As in `Veil`, but without the selections ``spans`` and ``rare``.
    once : {"record", "person", "file"}, Once or None
        As in `Veil`: draw equal words of a row, of a person's rows or of all rows once. An `Once` object shares its
        draws with other calls that get the same object.
    person : str, optional
        For ``once="person"``: the column that says whose a row is. A row without a value counts as a person of its own.
    seed : int, optional
        Makes the draws reproducible for rows in the same partitions and order, for experiments. It voids the
        guarantee.
    unproven : bool
        Allow a mechanism that does not protect every word.
    resume : bool
        If the store is complete, return it and draw nothing. It must have been made with the same settings, from
        columns of the same types. It is up to you that the rows are the same.
    source : plain value, optional
        Identifies the rows, such as a version of their table, so that `resume` compares that, too.
    tell : callable
        Called with a sentence about everything that is not guaranteed or protects little. By default, it becomes a
        warning.
    report : callable, optional
        Called with the privacy report when the store is complete, unless it was complete before. The counts are exact,
        so keep it with the data.
    **how
        Further arguments of `Veil`: `words`, `language`, `stop_words`, `identifiers`, `numbered`, `numbers`,
        `numbers_epsilon`, `date_order`, `markup` and `block`. Lists of words are sent to the tasks.
    """
    if frame.isStreaming:
        raise OptionError("a streaming DataFrame is veiled with `privatize_stream`.")
    if select in ("spans", "rare"):
        raise OptionError("on Spark, `select` must be all, content, marked or words.")
    for name in how:
        if name not in _OF_VEIL:
            raise OptionError(f"unknown option {name!r} on Spark; choose among {', '.join(_OF_VEIL)}.")
    check_columns(frame, columns, of_strings=True)
    drawn = Once(once, seed=seed) if isinstance(once, str) else once
    if (drawn is not None and drawn.scope == "person") != (person is not None):
        raise OptionError(
            "once='person' needs `person`, the column that says who each row belongs to, and the other way round."
        )
    check_columns(frame, [] if person is None else [person])
    blocked = how.pop("block", None)
    recipe = Recipe(
        mechanism, epsilon, space, tuple(sorted((options or {}).items())),
        None if blocked is None else tuple(blocked), normalise, drawn,
        {"select": select, "oov": oov, "case": case, "unproven": unproven, **how}, _secret(seed),
    )  # fmt: skip
    veil = recipe.veil(seed)  # also reports mistakes here and not in a task
    before = told_before(veil)
    for sentence in filter(None, (missing_promise(veil), *before)):
        tell(sentence)
    started = time.perf_counter()
    written, tally = _write(frame, columns, person, veil, recipe, store, source, resume)
    if tally is None:
        return written
    tally.seconds = time.perf_counter() - started
    released = [_FOLLOWS, _ORDER, *([_OTHERS] if set(frame.columns) - set(columns) else [])]
    job = {"records": tally.records, "columns": list(columns), "person": person, "engine": "spark"}
    facts = report_of(veil, tally, released, job)
    for sentence in facts["warnings"]:
        if sentence not in before:
            tell(sentence)
    if report is not None:
        report(facts)
    return written


def _write(
    frame: DataFrame,
    columns: Sequence[str],
    person: str | None,
    veil: Veil,
    recipe: Recipe,
    store: str,
    source: object,
    resume: bool,
) -> tuple[DataFrame, Tally | None]:
    """Write the veiled rows once. Return them with what was counted, or with None if they were there already."""
    from pyspark.sql import Observation, functions, types  # noqa: PLC0415 - an extra

    counted = "wordveil_counted"
    while counted in frame.columns:
        counted += "_"
    # Spark counts observations once for each task of the last stage, however many attempts there were.
    seen = Observation()

    def make() -> DataFrame:
        sent = replace(recipe, space=send_space(frame.sparkSession, veil.mechanism, str(recipe.space)))
        packed = pickle.dumps(sent)
        places = [frame.columns.index(column) for column in columns]
        whose = None if person is None else frame.columns.index(person)

        def veiled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return veil_batches(batches, packed, places, whose, counted)

        more = types.StructField(counted, types.ArrayType(types.LongType()))
        schema = types.StructType([*_bare_schema(frame.schema, columns).fields, more])
        numbers = [functions.get(functions.col(counted), place) for place in range(len(TALLIED))]
        sums = [functions.sum(number).alias(name) for number, name in zip(numbers[:-1], TALLIED, strict=False)]
        worst = functions.max(numbers[-1]).alias(TALLIED[-1])
        return frame.mapInArrow(veiled, schema).observe(seen, *sums, worst).drop(counted)

    work = ["privatize", veil.fingerprint, list(columns), person, frame.schema.jsonValue(), source]
    written, is_new = write_once(frame.sparkSession, store, work, make, resume=resume)
    if not is_new:
        return written, None
    found = seen.get
    return written, tally_of([found.get(name) for name in TALLIED])


def _secret(seed: int | None) -> bytes:
    if seed is None:
        return secrets.token_bytes(_SECRET_BYTES)
    return hashlib.blake2b(str(seed).encode(), digest_size=_SECRET_BYTES, person=b"wordveil spark").digest()


def _bare_schema(schema: Any, columns: Sequence[str]) -> Any:
    """Return the schema without the metadata of the veiled columns, which may list their old values."""
    from pyspark.sql import types  # noqa: PLC0415 - an extra

    return types.StructType(
        [
            types.StructField(field.name, field.dataType, field.nullable) if field.name in columns else field
            for field in schema.fields
        ]
    )


def check_columns(frame: DataFrame, columns: Sequence[str], *, of_strings: bool = False) -> None:
    """Refuse missing columns, and columns without strings if they must hold strings."""
    kinds = dict(frame.dtypes)
    for column in columns:
        if column not in kinds:
            raise InputError(f"there is no column {column!r}; check the names of the columns.")
        if of_strings and kinds[column] != "string":
            raise InputError(f"the column {column!r} does not hold strings.")
    if of_strings and not columns:
        raise OptionError("`columns` must name at least one column.")
