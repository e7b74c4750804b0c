"""Mail: a record is a message, of which the subject and the text are veiled and nothing else is written.

The other headers are identifiers and attachments may be anything, so a new message is made rather than the old one
changed.
"""

from __future__ import annotations

import email
import email.message
import email.policy
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from wordveil.errors import InputError, OptionError
from wordveil.io.formats import Block, Position, Reading, Written
from wordveil.io.lines import LONGEST, LineReader
from wordveil.text import Document

__all__ = ["MailReader", "MailboxReader"]

_BEGIN = b"From "  # of a message in a mailbox
_NOBODY = b"From wordveil Thu Jan  1 00:00:00 1970\n"  # sender and time of arrival, which a mailbox must state
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_TO_QUOTE = re.compile(rb"^(>*From )", re.MULTILINE)
_SPACES = re.compile(r"\s+")


class Message(NamedTuple):
    """What is kept of a message; None where it had no such part."""

    subject: str | None
    body: str | None
    ending: str  # of its lines


@dataclass
class MailBlock(Block):
    """Messages, of a mailbox or (one) of a file of its own."""

    messages: list[Message]
    in_mailbox: bool

    def render(self, releases: Sequence[Written]) -> bytes:
        """Return new messages with the new texts."""
        texts = iter(releases)
        written = b""
        for message in self.messages:
            subject = None if message.subject is None else next(texts).text
            body = "" if message.body is None else next(texts).text
            made = _message(subject, body, "\n" if self.in_mailbox else message.ending)
            written += _NOBODY + _TO_QUOTE.sub(rb">\1", made) + b"\n" if self.in_mailbox else made
        return written


def _message(subject: str | None, body: str, ending: str) -> bytes:
    made = email.message.EmailMessage(policy=email.policy.SMTP.clone(linesep=ending))
    if subject is not None:
        made["Subject"] = _SPACES.sub(" ", subject).strip()
    made.set_content(body, cte="8bit")
    return made.as_bytes()


class MailReader(LineReader[Message]):
    """Reads a message that is a file of its own."""

    in_mailbox = False

    def __init__(self, path: Path | None, reading: Reading, start: Position | None = None) -> None:
        if reading.columns:
            raise OptionError("mail has no columns; leave out `columns`: its subject and its text are veiled.")
        # A message says itself how it is encoded, part by part.
        super().__init__(path, replace(reading, encoding="utf-8", encoding_errors="strict"), start)

    def _read_preamble(self) -> bytes:
        if self.in_mailbox and self._lines.peek(len(_BEGIN)) != _BEGIN:
            raise InputError(f"{self._lines.name} is not a mailbox: its first line does not begin with From.")
        return b""

    def _read_row(self) -> Message | None:
        raw = bytearray(self._lines.read())
        if not raw:
            return None
        self._record += 1
        lines, is_blank = [raw], False
        size = len(raw)
        while not (self.in_mailbox and is_blank and self._lines.peek(len(_BEGIN)) == _BEGIN):
            line = self._lines.read()
            if not line:
                break
            lines.append(bytearray(line))
            is_blank, size = not line.strip(b"\r\n"), size + len(line)
            if size > LONGEST:
                raise InputError(f"{self._where()} is longer than {LONGEST >> 20} MiB.")
        if self.in_mailbox:
            return self._parsed(_QUOTED.sub(rb"\1", b"".join(lines[1:])))
        return self._parsed(b"".join(lines))

    def _where(self) -> str:
        return f"message {self._record} of {self._lines.name}"

    def _parsed(self, raw: bytes) -> Message:
        """Return the subject and the text of a message."""
        try:
            message = email.message_from_bytes(raw, policy=email.policy.default)
            subject = message["Subject"]
            part = message.get_body(("plain", "html"))
            body = None if part is None else _text(part)
            ending = "\r\n" if raw.partition(b"\n")[0].endswith(b"\r") else "\n"
            return Message(None if subject is None else str(subject), body, ending)
        except Exception:  # noqa: BLE001, S110 - whatever a broken header makes the library raise, which may quote it
            pass
        raise InputError(f"{self._where()} cannot be read as mail; remove it, or export it again.")

    def _block(self, rows: list[Message], end: Position) -> Block:
        records: list[list[str | Document]] = [
            [text for text in (row.subject, row.body) if text is not None] for row in rows
        ]
        return MailBlock(end, records, rows, self.in_mailbox)


class MailboxReader(MailReader):
    """Reads the messages of a mailbox (mbox), one behind the other."""

    in_mailbox = True


def _text(part: email.message.Message) -> str:
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    try:
        text = raw.decode(part.get_content_charset("utf-8"), "replace")
    except LookupError:  # an encoding that nobody knows
        text = raw.decode("utf-8", "replace")
    return _Shown.of(text) if part.get_content_type() == "text/html" else text


class _Shown(HTMLParser):
    """Gathers the text that a page shows."""

    _HIDDEN = frozenset({"head", "script", "style", "title", "template"})
    _BREAKS = frozenset({"br", "div", "h1", "h2", "h3", "li", "p", "table", "tr"})

    def __init__(self) -> None:
        super().__init__()
        self._hidden, self._found = 0, list[str]()

    @classmethod
    def of(cls, page: str) -> str:
        """Return the text of a page."""
        parser = cls()
        parser.feed(page)
        parser.close()
        lines = (_SPACES.sub(" ", line).strip() for line in "".join(parser._found).split("\0"))
        return "\n".join(line for line in lines if line) + "\n"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self._hidden += tag in self._HIDDEN
        if tag in self._BREAKS:
            self._found.append("\0")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in self._HIDDEN and self._hidden > 0
        if tag in self._BREAKS:
            self._found.append("\0")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._found.append(data)
