"""What a task does: it veils batches of rows, with draws that are the same in every attempt."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism, block, blocked_words
from wordveil._mechanisms import mechanism as make_mechanism
from wordveil.errors import InputError
from wordveil.io import Tally
from wordveil.noise import KeyedEntropy
from wordveil.spaces import load_space
from wordveil.spark.sending import Sent
from wordveil.text import Counts, Once, Veil
from wordveil.text.flow import Flow, Texts

__all__ = ["TALLIED", "Recipe", "make_mechanism_once", "tally_of", "veil_batches"]

#: What is counted in a batch, in this order: `Counts`, the number of records, and the words of the worst of them.
TALLIED = (*(one.name for one in fields(Counts)), "records", "worst_words")
_PURPOSE = b"wordveil spark"  # keeps the hash apart from any other use of it


@dataclass(frozen=True)
class Recipe:
    """How to make a veil, and what its draws follow from. This travels to the tasks."""

    mechanism: str
    epsilon: float
    space: str | Sent
    options: tuple[tuple[str, Any], ...]
    blocked: tuple[str, ...] | None
    normalise: bool
    once: Once | None
    settings: dict[str, Any]
    secret: bytes = field(repr=False)

    def made(self) -> Mechanism[Any]:
        """Return the mechanism, made once per process."""
        return make_mechanism_once(self.mechanism, self.epsilon, self.space, self.options, self.blocked, self.normalise)

    def veil(self, seed: int | None = None) -> Veil:
        """Make the veil. The seed is only noted in its guarantee."""
        return Veil(self.made(), once=self.once, seed=seed, **self.settings)

    def key(self, partition: int, number: int, texts: Sequence[_Column]) -> bytes:
        """Return the 64 bytes that a batch's draws follow from. Without the secret, they look random."""
        found = hashlib.blake2b(key=self.secret, person=_PURPOSE)
        found.update(np.array([partition, number, len(texts)], dtype="<i8").tobytes())
        for column in texts:
            # Lengths first, with -1 for nulls, so that no two batches have the same encoding.
            found.update(np.array([len(column.lengths)], dtype="<i8").tobytes())
            found.update(column.lengths.astype("<i8").tobytes())
            found.update(column.texts.data)
        return found.digest()


@lru_cache(maxsize=4)
def make_mechanism_once(
    name: str,
    epsilon: float,
    space: str | Sent,
    options: tuple[tuple[str, Any], ...],
    blocked: tuple[str, ...] | None,
    normalise: bool,
) -> Mechanism[Any]:
    """Make a mechanism, or return the one made before in this process."""
    opened = load_space(space if isinstance(space, str) else space.opened(), normalise=normalise)
    made = make_mechanism(name, opened, epsilon=epsilon, **dict(options))
    return block(made, blocked_words() if blocked is None else blocked)


@dataclass(frozen=True)
class _Column:
    """The texts of a column, one after another, and the length of each row's text in bytes; -1 for null."""

    texts: Texts
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, array: Any, name: str) -> _Column:
        try:
            array.validate(full=True)  # Spark takes any bytes for a string
            is_text = True
        except pa.ArrowInvalid:
            is_text = False
        if not is_text:
            raise InputError(f"the column {name!r} holds text that is not UTF-8; have it replaced, or correct it.")
        there = np.asarray(array.is_valid())
        packed = array.drop_null().cast(pa.large_binary())
        buffers, count = packed.buffers(), len(packed)
        offsets = np.frombuffer(buffers[1], np.int64)[packed.offset : packed.offset + count + 1] if count else None
        if offsets is None:
            return cls(Texts.of([]), np.full(len(array), -1, dtype=np.int64))
        data = b"" if buffers[2] is None else buffers[2][offsets[0] : offsets[-1]].to_pybytes()
        bounds = offsets - offsets[0]
        lengths = np.full(len(array), -1, dtype=np.int64)
        lengths[there] = np.diff(bounds)
        return cls(Texts(data, bounds[:-1], bounds[1:]), lengths)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each text."""
        return np.flatnonzero(self.lengths >= 0)

    def array(self, new: Texts, kind: Any) -> Any:
        """Return an Arrow array of new texts in the same rows."""
        offsets = np.append(new.starts, new.ends[-1:]) if len(new) else np.zeros(1, dtype=np.int64)
        buffers = [None, pa.py_buffer(offsets.astype(np.int64).tobytes()), pa.py_buffer(new.data)]
        made = pa.Array.from_buffers(pa.large_string(), len(new), buffers)
        there = self.lengths >= 0
        places = pa.array(np.cumsum(there) - 1, mask=~there)
        return made.take(places).cast(kind)


def veil_batches(
    batches: Iterator[pa.RecordBatch], recipe: bytes, places: Sequence[int], whose: int | None, counted: str
) -> Iterator[pa.RecordBatch]:
    """Veil the batches of a task. In the first row of each, an extra column holds what was counted.

    Parameters
    ----------
    batches : iterator of RecordBatch
        The rows of a partition.
    recipe : bytes
        A pickled `Recipe`.
    places : sequence of int
        Which columns to veil.
    whose : int, optional
        The column that says whose a row is.
    counted : str
        The name of the extra column.
    """
    from pyspark import TaskContext  # noqa: PLC0415 - an extra

    context = TaskContext.get()
    partition = 0 if context is None else context.partitionId()
    how, veil, flow = _opened(recipe)
    for number, batch in enumerate(batches):
        found = [_Column.of(batch.column(place), batch.schema.names[place]) for place in places]
        key = how.key(partition, number, found)
        veil.entropy = KeyedEntropy(key)
        groups, scopes = _groups(veil.once, batch, whose, key)
        rows = np.concatenate([column.rows for column in found])
        parts = [column.texts for column in found]
        rewritten = flow.rewrite(veil, Texts.joined(parts), groups[rows], scopes)
        columns = list(batch.columns)
        for place, column, new in zip(places, found, rewritten.split(parts), strict=True):
            columns[place] = column.array(new.texts, batch.schema.field(place).type)
        tally = Tally()
        tally.add(rewritten.counts[np.argsort(rows, kind="stable")], np.bincount(rows, minlength=batch.num_rows))
        numbers = [*tally.counts.to_dict().values(), tally.records, tally.worst_words]
        told = pa.array([numbers, *[None] * (batch.num_rows - 1)][: batch.num_rows], pa.list_(pa.int64()))
        yield pa.RecordBatch.from_arrays([*columns, told], names=[*batch.schema.names, counted])


def tally_of(counted: Sequence[int | None]) -> Tally:
    """Return what was counted over all batches; zeros if there were no rows."""
    *counts, records, worst = (number or 0 for number in counted)
    return Tally(Counts(*counts), records=records, worst_words=worst)


@lru_cache(maxsize=1)  # one job at a time, so that no secret stays longer than needed
def _opened(recipe: bytes) -> tuple[Recipe, Veil, Flow]:
    how: Recipe = pickle.loads(recipe)  # noqa: S301 - from the driver, like the code that runs here
    veil = how.veil()
    return how, veil, Flow(veil)


def _groups(
    once: Once | None, batch: pa.RecordBatch, whose: int | None, key: bytes
) -> tuple[NDArray[np.int64], dict[int, str]]:
    """Return the scope of each row, in which equal words are drawn once, as numbers with their names."""
    if once is not None and once.scope == "file":
        return np.zeros(batch.num_rows, dtype=np.int64), {0: ""}
    if whose is None:
        return np.arange(batch.num_rows), dict.fromkeys(range(batch.num_rows), "")
    # A row without a name is a person of its own, and the same in every attempt.
    people = batch.column(whose).to_pylist()
    names = [f"row {row} {key.hex()}" if one is None else f"person {one}" for row, one in enumerate(people)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    groups = np.fromiter((numbers[name] for name in names), np.int64, len(names))
    return groups, {number: name for name, number in numbers.items()}
