"""gzip and zstd, for request bodies and for answers."""

from __future__ import annotations

import re
import zlib
from typing import Any

import zstandard
from starlette.types import Message, Receive

from wordveil.service.problems import Problem

__all__ = ["CODINGS", "Packer", "chosen", "unpacked"]

#: Supported encodings, the preferred one first.
CODINGS = ("zstd", "gzip")

_GZIP = 31  # zlib's number for gzip's header and check
_GZIP_LEVEL, _ZSTD_LEVEL = 5, 3
_PIECE = 1 << 16  # bytes to unpack at once: a small body can hold a very large one
_SLICE = 256  # bytes of zstd to unpack at once: each may hold 32,768 times as many
_WINDOW = 1 << 23  # memory that a zstd body may make us keep (RFC 9659)
_TAKES = {name: re.compile(rf"\b{name}\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))", re.IGNORECASE) for name in CODINGS}


def chosen(accepted: str) -> str | None:
    """Return the encoding to answer with, given a request's ``Accept-Encoding``; None for no encoding."""
    return next((name for name in CODINGS if _TAKES[name].search(accepted)), None) if accepted else None


class _Gzip:
    errors: Any = zlib.error

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(_GZIP)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    def step(self, waiting: bytes) -> tuple[bytes, bytes]:
        piece = self._inner.decompress(waiting, _PIECE)
        return piece, self._inner.unconsumed_tail or self._inner.unused_data


class _Zstd:
    errors: Any = zstandard.ZstdError

    def __init__(self) -> None:
        self._inner = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj()

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    def step(self, waiting: bytes) -> tuple[bytes, bytes]:
        piece = self._inner.decompress(waiting[:_SLICE])
        return piece, self._inner.unused_data + waiting[_SLICE:]


_UNPACKERS: dict[str, type[_Gzip | _Zstd]] = {"gzip": _Gzip, "zstd": _Zstd}


def unpacked(receive: Receive, coding: str) -> Receive:
    """Wrap `receive` so that it yields the decompressed body, `_PIECE` bytes at a time at the most."""
    unpacker = _UNPACKERS[coding]()
    waiting, ready, more = b"", memoryview(b""), True

    async def next_piece() -> Message:
        nonlocal waiting, ready, more
        while True:
            if not (waiting or ready) and more:
                message = await receive()
                if message["type"] != "http.request":
                    return message
                waiting, more = message.get("body", b""), message.get("more_body", False)
            while waiting and len(ready) < _PIECE:
                if unpacker.eof:
                    raise Problem(400, f"the body is not one whole {coding} stream.", "invalid-encoding")
                try:
                    part, waiting = unpacker.step(waiting)
                except unpacker.errors:
                    raise Problem(400, f"the body is not valid {coding}.", "invalid-encoding") from None
                ready = memoryview(bytes(ready) + part)
            if not (waiting or more or unpacker.eof):
                raise Problem(400, f"the body is not one whole {coding} stream.", "invalid-encoding")
            # However much a step gives, no more at once: whoever reads this holds up all other requests meanwhile.
            piece, ready = bytes(ready[:_PIECE]), ready[_PIECE:]
            is_last = not (waiting or ready or more)
            if piece or is_last:
                return {"type": "http.request", "body": piece, "more_body": not is_last}

    return next_piece


class Packer:
    """Compresses an answer as it is written. Every part is flushed, so that clients can read it at once."""

    def __init__(self, coding: str) -> None:
        is_gzip = coding == "gzip"
        self._packer: Any = (
            zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP)
            if is_gzip
            else zstandard.ZstdCompressor(_ZSTD_LEVEL).compressobj()
        )
        self._modes = (
            (zlib.Z_SYNC_FLUSH, zlib.Z_FINISH)
            if is_gzip
            else (zstandard.COMPRESSOBJ_FLUSH_BLOCK, zstandard.COMPRESSOBJ_FLUSH_FINISH)
        )

    def __call__(self, body: bytes, more: bool) -> bytes:
        """Return the next part of the compressed answer."""
        return bytes(self._packer.compress(body) + self._packer.flush(self._modes[0 if more else 1]))
