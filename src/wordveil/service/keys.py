"""API keys: made once, stored as hashes, compared in constant time, and limited to a rate."""

from __future__ import annotations

import hashlib
import hmac
import mmap
import os
import secrets
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from wordveil.service.settings import Key, Settings

__all__ = ["Keys", "Rates", "hash_key", "new_key"]

_PLACE = struct.Struct("=d")
_BURST = 10.0  # seconds' worth of requests that may come at once


def new_key() -> str:
    """Make a key of 256 random bits."""
    return f"wv_{secrets.token_urlsafe(32)}"


def hash_key(key: str) -> str:
    """Return what we store of a key. A fast hash is enough, because nobody can try 2^256 keys."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class Keys:
    """The API keys of the service."""

    def __init__(self, settings: Settings) -> None:
        self._keys, self._operator = settings.keys, settings.metrics_hash

    @property
    def needed(self) -> bool:
        """Whether callers need a key."""
        return bool(self._keys)

    def may_see_metrics(self, authorization: str | None) -> bool:
        """Whether the header has the operator's key. A caller's key is not enough: the counts are about others, too."""
        if not (self._keys or self._operator):
            return True
        scheme, digest = _digest_in(authorization)
        return hmac.compare_digest(self._operator, digest) and scheme == "bearer"

    def owner(self, authorization: str | None) -> Key | None:
        """Return the key in the header ``Authorization: Bearer KEY``, or None if it is not one of ours."""
        scheme, digest = _digest_in(authorization)
        found = None
        for key in self._keys:  # always all of them, so that the time does not tell which one matched
            if hmac.compare_digest(key.hash, digest):
                found = key
        return found if scheme == "bearer" else None


def _digest_in(authorization: str | None) -> tuple[str, str]:
    """Return the scheme of an ``Authorization`` header and the hash of its credentials."""
    scheme, _, given = (authorization or "").partition(" ")
    return scheme.lower(), hash_key(given.strip())


if sys.platform != "win32":
    import fcntl


class Rates:
    """Limits each key to its rate (GCRA), by keeping the time at which all its requests so far are due."""

    def __init__(self, folder: Path, keys: Sequence[Key]) -> None:
        limited = [key for key in keys if key.rate is not None]
        self._places = {key.name: number * _PLACE.size for number, key in enumerate(limited)}
        self._file = -1
        if limited:
            self._file = os.open(folder / "rates", os.O_RDWR | os.O_CREAT, 0o600)
            size = len(limited) * _PLACE.size
            # Room is taken now: on a full disk, a file with a hole would end the process that writes into it.
            if os.fstat(self._file).st_size < size:
                os.write(self._file, bytes(size))
            self._due = mmap.mmap(self._file, size)

    def wait(self, key: Key) -> float:
        """Let a request through and return 0, or return the seconds until one would get through."""
        if key.rate is None:
            return 0.0
        place, every = self._places[key.name], 1.0 / key.rate
        ahead = max(0.0, _BURST - every)
        if sys.platform != "win32":
            fcntl.lockf(self._file, fcntl.LOCK_EX, _PLACE.size, place)
        try:
            now = time.monotonic()  # the same clock for all processes of a machine
            due = max(now, *_PLACE.unpack_from(self._due, place))
            if due - now > ahead:
                return due - now - ahead
            _PLACE.pack_into(self._due, place, due + every)
            return 0.0
        finally:
            if sys.platform != "win32":
                fcntl.lockf(self._file, fcntl.LOCK_UN, _PLACE.size, place)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            self._due.close()
            os.close(self._file)
            self._file = -1
