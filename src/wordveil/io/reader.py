"""What all readers have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TypeVar

from wordveil.errors import WordveilError
from wordveil.io.records import Block, Position

__all__ = ["Reader", "listed", "wrong_columns"]

_SHOWN_NAMES = 20
_SHOWN_LETTERS = 40

AnyReader = TypeVar("AnyReader", bound="Reader")


class Reader(ABC):
    """Reads one input in blocks of records, from the beginning or from a position.

    The blocks depend on the input and the options alone, not on where reading began.
    """

    preamble: bytes = b""
    """What stands before the first record and is written as it is: a byte order mark, a header."""

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Read the records that are left."""

    @abstractmethod
    def bytes_done(self, position: Position) -> int:
        """Return about how many bytes of the input lie before `position`."""

    @abstractmethod
    def check_unchanged(self) -> None:
        """Raise where the input is no longer what it was when it was opened."""

    @abstractmethod
    def close(self) -> None:
        """Close the input."""

    def __enter__(self: AnyReader) -> AnyReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def listed(names: Iterable[str]) -> str:
    """Return column names as a phrase, cut where there are many or long ones."""
    names = list(names)
    cut = [name[:_SHOWN_LETTERS] + "…" * (len(name) > _SHOWN_LETTERS) for name in names[:_SHOWN_NAMES]]
    shown = [name if name.isprintable() else repr(name) for name in cut]  # a terminal obeys some characters
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(shown) + more


def wrong_columns(source: str, asked: Iterable[str], there: Iterable[str]) -> WordveilError | None:
    """Return the error for columns that were not asked for, are not there or are there twice, if any.

    Parameters
    ----------
    source : str
        What the input is called.
    asked, there : iterable of str
        The columns to veil, and all columns of the input.
    """
    asked, there = list(asked), list(there)
    if not asked:
        return WordveilError(f"say with --column which columns of {source} to veil; it has: {listed(there)}.")
    for column in asked:
        if column not in there:
            return WordveilError(f"{source} has no column {column!r}; it has: {listed(there)}.")
        if there.count(column) > 1:
            return WordveilError(
                f"{source} has more than one column {column!r}; rename them, so that none is left unveiled."
            )
    return None
