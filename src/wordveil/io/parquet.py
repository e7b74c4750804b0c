"""Parquet: a record is a row."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from wordveil.errors import InputError, WordveilError
from wordveil.files import file_errors
from wordveil.io.formats import (
    Block,
    Position,
    Reader,
    Reading,
    Written,
    changed_since,
    check_columns,
    fields_of,
    of_person,
)
from wordveil.io.whole import WholeWriter, fingerprint
from wordveil.text import Document

__all__ = ["ParquetReader", "ParquetWriter"]

_ROWS_AT_ONCE = 4096
_PANDAS = b"pandas"  # the key of what pandas keeps of a table in the metadata of the file
_PANDAS_KEPT = ("index_columns", "column_indexes", "columns", "creator", "pandas_version")
_GROUP_BYTES = 1 << 26  # the most that the writer gathers for one row group


@dataclass
class ParquetBlock(Block):
    """Rows, and which of their columns to replace.

    It is rendered as an Arrow stream, since Parquet cannot be appended to.
    """

    batches: list[Any]
    columns: tuple[str, ...]

    def render(self, releases: Sequence[Written]) -> bytes:
        """Return a whole Arrow stream of the rows with their new texts."""
        texts = iter(releases)
        sink = pa.BufferOutputStream()
        schema = _veiled_schema(self.batches[0].schema, self.columns)
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(sink, schema, options=options) as stream:
            for batch in self.batches:
                stream.write_batch(self._veiled(batch, schema, texts))
        return bytes(sink.getvalue())

    def _veiled(self, batch: Any, schema: Any, texts: Iterator[Written]) -> Any:
        arrays = list(batch.columns)
        places = [batch.schema.get_field_index(column) for column in self.columns]
        present = [arrays[place].is_valid().to_pylist() for place in places]
        new: list[list[str | None]] = [[] for _ in places]
        for row in range(batch.num_rows):
            for index in range(len(places)):
                new[index].append(next(texts).text if present[index][row] else None)
        for place, values in zip(places, new, strict=True):
            kind = schema.field(place).type
            # A dictionary is made anew, so that no word of the old one is carried along.
            encodes = pa.types.is_dictionary(kind)
            arrays[place] = pa.array(values, kind.value_type).dictionary_encode() if encodes else pa.array(values, kind)
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _veiled_schema(schema: Any, columns: Sequence[str]) -> Any:
    """Return the schema to write: nothing that the file or a veiled column says of itself may tell of its texts.

    The index of a veiled dictionary column is widened: there are more draws than there were values, in no order. Its
    metadata go, and so do those of the file, which may be anything, but for what pandas needs to read it again.
    """
    for column in columns:
        place = schema.get_field_index(column)
        kind, nullable = schema.field(place).type, schema.field(place).nullable
        if pa.types.is_dictionary(kind):
            kind = pa.dictionary(pa.int32(), kind.value_type)
        schema = schema.set(place, pa.field(column, kind, nullable))
    told = _pandas_metadata((schema.metadata or {}).get(_PANDAS), columns)
    return schema.with_metadata(None if told is None else {_PANDAS: told})


def _pandas_metadata(told: bytes | None, columns: Sequence[str]) -> bytes | None:
    """Return what pandas keeps of a table, without the number of categories that the veiled columns had."""
    try:
        facts = json.loads(told or b"null")
        kept = {name: facts[name] for name in _PANDAS_KEPT if name in facts}
        for column in kept["columns"]:
            if {column.get("name"), column.get("field_name")} & set(columns):
                column["metadata"] = None
                if column.get("pandas_type") == "categorical":
                    column["numpy_type"] = "int32"  # narrower ones tell how many categories there were
        return json.dumps(kept).encode()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None  # not from pandas, and read well without


def _check_dictionaries(batch: Any) -> None:
    """Refuse places outside a dictionary, which the library reads from a damaged file without a look."""
    for array in batch.columns:
        if pa.types.is_dictionary(array.type):
            ends = pa.compute.min_max(array.indices).as_py()
            if ends["min"] is not None and not 0 <= ends["min"] <= ends["max"] < len(array.dictionary):
                raise pa.ArrowInvalid("a place outside the dictionary")


def _is_text(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


class ParquetReader(Reader):
    """Reads rows of a Parquet file; a stream will not do, since Parquet is read from its end."""

    def __init__(self, path: Path | None, reading: Reading, start: Position | None = None) -> None:
        if path is None or not path.is_file():
            raise InputError("Parquet cannot be read from a stream; give the name of a file.")
        self._path, self._reading = path, reading
        self._fingerprint = fingerprint(path)
        with _understood(path):
            self._file = pq.ParquetFile(path)
        try:
            with _understood(path):
                schema = self._file.schema_arrow
                names = schema.names
            if not reading.every_column:
                check_columns(str(path), reading.columns, names)
                check_columns(str(path), reading.needed, names)
            for column in reading.columns:
                kind = schema.field(column).type
                if not _is_text(kind):
                    raise InputError(f"the column {column!r} of {path} holds {kind}, not text.")
            if start is not None and start.fingerprint != self._fingerprint:
                raise changed_since(path)
        except BaseException:
            self.close()
            raise
        self._row = start.offset if start else 0

    def blocks(self) -> Iterator[Block]:
        """Read the rows that are left."""
        columns = self._reading.columns
        batches: list[Any] = []
        records: list[list[str | Document]] = []
        room = float(self._reading.batch_bytes)
        for batch, weight in self._batches():
            texts = [self._texts(batch, column) for column in columns]
            people = self._people(batch)
            begin = 0
            for row, values in enumerate(zip(*texts, strict=True)):
                record = [value for value in values if value is not None]
                records.append(of_person(record, people[row]))
                room -= weight + sum(map(len, record))
                if room <= 0:
                    batches.append(batch.slice(begin, row + 1 - begin))
                    begin = row + 1
                    yield self._block(batches, records)
                    batches, records, room = [], [], float(self._reading.batch_bytes)
            if begin < batch.num_rows:
                batches.append(batch.slice(begin))
        if batches:
            yield self._block(batches, records)

    def look(self) -> Iterator[tuple[list[dict[str, str | None]], int]]:
        """Give the rows that are left with all their values; those inside lists and structs by their paths."""
        for batch, _ in self._batches():
            columns = {}
            for name, array in zip(batch.schema.names, batch.columns, strict=True):
                values = self._texts(batch, name) if _is_text(array.type) else array.to_pylist()
                columns[name] = values
            rows = ({name: values[row] for name, values in columns.items()} for row in range(batch.num_rows))
            records = [fields_of(row) for row in rows]
            self._row += batch.num_rows
            yield records, self.bytes_done(Position(self._row, 0, self._row, self._fingerprint))

    def _people(self, batch: Any) -> list[object]:
        """Return whose each row is; None where nobody's."""
        if self._reading.person is None:
            return [None] * int(batch.num_rows)
        people: list[object] = batch.column(batch.schema.get_field_index(self._reading.person)).to_pylist()
        return people

    def _block(self, batches: list[Any], records: list[list[str | Document]]) -> Block:
        self._row += len(records)
        end = Position(self._row, 0, self._row, self._fingerprint)
        return ParquetBlock(end, [list(record) for record in records], batches, self._reading.columns)

    def _batches(self) -> Iterator[tuple[Any, float]]:
        """Give the rows that are left with the mean size of a row of their row group, in bytes."""
        left_out = self._row
        with _understood(self._path):
            for group in range(self._file.num_row_groups):
                metadata = self._file.metadata.row_group(group)
                rows = metadata.num_rows
                if left_out >= rows:
                    left_out -= rows
                    continue
                weight = metadata.total_byte_size / rows
                at_once = max(1, min(_ROWS_AT_ONCE, int(self._reading.batch_bytes / (weight + 1))))
                for batch in self._file.iter_batches(batch_size=at_once, row_groups=[group]):
                    _check_dictionaries(batch)
                    if left_out >= batch.num_rows:
                        left_out -= batch.num_rows
                        continue
                    yield batch.slice(left_out), weight
                    left_out = 0

    def _texts(self, batch: Any, column: str) -> list[str | None]:
        array = batch.column(batch.schema.get_field_index(column))
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        values: list[bytes | None] = array.cast(pa.large_binary()).to_pylist()
        errors = self._reading.encoding_errors
        try:
            return [None if value is None else value.decode("utf-8", errors) for value in values]
        except UnicodeDecodeError:
            pass
        raise InputError(
            f"the column {column!r} of {self._path} holds text that is not UTF-8; have it replaced with "
            "`encoding_errors`."
        )

    def bytes_done(self, position: Position) -> int:
        """Return about how many bytes lie before `position`: the share of its rows."""
        rows = self._file.metadata.num_rows
        with file_errors("read", self._path):
            return round(self._path.stat().st_size * position.offset / rows) if rows else 0

    def check_unchanged(self) -> None:
        """Raise if the file has changed since it was opened."""
        if fingerprint(self._path) != self._fingerprint:
            raise InputError(f"{self._path} changed while it was being read.")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ParquetWriter(WholeWriter):
    """Keeps the rows in Arrow streams, one behind the other, and makes them one Parquet file at the end.

    The compression and the size of row groups are those of the input.
    """

    magic = b"PAR1"  # no Arrow stream begins so

    def _make_whole(self, interim: BinaryIO, written: BinaryIO, source: Path) -> None:
        with _understood(source), pq.ParquetFile(source) as begun:
            schema, (compression, group_rows) = begun.schema_arrow, _layout(begun.metadata)
        # Of a table without rows no column is known to be another than a veiled one.
        schema = _stream_schema(interim) or _veiled_schema(schema, schema.names)
        with pq.ParquetWriter(written, schema, compression=compression) as parquet:
            for group in _groups(interim, schema, group_rows):
                parquet.write_table(group, row_group_size=max(1, group.num_rows))


def _layout(metadata: Any) -> tuple[dict[str, str] | str, int]:
    """Return the codecs of a Parquet file by column, and the rows in its largest row group."""
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    if not groups:
        return "snappy", 1
    chunks = [groups[0].column(index) for index in range(metadata.num_columns)]
    codecs = {chunk.path_in_schema: chunk.compression.replace("UNCOMPRESSED", "NONE") for chunk in chunks}
    return codecs, max(group.num_rows for group in groups)


def _groups(streams: Any, schema: Any, most_rows: int) -> Iterator[Any]:
    """Gather the batches of all streams into tables, one for each row group."""
    batches: list[Any] = []
    rows = size = 0
    for batch in _stream_batches(streams):
        begin = 0
        while begin < batch.num_rows:
            piece = batch.slice(begin, most_rows - rows)
            begin += piece.num_rows
            batches.append(piece)
            rows += piece.num_rows
            size += piece.nbytes
            if rows >= most_rows or size >= _GROUP_BYTES:
                yield pa.Table.from_batches(batches, schema).unify_dictionaries()
                batches, rows, size = [], 0, 0
    if batches:
        yield pa.Table.from_batches(batches, schema).unify_dictionaries()


def _stream_schema(streams: Any) -> Any | None:
    """Return the schema of the first stream, if there is one."""
    if not os.fstat(streams.fileno()).st_size:
        return None
    with pa.ipc.open_stream(streams) as stream:
        schema = stream.schema
    streams.seek(0)
    return schema


def _stream_batches(streams: Any) -> Iterator[Any]:
    size = os.fstat(streams.fileno()).st_size
    while streams.tell() < size:
        with pa.ipc.open_stream(streams) as stream:
            yield from stream


@contextmanager
def _understood(path: Path) -> Iterator[None]:
    """Say that a Parquet file is bad, without the library's own message, which may quote values."""
    try:
        yield
        return
    except WordveilError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):  # names that are no text, among others
        pass
    raise InputError(f"{path} is not a Parquet file, or it is damaged.")
