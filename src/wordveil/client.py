"""A client of the service (`wordveil serve`) that needs only the standard library.

>>> client = Client("http://127.0.0.1:8765", key="wv_KEY")
>>> client.privatize("The committee met in Paris.", epsilon=4.0).text  # doctest: +SKIP
>>> client.call("/v1/words", {"word": "harbour", "epsilon": 4.0})["stays"]  # doctest: +SKIP

We do not use httpx: its timeouts restart with every read, so a limit for the whole call would need the same timer as
here, set through the tracing of its inner library; and every caller would need six more packages.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import repeat, zip_longest
from typing import Any, NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

from wordveil.errors import InputError, OptionError, WordveilError
from wordveil.guarantee import Guarantee

__all__ = ["Client", "ServiceError", "Veiled"]

_LONGEST = 1e6  # seconds: the longest timeout, which every system supports
_BETWEEN = 1.0  # the least seconds before a busy service is asked again
_IN_ADDRESSES = "/?&=%:+,;@!$'()*~[]"
_MOST_TEXTS = 100
_PROBLEM = "application/problem+json"  # the service's own refusals
_LONGEST_DETAIL = 1000  # characters of an error message of the service
_NOTHING: Any = object()
_CODE = re.compile(r"[a-z-]{1,40}")


class ServiceError(WordveilError):
    """The service refused a request, failed, or did not answer.

    Parameters
    ----------
    sentence : str
        What is wrong and what to do: the service's own message if it gave one.
    status : int
        The HTTP status; 0 if there was no answer.
    code : str
        The service's name of the problem, such as ``over-budget``; empty if there is none.
    """

    def __init__(self, sentence: str, status: int = 0, code: str = "") -> None:
        super().__init__(sentence)
        self.status, self.code = status, code


class Veiled(NamedTuple):
    """A veiled text, its replacements, and its guarantee."""

    text: str
    replacements: list[dict[str, int]]
    guarantee: Guarantee


class _Answer(NamedTuple):
    status: int
    kind: str
    after: str
    body: bytes


class Client:
    """Calls a service. While the service is busy (503), calls are retried until the timeout.

    If it is a proxy in between that says so, only calls without a body are: what has one may have been drawn already.

    Parameters
    ----------
    address : str
        The address: ``http://`` or ``https://``, a host, optionally a port and a path.
    key : str, optional
        The key, if the service needs one.
    timeout : float
        The most seconds for a whole call, from connecting to the last byte of the answer, including retries while the
        service is busy. The service itself abandons a request after 30 seconds.
    """

    def __init__(self, address: str = "http://127.0.0.1:8765", key: str | None = None, timeout: float = 60.0) -> None:
        self._where, self._host, self._port = _place(address)
        self._name = f"{self._host}:{self._port}"
        if key is not None and not (isinstance(key, str) and key.isascii() and key.isprintable() and " " not in key):
            raise OptionError("the key must consist of printable ASCII characters without spaces.")
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= _LONGEST:
            raise OptionError(f"timeout must be a number of seconds above 0, up to {_LONGEST:,.0f}.")
        self._timeout = float(timeout)
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})

    def privatize(self, text: str, *, epsilon: float, **how: Any) -> Veiled:
        """Veil one text.

        `how` takes mechanism, space, options, select, words, spans, oov, case, once, people, identifiers, numbered,
        numbers, markup and language. `spans` and `people` have one entry per text, so a single one here:
        ``spans=[[(4, 13)]]``.
        """
        return self.privatize_many([text], epsilon=epsilon, **how)[0]

    def privatize_many(self, texts: Iterable[str], *, epsilon: float, **how: Any) -> list[Veiled]:
        """Veil a batch of texts."""
        batch = list(_checked(texts))
        answer = self.call("/v1/privatize", {"text": batch, "epsilon": epsilon, **how})
        with suppress(LookupError, TypeError, ValueError):
            guarantee = Guarantee.from_dict(answer["guarantee"])
            veiled = [Veiled(one["text"], one["replacements"], guarantee) for one in answer["results"]]
            if len(veiled) == len(batch) and all(isinstance(one.text, str) for one in veiled):
                return veiled
        raise self._misunderstood()

    def stream(
        self,
        texts: Iterable[str],
        *,
        epsilon: float,
        letters: int = 10_000,
        spans: Iterable[Any] | None = None,
        **how: Any,
    ) -> Iterator[Veiled]:
        """Veil any number of texts, in order and in constant memory, in batches of about `letters` characters.

        Batches are sent again while the service is busy. For the selection spans, `spans` has one entry per text, and
        is read along with the texts.
        """
        batch: list[str] = []
        marked: list[Any] = []

        def veiled() -> list[Veiled]:
            return self.privatize_many(batch, epsilon=epsilon, **how, **({} if spans is None else {"spans": marked}))

        given = _checked(texts)
        pairs = zip(given, repeat(())) if spans is None else zip_longest(given, spans, fillvalue=_NOTHING)
        for text, places in pairs:
            if text is _NOTHING or places is _NOTHING:
                raise OptionError("spans needs one entry per text, and no more.")
            batch.append(text)
            marked.append(places)
            if sum(map(len, batch)) >= letters or len(batch) == _MOST_TEXTS:
                yield from veiled()
                batch, marked = [], []
        if batch:
            yield from veiled()

    def calibrate(self, progress: Callable[[str, float], None] | None = None, **asked: Any) -> dict[str, Any]:
        """Calibrate a mechanism; `asked` takes mechanism, space, options, epsilons, targets, words and more."""
        job = self._job("/v1/calibrate", asked)
        while job["status"] in ("waiting", "running"):
            if progress:
                progress(job["doing"], job["progress"])
            time.sleep(0.3)
            job = self._job(f"/v1/calibrate/{job['id']}")
        if job["status"] == "failed":
            raise ServiceError(str(job["problem"]), HTTPStatus.UNPROCESSABLE_ENTITY)
        if not isinstance(job["result"], dict):
            raise self._misunderstood()
        return job["result"]

    def call(self, path: str, body: Any = None) -> Any:
        """Call any endpoint of the service, such as ``/v1/mechanisms``; by POST if there is a body."""
        try:
            content = None if body is None else json.dumps(body)
            address = self._where.path.rstrip("/") + "/" + quote(path.lstrip("/"), safe=_IN_ADDRESSES)
        except (TypeError, ValueError, AttributeError, RecursionError):
            raise InputError("a request must consist of strings, numbers, lists and dicts.") from None
        until = time.monotonic() + self._timeout
        while True:
            answer = self._ask(address, content, until)
            wait = max(_BETWEEN, float(answer.after)) if answer.after.isdecimal() else _BETWEEN
            # A proxy that lost an answer may say 503, too, and the service may have drawn and charged already.
            is_undone = content is None or answer.kind == _PROBLEM
            if answer.status != HTTPStatus.SERVICE_UNAVAILABLE or not is_undone or time.monotonic() + wait > until:
                return self._read(answer)
            time.sleep(wait)

    def _ask(self, address: str, content: str | None, until: float) -> _Answer:
        """Send the request once."""
        kind = HTTPSConnection if self._where.scheme == "https" else HTTPConnection
        connection = kind(self._host, self._port, timeout=max(until - time.monotonic(), 0.001))
        alarm: threading.Timer | None = None
        problem = ""
        try:
            connection.connect()
            # A socket's timeout restarts with every byte, so a timer limits the whole call.
            alarm = threading.Timer(until - time.monotonic(), _cut, (connection.sock,))
            alarm.daemon = True
            alarm.start()
            connection.request("GET" if content is None else "POST", address, content, self._headers)
            with connection.getresponse() as answer:  # which a connection that ends with it does not close
                headers, status = answer.headers, answer.status
                made = _Answer(
                    status, headers.get_content_type(), headers.get("Retry-After", "").strip(), answer.read()
                )
            if time.monotonic() < until:  # otherwise it may be truncated
                return made
        except ssl.SSLError:
            problem = "does not speak https, or its certificate is not trusted; check the address."
        except (OSError, HTTPException, ValueError):
            problem = "does not answer; is it running?"
        finally:
            if alarm is not None:
                alarm.cancel()
            connection.close()
        if time.monotonic() >= until:
            problem = f"did not answer within {self._timeout:g} seconds; send less at once, or raise timeout."
        raise ServiceError(f"the service at {self._name} {problem}")

    def _read(self, answer: _Answer) -> Any:
        """Return the content of an answer, or raise its problem as a ServiceError."""
        status, body = answer.status, None
        is_json = False
        with suppress(ValueError, RecursionError):
            body, is_json = json.loads(answer.body), True
        if 200 <= status < 300:
            if not is_json:
                raise self._misunderstood(status)
            return body
        # Only messages of our own service are shown, because others may quote the text.
        if answer.kind == _PROBLEM and isinstance(body, dict) and isinstance(body.get("detail"), str):
            code = body.get("code")
            code = code if isinstance(code, str) and _CODE.fullmatch(code) else ""
            raise ServiceError(body["detail"][:_LONGEST_DETAIL], status, code)
        if 300 <= status < 400:
            raise ServiceError(f"the address {self._name} redirects (HTTP {status}); use the target address.", status)
        raise ServiceError(
            f"{self._name} answered {_named(status)} instead of the service: is there a proxy in between?", status
        )

    def _job(self, path: str, body: Any = None) -> dict[str, Any]:
        job = self.call(path, body)
        if not isinstance(job, dict) or not {"id", "status", "doing", "progress", "problem", "result"} <= set(job):
            raise self._misunderstood()
        return job

    def _misunderstood(self, status: int = 200) -> ServiceError:
        return ServiceError(
            f"{self._name} answered {_named(status)} in an unknown form: is it a service of this version of wordveil?",
            status,
        )


def _place(address: str) -> tuple[SplitResult, str, int]:
    """Parse an address."""
    try:
        where = urlsplit(address)
        usual = {"http": 80, "https": 443}[where.scheme]
        port = usual if where.port is None else where.port
        host = where.hostname or ""
        host.encode("idna")
        is_fine = bool(host) and port > 0 and not where.query and where.path.isascii() and where.path.isprintable()
        is_fine = is_fine and not set(' "<>\\^`{|}') & set(host + where.path) and "@" not in where.netloc
    except (KeyError, ValueError, AttributeError, TypeError):
        is_fine = False
    if not is_fine:
        raise OptionError("the address of the service must look like http://127.0.0.1:8765 or https://host/path.")
    return where, host, port


def _checked(texts: Iterable[str]) -> Iterator[str]:
    if isinstance(texts, (str, bytes)):  # otherwise its characters would be texts
        raise InputError("pass several texts, as a list or an iterator; use privatize for one.")
    for text in texts:
        if not isinstance(text, str):
            raise InputError("a text must be a str.")
        yield text


def _named(status: int) -> str:
    with suppress(ValueError):
        return f"HTTP {status} ({HTTPStatus(status).phrase})"
    return f"HTTP {status}"


def _cut(sock: socket.socket) -> None:
    """Shut down a connection that another thread is waiting for."""
    with suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # a TLS socket's own method would reset the reader's state
