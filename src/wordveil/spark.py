"""Wordveil on Spark: DataFrames in, DataFrames out.

**A record is released once.** Spark computes lazily, and again: after a failed task or a dead executor, or for a second
action on the same DataFrame. Each time it would draw anew, and two draws of one record reveal more than one. So every
function here that draws writes its result once, into a folder that you name, and returns what it reads from there.
Spark's commit protocol lets one attempt of each task into that folder and discards the others; the algorithm that waits
for the whole job (version 1) is requested explicitly. A folder that already exists is refused.

**Fresh entropy in every task.** Nothing random is sent from the driver: each task opens its own cryptographic stream.
The one exception is the secret of draws that are made once for a person or for all rows, which all tasks must share.

**The space is opened once in each worker process**, from the name or path you give, which must mean the same on every
machine. Its vectors are memory-mapped, so the processes of a machine share them.

**No promise is computed here.** A row hides only among the rows that agree with it in every other column and in
whatever its veiled texts release as it is: `wordveil.lac.bounds` wants the number of these, not of all rows.
"""

from __future__ import annotations

import os
import secrets
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from wordveil._mechanisms import Mechanism, block, blocked_words
from wordveil._mechanisms import mechanism as make_mechanism
from wordveil.errors import FileError, InputError, OptionError
from wordveil.extras import needs
from wordveil.io import format_named, missing_promise, packing_of
from wordveil.lac.bounds import check_rate, check_threshold, sample_size
from wordveil.noise import Entropy
from wordveil.spaces import load_space
from wordveil.text import Document, Once, Veil, told_before

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["k_threshold", "privatize", "privatize_files", "shuffle", "subsample"]

#: What of a veil can be chosen besides the parameters of `privatize`.
_OF_VEIL = (
    "words", "language", "stop_words", "identifiers", "numbered", "numbers", "numbers_epsilon", "date_order", "markup",
    "block",
)  # fmt: skip
_KEYS = ("wordveil_key_1", "wordveil_key_2")
_CORRUPT = "wordveil_unreadable"
_OTHER_HEADER = "CSV header does not conform to the schema"


def privatize(
    frame: DataFrame,
    columns: Sequence[str],
    *,
    epsilon: float,
    store: str,
    mechanism: str = "graph",
    space: str = "glove-50k",
    options: Mapping[str, Any] | None = None,
    select: str = "content",
    oov: str = "replace",
    case: str = "sentence",
    once: str | None = "record",
    person: str | None = None,
    unproven: bool = False,
    tell: Callable[[str], object] = warnings.warn,
    **how: Any,
) -> DataFrame:
    """Veil some columns of a DataFrame; the others stay as they are.

    Parameters
    ----------
    frame : DataFrame
        The data.
    columns : sequence of str
        The columns to veil; they must hold strings. A null stays null.
    epsilon : float
        The privacy loss per unit of the mechanism's distance.
    store : str
        A folder that does not exist yet, for the veiled data as Parquet; every machine must reach it.
    mechanism : str
        The name of the mechanism.
    space : str
        The name of a bundled space, or a path that every machine can open.
    options : mapping, optional
        Options of the mechanism.
    select, oov, case : str
        As in `Veil`, but without the selections ``spans`` and ``rare``.
    once : {"record", "person", "file"} or None
        As in `Veil`: draw equal words of a row, of the rows of a person or of all rows once. Beyond a row the draws
        follow from a secret that the driver makes and sends to the tasks, so protect the cluster as you would the data.
    person : str, optional
        For ``once="person"``: the column that says whose a row is. A row where it is null is somebody's own.
    unproven : bool
        Allow a mechanism that does not protect every word.
    tell : callable
        Called with one sentence for each thing that is not promised or protects little; by default it becomes a
        warning.
    **how
        What else a `Veil` takes: `words`, `language`, `stop_words`, `identifiers`, `numbered`, `numbers`,
        `numbers_epsilon`, `date_order`, `markup` and `block`. Lists of words are sent to the tasks.
    """
    if select in ("spans", "rare"):
        raise OptionError("on Spark, `select` must be all, content, marked or words.")
    for name in how:
        if name not in _OF_VEIL:
            raise OptionError(f"on Spark there is no option {name!r}; choose among {', '.join(_OF_VEIL)}.")
    _check_columns(frame, columns, of_strings=True)
    if (once == "person") != (person is not None):
        raise OptionError(
            "once='person' needs `person`, the column that says who each row belongs to, and the other way round."
        )
    _check_columns(frame, [] if person is None else [person])
    blocked = how.pop("block", None)
    recipe = (
        mechanism, epsilon, space, tuple(sorted((options or {}).items())),
        None if blocked is None else tuple(blocked),
    )  # fmt: skip
    drawn = None if once is None else Once(once)  # goes to the tasks with its secret, which all must share

    def make_veil() -> Veil:
        return Veil(_mechanism(*recipe), select=select, oov=oov, case=case, once=drawn, unproven=unproven, **how)

    veil = make_veil()  # also reports mistakes here rather than in a task
    for sentence in filter(None, (missing_promise(veil), *told_before(veil))):
        tell(sentence)
    places = [frame.columns.index(column) for column in columns]
    whose = None if person is None else frame.columns.index(person)

    def veiled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        veil = make_veil()  # each with a stream of its own
        for batch in batches:
            yield _veil_batch(veil, batch, places, whose)

    return _once(frame, veiled, store, _bare_schema(frame.schema, columns))


def _bare_schema(schema: Any, columns: Sequence[str]) -> Any:
    """Return the schema without what the veiled columns say of themselves, such as the values that they had."""
    from pyspark.sql import types  # noqa: PLC0415 - an extra

    return types.StructType(
        [
            types.StructField(field.name, field.dataType, field.nullable) if field.name in columns else field
            for field in schema.fields
        ]
    )


def privatize_files(source: str, store: str, columns: Sequence[str], form: str, **how: Any) -> None:
    """Veil files with the running Spark session, or with one that ``spark-submit`` or the environment describes.

    Parameters
    ----------
    source : str
        A file or folder that every machine can read.
    store : str
        A folder that does not exist yet, for the veiled data as Parquet.
    columns : sequence of str
        The columns to veil; none for plain text.
    form : {"text", "csv", "tsv", "jsonl", "parquet"}
        What the source is.
    **how
        As for `privatize`.
    """
    needs("pyspark", "spark", "Spark")
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

    format_named(form)  # refuses what there is not
    if form not in ("text", "csv", "tsv", "jsonl", "parquet") or packing_of(Path(source)) == "zstd":
        raise OptionError("Spark reads text, csv, tsv, jsonl (packed with gzip or not) and parquet.")
    if bool(columns) == (form == "text"):
        raise OptionError("`columns` must name the columns to veil, and none for plain text.")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    read = SparkSession.builder.appName("wordveil").getOrCreate().read
    readers: dict[str, Callable[[str], DataFrame]] = {
        "text": read.text,
        "csv": partial(_read_table, read, separator=","),
        "tsv": partial(_read_table, read, separator="\t"),
        "jsonl": partial(_read_json, read),
        "parquet": read.parquet,
    }
    privatize(readers[form](source), columns or ["value"], store=store, **how)


def _read_json(read: Any, source: str) -> DataFrame:
    """Read JSON lines, and refuse broken ones: Spark would add each of them, as it is, in a column of its own."""
    frame = read.json(source, columnNameOfCorruptRecord=_CORRUPT)
    if _CORRUPT in frame.columns:
        raise InputError(f"some lines of {source} are not JSON objects; correct or remove them.")
    return cast("DataFrame", frame)


def _read_table(read: Any, source: str, separator: str) -> DataFrame:
    """Read a table with a header, and refuse rows of another length: Spark would fill them up or cut them off.

    Of a folder every file must have the same header: Spark goes by the place of a column, not by its name.
    """
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - comes with pyspark, an extra
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql import functions, types  # noqa: PLC0415

    how = {"header": True, "sep": separator, "multiLine": True, "quote": '"', "escape": '"'}
    names = read.csv(source, **how).columns
    schema = types.StructType([types.StructField(name, types.StringType()) for name in [*names, _CORRUPT]])
    frame = read.csv(source, schema=schema, columnNameOfCorruptRecord=_CORRUPT, enforceSchema=False, **how)
    try:
        has_others = bool(frame.where(functions.col(_CORRUPT).isNotNull()).head(1))
    except (PySparkException, Py4JJavaError) as error:
        if _OTHER_HEADER not in str(error):
            raise
    else:
        if has_others:
            raise InputError(f"some rows of {source} have more or fewer fields than its header; correct them.")
        return cast("DataFrame", frame.drop(_CORRUPT))
    raise InputError(f"the files of {source} have different headers; give them the same one, or veil them one by one.")


def shuffle(frame: DataFrame, *, store: str, drop: Sequence[str] = ()) -> DataFrame:
    """Return the rows in a uniformly random order, without the columns that identify users.

    Parameters
    ----------
    frame : DataFrame
        Veiled data.
    store : str
        A folder that does not exist yet, for the rows with the random numbers that they are sorted by. It is the memory
        of the shuffler and still has the old order: nobody else may read it.
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
        The share; the sample has that share of all rows, rounded.
    store : str
        As for `shuffle`.
    drop : sequence of str
        The columns that link a row to a user.
    """
    check_rate(rate)
    keyed = _keyed(frame, store, drop)
    return keyed.orderBy(*_KEYS).limit(sample_size(rate, keyed.count())).drop(*_KEYS)


def k_threshold(frame: DataFrame, columns: Sequence[str], k: int, rate: float, *, store: str) -> DataFrame:
    """Take each row with probability β, then return the values of some columns that at least k of those rows share.

    Parameters
    ----------
    frame : DataFrame
        Veiled data.
    columns : sequence of str
        The columns whose values are compared and returned; the others are left out.
    k : int
        How many sampled rows must share the values.
    rate : float
        β, the probability with which a row is taken.
    store : str
        A folder that does not exist yet, for the sample; nobody else may read it.
    """
    check_threshold(k, rate)
    _check_columns(frame, columns)

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


@lru_cache(maxsize=4)
def _mechanism(
    name: str, epsilon: float, space: str, options: tuple[tuple[str, Any], ...], blocked: tuple[str, ...] | None
) -> Mechanism[Any]:
    made = make_mechanism(name, load_space(space), epsilon=epsilon, **dict(options))
    return block(made, blocked_words() if blocked is None else blocked)


def _veil_batch(veil: Veil, batch: pa.RecordBatch, places: Sequence[int], whose: int | None = None) -> pa.RecordBatch:
    columns = list(batch.columns)
    texts = {place: columns[place].to_pylist() for place in places}
    people = None if whose is None else columns[whose].to_pylist()
    scopes = [_scope(veil.once, row, people) for row in range(batch.num_rows)]
    documents = [
        Document(texts[place][row], scope=scopes[row])
        for row in range(batch.num_rows)
        for place in places
        if texts[place][row] is not None
    ]
    released = iter(veil.together(documents))
    for row in range(batch.num_rows):
        for place in places:
            if texts[place][row] is not None:
                texts[place][row] = next(released).text
    for place in places:
        columns[place] = pa.array(texts[place], type=columns[place].type)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _scope(once: Once | None, row: int, people: Sequence[Any] | None) -> str | None:
    """Return the scope of a row of a batch."""
    if once is None or once.scope == "file":
        return None
    if people is None or people[row] is None:
        # its own: a number will do for a record, which is drawn for here; what is drawn elsewhere must not meet it
        return str(row) if people is None else f"row {secrets.token_hex(16)}"
    return f"person {people[row]}"


def _keyed(frame: DataFrame, store: str, drop: Sequence[str]) -> DataFrame:
    from pyspark.sql import types  # noqa: PLC0415 - an extra

    _check_columns(frame, drop)
    bare = frame.drop(*drop)
    schema = types.StructType([*bare.schema.fields, *(types.StructField(key, types.LongType()) for key in _KEYS)])

    def keyed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        entropy = Entropy()
        for batch in batches:
            # 128 bits a row: two rows are as good as never alike
            keys = [pa.array(entropy.generator.integers(-(2**63), 2**63, batch.num_rows)) for _ in _KEYS]
            yield pa.RecordBatch.from_arrays([*batch.columns, *keys], names=[*batch.schema.names, *_KEYS])

    return _once(bare, keyed, store, schema)


def _once(
    frame: DataFrame,
    work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    store: str,
    schema: Any = None,
) -> DataFrame:
    """Do random work on a DataFrame, write what comes of it once, and read it back."""
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - an extra

    done = frame.mapInArrow(work, schema or frame.schema)
    try:
        done.write.option("mapreduce.fileoutputcommitter.algorithm.version", "1").parquet(store, mode="errorifexists")
    except AnalysisException as error:
        if error.getCondition() != "PATH_ALREADY_EXISTS":
            raise
    else:
        return frame.sparkSession.read.parquet(store)
    raise FileError(f"the folder {store} already exists, and a record is drawn only once; give another name.")


def _check_columns(frame: DataFrame, columns: Sequence[str], *, of_strings: bool = False) -> None:
    kinds = dict(frame.dtypes)
    for column in columns:
        if column not in kinds:
            raise InputError(f"there is no column {column!r}; check the names of the columns.")
        if of_strings and kinds[column] != "string":
            raise InputError(f"the column {column!r} does not hold strings.")
    if of_strings and not columns:
        raise OptionError("`columns` must name at least one column.")
