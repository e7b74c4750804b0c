"""What Prometheus is told: counts and times, never anything of a text."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

__all__ = ["BATCH", "IN_PROGRESS", "REFUSED", "REQUESTS", "SECONDS", "WORDS", "exposition"]

_REGISTRY = CollectorRegistry()

REQUESTS = Counter("wordveil_requests", "Requests answered.", ["route", "status"], registry=_REGISTRY)
SECONDS = Histogram(
    "wordveil_request_seconds",
    "How long answers took.",
    ["route"],
    registry=_REGISTRY,
    buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30),
)
REFUSED = Counter("wordveil_refused", "Requests told to come back later.", registry=_REGISTRY)
IN_PROGRESS = Gauge(
    "wordveil_requests_in_progress", "Requests in progress.", registry=_REGISTRY, multiprocess_mode="livesum"
)
WORDS = Counter("wordveil_words", "Words of texts, by what became of them.", ["way"], registry=_REGISTRY)
BATCH = Histogram(
    "wordveil_batch_texts",
    "Texts that were drawn for together.",
    registry=_REGISTRY,
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
)


def exposition() -> bytes:
    """Return all figures, of all processes, in the text format of Prometheus."""
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        everyone = CollectorRegistry()
        MultiProcessCollector(everyone)  # type: ignore[no-untyped-call]
        return generate_latest(everyone)
    return generate_latest(_REGISTRY)
