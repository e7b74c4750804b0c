"""What each user has spent, in a file that survives a crash and several writers.

A spend is on the disk before the caller may release anything. A crash in between leaves it counted, which errs on the
safe side. Amounts are whole billionths of ε, rounded up, so that sums are exact in any order.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from decimal import Decimal
from pathlib import Path

from wordveil.errors import BudgetError, FileError, OptionError

_UNITS = 10**9
_WAIT = 60.0  # seconds for other writers to finish


class Ledger:
    """Counts what every user has spent of an ε budget.

    Users are kept as keyed digests, not by name. The key lies in the same file, so anyone who holds the file can
    test whether a name is in it.

    Parameters
    ----------
    path : str or Path
        The file; created if it does not exist.
    budget : float
        How much ε each user may spend; the same every time the file is opened.

    Examples
    --------
    >>> import tempfile
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db", budget=1.0)
    >>> ledger.spend("ann", 0.75)
    0.25
    >>> ledger.spent("ann")
    0.75
    """

    def __init__(self, path: str | Path, budget: float) -> None:
        self.path = Path(path)
        self._budget = _units(budget, math.floor)
        with suppress(OSError):  # a file that cannot be made is reported when it is opened
            os.close(
                os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            )  # it holds the key, so it is the owner's alone
        with self._changing() as database:
            database.execute("CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value) WITHOUT ROWID")
            database.execute("CREATE TABLE IF NOT EXISTS spent (user BLOB PRIMARY KEY, units INTEGER) WITHOUT ROWID")
            database.execute("INSERT OR IGNORE INTO about VALUES ('key', ?)", (secrets.token_bytes(32),))
            database.execute("INSERT OR IGNORE INTO about VALUES ('budget', ?)", (self._budget,))
            known = dict(database.execute("SELECT name, value FROM about"))
        self._key: bytes = known["key"]
        if known["budget"] != self._budget:
            raise OptionError(f"{self.path} has a budget of {known['budget'] / _UNITS:g}; open it with that.")

    def spend(self, user: str, epsilon: float) -> float:
        """Count a spend of one user and return what is left; past the budget, refuse it and count nothing."""
        return self.spend_all({user: epsilon})[user]

    def spend_all(self, spends: Mapping[str, float]) -> dict[str, float]:
        """Count spends of several users, all or none of them, and return what each has left."""
        amounts = {user: _units(epsilon, math.ceil) for user, epsilon in spends.items()}
        left: dict[str, float] = {}
        with self._changing() as database:
            for user, units in amounts.items():
                digest = self._digest(user)
                database.execute("INSERT OR IGNORE INTO spent VALUES (?, 0)", (digest,))
                done = database.execute(
                    "UPDATE spent SET units = units + ? WHERE user = ? AND units + ? <= ?",
                    (units, digest, units, self._budget),
                )
                if done.rowcount != 1:
                    raise BudgetError(
                        f"a user would spend more than the budget of {self._budget / _UNITS:g}; nothing was counted, "
                        "and nothing of theirs may be released."
                    )
                # asked here, because nothing may go wrong any more once the spend is counted
                left[user] = (self._budget - self._units_of(database, digest)) / _UNITS
        return left

    def spent(self, user: str) -> float:
        """Return what a user has spent."""
        return self._spent(user) / _UNITS

    def left(self, user: str) -> float:
        """Return what a user may still spend."""
        return (self._budget - self._spent(user)) / _UNITS

    def _spent(self, user: str) -> int:
        with self._told(), closing(self._connect()) as database:
            return self._units_of(database, self._digest(user))

    @staticmethod
    def _units_of(database: sqlite3.Connection, digest: bytes) -> int:
        row = database.execute("SELECT units FROM spent WHERE user = ?", (digest,)).fetchone()
        return 0 if row is None else int(row[0])

    def _digest(self, user: str) -> bytes:
        return hashlib.blake2b(user.encode("utf-8", "surrogatepass"), key=self._key, digest_size=32).digest()

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
        try:
            database.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error:  # not a database
            database.close()
            raise
        return database

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Hold the file's write lock from the first look to the commit, so that no other writer comes between."""
        with self._told(), closing(self._connect()) as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            reason = type(error).__name__
        else:
            return
        raise FileError(
            f"{self.path} cannot be used ({reason}); check that it is a ledger and that you may write to it."
        )


def _units(epsilon: float, rounded: Callable[[Decimal], int]) -> int:
    if not (math.isfinite(epsilon) and epsilon > 0.0):
        raise OptionError("an amount in a ledger must be a finite number above 0.")
    # 0.1 is no binary fraction, and three of them should not cost a unit more than 0.3: 15 digits of a number are exact
    return rounded(Decimal(f"{epsilon:.15g}") * _UNITS)
