"""Restores placeholders in a model's replies, even where a stream cuts them, and remembers what was delivered.

A reply is restored only from values in its own request, so nobody can obtain another's by asking the model. For each
delivered reply, the memory holds a keyed hash and the places that were restored, but no text. When a client sends the
reply again with its next turn, it goes back to the model as the model wrote it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import regex

from wordveil.text import Release
from wordveil.text.identifiers import KINDS, find_identifiers, placeholder

__all__ = ["Memory", "Reply", "Table"]

_NUMBERED = regex.compile(rf"<({'|'.join(KINDS)})_(\d{{1,9}})>")
_CUT = regex.compile(r"<(?:[A-Z]{0,10}|[A-Z]{1,10}_\d{0,9})\Z")  # the possible beginning of a placeholder
#: Fields of a reply with text from the model.
_WRITTEN = {"content", "refusal", "text", "arguments", "input", "reasoning_content", "encrypted_content"}


class _Restored(NamedTuple):
    start: int
    end: int
    kind: str


class Table:
    """What the placeholders of one request stand for. Lives until the request is answered."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        self._of_kind: dict[str, int] = {}
        self.values: dict[str, str] = {}

    def name(self, kind: str, value: str) -> str:
        """Return the placeholder of a value. Equal values share one."""
        number = self._numbers.get((kind, value))
        if number is None:
            number = self._numbers[kind, value] = self._of_kind[kind] = self._of_kind.get(kind, 0) + 1
        named = placeholder(kind, number)
        self.values[named] = value
        return named

    def numbered(self, text: str, release: Release) -> str:
        """Return the released text with its placeholders numbered."""
        kinds = {(one.start, one.end): one.kind for one in find_identifiers(text)}
        pieces, place = [], 0
        for start, end, new_start, new_end in release.replacements:
            kind = kinds.get((start, end))
            if kind is not None and release.text[new_start:new_end] == placeholder(kind):
                pieces += [release.text[place:new_start], self.name(kind, text[start:end])]
                place = new_end
        return "".join([*pieces, release.text[place:]])


class Memory:
    """Knows which replies each caller got, by keyed hashes. Forgets the oldest first."""

    def __init__(self, most: int = 100_000) -> None:
        self._secret, self._most = secrets.token_bytes(32), most
        self._replies: OrderedDict[bytes, tuple[_Restored, ...]] = OrderedDict()

    def hash(self, *parts: str) -> bytes:
        """Return a keyed hash of some texts, valid only in this process."""
        hasher = hashlib.blake2b(key=self._secret, digest_size=16)
        for part in parts:
            raw = part.encode("utf-8", "surrogatepass")
            hasher.update(len(raw).to_bytes(8, "big") + raw)  # the length makes the encoding of a list unique
        return hasher.digest()

    def remember(self, caller: str, text: str, restored: Iterable[_Restored], *, is_json: bool) -> None:
        """Note that a caller got a text, and where it was restored."""
        key = self.hash(caller, text, str(is_json))
        self._replies[key] = tuple(restored)
        self._replies.move_to_end(key)
        if len(self._replies) > self._most:
            self._replies.popitem(last=False)

    def has(self, caller: str, text: str, *, is_json: bool) -> bool:
        """Whether a caller got this text."""
        return self.hash(caller, text, str(is_json)) in self._replies

    def sent(self, caller: str, text: str, table: Table, *, is_json: bool) -> str:
        """Return a delivered text as the model wrote it, with this request's placeholders."""
        pieces, place = [], 0
        for start, end, kind in self._replies[self.hash(caller, text, str(is_json))]:
            value = json.loads(f'"{text[start:end]}"') if is_json else text[start:end]
            pieces += [text[place:start], table.name(kind, value)]
            place = end
        return "".join([*pieces, text[place:]])


class _Written:
    """One text that the model writes, whole or in pieces."""

    def __init__(self, values: dict[str, str], *, is_json: bool) -> None:
        self.is_json = is_json
        self._values, self._held, self._length = values, "", 0
        self._pieces, self._new = list[str](), list[str]()
        self.restored: list[_Restored] = []

    @property
    def text(self) -> str:
        """Everything returned so far."""
        return "".join(self._pieces)

    def feed(self, piece: str) -> str:
        """Add a piece and return what is ready: everything but the possible beginning of a placeholder."""
        text = self._held + piece
        cut = _CUT.search(text, max(0, len(text) - 24)) if self._values else None
        end = len(text) if cut is None else cut.start()
        self._held = text[end:]
        return self._out(text[:end])

    def end(self) -> str:
        """Return the rest."""
        held, self._held = self._held, ""
        return self._out(held)

    def _out(self, text: str) -> str:
        place = 0
        for found in _NUMBERED.finditer(text) if self._values else ():
            value = self._values.get(found.group())
            if value is not None:
                self._add(text[place : found.start()])
                start = self._length
                self._add(json.dumps(value, ensure_ascii=False)[1:-1] if self.is_json else value)
                self.restored.append(_Restored(start, self._length, found.group(1)))
                place = found.end()
        self._add(text[place:])
        out, self._new = "".join(self._new), []
        self._pieces.append(out)
        return out

    def _add(self, piece: str) -> None:
        self._new.append(piece)
        self._length += len(piece)


class Reply:
    """Restores one reply, whole or event by event."""

    def __init__(self, caller: str, memory: Memory, values: dict[str, str]) -> None:
        self._caller, self._memory, self._values = caller, memory, values
        self._open: dict[Any, _Written] = {}
        self._last: dict[Any, dict[str, Any]] = {}
        self._added = 0

    def whole(self, value: Any, key: str = "") -> Any:
        """Return a value with all text from the model restored."""
        if isinstance(value, dict):
            return {name: self.whole(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [self.whole(one, key) for one in value]
        if isinstance(value, str) and key in _WRITTEN:
            written = _Written(self._values, is_json=key == "arguments")
            restored = written.feed(value) + written.end()
            self._remember(written)
            return restored
        return value

    def chunk(self, chunk: dict[str, Any]) -> dict[str, Any]:
        """Return a chunk of a chat stream, with as much text as is ready."""
        for choice in _objects(chunk, "choices"):
            delta, number = choice.get("delta"), choice.get("index")
            if not isinstance(delta, dict):
                continue
            for holder, key, name in _written_in(delta):
                holder[key] = self._field((number, *name), is_json=key == "arguments").feed(holder[key])
            if choice.get("finish_reason"):
                self._finish(number, delta)
        return chunk

    def rest(self) -> Iterator[dict[str, Any]]:
        """Yield the rest of a chat stream that ended early."""
        for number in sorted({name[0] for name in self._open if name not in self._last}, key=str):
            delta: dict[str, Any] = {}
            self._finish(number, delta)
            if delta:
                yield {
                    "object": "chat.completion.chunk",
                    "choices": [{"index": number, "delta": delta, "finish_reason": None}],
                }

    def event(self, event: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield what one event of a response's stream becomes, which may be two events."""
        kind = event.get("type")
        place = tuple(event.get(name) for name in ("item_id", "output_index", "content_index", "summary_index"))
        if isinstance(kind, str) and kind.endswith(".delta") and isinstance(event.get("delta"), str):
            name = (kind.removesuffix(".delta"), *place)
            event["delta"] = self._field(name, is_json="arguments" in kind).feed(event["delta"])
            self._last[name] = event
            yield self._numbered(event)
            return
        name = (kind.removesuffix(".done") if isinstance(kind, str) else kind, *place)
        written = self._open.pop(name, None)
        held = written.end() if written is not None else ""
        last = self._last.pop(name, None)
        if held and last is not None:
            yield {**self._numbered(last), "delta": held, "sequence_number": self._next(event)}
            self._added += 1
        yield self._numbered(self.whole(event))

    def _next(self, event: dict[str, Any]) -> Any:
        number = event.get("sequence_number")
        return number + self._added if isinstance(number, int) else number

    def _numbered(self, event: dict[str, Any]) -> dict[str, Any]:
        return {**event, "sequence_number": self._next(event)} if self._added else dict(event)

    def _field(self, name: Any, *, is_json: bool) -> _Written:
        return self._open.setdefault(name, _Written(self._values, is_json=is_json))

    def _finish(self, number: Any, delta: dict[str, Any]) -> None:
        """Add the rest of a choice's text to its last delta, and remember what the choice said."""
        for name in [name for name in self._open if name[0] == number]:
            written = self._open.pop(name)
            held = written.end()
            self._remember(written)
            if not held:
                continue
            if name[1] == "tool_calls":
                _, _, index, inner, key = name
                delta.setdefault("tool_calls", []).append({"index": index, inner: {key: held}})
            elif name[1] == "function_call":
                call = delta.setdefault("function_call", {})
                call["arguments"] = call.get("arguments", "") + held
            else:
                delta[name[1]] = (delta.get(name[1]) or "") + held

    def _remember(self, written: _Written) -> None:
        text = written.text
        if text:
            self._memory.remember(self._caller, text, written.restored, is_json=written.is_json)


def _objects(holder: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = holder.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _written_in(delta: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, tuple[Any, ...]]]:
    """Yield each place of a delta that holds text from the model, with a name for that text."""
    for key in ("content", "refusal", "reasoning_content"):
        if isinstance(delta.get(key), str):
            yield delta, key, (key,)
    for call in _objects(delta, "tool_calls"):
        for inner, key in (("function", "arguments"), ("custom", "input")):
            if isinstance(call.get(inner), dict) and isinstance(call[inner].get(key), str):
                yield call[inner], key, ("tool_calls", call.get("index"), inner, key)
    old = delta.get("function_call")
    if isinstance(old, dict) and isinstance(old.get("arguments"), str):
        yield old, "arguments", ("function_call",)
