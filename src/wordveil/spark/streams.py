"""Veils a table that grows, with Structured Streaming."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordveil.errors import FileError, OptionError
from wordveil.files import file_errors, whole_file
from wordveil.spark.frames import check_columns, privatize
from wordveil.spark.store import Folder
from wordveil.text import Once

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

__all__ = ["privatize_stream"]

_STREAM = "wordveil.json"  # in the checkpoint: which stream it belongs to
_SECRET_BYTES = 32


def privatize_stream(
    frame: DataFrame,
    columns: Sequence[str],
    *,
    epsilon: float,
    store: str,
    checkpoint: str,
    once: str | None = "record",
    secret: str | Path | None = None,
    trigger: Mapping[str, Any] | None = None,
    tell: Callable[[str], object] = warnings.warn,
    **how: Any,
) -> StreamingQuery:
    """Veil some columns of a streaming DataFrame. Each batch of new rows is drawn and written once.

    Every batch gets its own folder in the store (``batch-000000000`` and so on). ``read.parquet(store + "/*")`` reads
    the complete ones. After a crash, Spark repeats the batch that it did not finish. If its folder is
    complete, it is left as it is; otherwise it is cleared and drawn anew.

    Parameters
    ----------
    frame : DataFrame
        A streaming DataFrame.
    columns : sequence of str
        The columns to veil. They must hold strings.
    epsilon : float
        The privacy loss per unit of the mechanism's distance.
    store : str
        A folder for the veiled data, which every machine must reach.
    checkpoint : str
        A folder where Spark keeps track of its progress. Without it the stream would begin again, so a store with
        batches of a stream with another checkpoint is refused.
    once : {"record", "person", "file"} or None
        As for `privatize`, over all batches.
    secret : str or Path, optional
        For a scope wider than a record: a file on the driver with the secret that draws follow from, because later
        batches must agree with earlier ones. It is created if it does not exist. Anyone who has it and the release can
        find the words, so keep it like the data, and delete it when the stream has ended.
    trigger : mapping, optional
        When batches are made, as in Spark: ``{"processingTime": "1 minute"}``, or ``{"availableNow": True}`` to veil
        what is there and stop.
    tell : callable
        Called once with each sentence about what is not guaranteed or protects little.
    **how
        As for `privatize`, except `resume`.
    """
    if not frame.isStreaming:
        raise OptionError("this DataFrame is not a stream; veil it with `privatize`.")
    check_columns(frame, columns, of_strings=True)
    for name in ("resume", "source"):
        if name in how:
            raise OptionError(f"`{name}` belongs to `privatize`: a stream always continues where it was stopped.")
    if (once in ("person", "file")) != (secret is not None):
        raise OptionError("`secret`, a file, goes with once='person' and once='file', which need it.")
    drawn = None if once is None else Once(once, seed=how.get("seed"))
    if drawn is not None and secret is not None and not drawn.is_seeded:
        drawn.go_on_with(_kept(Path(secret)))
    stream = _named(Folder(frame.sparkSession, checkpoint))
    told = set[str]()

    def tell_once(sentence: str) -> None:
        if sentence not in told:
            told.add(sentence)
            tell(sentence)

    def write(batch: DataFrame, number: int) -> None:
        if not batch.isEmpty():
            privatize(
                batch, columns, epsilon=epsilon, store=f"{store}/batch-{number:09}", once=drawn, resume=True,
                source=[stream, number], tell=tell_once, **how,
            )  # fmt: skip

    query = frame.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    return query.trigger(**trigger).start() if trigger else query.start()


def _named(checkpoint: Folder) -> str:
    """Return the name of the stream that a checkpoint belongs to, or a random one for a new checkpoint."""
    name = checkpoint.read(_STREAM).get("stream")
    if name is None:
        if checkpoint.names():
            raise FileError(f"the folder {checkpoint.path} is not a checkpoint of a veiled stream; give another name.")
        name = secrets.token_hex(16)
        checkpoint.write(_STREAM, {"stream": name})
    return str(name)


def _kept(path: Path) -> bytes:
    """Return the secret in a file that only its owner may read. Create it if it does not exist."""
    with file_errors("read", path):
        if not path.exists():
            with whole_file(path, 0o600) as file:
                file.write(secrets.token_bytes(_SECRET_BYTES))
        found = path.read_bytes()
    if len(found) != _SECRET_BYTES:
        raise FileError(f"{path} does not hold a secret of {_SECRET_BYTES} bytes; give the file that was made before.")
    return found
