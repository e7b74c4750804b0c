"""What the service allows, from a file and the environment."""

from __future__ import annotations

import ipaddress
import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from wordveil._mechanisms import MECHANISMS
from wordveil.errors import WordveilError
from wordveil.spaces import BUNDLED

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["PREFIX", "Key", "Settings"]

#: What the names of environment variables begin with: WORDVEIL_SERVE_PORT sets `port`.
PREFIX = "WORDVEIL_SERVE_"

# Elastic noise is sized anew for every ε, which takes minutes on a large space: too long for somebody who waits.
_QUICK = tuple(name for name in MECHANISMS if name != "elastic")

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Key:
    """Who may call the service.

    Parameters
    ----------
    name : str
        What the owner calls it: small letters, digits and hyphens. It names the ledger's file and stands in logs.
    hash : str
        The SHA-256 of the key, in hexadecimal digits.
    budget : float, optional
        How much ε may be spent with it in all, summed over veiled words.
    """

    name: str
    hash: str
    budget: float | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise WordveilError("the name of a key must be made of up to 40 small letters, digits and hyphens.")
        if not _HASH.fullmatch(self.hash):
            raise WordveilError(f"the hash of the key {self.name} must be 64 hexadecimal digits: see --new-key.")
        if self.budget is not None and not (math.isfinite(self.budget) and self.budget > 0):
            raise WordveilError(f"the budget of the key {self.name} must be a finite number above 0, or left out.")


@dataclass(frozen=True)
class Settings:
    """How the service runs and what it allows.

    Parameters
    ----------
    host, port : str, int
        Where it listens.
    workers : int
        How many processes answer.
    hosts : tuple of str
        Names by which it may be called beside its address (the ``Host`` header), against rebinding of names; ``*``
        allows all.
    spaces : tuple of str
        The spaces that may be asked for, the first being the default: bundled names, or paths of embedding files.
    mechanisms : tuple of str
        The mechanisms that may be asked for; all but elastic, which takes minutes to make, if not set.
    smallest_epsilon, largest_epsilon : float
        The range of ε that may be asked for.
    body_bytes : int
        The longest body of a request, and the longest line of a stream.
    words : int
        How many words a request, or a line of a stream, may have in all.
    texts : int
        How many texts a batch may have.
    timeout : float
        Seconds after which a request is given up, and a stream ended that sends no whole line or takes no answer.
    requests : int
        How many requests a process works on at once; more are told to come back later (503). Streams take up
        to half of them.
    options : bool
        Whether callers may set options of mechanisms; some of them cost as much time and memory as one asks for.
    jobs : int
        How many calibrations may wait in a process.
    job_timeout : float
        Seconds after which a calibration is given up.
    veils : int
        How many combinations of mechanism and ε a process keeps ready.
    shutdown : float
        Seconds that requests in progress have to end when the service is stopped.
    access_log : bool
        Whether every request is logged: method, route, status and time, never what was sent.
    keys : tuple of Key
        Who may call; everybody if there are none.
    ledgers : str
        The folder where budgets are kept, for keys that have one.
    metrics_hash : str
        The SHA-256 of the operator's key, which ``/metrics`` asks for; where there are keys and this is not set, nobody
        gets the figures.

    Examples
    --------
    >>> Settings.load(environment={"WORDVEIL_SERVE_LARGEST_EPSILON": "4"}).largest_epsilon
    4.0
    """

    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 1
    hosts: tuple[str, ...] = ()
    spaces: tuple[str, ...] = BUNDLED
    mechanisms: tuple[str, ...] = _QUICK
    smallest_epsilon: float = 0.01
    largest_epsilon: float = 1000.0
    body_bytes: int = 1 << 20
    words: int = 20_000
    texts: int = 1000
    timeout: float = 30.0
    requests: int = 256
    options: bool = False
    jobs: int = 8
    job_timeout: float = 3600.0
    veils: int = 32
    shutdown: float = 10.0
    access_log: bool = False
    keys: tuple[Key, ...] = ()
    ledgers: str = ""
    metrics_hash: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.port <= 65_535:
            raise WordveilError("the setting port must be a whole number from 1 to 65535.")
        for name in ("workers", "body_bytes", "words", "texts", "requests", "jobs", "veils"):
            if getattr(self, name) < 1:
                raise WordveilError(f"the setting {name} must be a whole number from 1 on.")
        for name in ("smallest_epsilon", "largest_epsilon", "timeout", "job_timeout", "shutdown"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise WordveilError(f"the setting {name} must be a finite number above 0.")
        if self.smallest_epsilon > self.largest_epsilon:
            raise WordveilError("the setting smallest_epsilon must not exceed largest_epsilon.")
        unknown = [name for name in self.mechanisms if name not in MECHANISMS]
        if unknown or not self.mechanisms:
            raise WordveilError(f"the setting mechanisms must name some of {', '.join(MECHANISMS)}.")
        if not self.spaces:
            raise WordveilError("the setting spaces must name at least one space.")
        if len({Path(space).name for space in self.spaces}) < len(self.spaces):
            raise WordveilError("the setting spaces names two spaces alike; rename a file.")
        self._check_keys()

    def _check_keys(self) -> None:
        if len({key.name for key in self.keys}) < len(self.keys):
            raise WordveilError("two keys have the same name.")
        if any(key.budget is not None for key in self.keys) and not self.ledgers:
            raise WordveilError("a key has a budget: say in the setting ledgers in which folder to keep account of it.")
        if self.metrics_hash and not _HASH.fullmatch(self.metrics_hash):
            raise WordveilError("the setting metrics_hash must be 64 hexadecimal digits: see --new-key.")
        if self.metrics_hash in {key.hash for key in self.keys}:
            raise WordveilError("the setting metrics_hash is that of a caller's key; make one for the operator.")
        if not self.is_local and not self.keys:
            raise WordveilError(
                f"{self.host} can be reached from other machines: configure a key first (wordveil serve --new-key "
                "NAME), or listen on 127.0.0.1."
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the service."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @classmethod
    def load(cls, file: Path | None = None, environment: Mapping[str, str] | None = None, **chosen: Any) -> Settings:
        """Read the settings: what is chosen here comes first, then the environment, the file, and what is usual.

        Parameters
        ----------
        file : Path, optional
            A TOML file with the settings by name, and ``[[keys]]`` with name, hash and budget.
        environment : mapping, optional
            The environment's variables, those of the process if not given; ``WORDVEIL_SERVE_CONFIG`` names the file.
        **chosen
            Settings by name; None leaves one as it is.
        """
        environment = os.environ if environment is None else environment
        named = environment.get(PREFIX + "CONFIG")
        values = _from_file(file or (Path(named) if named else None))
        kinds = {one.name: str(one.type) for one in fields(cls)}
        for variable, told in environment.items():
            name = variable.removeprefix(PREFIX).lower()
            if not variable.startswith(PREFIX) or name == "config":
                continue
            if name not in kinds:
                raise WordveilError(f"there is no setting for the variable {variable}; see docs/service.md.")
            values[name] = _READERS[kinds[name]](name, told)
        values |= {name: value for name, value in chosen.items() if value is not None}
        return replace(cls(), **values)


def _from_file(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        told = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise WordveilError(f"cannot read {file} as TOML.") from None
    kinds = {one.name: str(one.type) for one in fields(Settings)}
    for name, value in told.items():
        if name not in kinds:
            raise WordveilError(f"{file} has a setting {name!r} that there is none of.")
        told[name] = _keys_of(value) if name == "keys" else _checked(name, kinds[name], value)
    return told


def _checked(name: str, kind: str, value: Any) -> Any:
    if kind == "tuple[str, ...]" and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    plain: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "str": (str,), "bool": (bool,)}
    if isinstance(value, bool) != (kind == "bool") or not isinstance(value, plain.get(kind, ())):
        raise WordveilError(f"the setting {name} has a value of the wrong kind; it is a {kind}.")
    return float(value) if isinstance(value, int) and kind == "float" else value


def _keys_of(value: Any) -> tuple[Key, ...]:
    known = {one.name for one in fields(Key)}
    try:
        if any(set(one) - known for one in value):
            raise WordveilError(f"a key takes {', '.join(sorted(known))} and nothing else.")
        return tuple(Key(**one) for one in value)
    except TypeError:
        raise WordveilError("every key needs a name and a hash: see wordveil serve --new-key.") from None


def _number(kind: Callable[[str], Any]) -> Callable[[str, str], Any]:
    def read(name: str, told: str) -> Any:
        try:
            return kind(told)
        except ValueError:
            raise WordveilError(f"{PREFIX}{name.upper()} must be a number.") from None

    return read


def _truth(name: str, told: str) -> bool:
    if told.lower() not in ("1", "true", "yes", "0", "false", "no", ""):
        raise WordveilError(f"{PREFIX}{name.upper()} must be true or false.")
    return told.lower() in ("1", "true", "yes")


def _key(told: str) -> Key:
    name, _, rest = told.strip().partition(":")
    digest, _, budget = rest.partition(":")
    return Key(name, digest, _number(float)("keys", budget) if budget else None)


_READERS: dict[str, Callable[[str, str], Any]] = {
    "int": _number(int),
    "float": _number(float),
    "str": lambda _, told: told,
    "bool": _truth,
    "tuple[str, ...]": lambda _, told: tuple(one.strip() for one in told.split(",") if one.strip()),
    "tuple[Key, ...]": lambda _, told: tuple(_key(one) for one in told.split(",") if one.strip()),
}
