"""API keys: made once, kept as hashes, and checked in constant time."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from wordveil.service.settings import Key, Settings

__all__ = ["Keys", "hash_key", "new_key"]


def new_key() -> str:
    """Make a key of 256 random bits."""
    return f"wv_{secrets.token_urlsafe(32)}"


def hash_key(key: str) -> str:
    """Return what is kept of a key. A fast hash is enough: nobody can try 2^256 keys."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class Keys:
    """The API keys of the service: tells who is calling."""

    def __init__(self, settings: Settings) -> None:
        self._keys, self._operator = settings.keys, settings.metrics_hash

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


def _digest_in(authorization: str | None) -> tuple[str, str]:
    """Return the scheme of the header ``Authorization``, and the hash of what it gives."""
    scheme, _, given = (authorization or "").partition(" ")
    return scheme.lower(), hash_key(given.strip())
