"""Calls somebody's function repeatedly in its own process: ``python worker.py package.module:function``.

It is run by its path, perhaps by another interpreter without wordveil, so it uses only the standard library. Requests
and answers are lines of JSON. Whatever the function prints goes to standard error, not between the answers.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["TooSlow", "call_all", "load", "quotes"]

_BEAT = 0.2  # seconds between two signs of life
_LEAST_QUOTED = 3  # letters
_RINGS = 4  # alarms during the time that a call may take, so a call is ended at most a quarter of it late


class TooSlow(BaseException):
    """A call took too long. Not an `Exception`, so that the function cannot swallow it."""


def quotes(told: str, text: str) -> bool:
    """Whether a message contains a text that is too long to be there by chance."""
    return len(text) >= _LEAST_QUOTED and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", told) is not None


def load(spec: str) -> Callable[[Any], Any]:
    """Return the function that ``package.module:function`` names."""
    module, _, path = spec.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    if not callable(found):
        raise TypeError("not callable")
    return found


class _Alarm:
    """Rings repeatedly, and ends a call that has taken too long. A timer for each call would cost more.

    Where there are no such signals, or in another thread, calls are never ended.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self.since: float | None = None  # when the current call began
        self._before: Any = None

    def __enter__(self) -> _Alarm:
        try:
            self._before = signal.signal(signal.SIGALRM, self._ring)
        except (AttributeError, ValueError):
            return self
        signal.setitimer(signal.ITIMER_REAL, self._timeout, self._timeout / _RINGS)
        return self

    def __exit__(self, *_: object) -> None:
        self.since = None
        if self._before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._before)

    def _ring(self, *_: object) -> None:
        if self.since is not None and time.perf_counter() - self.since >= self._timeout:
            self.since = None
            raise TooSlow


def call_all(
    function: Callable[[Any], Any], texts: list[str], *, together: bool, timeout: float, beat: Callable[[], None]
) -> tuple[list[Any], list[float]]:
    """Call the function on every text, or once on all of them (`together`). Return the outcomes and their seconds.

    An outcome is a str, or a dict that says how the call failed and whether the error quotes the text.
    """
    outcomes: list[Any] = []
    took: list[float] = []
    alive = time.perf_counter()
    with _Alarm(timeout) as alarm:
        for some in [texts] if together else zip(texts):  # `zip` makes a tuple of each text
            alarm.since = started = time.perf_counter()
            try:
                got = function(list(some) if together else some[0])
                alarm.since = None
            except TooSlow:
                got = {"failed": "time-out", "repeats": False}
            except (KeyboardInterrupt, MemoryError):
                alarm.since = None
                raise
            except BaseException as error:  # noqa: BLE001 - any error is an outcome, even SystemExit
                alarm.since = None
                repeats = any(quotes(str(error), text) for text in some)
                got = {"failed": type(error).__name__, "repeats": repeats}
            ended = time.perf_counter()
            took.append(ended - started)
            if together:
                outcomes += _as_outcomes(got, len(texts))
            else:
                outcomes.append(got if isinstance(got, str) else _as_outcome(got))
            if ended - alive > _BEAT:
                alive = ended
                beat()
    return outcomes, took


def _as_outcome(got: Any) -> Any:
    if isinstance(got, dict) and set(got) == {"failed", "repeats"}:
        return got
    return got if isinstance(got, str) else {"failed": f"{type(got).__name__} in place of str", "repeats": False}


def _as_outcomes(got: Any, count: int) -> list[Any]:
    if isinstance(got, (str, dict)) or not hasattr(got, "__iter__"):
        return [_as_outcome(got if isinstance(got, dict) else [])] * count
    outcomes = [_as_outcome(one) for one in got]
    wrong = {"failed": "another number of texts", "repeats": False}
    return outcomes if len(outcomes) == count else [wrong] * count


def _forked(function: Callable[[Any], Any], texts: list[str], together: bool, timeout: float) -> list[Any]:
    """Fork twice and return each child's outcomes, or None for a child that ended without an answer."""
    pipes = []
    for _ in range(2):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(int(timeout) + 2)  # a fork may inherit locks that nobody will ever release
            outcomes, _ = call_all(function, texts, together=together, timeout=timeout, beat=lambda: None)
            with os.fdopen(writer, "w") as out:
                json.dump(outcomes, out)
            os._exit(0)
        os.close(writer)
        pipes.append((child, reader))
    found = []
    for child, reader in pipes:
        with os.fdopen(reader) as out:
            told = out.read()
        os.waitpid(child, 0)
        found.append(json.loads(told) if told.endswith("]") else None)
    return found


def main() -> None:
    """Answer requests until there are no more."""
    sys.path[0] = str(Path.cwd())  # instead of this file's folder, whose modules are none of the function's business
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(fact: Any) -> None:
        answers.write(json.dumps(fact) + "\n")
        answers.flush()

    try:
        function = load(sys.argv[1])
    except BaseException as error:  # noqa: BLE001 - a module may do anything when it is imported
        say({"failed": type(error).__name__})
        return
    say({"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        how = {"together": request["together"], "timeout": request["timeout"]}
        if request["forked"]:
            is_able = hasattr(os, "fork")
            say({"forked": _forked(function, request["texts"], **how) if is_able else [None, None]})
        else:
            outcomes, took = call_all(function, request["texts"], **how, beat=lambda: say(None))
            say({"outcomes": outcomes, "took": took})


if __name__ == "__main__":
    main()
