"""Word documents: a record is a paragraph or a cell of a table; a new document is written from their texts alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from wordveil.errors import OptionError
from wordveil.extras import needs
from wordveil.io.formats import Block, Position, Reading, Written
from wordveil.io.whole import OfficeReader, OfficeWriter
from wordveil.text import Document

__all__ = ["DocumentReader", "DocumentWriter"]

#: Styles that every new document has; the name of another may be somebody's.
_STYLES = frozenset({"Title", "List Bullet", "List Number", *(f"Heading {level}" for level in range(1, 10))})


@dataclass
class DocumentBlock(Block):
    """Paragraphs and tables."""

    pieces: list[tuple[str, int, int]]  # style ("" for a table), rows and columns of a table

    def render(self, releases: Sequence[Written]) -> bytes:
        """Return the new texts with what they are, as lines of JSON."""
        texts = (release.text for release in releases)
        lines = []
        for style, rows, columns in self.pieces:
            count = rows * columns if rows else 1
            lines.append(json.dumps([style, rows, columns, [next(texts) for _ in range(count)]]) + "\n")
        return "".join(lines).encode()


class DocumentReader(OfficeReader):
    """Reads the body of a document, which is held in memory."""

    title = "a Word document (.docx)"

    def __init__(self, path: Path | None, reading: Reading, start: Position | None = None) -> None:
        if reading.columns:
            raise OptionError("a document has no columns; leave out `columns`.")
        needs("docx", "docx", "a Word document")
        super().__init__(path, reading, start)
        import docx  # noqa: PLC0415 - an extra

        with self._understood():
            self._document: Any = docx.Document(str(path))

    def blocks(self) -> Iterator[Block]:
        """Read the paragraphs and tables that are left."""
        with self._understood():
            body = list(self._document.iter_inner_content())
        pieces: list[tuple[str, int, int]] = []
        records: list[list[str | Document]] = []
        room = self._reading.batch_bytes
        for item in body[self._row :]:
            with self._understood():
                piece, texts = _table(item) if hasattr(item, "rows") else _paragraph(item)
            self._row, self._record = self._row + 1, self._record + len(texts)
            pieces.append(piece)
            records += [[text] for text in texts]
            room -= sum(map(len, texts))
            if room <= 0:
                yield DocumentBlock(self._position(), records, pieces)
                pieces, records, room = [], [], self._reading.batch_bytes
        if pieces:
            yield DocumentBlock(self._position(), records, pieces)


def _paragraph(item: Any) -> tuple[tuple[str, int, int], list[str]]:
    style = item.style.name if item.style is not None else ""
    return (style if style in _STYLES else "Normal", 0, 0), [item.text]


def _table(item: Any) -> tuple[tuple[str, int, int], list[str]]:
    """Return a table; cells that were merged are one cell, whose text must not be drawn once for each place."""
    seen: set[Any] = set()
    texts: list[list[str]] = []
    for row in item.rows:
        texts.append([])
        for cell in row.cells:
            texts[-1].append("" if cell._tc in seen else cell.text)
            seen.add(cell._tc)
    width = max(map(len, texts), default=0)
    return ("", len(texts), width), [text for row in texts for text in [*row, *[""] * (width - len(row))]]


class DocumentWriter(OfficeWriter):
    """Makes paragraphs and tables a document."""

    def _write(self, rows: Iterator[Any], written: BinaryIO) -> None:
        import docx  # noqa: PLC0415 - an extra

        document = docx.Document()
        document.core_properties.author = "wordveil"
        for style, height, width, texts in rows:
            if not height:
                document.add_paragraph(_written(texts[0]), style)
                continue
            table = document.add_table(height, width)
            left = iter(texts)
            for row in table.rows:
                for cell in row.cells:
                    cell.text = _written(next(left))
        document.save(written)


def _written(text: str) -> str:
    # XML has no place for control characters, and the library refuses them.
    return "".join(letter for letter in text if letter in "\t\n" or letter >= " ")
