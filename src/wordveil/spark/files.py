"""Veils files: text, tables and JSON lines as Spark reads them. Refuses what Spark would read wrongly."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordveil.errors import FileError, InputError, OptionError
from wordveil.extras import needs
from wordveil.io import format_named, packing_of
from wordveil.io.headers import header_of, judge
from wordveil.io.report import FIRST_LINE
from wordveil.spark.frames import privatize
from wordveil.spark.store import Folder, digests

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["privatize_files"]

_SEPARATORS = {"csv": ",", "tsv": "\t"}
_LINES = ("text", "jsonl", *_SEPARATORS)
_ROWS, _BYTES = (f"spark.sql.execution.arrow.{name}PerBatch" for name in ("maxRecords", "maxBytes"))
_BATCHES = {_ROWS: "100000", _BYTES: str(1 << 24)}
_LOOKED_AT = 200  # rows below a header
_CORRUPT = "wordveil_unreadable"
_OTHER_HEADER = "CSV header does not conform to the schema"


def privatize_files(
    source: str,
    store: str,
    columns: Sequence[str],
    form: str,
    *,
    encoding_errors: str = "strict",
    header: str = "check",
    tell: Callable[[str], object] = warnings.warn,
    report: Callable[[dict[str, Any]], object] | None = None,
    **how: Any,
) -> None:
    """Veil files with the running Spark session, or with one that ``spark-submit`` or the environment describes.

    Parameters
    ----------
    source : str
        A file or folder that every machine can read.
    store : str
        The folder for the veiled data, as for `privatize`. To resume, the files must also be the same.
    columns : sequence of str
        The columns to veil; empty for plain text.
    form : {"text", "csv", "tsv", "jsonl", "parquet"}
        The format of the source.
    encoding_errors : {"strict", "replace"}
        What to do with bytes that are not UTF-8: refuse them, or replace them by U+FFFD.
    header : {"check", "yes", "no"}
        What the first line of a table is: column names, refused if they look like a record (check); column names (yes);
        or a record (no; the columns are then called 1, 2, …).
    tell, report : callable
        As for `privatize`.
    **how
        As for `privatize`.
    """
    needs("pyspark", "spark", "Spark")
    from pyspark.sql import SparkSession, functions  # noqa: PLC0415 - an extra

    format_named(form)  # refuses unknown formats
    packed = packing_of(Path(source))
    if form not in (*_LINES, "parquet") or packed == "zstd":
        raise OptionError("Spark reads text, csv, tsv, jsonl (gzipped or not) and parquet.")
    if bool(columns) == (form == "text"):
        raise OptionError("`columns` must name the columns to veil, and none for plain text.")
    if encoding_errors not in ("strict", "replace"):
        raise OptionError(f"encoding_errors cannot be {encoding_errors!r}; choose strict or replace.")
    if header not in ("check", "yes", "no"):
        raise OptionError(f"header cannot be {header!r}; choose check, yes or no.")
    if header != "check" and form not in _SEPARATORS:
        raise OptionError(f"only csv and tsv can have `header` {header}; leave it out.")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.appName("wordveil").getOrCreate()
    files = Folder(session, source).files()
    if not files:
        raise FileError(f"there is no file {source}; check the name.")
    frame = _read(session, source, form, is_strict=encoding_errors == "strict", has_header=header != "no")
    if form in _SEPARATORS and header == "check":
        asked = [*columns, *filter(None, [how.get("person")])]
        rows = [row.asDict() for row in frame.limit(_LOOKED_AT).collect()]
        judge(source, header_of(frame.columns, rows, asked), tell)
    for column in columns or ["value"]:
        if encoding_errors == "replace" and (column, "string") in frame.dtypes:
            frame = frame.withColumn(column, functions.make_valid_utf8(functions.col(f"`{column}`")))

    def tell_all(facts: dict[str, Any]) -> None:
        facts["job"] |= {
            "files": len(files), "skipped_files": [], "formats": [form], "packing": [packed] if packed else [],
            "encoding": "utf-8" if form in _LINES else None, "encoding_errors": encoding_errors,
            "header": header if form in _SEPARATORS else None,
        }  # fmt: skip
        if form in _SEPARATORS and header != "no":
            facts["not_protected"] = [*facts["not_protected"], FIRST_LINE]
        if report is not None:
            facts["job"]["output_sha256"] = digests(session, store)
            report(facts)

    made_of = [form, encoding_errors, *([] if header != "no" else [header]), files]
    with _large_batches(session):
        privatize(frame, columns or ["value"], store=store, source=made_of, tell=tell, report=tell_all, **how)


@contextmanager
def _large_batches(session: SparkSession) -> Iterator[None]:
    """Have tasks be given batches of some megabytes, whose words are drawn together, unless somebody chose their size.

    Spark counts rows, and ten thousand long documents take too much memory, as short texts take time. Versions that
    cannot bound the bytes go on as they are.
    """
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra

    is_chosen = any(session.conf.get(name, None) is not None for name in _BATCHES)
    try:
        session.conf.get(_BYTES)  # what it is where nobody has set it
    except PySparkException:
        is_chosen = True
    if is_chosen:
        yield
        return
    for name, value in _BATCHES.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name in _BATCHES:
            session.conf.unset(name)


def _read(session: SparkSession, source: str, form: str, *, is_strict: bool, has_header: bool) -> DataFrame:
    """Read files after checking their bytes: Spark takes any bytes for text, or replaces them silently."""
    is_bad = has_long_records = False
    if form in _LINES and form != "text":  # of plain text each task looks at its own bytes, which takes far less
        is_bad, has_long_records = _look(session, source)
        if is_bad and is_strict:
            raise InputError(f"{source} holds bytes that are not UTF-8; have them replaced with `encoding_errors`.")
    if form in _SEPARATORS:
        return _read_table(session, source, _SEPARATORS[form], has_long_records=has_long_records, has_header=has_header)
    if form == "jsonl":
        return _read_json(session, source, is_bad=is_bad)
    return session.read.text(source) if form == "text" else session.read.parquet(source)


def _look(session: SparkSession, source: str) -> tuple[bool, bool]:
    """Return whether any line is not UTF-8, and whether records of a table may be longer than a line.

    If every line has an even number of quotes, every line ends outside of quotes. And readers agree on what a line is
    only if carriage returns are at the ends of lines.
    """
    from pyspark.sql import functions  # noqa: PLC0415 - an extra

    line = functions.col("value")
    quotes = functions.length(line) - functions.length(functions.replace(line, functions.lit('"')))
    is_long = (quotes % 2 != 0) | functions.rtrim(line, functions.lit("\r")).contains("\r")
    (found,) = (
        session.read.text(source, lineSep="\n")
        .agg(functions.max(~functions.is_valid_utf8(line)), functions.max(is_long))
        .collect()
    )
    return bool(found[0]), bool(found[1])


def _read_json(session: SparkSession, source: str, *, is_bad: bool) -> DataFrame:
    """Read JSON lines, and refuse broken ones: Spark would add each of them, unchanged, in a column of its own."""
    from pyspark.sql import functions  # noqa: PLC0415 - an extra

    lines: Any = source
    if is_bad:  # one bad byte would spoil its line
        valid = session.read.text(source).select(functions.make_valid_utf8("value"))
        lines = valid.rdd.map(lambda row: row[0])
    frame = session.read.json(lines, columnNameOfCorruptRecord=_CORRUPT)
    if _CORRUPT in frame.columns:
        raise InputError(f"some lines of {source} are not JSON objects; correct or remove them.")
    return frame


def _read_table(
    session: SparkSession, source: str, separator: str, *, has_long_records: bool, has_header: bool
) -> DataFrame:
    """Read a table, and refuse rows of another length: Spark would pad them or cut them off.

    All files of a folder must have the same header, because Spark matches columns by place, not by name. If a record
    may be longer than a line, one task reads a whole file; otherwise a file can be split.
    """
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - comes with pyspark, an extra
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra
    from pyspark.sql import functions, types  # noqa: PLC0415

    how = {"header": has_header, "sep": separator, "multiLine": has_long_records, "quote": '"', "escape": '"'}
    names = session.read.csv(source, **how).columns
    names = names if has_header else [str(number + 1) for number in range(len(names))]
    schema = types.StructType([types.StructField(name, types.StringType()) for name in [*names, _CORRUPT]])
    frame = session.read.csv(source, schema=schema, columnNameOfCorruptRecord=_CORRUPT, enforceSchema=False, **how)
    try:
        has_others = bool(frame.where(functions.col(_CORRUPT).isNotNull()).head(1))
    except (PySparkException, Py4JJavaError) as error:
        if _OTHER_HEADER not in str(error):
            raise
    else:
        if has_others:
            raise InputError(f"some rows of {source} have more or fewer fields than its header; correct them.")
        return frame.drop(_CORRUPT)
    raise InputError(f"the files of {source} have different headers; give them the same one, or veil them one by one.")
