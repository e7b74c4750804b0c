"""A client of the service (`wordveil serve`), with the standard library alone.

>>> from wordveil.client import Client
>>> client = Client("http://127.0.0.1:8765", key="wv_…")  # doctest: +SKIP
>>> client.privatize("The committee met in Paris.", epsilon=6.0).text  # doctest: +SKIP
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from wordveil.errors import WordveilError
from wordveil.guarantee import Guarantee

__all__ = ["Client", "Veiled"]


class Veiled(NamedTuple):
    """A veiled text, where words were drawn anew, and what is promised."""

    text: str
    replacements: list[dict[str, int]]
    guarantee: Guarantee


class Client:
    """Calls a service.

    Parameters
    ----------
    address : str
        Where it is.
    key : str, optional
        The key, where it asks for one.
    timeout : float
        Seconds to wait for an answer, and in all while the service says that it is busy.
    """

    def __init__(self, address: str = "http://127.0.0.1:8765", key: str | None = None, timeout: float = 30.0) -> None:
        self._where = urlsplit(address)
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._timeout = timeout

    def privatize(self, text: str, *, epsilon: float, **how: Any) -> Veiled:
        """Veil one text; `how` takes mechanism, space, options, select, words, spans, oov and case."""
        return self.privatize_many([text], epsilon=epsilon, **how)[0]

    def privatize_many(self, texts: list[str], *, epsilon: float, **how: Any) -> list[Veiled]:
        """Veil a batch."""
        told = self._call("POST", "/v1/privatize", {"text": texts, "epsilon": epsilon, **how})
        promise = Guarantee.from_dict(told["guarantee"])
        return [Veiled(one["text"], one["replacements"], promise) for one in told["results"]]

    def stream(self, texts: Iterable[str], *, epsilon: float, **how: Any) -> Iterator[str]:
        """Veil texts as they come, in order and in constant memory."""
        connection = self._connect()
        connection.putrequest("POST", f"/v1/privatize/stream?{urlencode({'epsilon': epsilon, **how})}")
        for name, value in {**self._headers, "Transfer-Encoding": "chunked"}.items():
            connection.putheader(name, value)
        connection.putheader("Content-Type", "application/x-ndjson")
        connection.endheaders()
        # Written beside the reading: a service that waits for its answers to be read takes no more texts.
        failed: list[BaseException] = []
        threading.Thread(target=_write, args=(connection.sock, texts, failed), daemon=True).start()
        try:
            answer = connection.getresponse()
            if answer.status != 200:
                raise WordveilError(_sentence(answer))
            for line in answer:
                told = json.loads(line)
                if "problem" in told:
                    raise WordveilError(told["problem"]["detail"])
                yield told["text"]
        except (OSError, HTTPException):
            if not failed:
                raise WordveilError("the service broke off the stream; is it still running?") from None
        finally:
            connection.close()
        if failed:
            raise failed[0]

    def word(self, word: str, *, epsilon: float, **how: Any) -> dict[str, Any]:
        """Return what a word may become: stays, outputs, neighbours, and more."""
        told: dict[str, Any] = self._call("POST", "/v1/words", {"word": word, "epsilon": epsilon, **how})
        return told

    def mechanisms(self) -> list[dict[str, Any]]:
        """Return the mechanisms that the service allows."""
        told: list[dict[str, Any]] = self._call("GET", "/v1/mechanisms")
        return told

    def spaces(self) -> list[dict[str, Any]]:
        """Return the spaces that the service has."""
        told: list[dict[str, Any]] = self._call("GET", "/v1/spaces")
        return told

    def calibrate(self, progress: Callable[[str, float], None] | None = None, **asked: Any) -> dict[str, Any]:
        """Calibrate a mechanism; `asked` takes mechanism, space, options, epsilons, targets, words and more."""
        job = self._call("POST", "/v1/calibrate", asked)
        while job["status"] in ("waiting", "running"):
            if progress:
                progress(job["doing"], job["progress"])
            time.sleep(0.3)
            job = self._call("GET", f"/v1/calibrate/{quote(job['id'])}")
        if job["status"] == "failed":
            raise WordveilError(job["problem"])
        result: dict[str, Any] = job["result"]
        return result

    def _connect(self) -> HTTPConnection:
        kind = HTTPSConnection if self._where.scheme == "https" else HTTPConnection
        return kind(self._where.hostname or "", self._where.port, timeout=self._timeout)

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        sent = None if body is None else json.dumps(body)
        until = time.monotonic() + self._timeout
        while True:
            connection = self._connect()
            try:
                connection.request(method, path, sent, {**self._headers, "Content-Type": "application/json"})
                answer = connection.getresponse()
                wait = float(answer.headers.get("Retry-After", 1))
                if answer.status == 503 and time.monotonic() + wait < until:
                    time.sleep(wait)
                    continue
                if answer.status >= 400:
                    raise WordveilError(_sentence(answer))
                return json.load(answer)
            except (OSError, HTTPException):
                where = self._where.netloc.rpartition("@")[2]
                raise WordveilError(f"the service at {where} does not answer; is it running?") from None
            finally:
                connection.close()


def _write(sock: socket.socket, texts: Iterable[str], failed: list[BaseException]) -> None:
    try:
        for text in texts:
            line = json.dumps({"text": text}).encode() + b"\n"
            sock.sendall(b"%x\r\n%s\r\n" % (len(line), line))
        sock.sendall(b"0\r\n\r\n")
    except OSError:
        pass  # the service ended the stream, and says why in its answer
    except BaseException as error:  # noqa: BLE001 - raised again where the answers are read
        failed.append(error)
        sock.shutdown(socket.SHUT_RDWR)


def _sentence(answer: HTTPResponse) -> str:
    try:
        return str(json.load(answer)["detail"])
    except (ValueError, KeyError):
        return f"the service answered with status {answer.status}."
