"""Compiled and plain: the same texts and counts, byte for byte, for whatever a text holds."""

from __future__ import annotations

import csv
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import wordveil
from wordveil._mechanisms import Mechanism
from wordveil.kernels.native import SWITCH, compiled
from wordveil.kernels.words import StringTable, first_uses
from wordveil.text import Veil
from wordveil.text.flow import Flow, Rewritten, Texts

WAYS: list[dict[str, Any]] = [
    {},
    {"once": None},
    {"once": "file"},
    {"select": "all", "case": "lower"},
    {"identifiers": "veil", "numbers": "digits"},
    {"identifiers": "drop", "numbers": "drop", "markup": "drop"},
    {"numbered": True, "numbers": "metric", "numbers_epsilon": 1.0},
    {"language": "de"},
    {"case": "copy"},
    {"oov": "drop"},
]
ATOMS = [
    "don't", "can't", "Ann's", "o'clock", "rock’n’roll", "n't", "We'll", "IT", "it", "It", "Will", "will", "may", "I",
    "A.", "a", "the", "The", "of", "café", "CAFÉ", "ﬁne", "ship", "Ship", "SHIP", "qzxw", "Qzxw", "ann@over.com",
    "https://a.b/c", "12", "3,5", "5 May", "<b>", "</b>", "&amp;", "<EMAIL>", "#12", "_", "u.s.", "[at]", ".", "...",
    ". ", "! ", "? \"", "\n", "\n\n", " ", "  ", "\t", "-", "—", "“", "”", "'", "’", "@", "/", "\xad", "\u0301",
    "\u200d", "😀", "𝐀", "中文", "\xa0", "e\u0301", "ǅ", "İ", "ß", "\u2028", "1st", "²", "x²", "Ⅷ", "¼",
]  # fmt: skip


@pytest.fixture(scope="module")
def graph() -> Mechanism[Any]:
    return wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=3.0)


@pytest.fixture(scope="module")
def sample_texts(sample_csv: Path) -> list[str]:
    with sample_csv.open(encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def flows(graph: Mechanism[Any]) -> list[Flow]:
    return [Flow(Veil(graph, seed=0, **way), small=0) for way in WAYS]


def rewritten(flow: Flow, veil: Veil, texts: Sequence[str]) -> Rewritten:
    once = veil.once
    groups = list(range(len(texts))) if once is None else once.groups([None] * len(texts))
    return flow.rewrite(veil, Texts.of(texts), np.array(groups, dtype=np.int64), dict.fromkeys(groups))


def check(graph: Mechanism[Any], flow: Flow, way: dict[str, Any], texts: Sequence[str]) -> None:
    seed = len("".join(texts))
    releases = Veil(graph, seed=seed, **way).together(texts)
    found = rewritten(flow, Veil(graph, seed=seed, **way), texts)
    assert list(found.texts) == [release.text for release in releases]
    assert [tuple(row) for row in found.counts.tolist()] == [astuple(release.counts) for release in releases]


pieces = st.one_of(st.sampled_from(ATOMS), st.text(max_size=4), st.text("abcABC '’.-\n", max_size=12))
texts_of = st.lists(st.lists(pieces, max_size=12).map("".join), max_size=4)


@pytest.mark.skipif(compiled() is None, reason="nothing is compiled here")
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=texts_of, way=st.integers(0, len(WAYS) - 1))
@example(texts=["x" * 70 + " the " + "." * 70 + " ship"], way=0)
@example(texts=["The \ud800 ship’s", "", "5 <b>The</b> ship, ann@over.com's The"], way=0)
@example(texts=["ann@over.com don't " + "'s" * 40], way=0)
@example(texts=["They did'n't."], way=0)
def test_compiled_code_gives_what_python_gives(
    graph: Mechanism[Any], flows: list[Flow], texts: list[str], way: int
) -> None:
    check(graph, flows[way], WAYS[way], texts)


@pytest.mark.parametrize("way", range(len(WAYS)))
def test_every_way_on_ordinary_text(
    graph: Mechanism[Any], flows: list[Flow], way: int, sample_texts: list[str]
) -> None:
    check(graph, flows[way], WAYS[way], sample_texts[:150])


def test_the_same_without_a_compiler(monkeypatch: pytest.MonkeyPatch, sample_texts: list[str]) -> None:
    # The draws of a ring are those of numpy either way.
    ring = wordveil.mechanism("ring", wordveil.load_space("glove-50k"), epsilon=0.3)

    def run() -> tuple[list[str], list[list[int]]]:
        veil = Veil(ring, seed=5)
        found = rewritten(Flow(veil, small=0), veil, sample_texts[:60])
        return list(found.texts), found.counts.tolist()

    with_it = run()
    monkeypatch.setenv(SWITCH, "off")
    assert run() == with_it


def test_few_bytes_are_left_to_python_and_come_out_the_same(graph: Mechanism[Any]) -> None:
    veils = [Veil(graph, seed=3), Veil(graph, seed=3)]
    assert list(rewritten(Flow(veils[0]), veils[0], ["The ship left."]).texts) == list(
        rewritten(Flow(veils[1], small=0), veils[1], ["The ship left."]).texts
    )


@pytest.mark.skipif(compiled() is None, reason="nothing is compiled here")
def test_more_spellings_than_are_asked_for_at_once(graph: Mechanism[Any]) -> None:
    words = [
        f"{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676 % 26)}{'q' * (i // 17576)}"
        for i in range(40_000)
    ]
    veil = Veil(graph, seed=1)
    found = rewritten(Flow(veil, small=0), veil, [" ".join(words)])
    assert found.counts[0, 0] == len(words)
    assert list(found.texts) == [Veil(graph, seed=1)(" ".join(words)).text]


@pytest.mark.skipif(compiled() is None, reason="nothing is compiled here")
def test_threads_share_what_is_learnt(graph: Mechanism[Any], sample_texts: list[str]) -> None:
    # Each has words of its own, so that all of them learn while the others look words up, and tables grow meanwhile.
    parts = [
        [*sample_texts[number::8], " ".join(f"q{'xyz'[number % 3]}{chr(97 + number)}{i:x}" for i in range(3000))]
        for number in range(8)
    ]
    flow = Flow(Veil(graph), small=0)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: rewritten(flow, Veil(graph, seed=number), parts[number]), range(8)))
    for number, texts in enumerate(parts):
        alone = rewritten(Flow(Veil(graph), small=0), Veil(graph, seed=number), texts)
        assert list(found[number].texts) == list(alone.texts)
        assert found[number].counts.tolist() == alone.counts.tolist()
    assert list(found[0].texts) == [release.text for release in Veil(graph, seed=0).together(parts[0])]


@pytest.mark.skipif(compiled() is None or not hasattr(os, "fork"), reason="nothing is compiled here, or no forks")
def test_a_fork_while_another_thread_learns(graph: Mechanism[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    # The lock of that thread is nobody's in the child, and what it was about to write there stays unwritten.
    is_learning, may_go_on = threading.Event(), threading.Event()

    def wait(self: StringTable, strings: Sequence[bytes]) -> bool:
        if threading.current_thread() is not threading.main_thread():
            is_learning.set()
            may_go_on.wait()
        return add(self, strings)

    add = StringTable.add
    monkeypatch.setattr(StringTable, "add", wait)
    text = ["The ship left the harbour."]
    flow = Flow(Veil(graph), small=0)
    learner = threading.Thread(target=lambda: rewritten(flow, Veil(graph, seed=1), text))
    learner.start()
    is_learning.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if list(rewritten(flow, Veil(graph, seed=2), text).texts) else 1)
    may_go_on.set()
    learner.join()
    assert os.waitpid(child, 0)[1] == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 8)), max_size=40))
def test_first_uses(pairs: list[tuple[int, int]]) -> None:
    for some in (sorted(pairs), pairs):
        groups, numbers = (np.array([pair[i] for pair in some], dtype=np.int64) for i in (0, 1))
        first, place = first_uses(groups, numbers, 9)
        distinct = list(dict.fromkeys(some))
        assert [some[at] for at in first.tolist()] == distinct
        assert [distinct[at] for at in place.tolist()] == some
        assert first.tolist() == [some.index(pair) for pair in distinct]


NONE, ONE = np.zeros(0, dtype=np.int64), np.ones(1, dtype=np.int64)
KINDS, ROOM = np.zeros(1 << 17, dtype=np.uint8), np.empty(2, dtype=np.int64)
FOUND = (np.empty(1, np.int32), np.empty(1, np.int64), np.empty(1, np.int64), np.empty(1, np.uint8), 1)
STRINGS = (np.array([0, 1]), 1, b"x", 1)
EDIT = (np.zeros(1, np.int32), np.ones(1, np.int32), np.array([7], np.int32), np.zeros(1, np.uint8), 1)  # to word 7


@pytest.mark.skipif(compiled() is None, reason="nothing is compiled here")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("first_uses", (np.array([1, 0]), np.array([0, 0]), 2, 1, ROOM, ROOM.copy())),
        ("first_uses", (ONE, ONE, 1, 1, ROOM, ROOM.copy())),
        ("first_uses", (ONE, ONE, 5, 2, ROOM, ROOM.copy())),
        ("find_values", (b"abc", 3, np.array([2]), np.array([1]), 1, KINDS, KINDS.copy(), FOUND)),
        ("find_values", (b"abc", 9, NONE, NONE, 0, KINDS, KINDS.copy(), FOUND)),
        ("find_values", (b"abc", 3, NONE, NONE, 0, KINDS, KINDS.copy(), (*FOUND[:4], 9))),
        ("index_strings", ((np.zeros(4, np.uint64), 4, 1, np.array([0, 5, 1], np.int32), 2, b"ab", 2), 0)),
        ("index_strings", ((np.zeros(4, np.uint64), 3, 1, np.array([0, 1], np.int32), 1, b"ab", 2), 0)),
        ("write_texts", (b"abc", 3, NONE, NONE, 0, EDIT, STRINGS, STRINGS, KINDS, STRINGS, (ROOM, ROOM.copy()))),
    ],
)
def test_compiled_code_refuses_what_does_not_fit_together(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises((ValueError, IndexError)):
        getattr(compiled(), name)(*arguments)
