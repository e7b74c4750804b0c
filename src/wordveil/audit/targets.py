"""What to audit: a function, a program that filters lines, or an address that answers, all called in the same way.

A function given by its name runs in its own process, which can be stopped and restarted. A failed call is an outcome
like any other, because whoever sees the outputs sees it, too.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import select
import shlex
import socket
import subprocess
import sys
import time
import urllib.parse
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wordveil.audit.worker import call_all, quotes
from wordveil.errors import InputError, OptionError

__all__ = ["TAKES", "Command", "Endpoint", "Failure", "Function", "Outcome", "Program", "Target", "target_of"]

#: What one call may take and return.
TAKES = ("word", "text", "words", "texts")
_SECONDS = 0.5  # how long one request to a process should take
_MOST = 4096  # the most texts of one request
_STARTING = 120.0  # seconds that an import may take


class Failure(NamedTuple):
    """A call that returned no text."""

    kind: str
    repeats: bool = False  # whether the error quotes the text


Outcome = str | Failure


class Target(ABC):
    """Something that turns texts into texts.

    Parameters
    ----------
    takes : str
        What one call takes and returns: ``word``, ``text`` (which may be a word), or a list, ``words`` or ``texts``.
    timeout : float
        Seconds that one call may take.
    """

    #: Whether a few texts can get a session of their own: a new run, or a call with a list.
    has_sessions = False
    #: The fewest and the most texts to call between two looks at the time.
    fewest, most = 1, 20_000

    def __init__(self, name: str, takes: str = "text", timeout: float = 10.0) -> None:
        if takes not in TAKES:
            raise OptionError(f"takes must be one of {', '.join(TAKES)}.")
        if not (math.isfinite(timeout) and timeout > 0):
            raise OptionError("timeout must be a finite number of seconds above 0.")
        self.name, self.takes, self.timeout = name, takes, timeout
        self.is_together, self.is_text = takes.endswith("s"), takes.startswith("text")

    @abstractmethod
    def call(self, texts: Sequence[str]) -> list[Outcome]:
        """Return the outcome of each text, in order."""

    def session(self, texts: Sequence[str]) -> list[Outcome]:
        """Return the outcome of each text in a session with only these texts."""
        return self.call(texts)

    def timed(self, texts: Sequence[str]) -> tuple[list[Outcome], list[float]] | None:  # noqa: ARG002
        """Return the outcomes and how many seconds each call took, or None if single calls cannot be timed."""
        return None

    def forked(self, texts: Sequence[str]) -> tuple[list[Outcome], list[Outcome]] | None:  # noqa: ARG002
        """Return the outcomes in two forks of one process, or None if it cannot be forked."""
        return None

    def begun_together(self, texts: Sequence[str]) -> Sequence[list[Outcome]] | None:  # noqa: ARG002
        """Return the outcomes in two new processes started at the same moment, or None if there are none."""
        return None

    def restart(self) -> bool:
        """Start afresh, as after a new import. Return whether that is possible."""
        return False

    def close(self) -> None:  # noqa: B027 - most have nothing to stop
        """Stop whatever runs."""


class Function(Target):
    """A callable in this process. It can be neither stopped nor restarted."""

    def __init__(self, function: Callable[[Any], Any], takes: str = "text", timeout: float = 10.0) -> None:
        if not callable(function):
            raise OptionError("what is audited must be callable, or the name of a function as package.module:function.")
        super().__init__(getattr(function, "__qualname__", type(function).__name__), takes, timeout)
        self._function, self.has_sessions = function, self.is_together

    def call(self, texts: Sequence[str]) -> list[Outcome]:
        """Return the outcome of each text, in order."""
        return self._run(texts)[0]

    def timed(self, texts: Sequence[str]) -> tuple[list[Outcome], list[float]] | None:
        """Return the outcomes and how many seconds each call took."""
        return None if self.is_together else self._run(texts)

    def _run(self, texts: Sequence[str]) -> tuple[list[Outcome], list[float]]:
        outcomes, took = call_all(
            self._function, list(texts), together=self.is_together, timeout=self.timeout, beat=lambda: None
        )
        return _outcomes(outcomes), took


class Program(Target):
    """A function given by its name, ``package.module:function``, in its own process.

    Parameters
    ----------
    spec : str
        The name. The module may also be in the current folder.
    python : path, optional
        The interpreter that has the module. By default, the one that runs this.
    """

    def __init__(
        self, spec: str, takes: str = "text", timeout: float = 10.0, *, python: str | Path | None = None
    ) -> None:
        super().__init__(spec, takes, timeout)
        module, _, name = spec.partition(":")
        if not (module and name):
            raise OptionError("a function is named as package.module:function.")
        self.has_sessions = self.is_together
        self._python = str(python or sys.executable)
        self._process: subprocess.Popen[bytes] | None = None
        self._rest, self._each = b"", 16  # the process starts at the first call

    def _start(self) -> None:
        self._launch()
        self._wait_until_ready()

    def _launch(self) -> None:
        worker = Path(__file__).with_name("worker.py")
        try:
            self._process = subprocess.Popen(
                [self._python, str(worker), self.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            raise OptionError("the Python interpreter that was named cannot be started.") from None
        self._rest = b""

    def _wait_until_ready(self) -> None:
        told = self._answer(self._process, _STARTING) if self._process else None
        if told is None or "failed" in told:
            self.close()
            kind = "its process ended or took too long" if told is None else told["failed"]
            raise InputError(
                f"the function {self.name} cannot be imported ({kind}); check its name, and that the interpreter "
                "(`python`) has its module."
            )

    def call(self, texts: Sequence[str]) -> list[Outcome]:
        """Return the outcome of each text, in order."""
        return self._run(texts)[0]

    def session(self, texts: Sequence[str]) -> list[Outcome]:
        """Return the outcome of each text in a session with only these texts."""
        told = self._ask(texts)
        return [Failure("crash")] * len(texts) if told is None else _outcomes(told["outcomes"])

    def timed(self, texts: Sequence[str]) -> tuple[list[Outcome], list[float]] | None:
        """Return the outcomes and how many seconds each call took."""
        return None if self.is_together else self._run(texts)

    def forked(self, texts: Sequence[str]) -> tuple[list[Outcome], list[Outcome]] | None:
        """Return the outcomes in two forks of one process."""
        told = self._ask(texts, forked=True)
        if told is None or None in told["forked"]:
            return None
        first, second = map(_outcomes, told["forked"])
        return first, second

    def begun_together(self, texts: Sequence[str]) -> Sequence[list[Outcome]]:
        """Return the outcomes in two new processes started at the same moment."""
        both = [Program(self.name, self.takes, self.timeout, python=self._python) for _ in range(2)]
        try:
            for one in both:
                one._launch()
            for one in both:
                one._wait_until_ready()
            return [one.call(texts) for one in both]
        finally:
            for one in both:
                one.close()

    def restart(self) -> bool:
        """Start a new process."""
        self.close()
        self._start()
        return True

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _run(self, texts: Sequence[str]) -> tuple[list[Outcome], list[float]]:
        outcomes: list[Outcome] = []
        took: list[float] = []
        while len(outcomes) < len(texts):
            part = texts[len(outcomes) : len(outcomes) + self._each]
            started = time.monotonic()
            told = self._ask(part)
            if told is None:
                outcomes += [Failure("crash")] * len(part)
                took += [0.0] * len(part)
                continue
            outcomes += _outcomes(told["outcomes"])
            took += told["took"]
            faster = _SECONDS / max(1e-6, time.monotonic() - started)
            self._each = max(1, min(_MOST, int(len(part) * min(4.0, faster))))
        return outcomes, took

    def _ask(self, texts: Sequence[str], *, forked: bool = False) -> dict[str, Any] | None:
        """Send a request and return its answer. If the process ends or is silent, end it and return None."""
        if self._process is None or self._process.stdin is None:
            self._start()
        process = self._process
        request = {"texts": list(texts), "together": self.is_together, "timeout": self.timeout, "forked": forked}
        told = None
        try:
            if process and process.stdin:
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
                told = self._answer(process, self.timeout + 5.0)
        except OSError:
            pass
        if told is None:
            self.close()
        return told

    def _answer(self, process: subprocess.Popen[bytes], patience: float) -> dict[str, Any] | None:
        """Wait for the next answer. A sign of life (null) restarts the wait."""
        if process.stdout is None:
            return None
        pipe = process.stdout.fileno()
        while True:
            line, end, rest = self._rest.partition(b"\n")
            if end:
                self._rest = rest
                told = json.loads(line)
                if told is not None:
                    return dict(told)
            elif not select.select([pipe], [], [], patience)[0]:
                return None
            else:
                more = os.read(pipe, 1 << 20)
                if not more:
                    return None
                self._rest += more


class Command(Target):
    """A program that reads lines and writes one line for each. Every call is a new run of it."""

    has_sessions = True
    fewest = 1000  # because every run has to start

    def __init__(self, command: str | Sequence[str], takes: str = "text", timeout: float = 60.0) -> None:
        words = shlex.split(command) if isinstance(command, str) else list(command)
        if not words:
            raise OptionError("the command is empty.")
        super().__init__(words[0], takes, timeout)
        self._words = words

    def call(self, texts: Sequence[str]) -> list[Outcome]:
        """Return the output line for each input line."""
        return self._outputs(self._begin(), texts)

    def begun_together(self, texts: Sequence[str]) -> Sequence[list[Outcome]]:
        """Return the outcomes of two runs started at the same moment."""
        both = [self._begin(), self._begin()]
        return [self._outputs(one, texts) for one in both]

    def _begin(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError:
            raise OptionError("the command cannot be started.") from None

    def _outputs(self, run: subprocess.Popen[bytes], texts: Sequence[str]) -> list[Outcome]:
        with run:
            try:
                told, _ = run.communicate("".join(f"{text}\n" for text in texts).encode(), timeout=self.timeout)
            except subprocess.TimeoutExpired:
                run.kill()
                return [Failure("time-out")] * len(texts)
        if run.returncode:
            return [Failure("exit status")] * len(texts)
        lines = told.decode("utf-8", errors="replace").split("\n")[:-1]
        return [*lines] if len(lines) == len(texts) else [Failure("another number of lines")] * len(texts)

    def restart(self) -> bool:
        """Do nothing: every call is a new run."""
        return True


class Endpoint(Target):
    """An address that takes a text in a JSON object by POST and returns one.

    Parameters
    ----------
    url : str
        The address, http or https.
    body : str
        The JSON to send, with ``$TEXT`` for the text.
    answer : str
        Where the text is in the returned JSON: names and indices joined by dots, such as ``texts.0``.
    headers : mapping
        Further headers, such as a key.
    """

    def __init__(
        self,
        url: str,
        takes: str = "text",
        timeout: float = 10.0,
        *,
        body: str = '{"text": "$TEXT"}',
        answer: str = "text",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        if takes.endswith("s"):
            raise OptionError("an address takes one word or one text a call.")
        address = urllib.parse.urlsplit(url)
        super().__init__(f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path}", takes, timeout)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise OptionError("the address must begin with http:// or https://.")
        try:
            self._body = json.loads(body)
        except ValueError:
            raise OptionError("the body must be JSON, with $TEXT in place of the text.") from None
        if "$TEXT" not in body:
            raise OptionError("the body must contain $TEXT in place of the text.")
        self._answer, self._path = answer.split("."), (address.path or "/") + (address.query and f"?{address.query}")
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        try:
            self._connection = kind(address.hostname, address.port, timeout=timeout)
        except (ValueError, http.client.HTTPException):
            raise OptionError("the port of the address is not valid.") from None

    def call(self, texts: Sequence[str]) -> list[Outcome]:
        """Return the answer to each text."""
        return self.timed(texts)[0]

    def timed(self, texts: Sequence[str]) -> tuple[list[Outcome], list[float]]:
        """Return the answers and how many seconds each took."""
        outcomes, took = [], []
        for text in texts:
            started = time.perf_counter()
            outcomes.append(self._post(text))
            took.append(time.perf_counter() - started)
        return outcomes, took

    def _post(self, text: str) -> Outcome:
        try:
            self._connection.request("POST", self._path, json.dumps(_filled(self._body, text)), self._headers)
            self._acknowledge_at_once()
            response = self._connection.getresponse()
            told = response.read(1 << 22)
        except TimeoutError:
            self._connection.close()
            return Failure("time-out")
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return Failure("connection")
        if not response.isclosed():
            self._connection.close()
            return Failure("an answer without end")
        if response.status != http.client.OK:
            return Failure(f"status {response.status}", quotes(told.decode("utf-8", errors="replace"), text))
        try:
            found: Any = json.loads(told)
            for name in self._answer:
                found = found[int(name) if isinstance(found, list) else name]
        except (ValueError, LookupError, TypeError):
            return Failure("an answer of another form")
        return found if isinstance(found, str) else Failure("an answer of another form")

    def _acknowledge_at_once(self) -> None:
        # Many small servers send the head of an answer before its body, and hold the body back until the head is
        # acknowledged. The system would do that 40 ms later, which would mean 25 calls a second.
        if hasattr(socket, "TCP_QUICKACK"):
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def target_of(
    what: Target | str | Callable[[Any], Any], takes: str | None = None, timeout: float | None = None
) -> Target:
    """Return what to audit as a target. A name stands for a function; a callable runs in this process."""
    if isinstance(what, Target):
        if takes is not None or timeout is not None:
            raise OptionError("give takes and timeout to the target itself.")
        return what
    how = (takes or "text", 10.0 if timeout is None else timeout)
    return Program(what, *how) if isinstance(what, str) else Function(what, *how)


def _outcomes(told: Iterable[Any]) -> list[Outcome]:
    return [one if isinstance(one, str) else Failure(one["failed"], one["repeats"]) for one in told]


def _filled(body: Any, text: str) -> Any:
    if isinstance(body, str):
        return body.replace("$TEXT", text)
    if isinstance(body, list):
        return [_filled(one, text) for one in body]
    return {name: _filled(one, text) for name, one in body.items()} if isinstance(body, dict) else body
