"""The draws of a conversation's messages, so that a message that is sent again comes out as it did.

A chat client sends the whole history with each turn. Drawn again each time, every message would be released many times,
and repeated draws can be combined to recover the words. What is kept is what was released anyway, under a keyed hash of
who sent what where; the key is a secret of the run that is never written, so nobody who reads the file can find a text
or test a guess. A copy of a release is post-processing: it loses nothing, and costs nothing.

A message that two requests send for the first time at once must be paid for once, so the one that will pay claims it,
and the other waits for its draw.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from wordveil.service.processes import is_running

__all__ = ["Sticky"]

_LOG = logging.getLogger("wordveil.service")
_WAIT = 30.0  # seconds for the other processes to finish
_CLAIMED = 60.0  # seconds until a claim on a message lapses
_SHARE = 10  # one draw in this many goes when there is no more room


class Sticky:
    """Keeps draws for all processes of the service, for some time and in bounded space."""

    def __init__(self, folder: Path, secret: bytes, seconds: float, most_bytes: int) -> None:
        self._secret, self._seconds, self._most = secret, seconds, most_bytes
        self._lock = threading.Lock()
        self._database = sqlite3.connect(
            folder / "sticky.db", timeout=_WAIT, isolation_level=None, check_same_thread=False
        )
        # It ends with the run, so a crash of the machine may lose it.
        for pragma in ("journal_mode = WAL", "synchronous = OFF", "secure_delete = ON"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.execute("CREATE TABLE IF NOT EXISTS kept (digest BLOB PRIMARY KEY, value BLOB, used REAL)")
        self._database.execute("CREATE INDEX IF NOT EXISTS kept_used ON kept (used)")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS claims (digest BLOB PRIMARY KEY, owner BLOB, process INTEGER, until REAL)"
        )

    def digest(self, *parts: Any) -> bytes:
        """Return what stands for plain values, from which they cannot be found without the secret."""
        told = json.dumps(parts, sort_keys=True).encode()  # escaped, so that halves of characters pass, too
        return hashlib.blake2b(told, key=self._secret, digest_size=32).digest()

    def get(self, digests: Collection[bytes]) -> dict[bytes, dict[str, Any]]:
        """Return what is kept, and keep it for longer."""
        with self._lock:
            return self._get(digests)

    def claim(self, digests: Collection[bytes], owner: bytes) -> dict[bytes, dict[str, Any]] | None:
        """Return what is kept and claim the rest, until `release`; None if another has claimed some of it.

        Nobody claims a part and waits for the others: two who did would wait for each other.
        """
        now = time.time()
        with self._transaction():
            self._database.execute("DELETE FROM claims WHERE until <= ?", (now,))
            known = self._get(digests)
            mine = [(digest, owner, os.getpid(), now + _CLAIMED) for digest in set(digests) - known.keys()]
            if any(self._is_claimed(digest, owner) for digest, *_ in mine):
                return None
            self._database.executemany("INSERT OR IGNORE INTO claims VALUES (?, ?, ?, ?)", mine)
        return known

    def is_claimed(self, digests: Collection[bytes]) -> bool:
        """Whether somebody pays for one of these messages just now."""
        with self._lock:
            return any(self._is_claimed(digest, b"") for digest in digests)

    def _is_claimed(self, digest: bytes, owner: bytes) -> bool:
        """Whether another has claimed a message; whose process was killed will not pay any more."""
        taken = "SELECT process FROM claims WHERE digest = ? AND owner <> ?"
        found = self._database.execute(taken, (digest, owner)).fetchone()
        if found is None or is_running(found[0]):
            return found is not None
        self._database.execute("DELETE FROM claims WHERE process = ?", found)
        return False

    def release(self, owner: bytes) -> None:
        """Give up what was claimed: it is kept now, or nothing came of it. What fails here ends by itself, later."""
        try:
            with self._transaction():
                self._database.execute("DELETE FROM claims WHERE owner = ?", (owner,))
        except sqlite3.Error as error:
            _LOG.error("messages of a conversation could not be released: %s", type(error).__name__)

    def put(self, values: Mapping[bytes, dict[str, Any]]) -> dict[bytes, dict[str, Any]]:
        """Keep values, and return those that count: where another process was first, its own.

        Those that cannot be kept count, too: they are paid for.
        """
        try:
            return self._put(values)
        except sqlite3.Error as error:
            _LOG.error("draws of a conversation could not be kept: %s", type(error).__name__)
            return dict(values)

    def _get(self, digests: Collection[bytes]) -> dict[bytes, dict[str, Any]]:
        now = time.time()
        found = {}
        for digest in set(digests):
            row = self._database.execute(
                "SELECT value FROM kept WHERE digest = ? AND used > ?", (digest, now - self._seconds)
            ).fetchone()
            if row is not None:
                found[digest] = orjson.loads(row[0])
                self._database.execute("UPDATE kept SET used = ? WHERE digest = ?", (now, digest))
        return found

    def _put(self, values: Mapping[bytes, dict[str, Any]]) -> dict[bytes, dict[str, Any]]:
        now = time.time()
        settled = {}
        with self._transaction():
            self._database.execute("DELETE FROM kept WHERE used <= ?", (now - self._seconds,))
            for digest, value in values.items():
                row = (digest, orjson.dumps(value), now)
                self._database.execute("INSERT INTO kept VALUES (?, ?, ?) ON CONFLICT DO NOTHING", row)
                (kept,) = self._database.execute("SELECT value FROM kept WHERE digest = ?", (digest,)).fetchone()
                settled[digest] = orjson.loads(kept)
            while self._used_bytes() > self._most and self._forget_some():
                pass
        return settled

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _used_bytes(self) -> int:
        pages, free, size = (
            self._database.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    def _forget_some(self) -> bool:
        """Forget those that were not used for longest; say whether there were any."""
        (kept,) = self._database.execute("SELECT count(*) FROM kept").fetchone()
        gone = self._database.execute(
            "DELETE FROM kept WHERE digest IN (SELECT digest FROM kept ORDER BY used LIMIT ?)", (kept // _SHARE + 1,)
        )
        return gone.rowcount > 0
