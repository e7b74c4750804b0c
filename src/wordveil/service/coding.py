"""gzip, of bodies that come in and of answers that go out."""

from __future__ import annotations

import zlib

from starlette.types import Message, Receive

from wordveil.service.problems import Problem

__all__ = ["Packer", "unpacked"]

_GZIP = 31  # zlib's number for gzip's header and check
_LEVEL = 5
_PIECE = 1 << 16  # bytes that are unpacked at once: a small body can hold a very large one


def unpacked(receive: Receive) -> Receive:
    """Return what gives the body of a request as it was before gzip, a piece at a time."""
    unpacker = zlib.decompressobj(_GZIP)
    waiting, more = b"", True

    async def next_piece() -> Message:
        nonlocal waiting, more
        while True:
            if not waiting and more:
                message = await receive()
                if message["type"] != "http.request":
                    return message
                waiting, more = message.get("body", b""), message.get("more_body", False)
            try:
                piece = unpacker.decompress(waiting, _PIECE)
            except zlib.error:
                raise Problem(400, "the body is not valid gzip.", "invalid-encoding") from None
            waiting = unpacker.unconsumed_tail
            if unpacker.unused_data or (not waiting and not more and not unpacker.eof):
                raise Problem(400, "the body is not one whole gzip member.", "invalid-encoding")
            if piece or not (waiting or more):
                return {"type": "http.request", "body": piece, "more_body": bool(waiting or more)}

    return next_piece


class Packer:
    """Packs an answer as it is written; what was written so far can always be read."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(_LEVEL, wbits=_GZIP)

    def __call__(self, body: bytes, more: bool) -> bytes:
        """Return the next part of the packed answer."""
        return self._packer.compress(body) + self._packer.flush(zlib.Z_SYNC_FLUSH if more else zlib.Z_FINISH)
