"""A stream that is written while it is read, as `curl -T -` does it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from http.client import HTTPConnection
from typing import Any

__all__ = ["LINES", "STREAM", "numbered", "streamed"]

STREAM = "/v1/privatize/stream?epsilon=3"
LINES = "application/x-ndjson"


def numbered(number: int) -> str:
    """Return a text that tells its number in punctuation, which no veil replaces."""
    return "the of " + f"{number:b}".translate({ord("0"): ".", ord("1"): "!"})


def streamed(address: str, texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Send texts, a line each, and yield the answers as they come."""
    connection = HTTPConnection(address.removeprefix("http://"), timeout=60)
    connection.putrequest("POST", STREAM)
    connection.putheader("Content-Type", LINES)
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()

    def write() -> None:
        with suppress(OSError):  # whoever reads has seen enough
            for text in texts:
                line = json.dumps({"text": text}).encode() + b"\n"
                connection.send(b"%x\r\n%s\r\n" % (len(line), line))
            connection.send(b"0\r\n\r\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield from map(json.loads, connection.getresponse())
    finally:
        connection.sock.shutdown(2)
        writer.join()
        connection.close()
