"""What travels from a reader through the veil to a writer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wordveil.text import BATCH_WORDS, Document, Release

__all__ = ["Block", "Position", "Reading"]

_BYTES_PER_WORD = 6  # English text, with the space after the word


@dataclass(frozen=True)
class Reading:
    """How an input is to be read.

    Parameters
    ----------
    columns : tuple of str
        The columns to veil: names of a CSV or Parquet column, or keys of JSON (a dot leads into an object).
        Empty for text lines.
    spans : str, optional
        The key that holds the offsets of what to veil, ``[[start, end], ...]``; JSON lines with one column.
    encoding_errors : {"strict", "replace"}
        What to do with bytes that are not UTF-8: refuse the input, or put U+FFFD in their place.
    batch_words : int
        About how many words to read at once. It bounds the memory and how much work a crash can lose.
    """

    columns: tuple[str, ...] = ()
    spans: str | None = None
    encoding_errors: str = "strict"
    batch_words: int = BATCH_WORDS

    @property
    def batch_bytes(self) -> int:
        """The size of the input that holds about `batch_words` words."""
        return self.batch_words * _BYTES_PER_WORD


@dataclass(frozen=True)
class Position:
    """A place between two records, from which reading can go on.

    Parameters
    ----------
    offset : int
        Bytes read so far (rows, for Parquet).
    line : int
        Lines read so far (0 for Parquet).
    record : int
        Records read so far.
    fingerprint : str
        Digest of what was read, to know it again.
    """

    offset: int
    line: int
    record: int
    fingerprint: str


@dataclass
class Block(ABC):
    """Some records in a row, with what is needed to write them again around their new texts.

    Parameters
    ----------
    end : Position
        The place behind the last of them.
    records : list of list
        For each record, its texts to veil: one for each column that is not null.
    """

    end: Position
    records: list[list[str | Document]]

    def texts(self) -> Iterator[str | Document]:
        """Give the texts of all records in order."""
        for record in self.records:
            yield from record

    @abstractmethod
    def render(self, releases: Sequence[Release]) -> bytes:
        """Return the block as it is to be written, with one release in place of each text."""
