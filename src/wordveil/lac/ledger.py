"""What each user has spent, in a store that survives crashes and allows several writers.

A spend is on the disk before the caller may release anything. After a crash in between, it is still counted, which is
the safe side. Amounts are whole billionths of ε, rounded up, so that sums are exact in any order.

What was ever spent is never forgotten. Each account also has a base, from which its budget counts. New periods, resets
and additions only move the base.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from wordveil.errors import BudgetError, OptionError
from wordveil.lac.databases import Run, open_database

_UNITS = 10**9
_MOST = 2**62  # leaves room for sums in a database's 64-bit integers

_TABLES = [
    "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value BLOB)",
    'CREATE TABLE IF NOT EXISTS spent ("user" BLOB PRIMARY KEY, units BIGINT NOT NULL, base BIGINT NOT NULL DEFAULT 0, '
    "since BIGINT NOT NULL DEFAULT 0)",
    'CREATE TABLE IF NOT EXISTS changes (at BIGINT NOT NULL, "user" BLOB NOT NULL, what TEXT NOT NULL, '
    "units BIGINT NOT NULL)",
]


class Account(NamedTuple):
    """Whose spends are counted, against which budget, and when its period began (in seconds; 0 without periods)."""

    user: str
    budget: float
    since: int = 0


class Balance(NamedTuple):
    """What an account has spent and has left in this period, and what it has spent ever."""

    spent: float
    left: float
    ever: float


class Overdrawn(BudgetError):  # noqa: N818 - reads well where it is caught
    """A spend that exceeds what an account has left."""

    def __init__(self, account: Account, needs: float, has: float) -> None:
        super().__init__(
            f"a user would spend more than the budget of {account.budget:g}; nothing was counted, and none of their "
            "data may be released."
        )
        self.account, self.needs, self.has = account, needs, has


class Ledger:
    """Counts what every user has spent of an ε budget.

    Users are stored as keyed digests, not by name. The key is stored with them, so anyone who can read the ledger can
    test whether a name is in it.

    Parameters
    ----------
    path : str or Path
        The file, which is created if it does not exist. Or the address of a PostgreSQL database (``postgresql://…``),
        which several machines can share; that needs the extra ``postgres``.
    budget : float, optional
        How much ε each user may spend. It must be the same every time the ledger is opened. The service passes one with
        each account instead.
    schema : str
        The schema of the tables in PostgreSQL.

    Examples
    --------
    >>> import tempfile
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db", budget=1.0)
    >>> ledger.spend("ann", 0.75)
    0.25
    >>> ledger.spent("ann")
    0.75
    """

    def __init__(self, path: str | Path, budget: float | None = None, *, schema: str = "wordveil") -> None:
        self._budget = budget
        units = None if budget is None else _units(budget, math.floor)
        self._database = open_database(path, schema, _TABLES)
        with self._database.changing() as run:
            run("INSERT INTO about VALUES ('key', ?) ON CONFLICT DO NOTHING", secrets.token_bytes(32))
            if units is not None:
                run("INSERT INTO about VALUES ('budget', ?) ON CONFLICT DO NOTHING", str(units).encode())
            known = dict(run("SELECT name, value FROM about").fetchall())
        self._key = bytes(known["key"])
        if units is not None and int(known["budget"]) != units:
            self.close()
            raise OptionError(f"this ledger has a budget of {int(known['budget']) / _UNITS:g}; open it with that one.")

    def spend(self, user: str, epsilon: float) -> float:
        """Count a spend of one user and return what is left. Beyond the budget, refuse it and count nothing."""
        return self.spend_all({user: epsilon})[user]

    def spend_all(self, spends: Mapping[str, float]) -> dict[str, float]:
        """Count spends of several users, all or none of them. Return what each has left."""
        return dict(
            zip(spends, self.charge([(self._account(user), epsilon) for user, epsilon in spends.items()]), strict=True)
        )

    def spent(self, user: str) -> float:
        """Return what a user has spent."""
        return self.balance(self._account(user)).ever

    def left(self, user: str) -> float:
        """Return what a user may still spend."""
        return self.balance(self._account(user)).left

    def charge(self, charges: Sequence[tuple[Account, float]]) -> list[float]:
        """Count spends of accounts, all or none of them. Return what each has left."""
        amounts = [_units(epsilon, math.ceil) for _, epsilon in charges]
        # Always in the same order, because two that wait for each other's rows would wait for ever.
        order = sorted(range(len(charges)), key=lambda place: self._digest(charges[place][0].user))
        left = [0.0] * len(charges)
        with self._database.changing() as run:
            for place in order:
                account, units = charges[place][0], amounts[place]
                digest, budget = self._renewed(run, account), _units(account.budget, math.floor)
                done = run(
                    'UPDATE spent SET units = units + ? WHERE "user" = ? AND units + ? - base <= ?',
                    units, digest, units, budget,
                )  # fmt: skip
                balance = self._balance(run, digest, account)
                if done.rowcount != 1:
                    raise Overdrawn(account, units / _UNITS, balance.left)
                # read here, because nothing may fail once the spend is counted
                left[place] = balance.left
        return left

    def balance(self, account: Account) -> Balance:
        """Return what an account has spent and has left, without writing anything."""
        with self._database.changing() as run:
            return self._balance(run, self._digest(account.user), account)

    def add(self, account: Account, epsilon: float) -> Balance:
        """Let an account spend this much more, in this period if it has one."""
        units = _units(epsilon, math.floor)
        with self._database.changing() as run:
            digest = self._renewed(run, account)
            run('UPDATE spent SET base = base + ? WHERE "user" = ?', units, digest)
            self._note(run, digest, "add", units)
            return self._balance(run, digest, account)

    def reset(self, account: Account) -> Balance:
        """Let an account spend its whole budget again. What it has ever spent stays on record."""
        with self._database.changing() as run:
            digest = self._renewed(run, account)
            (before,) = run('SELECT units - base FROM spent WHERE "user" = ?', digest).fetchone()
            run('UPDATE spent SET base = units WHERE "user" = ?', digest)
            self._note(run, digest, "reset", before)
            return self._balance(run, digest, account)

    def close(self) -> None:
        """Close open connections."""
        self._database.close()

    def _account(self, user: str) -> Account:
        if self._budget is None:
            raise OptionError("this ledger was opened without a budget; give one with each account.")
        return Account(user, self._budget)

    def _renewed(self, run: Run, account: Account) -> bytes:
        """Create an account's row if it has none, start its new period if there is one, and return its digest."""
        digest = self._digest(account.user)
        run('INSERT INTO spent ("user", units) VALUES (?, 0) ON CONFLICT DO NOTHING', digest)
        if account.since:  # never backwards: another machine's clock may be behind
            run(
                'UPDATE spent SET base = units, since = ? WHERE "user" = ? AND since < ?',
                account.since, digest, account.since,
            )  # fmt: skip
        return digest

    @staticmethod
    def _balance(run: Run, digest: bytes, account: Account) -> Balance:
        row = run('SELECT units, base, since FROM spent WHERE "user" = ?', digest).fetchone()
        units, base, since = row or (0, 0, 0)
        base = units if since < account.since else base
        left = _units(account.budget, math.floor) - (units - base)
        return Balance((units - base) / _UNITS, left / _UNITS, units / _UNITS)

    @staticmethod
    def _note(run: Run, digest: bytes, what: str, units: int) -> None:
        run("INSERT INTO changes VALUES (?, ?, ?, ?)", int(time.time()), digest, what, units)

    def _digest(self, user: str) -> bytes:
        return hashlib.blake2b(user.encode("utf-8", "surrogatepass"), key=self._key, digest_size=32).digest()


def _units(epsilon: float, rounded: Callable[[Decimal], int]) -> int:
    if not (math.isfinite(epsilon) and epsilon > 0.0):
        raise OptionError("an amount in a ledger must be a finite number above 0.")
    # 0.1 has no exact binary form, but three spends of 0.1 must not cost more than 0.3: keep 15 digits, which are exact
    units = rounded(Decimal(f"{epsilon:.15g}") * _UNITS)
    if units > _MOST:
        raise OptionError(f"an amount in a ledger must be at most {_MOST // _UNITS:,}.")
    return units
