"""Plain text: a record is a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wordveil.errors import WordveilError
from wordveil.io.line_reader import LineReader
from wordveil.io.lines import ending
from wordveil.io.records import Block, Position
from wordveil.text import Document, Release

__all__ = ["TextBlock", "TextReader"]


@dataclass
class TextBlock(Block):
    """Lines of text, and how each of them ends."""

    endings: list[str]

    def render(self, releases: Sequence[Release]) -> bytes:
        """Return the lines with their new texts."""
        parts: list[str] = []
        for release, end in zip(releases, self.endings, strict=True):
            parts += (release.text, end)
        return "".join(parts).encode("utf-8")


class TextReader(LineReader[str]):
    """Reads text line by line."""

    def _read_preamble(self) -> bytes:
        if self._reading.columns:
            raise WordveilError("text lines have no columns: leave out --column, or give --format.")
        return super()._read_preamble()

    def _read_row(self) -> str | None:
        line = self._lines.read()
        if not line:
            return None
        self._record += 1
        return self._lines.decode(line)

    def _block(self, rows: list[str], end: Position) -> Block:
        endings = [ending(row) for row in rows]
        texts: list[list[str | Document]] = [
            [row[: len(row) - len(tail)]] for row, tail in zip(rows, endings, strict=True)
        ]
        return TextBlock(end, texts, endings)
