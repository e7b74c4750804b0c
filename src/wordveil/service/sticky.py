"""Keeps the draws of a conversation's messages, so that a message sent again returns the same draws.

A chat client sends the whole history with each turn. Drawn anew each time, every message would be released many times,
and repeated draws can be combined to recover it. What we keep was released anyway. It is stored under a keyed hash of
who sent what in which conversation. The key is a secret of the run and never written, so somebody who reads the file
can neither find a text nor test a guess. A copy of a release is post-processing: it loses and costs nothing.

If two requests send a new message at once, it must be paid for only once. So the first claims the message, and the
other waits for its draw.
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
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson

from wordveil.service.metrics import log_seldom
from wordveil.service.problems import Problem
from wordveil.service.processes import is_running

__all__ = ["Sticky"]

_LOG = logging.getLogger("wordveil.service")
_WAIT = 30.0  # seconds to wait for the other processes' transactions
_AWAY = 5.0  # seconds after which to try again where nothing can be written
_CLAIMED = 60.0  # seconds until a claim on a message lapses
_SHARE = 10  # remove one draw in this many when there is no more room


class Sticky:
    """Keeps draws for all processes of the service, for a limited time and in limited space."""

    def __init__(self, folder: Path, secret: bytes, seconds: float, most_bytes: int) -> None:
        self._secret, self._seconds, self._most = secret, seconds, most_bytes
        self._lock = threading.Lock()
        self._database = sqlite3.connect(
            folder / "sticky.db", timeout=_WAIT, isolation_level=None, check_same_thread=False
        )
        # The database ends with the run, so it may be lost in a crash of the machine.
        for pragma in ("journal_mode = WAL", "synchronous = OFF", "secure_delete = ON"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.execute("CREATE TABLE IF NOT EXISTS kept (digest BLOB PRIMARY KEY, value BLOB, used REAL)")
        self._database.execute("CREATE INDEX IF NOT EXISTS kept_used ON kept (used)")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS claims (digest BLOB PRIMARY KEY, owner BLOB, process INTEGER, until REAL)"
        )

    def digest(self, *parts: Any) -> bytes:
        """Return a keyed hash of plain values. Without the secret, nobody can find the values from it."""
        told = json.dumps(parts, sort_keys=True).encode()  # escaped, so that lone surrogates pass, too
        return hashlib.blake2b(told, key=self._secret, digest_size=32).digest()

    def get(self, digests: Collection[bytes]) -> dict[bytes, dict[str, Any]]:
        """Return the values that are kept, and extend their time."""
        with self._lock:
            return self._get(digests)

    def claim(self, digests: Collection[bytes], owner: bytes) -> dict[bytes, dict[str, Any]] | None:
        """Return the values that are kept, and claim the rest until `release`; None if another holds some of them.

        Claims all or nothing: two requests that each held a part would wait for each other.
        """
        try:
            return self._claim(digests, owner)
        except sqlite3.Error as error:
            log_seldom(_LOG, logging.ERROR, f"messages of a conversation could not be claimed: {_reason(error)}")
        raise Problem(
            503,
            "the draws of conversations cannot be kept just now; nothing was released. Try again later.",
            "draws-unavailable",
            after=_AWAY,
        )

    def _claim(self, digests: Collection[bytes], owner: bytes) -> dict[bytes, dict[str, Any]] | None:
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
        """Whether another request is paying for one of these messages."""
        with self._lock:
            return any(self._is_claimed(digest, b"") for digest in digests)

    def _is_claimed(self, digest: bytes, owner: bytes) -> bool:
        """Whether another holds a claim on a message. The claims of a process that has died do not count."""
        taken = "SELECT process FROM claims WHERE digest = ? AND owner <> ?"
        found = self._database.execute(taken, (digest, owner)).fetchone()
        if found is None or is_running(found[0]):
            return found is not None
        self._database.execute("DELETE FROM claims WHERE process = ?", found)
        return False

    def release(self, owner: bytes) -> None:
        """Give up all claims of `owner`. If that fails, they lapse later."""
        try:
            with self._transaction():
                self._database.execute("DELETE FROM claims WHERE owner = ?", (owner,))
        except sqlite3.Error as error:
            log_seldom(_LOG, logging.ERROR, f"messages of a conversation could not be released: {_reason(error)}")

    def put(self, values: Mapping[bytes, dict[str, Any]]) -> dict[bytes, dict[str, Any]]:
        """Keep values and return those that count: if another process was first, its values.

        Values that cannot be kept are returned as well, because they are paid for.
        """
        try:
            return self._put(values)
        except sqlite3.Error as error:
            log_seldom(_LOG, logging.ERROR, f"draws of a conversation could not be kept: {_reason(error)}")
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
                with suppress(sqlite3.Error):  # the disk is full: then it is kept for no longer, and still found
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
                self._database.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has undone it already
                    self._database.execute("ROLLBACK")
                raise

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
        """Remove the values unused for longest. Return whether there were any."""
        (kept,) = self._database.execute("SELECT count(*) FROM kept").fetchone()
        gone = self._database.execute(
            "DELETE FROM kept WHERE digest IN (SELECT digest FROM kept ORDER BY used LIMIT ?)", (kept // _SHARE + 1,)
        )
        return gone.rowcount > 0


def _reason(error: sqlite3.Error) -> str:
    """Return SQLite's own name of an error, such as that of a full disk; Python has it since 3.11."""
    return getattr(error, "sqlite_errorname", "") or type(error).__name__
