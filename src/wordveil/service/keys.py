"""API keys: made once, kept as hashes, checked in constant time, and charged."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from pathlib import Path

from wordveil.errors import BudgetError, FileError
from wordveil.guarantee import Guarantee, Notion
from wordveil.lac import Ledger
from wordveil.service.problems import Problem
from wordveil.service.settings import Key, Settings

__all__ = ["Keys", "hash_key", "new_key"]


def new_key() -> str:
    """Make a key of 256 random bits."""
    return f"wv_{secrets.token_urlsafe(32)}"


def hash_key(key: str) -> str:
    """Return what is kept of a key. A fast hash is enough: nobody can try 2^256 keys."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class Keys:
    """Knows who is calling, and what is left of their budgets."""

    def __init__(self, settings: Settings) -> None:
        self._keys, self._operator = settings.keys, settings.metrics_hash
        folder = Path(settings.ledgers)
        self._ledgers: dict[str, Ledger] = {}
        for key in settings.keys:
            if key.budget is not None:
                try:
                    folder.mkdir(parents=True, exist_ok=True)
                except OSError:
                    raise FileError(f"cannot create the folder of ledgers {folder}; choose another.") from None
                self._ledgers[key.name] = Ledger(folder / f"{key.name}.db", key.budget)

    @property
    def needed(self) -> bool:
        """Whether a key is needed at all."""
        return bool(self._keys)

    def may_see_metrics(self, authorization: str | None) -> bool:
        """Whether the header has the operator's key: a caller's will not do, since the counts are those of others."""
        if not (self._keys or self._operator):
            return True
        scheme, digest = _digest_in(authorization)
        return hmac.compare_digest(self._operator, digest) and scheme == "bearer"

    def owner(self, authorization: str | None) -> Key | None:
        """Return whose key is in the header ``Authorization: Bearer KEY``; None if nobody's."""
        scheme, digest = _digest_in(authorization)
        found = None
        for key in self._keys:  # all of them, so that the time says nothing about which one it is
            if hmac.compare_digest(key.hash, digest):
                found = key
        return found if scheme == "bearer" else None

    def check(self, key: Key | None, guarantee: Guarantee, case: str) -> None:
        """Refuse a key with a budget what has no price to charge."""
        if key is None or key.budget is None:
            return
        if guarantee.notion is not Notion.METRIC:
            raise Problem(
                403,
                "this key has a budget, and these settings give no guarantee to charge for: choose a mechanism with ε "
                "per unit of distance, and do not keep unknown words.",
            )
        if case == "copy":
            raise Problem(
                403,
                "this key has a budget, and capitals copied from the original have no price: choose the case sentence "
                "or lower.",
            )

    def charge(self, key: Key, price: float, draws: int) -> float | None:
        """Charge for a release, before it is released; return what is left of the key's budget, if it has one.

        Every draw costs `price`, the most that it can lose between any two words (`Veil.largest_loss`). Losses of
        independent draws add up, so what was charged bounds the loss of all that was released with the key. What has
        no such price was refused by `check`.
        """
        ledger = self._ledgers.get(key.name)
        if ledger is None:
            return None
        try:
            return ledger.spend(key.name, price * draws) if draws else ledger.left(key.name)
        except BudgetError:
            raise Problem(
                403, "the key's budget is too small for this: nothing was released and nothing was charged."
            ) from None

    def charge_leading(self, key: Key, price: float, draws: Sequence[int]) -> int:
        """Charge for releases, from the first on, as far as the budget goes; return how many were charged.

        All at once if the budget covers them; otherwise by halves, so that few writes find where it ends.
        """
        try:
            self.charge(key, price, sum(draws))
        except Problem:
            half = len(draws) // 2
            if half == 0:
                return 0
            paid = self.charge_leading(key, price, draws[:half])
            return paid if paid < half else half + self.charge_leading(key, price, draws[half:])
        return len(draws)


def _digest_in(authorization: str | None) -> tuple[str, str]:
    """Return the scheme of the header ``Authorization``, and the hash of what it gives."""
    scheme, _, given = (authorization or "").partition(" ")
    return scheme.lower(), hash_key(given.strip())
