"""A client of the service (`wordveil serve`), with the standard library alone.

>>> client = Client("http://127.0.0.1:8765", key="wv_KEY")
>>> client.privatize("The committee met in Paris.", epsilon=6.0).text  # doctest: +SKIP
>>> client.call("/v1/words", {"word": "harbour", "epsilon": 6.0})["stays"]  # doctest: +SKIP
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple, NoReturn
from urllib.parse import SplitResult, quote, urlsplit

from wordveil.errors import WordveilError
from wordveil.guarantee import Guarantee

__all__ = ["Client", "Veiled"]

_LONGEST = 1e6  # seconds, which every system can wait for
_BETWEEN = 1.0  # seconds, at least, before a busy service is asked again
_IN_ADDRESSES = "/?&=%:+,;@!$'()*~[]"


class Veiled(NamedTuple):
    """A veiled text, where words were drawn anew, and what is promised."""

    text: str
    replacements: list[dict[str, int]]
    guarantee: Guarantee


class _Answer(NamedTuple):
    status: int
    after: str
    body: bytes


class Client:
    """Calls a service; while it is too busy (503), asks again when it says, until the time-out.

    Parameters
    ----------
    address : str
        Where it is: ``http://`` or ``https://``, a host, perhaps a port, perhaps a path.
    key : str, optional
        The key, where it asks for one.
    timeout : float
        Seconds for a call in all, from connecting to the last byte of the answer, and with all that is asked again
        while the service is too busy. The service gives a request up after 30 by itself.
    """

    def __init__(self, address: str = "http://127.0.0.1:8765", key: str | None = None, timeout: float = 60.0) -> None:
        self._where, self._host, self._port = _place(address)
        if key is not None and not (isinstance(key, str) and key.isascii() and key.isprintable() and " " not in key):
            raise WordveilError(
                "the key must be made of printable ASCII characters without spaces; see how it was read."
            )
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= _LONGEST:
            raise WordveilError(f"the timeout must be a number of seconds above 0, up to {_LONGEST:,.0f}.")
        self._timeout = float(timeout)
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})

    def privatize(self, text: str, *, epsilon: float, **how: Any) -> Veiled:
        """Veil one text; `how` takes mechanism, space, options, select, words, spans, oov and case.

        `spans` has an entry for each text, so one here: ``spans=[[(4, 13)]]``.
        """
        return self.privatize_many([text], epsilon=epsilon, **how)[0]

    def privatize_many(self, texts: Iterable[str], *, epsilon: float, **how: Any) -> list[Veiled]:
        """Veil a batch."""
        batch = [_checked(text) for text in _several(texts)]
        told = self.call("/v1/privatize", {"text": batch, "epsilon": epsilon, **how})
        try:
            promise = Guarantee.from_dict(told["guarantee"])
            veiled = [Veiled(one["text"], one["replacements"], promise) for one in told["results"]]
            are_whole = len(veiled) == len(batch) and all(isinstance(one.text, str) for one in veiled)
        except (LookupError, TypeError, ValueError):
            are_whole = False
        if not are_whole:
            self._misunderstood()
        return veiled

    def stream(
        self,
        texts: Iterable[str],
        *,
        epsilon: float,
        letters: int = 10_000,
        spans: Iterable[Any] | None = None,
        **how: Any,
    ) -> Iterator[Veiled]:
        """Veil texts without end, in order and in constant memory: sent in batches of about so many letters.

        Batches can be sent again when the service is too busy; a stream that breaks off cannot. For the selection
        spans, `spans` has an entry for each text, and is read along with the texts.
        """
        places = None if spans is None else iter(spans)
        batch: list[str] = []
        marked: list[Any] = []

        def veiled() -> list[Veiled]:
            return self.privatize_many(batch, epsilon=epsilon, **how, **({} if places is None else {"spans": marked}))

        for text in _several(texts):
            batch.append(_checked(text))
            if places is not None:
                try:
                    marked.append(next(places))
                except StopIteration:
                    raise _uneven() from None
            if sum(map(len, batch)) >= letters or len(batch) == 100:
                yield from veiled()
                batch, marked = [], []
        for _ in places or ():
            raise _uneven()
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
            raise WordveilError(str(job["problem"]))
        if not isinstance(job["result"], dict):
            self._misunderstood()
        return job["result"]

    def call(self, path: str, body: Any = None) -> Any:
        """Ask any address of the service, such as ``/v1/mechanisms``; by POST where there is a body."""
        try:
            content = None if body is None else json.dumps(body)
            address = self._where.path.rstrip("/") + "/" + quote(path.lstrip("/"), safe=_IN_ADDRESSES)
        except (TypeError, ValueError, AttributeError, RecursionError):
            raise WordveilError("what is sent must be made of plain text, numbers, lists and dicts.") from None
        until = time.monotonic() + self._timeout
        while True:
            answer = self._ask(address, content, until)
            wait = max(_BETWEEN, float(answer.after)) if answer.after.isdecimal() else _BETWEEN
            if answer.status != HTTPStatus.SERVICE_UNAVAILABLE or time.monotonic() + wait > until:
                return self._read(answer)
            time.sleep(wait)

    def _ask(self, address: str, content: str | None, until: float) -> _Answer:
        """Ask once."""
        kind = HTTPSConnection if self._where.scheme == "https" else HTTPConnection
        connection = kind(self._host, self._port, timeout=max(until - time.monotonic(), 0.001))
        alarm: threading.Timer | None = None
        try:
            connection.connect()
            # The time-out of a socket begins anew with every byte: this one does not.
            alarm = threading.Timer(until - time.monotonic(), _cut, (connection.sock,))
            alarm.daemon = True
            alarm.start()
            connection.request("GET" if content is None else "POST", address, content, self._headers)
            answer = connection.getresponse()
            made = _Answer(answer.status, answer.headers.get("Retry-After", "").strip(), answer.read())
            if time.monotonic() < until:  # else it may have been cut short
                return made
            problem = ""
        except ssl.SSLError:
            problem = "speaks no https, or has a certificate that is not trusted here; see its address."
        except (OSError, HTTPException, ValueError):
            problem = "does not answer; is it running?"
        finally:
            if alarm is not None:
                alarm.cancel()
            connection.close()
        if time.monotonic() >= until:
            problem = f"did not answer within {self._timeout:g} seconds; send less at once, or wait longer (timeout)."
        raise WordveilError(f"the service at {self._name} {problem}")

    def _read(self, answer: _Answer) -> Any:
        """Return what an answer says, or raise what it says is wrong."""
        try:
            told = json.loads(answer.body)
        except (ValueError, RecursionError):
            told = None
            if 200 <= answer.status < 300:
                self._misunderstood(answer.status)
        if 200 <= answer.status < 300:
            return told
        if isinstance(told, dict) and isinstance(told.get("detail"), str):
            raise WordveilError(told["detail"])
        if 300 <= answer.status < 400:
            raise WordveilError(
                f"the address {self._name} leads elsewhere (HTTP {answer.status}); give the client the one it leads to."
            )
        raise WordveilError(
            f"the address {self._name} answers {_named(answer.status)}, and not in the words of the service: look "
            "at the proxy before it."
        )

    def _job(self, path: str, body: Any = None) -> dict[str, Any]:
        job = self.call(path, body)
        if not isinstance(job, dict) or not {"id", "status", "doing", "progress", "problem", "result"} <= set(job):
            self._misunderstood()
        return job

    @property
    def _name(self) -> str:
        return f"{self._host}:{self._port}"

    def _misunderstood(self, status: int = 200) -> NoReturn:
        raise WordveilError(
            f"the address {self._name} answers {_named(status)} in a form that this client does not know: is it a "
            "service of this version of wordveil?"
        )


def _place(address: str) -> tuple[SplitResult, str, int]:
    """Take an address apart."""
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
        raise WordveilError("the address of the service must look like http://127.0.0.1:8765 or https://host/path.")
    return where, host, port


def _several(texts: Iterable[str]) -> Iterable[str]:
    if isinstance(texts, (str, bytes)):  # whose letters would be texts
        raise WordveilError("give several texts, as a list or an iterator; for one there is privatize.")
    return texts


def _checked(text: str) -> str:
    if not isinstance(text, str):
        raise WordveilError("a text must be a str.")
    return text


def _uneven() -> WordveilError:
    return WordveilError("spans needs an entry for each text, and texts an entry for each of the spans.")


def _named(status: int) -> str:
    with suppress(ValueError):
        return f"HTTP {status} ({HTTPStatus(status).phrase})"
    return f"HTTP {status}"


def _cut(sock: socket.socket) -> None:
    """End a connection under whoever waits for it."""
    with suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # a TLS socket's own would take its state away from the reader
