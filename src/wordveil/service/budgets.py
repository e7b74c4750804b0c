"""Budgets of keys and end users. Every release is charged before anything leaves the service."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

from wordveil.errors import FileError, OptionError, WordveilError
from wordveil.guarantee import Notion
from wordveil.lac.databases import is_postgres
from wordveil.lac.ledger import Account, Balance, Ledger, Overdrawn
from wordveil.service.metrics import log_seldom
from wordveil.service.problems import Problem
from wordveil.service.settings import Key, Settings
from wordveil.text import Veil

__all__ = ["Bill", "Budgets", "check_end_user", "named_in_header", "reached", "since"]

_SCHEMA = "wordveil_service"
_TRIES = 4  # how many ε to price for a refusal; the price is nearly proportional to ε, so few are enough
_LONGEST_USER = 200
_AWAY = 5.0  # seconds after which to try an unreachable ledger again
_LOG = logging.getLogger("wordveil.service")


def since(period: str, now: datetime | None = None) -> int:
    """Return when the current period began, in seconds since 1970; 0 for no period. Weeks begin on Monday, in UTC."""
    if not period:
        return 0
    begun = (now or datetime.now(timezone.utc)).replace(minute=0, second=0, microsecond=0)
    if period != "hour":
        begun = begun.replace(hour=0)
    if period == "week":
        begun -= timedelta(days=begun.weekday())
    if period == "month":
        begun = begun.replace(day=1)
    return int(begun.timestamp())


def check_end_user(user: str | None) -> None:
    """Refuse an end user whose name is empty or too long."""
    if user is not None and not 0 < len(user) <= _LONGEST_USER:
        raise Problem(422, f"user must have between 1 and {_LONGEST_USER} characters.")


def named_in_header(user: str | None) -> str | None:
    """Return the end user that a header names. Read as UTF-8, like a body: two spellings would be two accounts."""
    try:
        return None if user is None else user.encode("latin-1").decode()
    except UnicodeError:
        raise Problem(422, "the header Wordveil-User is not UTF-8.") from None


@contextmanager
def reached() -> Iterator[None]:
    """Turn a ledger that cannot be used into a 503, and log for the operator which one and why."""
    try:
        yield
    except FileError as error:
        log_seldom(_LOG, logging.ERROR, str(error))  # names only the ledger and the system's reason
    else:
        return
    raise Problem(
        503,
        "the budgets cannot be read or written just now; nothing was released. Try again later.",
        "ledger-unavailable",
        after=_AWAY,
    )


class Bill(NamedTuple):
    """Who pays for a request, and what one draw costs."""

    key: Key
    user: str | None
    price: float
    #: Returns the price of a draw at another ε. `epsilon` is the one asked for.
    price_at: Callable[[float], float]
    epsilon: float


class Budgets:
    """The accounts of keys and of their end users, in the ledgers that the settings name."""

    def __init__(self, settings: Settings) -> None:
        self._ledgers: dict[str, Ledger] = {}
        self._keys = {key.name: key for key in settings.keys if key.is_charged}
        self._pricing = threading.Lock()
        shared = Ledger(settings.ledgers, schema=_SCHEMA) if self._keys and is_postgres(settings.ledgers) else None
        for name in self._keys:
            self._ledgers[name] = shared or _file(Path(settings.ledgers), name)

    def bill(self, key: Key | None, user: str | None, veil: Veil, price_at: Callable[[float], float]) -> Bill | None:
        """Return who pays for what a veil draws, or None if nobody does. Refuse settings that have no price."""
        check_end_user(user)
        if key is None or not key.is_charged:
            return None
        if key.user_budget is not None and user is None:
            raise Problem(422, "this key has a budget for each end user: name the end user in user.", "user-required")
        if veil.guarantee.notion is not Notion.METRIC:
            raise Problem(
                403,
                "this key has a budget, and these settings give no guarantee to charge for: choose a mechanism with ε "
                "per unit of distance, and do not keep unknown words.",
                "no-price",
            )
        if veil.case == "copy":
            raise Problem(
                403,
                "this key has a budget, and capitals copied from the original have no price: choose the case sentence "
                "or lower.",
                "no-price",
            )
        return Bill(key, user, veil.largest_loss, price_at, veil.mechanism.epsilon)

    def charge(self, bill: Bill, draws: int) -> float:
        """Charge for draws before they are released. Return what is left in the tightest account that pays.

        Every draw costs the most that it can lose between any two words (`Veil.largest_loss`). Losses of independent
        draws add up, so the sum of the charges bounds the loss of everything released.
        """
        if not draws:
            with reached():
                accounts = _accounts(bill.key, bill.user)
                return min(self._ledgers[bill.key.name].balance(account).left for account in accounts)
        try:
            with reached():
                return self._charge([(bill, draws)])
        except Overdrawn as short:
            raise self._refusal(bill, draws, short) from None

    def check(self, bill: Bill, draws: int) -> None:
        """Refuse draws that a budget does not cover now, without charging them."""
        for account in _accounts(bill.key, bill.user):
            with reached():
                has = self._ledgers[bill.key.name].balance(account).left
            if bill.price * draws > has * (1 + 1e-9):  # rounding is left to the charge
                raise self._refusal(bill, draws, Overdrawn(account, bill.price * draws, has))

    def charge_leading(self, bills: Sequence[tuple[Bill, int]]) -> tuple[int, Problem | None]:
        """Charge for the releases of one key in order, as far as the budgets go.

        Returns how many were charged, and why the next one was not. Tries all at once; if the budgets do not cover
        them, bisects, so that few writes find where they end.
        """
        try:
            with reached():
                self._charge(bills)
        except Problem as away:
            return 0, away
        except Overdrawn as short:
            half = len(bills) // 2
            if half == 0:
                return 0, self._refusal(*bills[0], short)
            paid, why = self.charge_leading(bills[:half])
            if why is None:
                more, why = self.charge_leading(bills[half:])
                paid += more
            return paid, why
        return len(bills), None

    def _charge(self, bills: Sequence[tuple[Bill, int]]) -> float:
        """Charge for several releases of one key: all of them or none."""
        owed: dict[Account, float] = {}
        for bill, draws in bills:
            for account in _accounts(bill.key, bill.user) if draws else ():
                owed[account] = owed.get(account, 0.0) + bill.price * draws
        return min(self._ledgers[bills[0][0].key.name].charge(list(owed.items()))) if owed else math.inf

    def balances(self, key: Key, user: str | None) -> list[dict[str, Any]]:
        """Return the accounts of a key, or of one of its end users as well, with what is left in each."""
        named = [account for account in _accounts(key, user) if user is not None or account.user == key.name]
        return [self._told(key, account) for account in named]

    def of_keys(self) -> dict[str, tuple[float, float]]:
        """Return the budget of each key and what is left of it. Skips keys whose ledger cannot be read."""
        found = {}
        for name, key in self._keys.items():
            with suppress(FileError):
                for account in _accounts(key, None):
                    found[name] = (account.budget, self._ledgers[name].balance(account).left)
        return found

    def change(self, key: Key, user: str | None, added: float | None) -> dict[str, Any]:
        """Add to the account of a key or of one of its end users. None resets it."""
        which = "user_budget" if user is not None else "budget"
        if getattr(key, which) is None:
            raise OptionError(f"the key {key.name} has no {which}.")
        account = _accounts(key, user)[-1]
        ledger = self._ledgers[key.name]
        _ = ledger.reset(account) if added is None else ledger.add(account, added)
        return self._told(key, account)

    def close(self) -> None:
        """Close open connections."""
        for ledger in self._ledgers.values():
            ledger.close()

    def _told(self, key: Key, account: Account) -> dict[str, Any]:
        of_key = account.user == key.name
        balance: Balance = self._ledgers[key.name].balance(account)
        return {
            "of": "key" if of_key else "user",
            "budget": account.budget,
            "period": (key.period if of_key else key.user_period) or None,
            "since": account.since or None,
            **balance._asdict(),
        }

    def _refusal(self, bill: Bill, draws: int, short: Overdrawn) -> Problem:
        of = "key" if short.account.user == bill.key.name else "end user"
        has = max(short.has, 0.0)
        fits = self._fitting(bill, draws, has)
        advice = f"; ε ≤ {fits:g} fits" if fits else ""
        when = " It is renewed with the next period." if short.account.since else ""
        return Problem(
            403,
            f"over budget: this needs {_up(short.needs):g}, and the {of} has {_down(has):g}{advice}. Nothing was "
            f"released and nothing was charged.{when}",
            "over-budget",
            needs=short.needs,
            has=short.has,
            epsilon_that_fits=fits,
        )

    def _fitting(self, bill: Bill, draws: int, has: float) -> float | None:
        """Return an ε at which the draws would fit; None if none does, or while another refusal is being priced."""
        if has <= 0 or not self._pricing.acquire(blocking=False):  # a flood of refusals must stay cheap
            return None
        try:
            tried, cost = bill.epsilon, bill.price * draws
            for _ in range(_TRIES):
                tried = _down(tried * has / cost)
                if tried <= 0:
                    return None
                with suppress(Problem, WordveilError):
                    cost = bill.price_at(tried) * draws
                    if cost <= has:
                        return tried
                    continue
                return None  # ε below what the service allows
        finally:
            self._pricing.release()
        return None


def _file(folder: Path, name: str) -> Ledger:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise FileError(f"cannot create the folder of ledgers {folder}; choose another.") from None
    return Ledger(folder / f"{name}.db")


def _accounts(key: Key, user: str | None) -> list[Account]:
    """Return the accounts that pay: the key's, then the end user's, if they have a budget."""
    accounts = []
    if key.budget is not None:
        accounts.append(Account(key.name, key.budget, since(key.period)))
    if key.user_budget is not None and user is not None:  # names of keys have no line break, so this is unambiguous
        accounts.append(Account(f"{key.name}\nuser\n{user}", key.user_budget, since(key.user_period)))
    return accounts


def _down(amount: float) -> float:
    return _three_digits(amount, math.floor)


def _up(amount: float) -> float:
    return _three_digits(amount, math.ceil)


def _three_digits(amount: float, rounded: Callable[[float], int]) -> float:
    """Round to three significant digits, or to a whole number if it has more before the point."""
    if amount <= 0:
        return 0.0
    unit = 10.0 ** min(0, math.floor(math.log10(amount)) - 2)
    return round(rounded(amount / unit) * unit, 12)
