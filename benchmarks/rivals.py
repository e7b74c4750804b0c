"""Our mechanisms and the peers', on the same words, vocabulary and ε."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.measure import Row, best_of, seconds_to_draw, sgemm_rate
from benchmarks.peer import Rates, numpy_rates, rates_of
from benchmarks.speeches import million_words
from wordveil import load_space, mechanism
from wordveil.text import tokenise

__all__ = ["approximate", "rivals"]

_WORDS = 1 << 15
_EPSILON = 10.0
#: Our name, then the peers' names of the same mechanism.
_SAME = {
    "laplace": {"mldp-text": "mldp_text_cmp", "pypantera": "pypantera_cmp", "numpy": "numpy_laplace"},
    "mahalanobis": {"mldp-text": "mldp_text_mahalanobis", "pypantera": "pypantera_mahalanobis"},
    "vickrey": {"mldp-text": "mldp_text_vickrey", "pypantera": "pypantera_vickrey"},
    "truncated": {"mldp-text": "mldp_text_tem", "pypantera": "pypantera_tem"},
    "exponential": {"pypantera": "pypantera_santext", "numpy": "numpy_exponential"},
}


def rivals() -> list[Row]:
    """Run each mechanism that a peer also has on words of real text, and the peers on the same words."""
    space = load_space("glove-50k")
    text = tokenise(million_words().read_text(encoding="utf-8")[: 8 * _WORDS]).keys
    words = [word for word in text if word in space.vocabulary][:_WORDS]
    ids = np.array([space.vocabulary.id(word) for word in words])
    found: dict[str, Rates] = {
        "mldp-text": rates_of("mldp-text", space, words[:2000], _EPSILON),
        "pypantera": rates_of("pypantera", space, words[:2000], _EPSILON),
        "numpy": numpy_rates(space, words[:2000], _EPSILON),
    }
    limit = sgemm_rate() / (2 * len(space) * space.dimension)
    rows = []
    for name, theirs in _SAME.items():
        rate = len(ids) / seconds_to_draw(partial(mechanism, name, space, epsilon=_EPSILON), ids, 2)
        rates = {peer: found[peer][named] for peer, named in theirs.items()}
        broken = [f"{peer} {rate}" for peer, rate in rates.items() if isinstance(rate, str)]
        searches = name in ("laplace", "mahalanobis", "vickrey")
        rows.append(
            Row(
                f"{name}, 50k × 100, ε = {_EPSILON:g}, {len(ids):,} words of text", "words/s", rate,
                limit=limit if searches else None, note="; ".join(broken),
                peers={peer: rate for peer, rate in rates.items() if isinstance(rate, float)},
            )
        )  # fmt: skip
    return rows


def approximate() -> list[Row]:
    """Draw with `laplace` from an approximate index, if it is good enough, and compare with the exact search."""
    from wordveil.engines import approximately  # noqa: PLC0415 - FAISS is an extra
    from wordveil.errors import WordveilError  # noqa: PLC0415

    space = load_space("glove-50k")
    ids = np.random.default_rng(0).integers(0, len(space), _WORDS)
    rows = []
    for epsilon in (10.0, 20.0, 30.0):
        exact = mechanism("laplace", space, epsilon=epsilon)
        exact.draw(ids[:2048])
        rate = len(ids) / best_of(2, lambda exact=exact: exact.draw(ids))  # type: ignore[misc]
        job = f"laplace, 50k × 100, ε = {epsilon:g}, approximate index"
        try:
            made = approximately(lambda words, eps=epsilon: mechanism("laplace", words, epsilon=eps), space)  # type: ignore[misc]
        except WordveilError:
            note = "no index is good enough at this ε, so none is used"
            rows.append(Row(job, "words/s", rate, peers={"our exact search": rate}, note=note))
            continue
        index = made.describe()["space"]["index"]
        quick = len(ids) / best_of(2, lambda made=made: made.draw(ids))  # type: ignore[misc]
        note = f"{index['kind']}, {index['cells_visited']} cells, recall at least {index['recall_at_least']:.4f}"
        rows.append(Row(job, "words/s", quick, peers={"our exact search": rate}, note=note))
    return rows
