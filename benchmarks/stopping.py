"""Sends SIGTERM to a service under load, and looks at what happened to every request.

Callers send the same text again and again on open connections until the service is gone. A ledger charges each request
before it is answered, so a request that was charged and not answered was lost. The mechanism draws almost uniformly, so
two equal answers were drawn with the same random numbers.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import wordveil
from wordveil.lac import Ledger
from wordveil.service.keys import hash_key, new_key

__all__ = ["Stopped", "stop_under_load"]

_EPSILON = 0.01  # the least that a service allows; on these words practically uniform
_CALLERS = 16
_BUDGET = 1e9


@dataclass
class Stopped:
    """What happened to the requests of one run."""

    answers: list[str] = field(default_factory=list)
    charged: int = 0  # requests in the ledger
    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0  # how long the service took to stop
    code: int = 0  # its exit status
    told: str = ""  # its output


def stop_under_load(folder: Path, space: Path, text: str, drawn: int, workers: int, after: float) -> Stopped:
    """Start a service, send it requests from many callers, and stop it while they go on.

    `drawn` is how many words of `text` are drawn. `after` is how many seconds of load precede the signal.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    key = new_key()
    settings = {"SPACES": str(space), "KEYS": f"load:{hash_key(key)}:{_BUDGET}", "LEDGERS": str(folder / "ledgers")}
    server = subprocess.Popen(
        [sys.executable, "-m", "wordveil", "serve", "--port", str(port), "--workers", str(workers)],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        env={**os.environ, **{f"WORDVEIL_SERVE_{name}": value for name, value in settings.items()}},
    )  # fmt: skip
    stopped, over = Stopped(), threading.Event()
    try:
        _wait_until_ready(port, server)
        callers = [threading.Thread(target=_call, args=(port, key, text, stopped, over)) for _ in range(_CALLERS)]
        for caller in callers:
            caller.start()
        time.sleep(after)
        server.send_signal(signal.SIGTERM)
        started = time.perf_counter()
        stopped.told = server.communicate(timeout=60)[1]
        stopped.seconds, stopped.code = time.perf_counter() - started, server.returncode
    finally:
        over.set()
        server.kill()
    for caller in callers:
        caller.join()
    price = wordveil.mechanism("exponential", wordveil.load_space(space), epsilon=_EPSILON).largest_loss  # of a draw
    stopped.charged = round(Ledger(folder / "ledgers" / "load.db", _BUDGET).spent("load") / (price * drawn))
    return stopped


def _wait_until_ready(port: int, server: subprocess.Popen[str]) -> None:
    while server.poll() is None:
        connection = HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except (HTTPException, OSError):
            time.sleep(0.1)
        finally:
            connection.close()


def _call(port: int, key: str, text: str, stopped: Stopped, over: threading.Event) -> None:
    asked = {"text": text, "epsilon": _EPSILON, "mechanism": "exponential", "select": "all", "once": None}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    while not over.is_set():
        try:
            connection.request("POST", "/v1/privatize", json.dumps(asked), headers)
            answer = connection.getresponse()
            content = json.loads(answer.read())
        except ConnectionRefusedError:
            stopped.outcomes["not listening any more"] += 1
            break
        except (HTTPException, OSError):
            stopped.outcomes["connection closed before an answer"] += 1
            connection.close()
            continue
        if answer.status == 200:
            stopped.answers.append(content["results"][0]["text"])
        else:
            stopped.outcomes[f"{answer.status} {content['detail']}"] += 1
    connection.close()
