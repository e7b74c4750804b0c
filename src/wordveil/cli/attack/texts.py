"""Reads the texts that an attack is tried on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from wordveil.errors import WordveilError

if TYPE_CHECKING:
    from wordveil.lab.attacks import Corpus

__all__ = ["read_corpus", "read_sentences", "read_texts"]


def read_texts(path: Path, column: str | None) -> list[str]:
    """Return the texts of a file or folder: lines of plain text, or a column of a table."""
    return [texts[0] for texts in _records(path, () if column is None else (column,)) if texts]


def read_sentences(path: Path, column: str | None) -> list[str]:
    """Return the sentences of a file or folder."""
    from wordveil.attacks.wordlists import sentences_of

    return [sentence for text in read_texts(path, column) for sentence in sentences_of(text)]


def read_corpus(path: Path, column: str, author_column: str) -> Corpus:
    """Return the texts of a table with their authors."""
    from wordveil.lab.attacks import Corpus

    records = list(_records(path, (column, author_column)))
    if any(len(record) != 2 for record in records):
        raise WordveilError(f"a record of {path} has no text or no author.")
    return Corpus([text for text, _ in records], [author for _, author in records])


def _records(path: Path, columns: tuple[str, ...]) -> Iterator[list[str]]:
    from wordveil.io import Reading, make_plan

    for piece in make_plan(path).pieces:
        with piece.format.open_reader(piece.source, Reading(columns)) as reader:
            for block in reader.blocks():
                yield from ([str(text) for text in record] for record in block.records)
