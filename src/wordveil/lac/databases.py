"""Where a ledger is stored: an SQLite file, or a PostgreSQL schema that several machines share.

Both offer transactions, in which `run` executes a statement. When a transaction ends, its changes are on the disk; if
it fails, nothing of it remains. Statements are written for SQLite, with ``?`` and ``BLOB``.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any, Protocol
from urllib.parse import urlsplit

from wordveil.errors import FileError
from wordveil.extras import needs

#: Executes one statement with its values. Returns a cursor (`fetchone`, `fetchall`, `rowcount`).
Run = Callable[..., Any]

_WAIT = 60  # seconds to wait for other writers
# When to give up on a PostgreSQL that is not there any more. A system's usual values are minutes to hours, and each
# thread that asks would wait for as long.
_GIVEN_UP = {
    "connect_timeout": 10,  # seconds
    "tcp_user_timeout": 20_000,  # milliseconds
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
_SETUP_LOCK = 7_038_219  # any number, the same everywhere: two sessions creating the same table at once would fail


class Database(Protocol):
    """A store that runs transactions."""

    def changing(self) -> Any:
        """Yield `run` for one transaction, which is committed to the disk at its end."""

    def close(self) -> None:
        """Close what is open."""


def is_postgres(place: str | Path) -> bool:
    """Whether a place is the address of a PostgreSQL database."""
    return str(place).startswith(("postgresql://", "postgres://"))


def open_database(place: str | Path, schema: str, tables: list[str]) -> Database:
    """Open a database and create missing tables."""
    return _Postgres(str(place), schema, tables) if is_postgres(place) else _Sqlite(Path(place), tables)


class _Sqlite:
    def __init__(self, path: Path, tables: list[str]) -> None:
        self.path = path
        with suppress(OSError):  # a file that cannot be created is reported when it is opened
            # it holds the key, so only the owner may read it
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with self.changing() as run:
            for table in tables:
                run(table)
            known = {column[1] for column in run("PRAGMA table_info(spent)").fetchall()}
            for column in {"base", "since"} - known:  # a file from an earlier version
                run(f"ALTER TABLE spent ADD COLUMN {column} BIGINT NOT NULL DEFAULT 0")

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
        try:
            database.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error:  # not a database
            database.close()
            raise
        return database

    @contextmanager
    def changing(self) -> Iterator[Run]:
        """Hold the file's write lock from the first read to the commit, so that no other writer comes between."""
        try:
            with closing(self._connect()) as database:
                database.execute("BEGIN IMMEDIATE")
                try:
                    yield lambda statement, *values: database.execute(statement, values)
                except BaseException:
                    with suppress(sqlite3.Error):  # a full disk has undone it already, and is what must be told
                        database.execute("ROLLBACK")
                    raise
                database.execute("COMMIT")
        except sqlite3.Error as error:
            reason = getattr(error, "sqlite_errorname", "") or type(error).__name__  # SQLite's own since Python 3.11
        else:
            return
        raise FileError(
            f"{self.path} cannot be used ({reason}); check that it is a ledger, that you may write to it, and that the "
            "disk is not full."
        )

    def close(self) -> None:
        """Do nothing: a file is open only during a transaction."""


class _Postgres:
    """Transactions at READ COMMITTED: an UPDATE that had to wait for a row checks its condition again."""

    def __init__(self, address: str, schema: str, tables: list[str]) -> None:
        needs("psycopg", "postgres", "a ledger in PostgreSQL")
        import psycopg  # noqa: PLC0415 - an extra

        self._psycopg = psycopg
        self._address, self._schema = address, schema
        self._host = urlsplit(address).hostname or "this machine"  # messages must not contain the password
        self._idle: LifoQueue[Any] = LifoQueue()
        with self.changing() as run:
            run("SELECT pg_advisory_xact_lock(?)", _SETUP_LOCK)
            if run("SELECT to_regnamespace(?)", schema).fetchone()[0] is None:
                run(f"CREATE SCHEMA {schema}")
            for table in tables:
                run(table.replace("BLOB", "BYTEA"))

    def _begun(self) -> Any:
        """Begin a transaction on an idle connection, unless the server has closed it, or on a new one."""
        begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
        with suppress(Empty):
            while True:
                connection = self._idle.get_nowait()
                try:
                    connection.execute(begin)
                except self._psycopg.Error:
                    connection.close()
                else:
                    return connection
        how: dict[str, Any] = {**_GIVEN_UP, **self._psycopg.conninfo.conninfo_to_dict(self._address)}
        connection = self._psycopg.connect(**how, autocommit=True)
        try:
            # The server's own settings may prefer speed to safety.
            connection.execute("SET synchronous_commit = on")
            connection.execute(f"SET lock_timeout = '{_WAIT}s'")
            connection.execute(f"SET search_path = {self._schema}")
            connection.execute(begin)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def changing(self) -> Iterator[Run]:
        """Run a transaction. Others who wait for a row that it changed continue after the commit."""
        try:
            connection = self._begun()
            try:
                yield lambda statement, *values: connection.execute(statement.replace("?", "%s"), values)
                connection.execute("COMMIT")
            except BaseException:
                try:
                    connection.execute("ROLLBACK")
                except self._psycopg.Error:
                    connection.close()
                raise
            finally:
                if not connection.closed:
                    self._idle.put(connection)
        except self._psycopg.Error as error:
            reason = type(error).__name__
        else:
            return
        raise FileError(
            f"the ledger's PostgreSQL on {self._host} cannot be used ({reason}); check its address, that it runs, and "
            "that you may create and write tables."
        )

    def close(self) -> None:
        """Close the idle connections."""
        with suppress(Empty):
            while True:
                self._idle.get_nowait().close()
