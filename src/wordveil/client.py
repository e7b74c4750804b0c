"""A client of the service (`wordveil serve`), with the standard library alone.

>>> client = Client("http://127.0.0.1:8765", key="wv_…")
>>> client.privatize("The committee met in Paris.", epsilon=6.0).text  # doctest: +SKIP
>>> client.call("/v1/words", {"word": "harbour", "epsilon": 6.0})["stays"]  # doctest: +SKIP
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from wordveil.errors import WordveilError
from wordveil.guarantee import Guarantee

__all__ = ["Client", "Veiled"]


class Veiled(NamedTuple):
    """A veiled text, where words were drawn anew, and what is promised."""

    text: str
    replacements: list[dict[str, int]]
    guarantee: Guarantee


class Client:
    """Calls a service; while it is too busy (503), asks again when it says, until the time-out.

    Parameters
    ----------
    address : str
        Where it is.
    key : str, optional
        The key, where it asks for one.
    timeout : float
        Seconds to wait for an answer, and in all while the service is too busy.
    """

    def __init__(self, address: str = "http://127.0.0.1:8765", key: str | None = None, timeout: float = 30.0) -> None:
        self._where, self._timeout = urlsplit(address), timeout
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})

    def privatize(self, text: str, *, epsilon: float, **how: Any) -> Veiled:
        """Veil one text; `how` takes mechanism, space, options, select, words, spans, oov and case."""
        return self.privatize_many([text], epsilon=epsilon, **how)[0]

    def privatize_many(self, texts: list[str], *, epsilon: float, **how: Any) -> list[Veiled]:
        """Veil a batch."""
        told = self.call("/v1/privatize", {"text": texts, "epsilon": epsilon, **how})
        promise = Guarantee.from_dict(told["guarantee"])
        return [Veiled(one["text"], one["replacements"], promise) for one in told["results"]]

    def stream(self, texts: Iterable[str], *, epsilon: float, letters: int = 10_000, **how: Any) -> Iterator[Veiled]:
        """Veil texts without end, in order and in constant memory: sent in batches of about so many letters.

        Batches can be sent again when the service is too busy; a stream that breaks off cannot.
        """
        batch: list[str] = []
        for text in texts:
            batch.append(text)
            if sum(map(len, batch)) >= letters or len(batch) == 100:
                yield from self.privatize_many(batch, epsilon=epsilon, **how)
                batch = []
        if batch:
            yield from self.privatize_many(batch, epsilon=epsilon, **how)

    def calibrate(self, progress: Callable[[str, float], None] | None = None, **asked: Any) -> dict[str, Any]:
        """Calibrate a mechanism; `asked` takes mechanism, space, options, epsilons, targets, words and more."""
        job = self.call("/v1/calibrate", asked)
        while job["status"] in ("waiting", "running"):
            if progress:
                progress(job["doing"], job["progress"])
            time.sleep(0.3)
            job = self.call(f"/v1/calibrate/{job['id']}")
        if job["status"] == "failed":
            raise WordveilError(job["problem"])
        return dict(job["result"])

    def call(self, path: str, body: Any = None) -> Any:
        """Ask any address of the service, such as ``/v1/mechanisms``; by POST where there is a body."""
        method, content = ("GET", None) if body is None else ("POST", json.dumps(body))
        kind = HTTPSConnection if self._where.scheme == "https" else HTTPConnection
        until = time.monotonic() + self._timeout
        while True:
            connection = kind(self._where.hostname or "", self._where.port, timeout=self._timeout)
            try:
                connection.request(method, self._where.path.rstrip("/") + path, content, self._headers)
                answer = connection.getresponse()
                told = json.load(answer)
                if answer.status < 400:
                    return told
                sentence = str(told["detail"])
            except (OSError, HTTPException, ValueError, LookupError, TypeError):
                where = f"{self._where.hostname}:{self._where.port or kind.default_port}"
                raise WordveilError(f"the service at {where} does not answer; is it running?") from None
            finally:
                connection.close()
            after = answer.headers.get("Retry-After", "")
            wait = int(after) if after.isdigit() else 1
            if answer.status != 503 or time.monotonic() + wait > until:
                raise WordveilError(sentence)
            time.sleep(wait)
