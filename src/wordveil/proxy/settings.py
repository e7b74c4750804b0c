"""What the proxy does and what it allows."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from wordveil.errors import OptionError
from wordveil.text.conversation import Policy

__all__ = ["Settings", "is_loopback"]


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Settings:
    """How the proxy runs.

    Raises
    ------
    OptionError
        If a setting makes no sense.
    """

    upstream: str  # the address of the model's API, including its version: ``https://api.example.com/v1``
    policy: Policy = field(default_factory=Policy)  # what to veil, leave alone and refuse
    restore: bool = False  # whether to replace placeholders in replies by what they stand for
    # Other host names to answer to (the ``Host`` header), besides this machine's own, against DNS rebinding; ``*``
    # allows all.
    hosts: tuple[str, ...] = ()
    # Seconds for a request to arrive, for the upstream to begin its answer, and between two pieces of a stream.
    timeout: float = 120.0
    body_bytes: int = 1 << 20  # the longest request
    reply_bytes: int = 1 << 25  # the longest reply that is not a stream
    requests: int = 64  # how many requests may be in progress at once
    # Whether to talk to an upstream on another machine without TLS, which sends the caller's key in the clear.
    plain_http: bool = False
    access_log: bool = False  # whether to log requests: path, status and time, never their content

    def __post_init__(self) -> None:
        self.policy.check()
        try:
            parts = urlsplit(self.upstream)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address or parts.query or parts.fragment or parts.username or parts.password:
            raise OptionError(
                "upstream must be an address such as https://api.example.com/v1, without a user, a password or a query."
            )
        if parts.scheme == "http" and not is_loopback(parts.hostname or "") and not self.plain_http:
            raise OptionError(
                "upstream is on another machine and without TLS, so callers' keys would be sent in the clear: use "
                "https, or set `plain_http`."
            )
        if min(self.timeout, self.body_bytes, self.reply_bytes, self.requests) <= 0:
            raise OptionError("timeout, body_bytes, reply_bytes and requests must be above 0.")
