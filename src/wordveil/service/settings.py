"""What the service allows, from a file, the environment and the command line.

pydantic, which FastAPI brings, checks the values. We do not use pydantic-settings: it ignores misspelt variables, reads
lists only as JSON, and looks at the environment even for settings made in Python. Undoing that would take more lines
than `Settings.load` has.
"""

from __future__ import annotations

import ipaddress
import math
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from wordveil._mechanisms import DEFAULT, MECHANISMS, mechanism
from wordveil.errors import FileError, OptionError, WordveilError
from wordveil.service.problems import what_is_wrong
from wordveil.spaces import BUNDLED, EuclideanSpace, PoincareSpace, Space, Vocabulary
from wordveil.text.conversation import CHOICES, Policy

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["PERIODS", "PREFIX", "SLOW", "Key", "Settings", "Traits", "shortfall_on", "traits_of"]

#: The prefix of environment variables: WORDVEIL_SERVE_PORT sets `port`.
PREFIX = "WORDVEIL_SERVE_"

#: Elastic noise is sized anew for every ε. On a large space that takes minutes, too long for a request.
SLOW = "elastic"
_TRIED = 1000.0  # an ε that every mechanism accepts

#: How often a budget may be renewed, in calendar units of UTC.
PERIODS = ("hour", "day", "week", "month")

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_WARM = re.compile(r"([a-z0-9-]+):([0-9]+(?:\.[0-9]+)?)(?:@(.+))?")
_ORIGIN = re.compile(r"\*|https?://[^/\s*]+")
_HASH = re.compile(r"[0-9a-f]{64}")


class Traits(NamedTuple):
    """What the service must know about a mechanism before it makes one."""

    kinds: list[str]
    is_unproven: bool


def shortfall_on(name: str, space: Space) -> str:
    """Return the shortfall of a mechanism with default options on a space; empty if it is proven there."""
    return mechanism(name, space, epsilon=_TRIED).shortfall


@cache
def traits_of(name: str) -> Traits:
    """Find which kinds of space a mechanism takes, and whether it is unproven, by trying the smallest of each."""
    words, points = Vocabulary(["one", "two", "three"]), np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.7]])
    kinds, is_unproven = [], False
    for space in (EuclideanSpace("plane", words, points), PoincareSpace("disk", words, points)):
        try:
            is_unproven |= bool(shortfall_on(name, space))
        except WordveilError:
            continue
        kinds.append(space.kind)
    return Traits(kinds, is_unproven)


@dataclass(frozen=True)
class Key:
    """Somebody who may call the service."""

    name: str  # lower-case letters, digits and hyphens: it names the ledger's file and appears in logs
    hash: str = field(repr=False)  # the SHA-256 of the key, in hexadecimal digits
    budget: float | None = None  # how much all its draws may lose in total, each counted with the most it can lose
    period: str = ""  # how often the budget is renewed: one of PERIODS; empty for never
    user_budget: float | None = None  # the same for each end user that its requests name
    user_period: str = ""
    rate: float | None = None  # how many requests it may make a second, on average

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise OptionError("the name of a key must consist of up to 40 lower-case letters, digits and hyphens.")
        if not _HASH.fullmatch(self.hash):
            raise OptionError(f"the hash of the key {self.name} must be 64 hexadecimal digits.")
        for what in ("budget", "user_budget", "rate"):
            amount = getattr(self, what)
            if amount is not None and not (_is_number(amount) and math.isfinite(amount) and amount > 0):
                raise OptionError(f"the {what} of the key {self.name} must be a finite number above 0, or left out.")
        for what, of in (("period", self.budget), ("user_period", self.user_budget)):
            if getattr(self, what) not in ("", *PERIODS):
                raise OptionError(f"the {what} of the key {self.name} must be one of {', '.join(PERIODS)}.")
            if getattr(self, what) and of is None:
                raise OptionError(f"the key {self.name} has a {what} but no budget to renew.")

    @property
    def is_charged(self) -> bool:
        """Whether its draws are charged to a budget."""
        return self.budget is not None or self.user_budget is not None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _keys_of(told: Any) -> Any:
    """Make keys from the tables of a settings file."""
    try:
        return tuple(Key(**one) if isinstance(one, dict) else one for one in told)
    except TypeError:
        raise OptionError(
            "a key needs a name and a hash. It may have budget, period, user_budget, user_period and rate, and nothing "
            "else."
        ) from None


_Count = Annotated[int, Field(ge=1)]
_Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Names = Annotated[tuple[str, ...], BeforeValidator(lambda told: tuple(told) if isinstance(told, list) else told)]


class Settings(BaseModel):
    """How the service runs and what it allows.

    Examples
    --------
    >>> Settings.load(environment={"WORDVEIL_SERVE_LARGEST_EPSILON": "4"}).largest_epsilon
    4.0
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    host: str = "127.0.0.1"
    """The address to listen on."""
    port: Annotated[int, Field(ge=1, le=65_535)] = 8765
    """The port to listen on."""
    workers: _Count = 1
    """How many processes answer requests."""
    hosts: _Names = ()
    """Other host names to answer to (the ``Host`` header), against DNS rebinding; ``*`` allows all."""
    spaces: _Names = BUNDLED
    """The spaces that clients may ask for, the default first: bundled names, or paths of embedding files."""
    mechanisms: _Names = Field(default_factory=lambda: tuple(name for name in MECHANISMS if name != SLOW))
    """The mechanisms that clients may ask for. The default is all but elastic, which takes minutes to set up."""
    unproven: bool = False
    """Whether to allow mechanisms that guarantee nothing or leave some words unprotected."""
    smallest_epsilon: _Amount = 0.01
    """The smallest ε that clients may ask for."""
    largest_epsilon: _Amount = 1000.0
    """The largest ε that clients may ask for."""
    body_bytes: _Count = 1 << 20
    """The longest body of a request, and the longest line of a stream."""
    words: _Count = 20_000
    """How many words a request, or a line of a stream, may have in total."""
    texts: _Count = 1000
    """How many texts a batch may have."""
    timeout: _Amount = 30.0
    """Seconds after which a request is cancelled, and a stream that sends no whole line or reads no answer is ended."""
    header_bytes: Annotated[int, Field(ge=1024)] = 1 << 14
    """The longest header of a request, its address included."""
    header_seconds: _Amount = 10.0
    """Seconds in which a header must arrive. A connection that sends no request is closed."""
    idle_seconds: _Amount = 30.0
    """Seconds after an answer until an idle connection is closed."""
    connections: _Count = 4096
    """How many connections a process may have at once, as far as the system allows; more are refused (503)."""
    connections_per_address: _Count = 2048
    """How many of them one address may have. Behind a proxy, all have the proxy's address."""
    requests: _Count = 256
    """How many requests a process works on at once; more are refused (503). Streams may take half of these places."""
    options: bool = False
    """Whether callers may set options of mechanisms. Some options cost unbounded time and memory."""
    jobs: _Count = 8
    """How many calibrations may wait in a process."""
    job_timeout: _Amount = 3600.0
    """Seconds after which a calibration is cancelled."""
    veils: _Count = 32
    """How many combinations of mechanism and ε a process keeps ready."""
    kept_bytes: Annotated[int, Field(ge=1 << 20)] = 512 << 20
    """How much more memory than at the start a process holds before it forgets those unused for longest (Linux)."""
    warm: _Names = ()
    """What to make before the service is ready, such as ``laplace:12`` or ``graph:4@glove-50k``: mechanism, ε and
    space. The default is the default mechanism at 4."""
    drain: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Seconds for which a stopping service (SIGTERM) still takes requests while ``/readyz`` answers 503."""
    compress: bool = True
    """Whether to compress longer answers for callers who accept zstd or gzip."""
    origins: _Names = ()
    """The sites whose pages may call from a browser (CORS), such as ``https://example.org``. ``*`` means all, and needs
    keys."""
    shutdown: _Amount = 10.0
    """Seconds that requests in progress have to finish when the service stops."""
    access_log: bool = False
    """Whether to log every request: method, route, status and time, never its content."""
    keys: Annotated[tuple[Key, ...], BeforeValidator(_keys_of)] = ()
    """Who may call. Without keys, everybody may."""
    ledgers: Annotated[str, Field(repr=False)] = ""
    """Where to keep budgets, if keys have any: a folder, or a PostgreSQL database (``postgresql://…``)."""
    sticky_seconds: _Amount = 86_400.0
    """How long to keep a message's draw for its conversation, from its last use."""
    sticky_bytes: Annotated[int, Field(ge=1 << 16)] = 256 << 20
    """How much disk these draws may take. Those unused for longest are removed first."""
    chat_mechanism: str = DEFAULT
    """The mechanism for conversations with a language model, whatever a client asks for."""
    chat_epsilon: _Amount = 4.0
    """Its ε. A client may ask for less, not for more."""
    chat_system: str = CHOICES["system"][0]
    """What to do with system messages: leave, veil or refuse."""
    chat_assistant: str = CHOICES["assistant"][0]
    """What to do with earlier replies of the model: veil or leave."""
    chat_results: str = CHOICES["results"][0]
    """What to do with the answers of tools: veil, leave or refuse."""
    metrics_hash: Annotated[str, Field(repr=False)] = ""
    """The SHA-256 of the operator's key for ``/metrics``. With keys and without this, nobody may read the metrics."""

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            refused = _sentence(error)
        else:
            return
        raise OptionError(refused)  # outside of the except, because a traceback would print the values

    @model_validator(mode="after")
    def _make_sense(self) -> Settings:
        if self.smallest_epsilon > self.largest_epsilon:
            raise OptionError("the setting smallest_epsilon must not exceed largest_epsilon.")
        if not self.mechanisms or not set(self.mechanisms) <= set(MECHANISMS):
            raise OptionError(f"the setting mechanisms must name some of {', '.join(MECHANISMS)}.")
        unproven = [name for name in self.mechanisms if traits_of(name).is_unproven]
        if unproven and "mechanisms" in self.model_fields_set and not self.unproven:
            raise OptionError(
                f"the setting mechanisms names {', '.join(unproven)}, which may leave words unprotected: remove it, or "
                "turn on the setting unproven."
            )
        if not all(_ORIGIN.fullmatch(origin) for origin in self.origins):
            raise OptionError("the setting origins must name sites as https://host or https://host:port, without path.")
        for told in self.warm:
            self.to_warm(told)
        if not self.spaces:
            raise OptionError("the setting spaces must name at least one space.")
        if len({Path(space).name for space in self.spaces}) < len(self.spaces):
            raise OptionError("the setting spaces has two files of the same name; rename one.")
        if "chat_mechanism" in self.model_fields_set and self.chat_mechanism not in self.allowed:
            raise OptionError(f"the setting chat_mechanism must be one of {', '.join(self.allowed)}.")
        for part in ("system", "assistant", "results"):
            if getattr(self, f"chat_{part}") not in CHOICES[part]:
                raise OptionError(f"the setting chat_{part} must be one of {', '.join(CHOICES[part])}.")
        return self

    @model_validator(mode="after")
    def _keep_others_out(self) -> Settings:
        if len({key.name for key in self.keys}) < len(self.keys):
            raise OptionError("two keys have the same name.")
        if any(key.is_charged for key in self.keys) and not self.ledgers:
            raise OptionError("a key has a budget: set ledgers to the folder or database that keeps its account.")
        if self.metrics_hash and not _HASH.fullmatch(self.metrics_hash):
            raise OptionError("the setting metrics_hash must be 64 hexadecimal digits.")
        if self.metrics_hash in {key.hash for key in self.keys}:
            raise OptionError("the setting metrics_hash belongs to a caller's key; make a key for the operator.")
        if "*" in self.origins and not self.keys:
            raise OptionError("the setting origins lets every site in: configure a key first, or name the sites.")
        if not self.is_local and not self.keys:
            raise OptionError(
                f"{self.host} can be reached from other machines: configure a key first (`wordveil serve --new-key` "
                "makes one), or listen on 127.0.0.1."
            )
        return self

    def to_warm(self, told: str) -> tuple[str, float, str | None]:
        """Return the mechanism, ε and space of an entry of `warm`."""
        found = _WARM.fullmatch(told)
        if found is None or found[1] not in self.mechanisms:
            raise OptionError("the setting warm takes entries such as laplace:12 or graph:4@glove-50k.")
        epsilon, space = float(found[2]), found[3]
        if not self.smallest_epsilon <= epsilon <= self.largest_epsilon:
            raise OptionError("the setting warm has an epsilon that the service does not allow.")
        if space is not None and space not in {Path(path).name for path in self.spaces}:
            raise OptionError("the setting warm has a space that the service does not have.")
        return found[1], epsilon, space

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the service."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def chat_policy(self) -> Policy:
        """Which parts of a conversation to veil."""
        return Policy(self.chat_system, self.chat_assistant, self.chat_results)

    @property
    def allowed(self) -> list[str]:
        """The mechanisms that clients may use, in order."""
        return [name for name in self.mechanisms if self.unproven or not traits_of(name).is_unproven]

    @classmethod
    def load(cls, file: Path | None = None, environment: Mapping[str, str] | None = None, **chosen: Any) -> Settings:
        """Read the settings: `chosen` wins over the environment, and the environment over the file.

        The file is TOML: settings by name, and ``[[keys]]`` with name, hash and budget. ``WORDVEIL_SERVE_CONFIG`` may
        name it. A setting chosen as None counts as not chosen.
        """
        environment = os.environ if environment is None else environment
        told = {name.removeprefix(PREFIX): text for name, text in environment.items() if name.startswith(PREFIX)}
        named = told.pop("CONFIG", "")
        file = file or (Path(named) if named else None)
        try:
            values = {} if file is None else tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise FileError(f"cannot read {file} as TOML.") from None
        values |= {name.lower(): _from_text(name, text) for name, text in told.items()}
        return cls(**values | {name: value for name, value in chosen.items() if value is not None})


def _from_text(variable: str, text: str) -> Any:
    """Read a setting from its variable: a number, true or false, or a comma-separated list."""
    known = Settings.model_fields.get(variable.lower())
    if known is None:
        raise OptionError(f"unknown variable {PREFIX}{variable}; see docs/service.md.")
    kind: Any = known.annotation
    listed = tuple(one.strip() for one in text.split(",") if one.strip())
    if kind == tuple[str, ...]:
        return listed
    try:
        if kind == tuple[Key, ...]:
            return tuple(map(_key_of, listed))
        return TypeAdapter(kind).validate_python(text or ("0" if kind is bool else ""))
    except OptionError:
        raise
    except ValueError:
        wanted = {bool: "true or false", tuple[Key, ...]: "a list of name:hash or name:hash:budget"}.get(
            kind, "a number"
        )
        raise OptionError(f"{PREFIX}{variable} must be {wanted}.") from None


def _key_of(text: str) -> Key:
    name, _, rest = text.partition(":")
    digest, _, budget = rest.partition(":")
    return Key(name, digest, float(budget) if budget else None)


def _sentence(refused: ValidationError) -> str:
    """Say what is wrong with the first refused value, without quoting it."""
    error = refused.errors(include_url=False, include_input=False)[0]
    cause = (error.get("ctx") or {}).get("error")
    if isinstance(cause, WordveilError):
        return str(cause)
    name = error["loc"][0]
    if error["type"] == "extra_forbidden":
        return f"unknown setting {str(name)!r}; see docs/service.md."
    return f"the setting {name} {what_is_wrong(error)}."
