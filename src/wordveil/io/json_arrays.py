"""JSON files: a record is an object of an array, which is read one after the other; or the file is a single object."""

from __future__ import annotations

import codecs
import json
from pathlib import Path

from wordveil.errors import InputError
from wordveil.io.formats import Position, Reading
from wordveil.io.json_lines import DECODER, JsonReader, Row, skip_space
from wordveil.io.lines import LONGEST

__all__ = ["JsonFileReader"]

_CHUNK = 1 << 18
_SPACE = b" \t\r\n"
_NEAR_END = 64  # characters; a fault this near to the end of what was read may be that it was cut there


class JsonFileReader(JsonReader):
    """Reads the objects of an array; what stands around them is written as it is.

    Of an array only the object at hand is held in memory; a single object is held whole.
    """

    ends_lines = False

    def __init__(self, path: Path | None, reading: Reading, start: Position | None = None) -> None:
        self._text, self._at = "", 0  # what was read ahead, and how far it is used
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_at_end = False  # of the file
        self._is_done = False  # whether the array or the object was closed
        super().__init__(path, reading, start)
        if start is not None:
            # A row ends behind the comma that announces the next one, or at the end.
            self._is_done = self._lines.last != b","

    def _where(self) -> str:
        return f"record {self._record} of {self._lines.name}"

    def _read_preamble(self) -> bytes:
        """Read up to the bracket of the array."""
        read = self._read_space()
        self._is_array = self._lines.peek(1) == b"["
        if not self._is_array and self._lines.peek(1) != b"{":
            raise InputError(f"{self._lines.name} holds neither an array of objects nor an object.")
        if self._is_array:
            read += self._lines.read_some(1)
            self._lines.take(b"[")
        return super()._read_preamble() + read

    def _read_space(self) -> bytes:
        read = b""
        while (byte := self._lines.peek(1)) and byte in _SPACE:
            read += self._lines.read_some(1)
        self._lines.take(read)
        return read

    def _first_record(self) -> str:
        row = self._read_object()
        return "" if row is None else row[1]

    def _read_row(self) -> Row | None:
        if self._is_done:
            if self._skip(self._at) < len(self._text):
                raise InputError(
                    f"{self._lines.name} continues after its end; if it has an object on each line, set `format` to "
                    "jsonl."
                )
            return None
        self._record += 1
        found = self._read_object()
        if found is None:  # an empty array
            self._record -= 1
            line, around = "", (self._end_of_row(self._at), "")
        else:
            before, line = found
            around = (before, self._end_of_row(self._at))
        self._lines.take("".join((around[0], line, around[1])).encode("utf-8"))
        return self._row(line)._replace(before=around[0], after=around[1]) if line else Row("", [], None, *around)

    def _read_object(self) -> tuple[str, str] | None:
        """Return the next object and what stands before it; None at the bracket that closes an empty array."""
        begin = self._skip(self._at)
        opening = self._text[begin : begin + 1]
        if opening == "]" and self._is_array and self._record <= 1:
            return None
        if opening != "{":
            raise self._broken()
        while True:
            try:
                _, end = DECODER.raw_decode(self._text, begin)
                break
            except json.JSONDecodeError as fault:
                is_cut = fault.msg.startswith("Unterminated string") or fault.pos > len(self._text) - _NEAR_END
            except (ValueError, RecursionError):
                is_cut = False
            if not is_cut or self._is_at_end:
                raise self._broken()
            begin -= self._fill()
        before, line = self._text[self._at : begin], self._text[begin:end]
        self._at = end
        return before, line

    def _end_of_row(self, at: int) -> str:
        """Read what separates an object from the next one, or what closes the array and the file."""
        end = self._skip(at)
        closing = self._text[end : end + 1]
        if self._is_array and closing == ",":
            end += 1
        elif not self._is_array or closing == "]":
            self._is_done = True
            end = self._skip(end + 1 if self._is_array else end)
        else:
            raise self._broken()
        after, self._at = self._text[self._at : end], end
        return after

    def _broken(self) -> InputError:
        return InputError(f"{self._where()} is not a JSON object, or what stands around it is not an array.")

    def _skip(self, at: int) -> int:
        """Return the place behind spaces, for which more is read where it must be."""
        at = skip_space(self._text, at)
        while at == len(self._text) and not self._is_at_end:
            at -= self._fill()
            at = skip_space(self._text, at)
        return at

    def _fill(self) -> int:
        """Read on, twice as much each time for a long object; return by how much all places have moved."""
        used, self._at = self._at, 0
        self._text = self._text[used:]
        if len(self._text) > LONGEST:
            raise InputError(f"{self._where()} is longer than {LONGEST >> 20} MiB; JSON lines can have more records.")
        chunk = self._lines.read_some(max(_CHUNK, len(self._text)))
        self._is_at_end = not chunk
        try:
            self._text += self._decoder.decode(chunk, final=not chunk)
            return used
        except UnicodeDecodeError:
            pass
        raise InputError(f"{self._where()} is not UTF-8{self._lines.advice()}.")
