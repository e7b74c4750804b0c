"""Prometheus metrics: counts and times, never anything of a text. End users get none, because there are too many."""

from __future__ import annotations

import logging
import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from wordveil.service.settings import Key
from wordveil.text import Counts

__all__ = [
    "BATCH",
    "CONNECTIONS",
    "IN_PROGRESS",
    "KEY_REQUESTS",
    "REQUESTS",
    "REUSED",
    "SECONDS",
    "count_words",
    "exposition",
    "labelled",
    "log_seldom",
    "note_refusal",
]

_ROOM = 1 << 17  # bytes of a process's metrics of one kind


def _reserve(folder: str) -> None:
    """Take the room of this process's metrics on the disk, before the library maps them into memory.

    The library makes files with holes. A process that writes into one on a full disk is killed by the system, and so
    would be each that took its place.
    """
    for kind in ("counter", "histogram", "gauge_livesum"):
        path = Path(folder, f"{kind}_{os.getpid()}.db")
        if not path.exists():  # another process had this number before
            path.write_bytes(bytes(_ROOM))


if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
    _reserve(os.environ["PROMETHEUS_MULTIPROC_DIR"])

_COUNTED = CollectorRegistry()
REQUESTS = Counter("wordveil_requests", "Requests answered.", ["route", "status"], registry=_COUNTED)
SECONDS = Histogram(
    "wordveil_request_seconds",
    "How long answers took.",
    ["route"],
    registry=_COUNTED,
    buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30),
)
_REFUSED = Counter("wordveil_refused", "Refusals, by the code of their problem.", ["code"], registry=_COUNTED)
IN_PROGRESS = Gauge(
    "wordveil_requests_in_progress", "Requests in progress.", registry=_COUNTED, multiprocess_mode="livesum"
)
CONNECTIONS = Gauge("wordveil_connections", "Open connections.", registry=_COUNTED, multiprocess_mode="livesum")
KEY_REQUESTS = Counter("wordveil_key_requests", "Requests by key.", ["key", "status"], registry=_COUNTED)
_KEY_DRAWS = Counter("wordveil_key_draws", "Draws made for a key.", ["key"], registry=_COUNTED)
_WORDS = Counter("wordveil_words", "Words of texts, by what happened to them.", ["way"], registry=_COUNTED)
REUSED = Counter("wordveil_reused_texts", "Texts that reused their conversation's draws.", registry=_COUNTED)
BATCH = Histogram(
    "wordveil_batch_texts",
    "Texts drawn together.",
    registry=_COUNTED,
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
)


_LOG = logging.getLogger("wordveil.service")
_LOGGED_EVERY = 1.0  # seconds between log lines of one kind: a flood of refusals must not fill the disk
_logged: dict[str, tuple[float, int]] = {}  # per kind: when it was last logged, and how many were skipped since


@lru_cache(maxsize=1024)
def labelled(metric: Any, *labels: str) -> Any:
    """Return a metric with these labels. Cached, because the client library takes several times as long."""
    return metric.labels(*labels)


def note_refusal(code: str, route: str, key: str = "", request: str = "") -> None:
    """Count a refusal and log its code, route, key and request. All of these are our own names."""
    labelled(_REFUSED, code).inc()
    told = f"refused {route}: {code}" + (f", key {key}" if key else "") + (f", request {request}" if request else "")
    log_seldom(_LOG, logging.WARNING, told, code)


def log_seldom(log: logging.Logger, level: int, told: str, kind: str = "") -> None:
    """Log at most one line of a kind each second, with how many were skipped. Default kind: the line itself."""
    now, kind = time.monotonic(), kind or told
    last, passed_over = _logged.get(kind, (-math.inf, 0))
    if now - last < _LOGGED_EVERY:
        _logged[kind] = (last, passed_over + 1)
        return
    _logged[kind] = (now, 0)
    log.log(level, "%s%s", told, f" ({passed_over:,} more like it before)" if passed_over else "")


def count_words(counts: Counts, key: Key | None) -> None:
    """Count what happened to words, and the draws of a key."""
    for way, words in counts.to_dict().items():
        if words and way not in ("words", "repeated"):
            labelled(_WORDS, way).inc(words)
    if key is not None and counts.draws:
        labelled(_KEY_DRAWS, key.name).inc(counts.draws)


def exposition(budgets: Mapping[str, tuple[float, float]]) -> bytes:
    """Return the metrics of all processes in Prometheus' text format.

    `budgets` holds each key's budget and what is left of it.
    """
    shared = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    registry = _COUNTED
    if shared:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    beside = CollectorRegistry()
    beside.register(_Now(budgets, _processes(shared)))
    return generate_latest(registry) + generate_latest(beside)


class _Now:
    """Collects metrics that are read only when somebody asks."""

    def __init__(self, budgets: Mapping[str, tuple[float, float]], processes: Iterable[int]) -> None:
        self._budgets, self._processes = budgets, processes

    def collect(self) -> Iterator[Metric]:
        whole = GaugeMetricFamily("wordveil_budget", "The budget of a key.", labels=["key"])
        left = GaugeMetricFamily("wordveil_budget_left", "What is left of a key's budget.", labels=["key"])
        for key, (budget, remains) in self._budgets.items():
            whole.add_metric([key], budget)
            left.add_metric([key], remains)
        yield from (whole, left)
        found: dict[str, Metric] = {}
        for process in self._processes:
            for metric in ProcessCollector(pid=partial(int, process), registry=None).collect():
                merged = found.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
                merged.samples += [one._replace(labels={"pid": str(process)}) for one in metric.samples]
        yield from found.values()


def _processes(shared: str | None) -> list[int]:
    """Return the running processes of the service. With several, each has files in the shared folder."""
    if not shared:
        return [os.getpid()]
    named = (re.search(r"_(\d+)\.db$", path.name) for path in Path(shared).glob("*.db"))
    return sorted({int(found[1]) for found in named if found and Path("/proc", found[1]).exists()})
