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
from wordveil.kernels.words import EDIT, StringTable, first_uses
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


@pytest.mark.skipif(compiled() is None, reason="nothing is compiled here")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.integers(0, 70), runs=st.lists(st.tuples(st.integers(1, 70), st.sampled_from(ATOMS)), max_size=6),
    is_between=st.booleans(),
)  # fmt: skip
@example(before=63, runs=[(1, "'"), (1, "é"), (16, " "), (17, "’")], is_between=True)
@example(before=0, runs=[(64, " "), (63, "'"), (65, "\n")], is_between=False)
def test_runs_and_signs_wherever_they_lie_in_a_window(
    graph: Mechanism[Any], flows: list[Flow], before: int, runs: list[tuple[int, str]], is_between: bool
) -> None:
    text = " " * before + "".join(("shipslefttheharbour" * 4)[:length] + sign for length, sign in runs)
    check(graph, flows[0], WAYS[0], ["the sea", text, "the ship's" * 2] if is_between else [text])


@pytest.mark.skipif(compiled() is None, reason="nothing is compiled here")
def test_few_bytes_after_many(graph: Mechanism[Any], sample_texts: list[str]) -> None:
    flow = Flow(Veil(graph, seed=0))
    for texts in (sample_texts, sample_texts[:5], ["The ship left."], [""], []):
        check(graph, flow, {}, texts)


@pytest.mark.skipif(compiled() is None, reason="nothing is compiled here")
def test_characters_of_every_plane(graph: Mechanism[Any]) -> None:
    flow = Flow(Veil(graph, seed=0), small=0)
    others = "\U000e0041ship \U0002f800 \uffff"
    for text in ("A plain ship.", "A café’s ship — 5 €.", "船 and かな, 😀ship, 𝐀lice", others):
        check(graph, flow, {}, [text, "It was left."])


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


@given(st.lists(st.tuples(st.integers(0, 5), st.lists(st.integers(0, 8), max_size=6)), max_size=12))
def test_first_uses(texts: list[tuple[int, list[int]]]) -> None:
    for some in (sorted(texts), texts):
        groups = np.array([group for group, _ in some], dtype=np.int64)
        stops = np.cumsum([len(numbers) for _, numbers in some], dtype=np.int64)
        pairs = [(group, number) for group, numbers in some for number in numbers]
        uses = first_uses(np.array([number for _, number in pairs], dtype=np.int64), stops, groups, 9)
        distinct = list(dict.fromkeys(pairs))
        assert [pairs[at] for at in uses.first.tolist()] == distinct
        assert [distinct[at] for at in uses.places.tolist()] == pairs
        assert uses.first.tolist() == [pairs.index(pair) for pair in distinct]
        of_text = np.searchsorted(stops, uses.first, side="right")
        assert uses.fresh.tolist() == [of_text.tolist().count(text) for text in range(len(some))]


NONE, ONE, TWO = np.zeros(0, dtype=np.int64), np.ones(1, dtype=np.int64), np.array([1, 2])
KINDS = np.zeros(1 << 17, dtype=np.uint8)
FOUND = (np.empty(1, np.int32), np.empty(1, np.int64), np.empty(1, np.int64), np.empty(1, np.uint8), 1)
STRINGS = (np.array([0, 1]), 1, b"x", 1)
WORDS = (STRINGS, STRINGS, KINDS, STRINGS)


def edit(code: int = 0, start: int = 0, end: int = 1, flags: int = 0) -> tuple[Any, ...]:
    starts, ends, codes = (np.array([one], np.int32) for one in (start, end, code))
    return (starts, ends, codes, np.array([flags], np.uint8), 1)


def drawn(inside: Sequence[int], places: Sequence[int] | None = None, outside: Sequence[int] = ()) -> tuple[Any, ...]:
    of = None if places is None else np.array(places, np.int32)
    return (
        np.array(inside, np.int64), len(inside), of, 0 if places is None else len(places), np.array(outside, np.int64),
        len(outside),
    )  # fmt: skip


def uses(count: int, texts: int) -> tuple[Any, ...]:
    return (np.empty(count, np.int64), np.empty(count, np.int32), np.empty(texts, np.int64))


def written(edits: tuple[Any, ...], draws: tuple[Any, ...]) -> tuple[Any, ...]:
    return (b"abc", 3, NONE, NONE, 0, edits, draws, WORDS, (NONE.copy(), NONE.copy()))


@pytest.mark.skipif(compiled() is None, reason="nothing is compiled here")
def test_a_word_is_written_only_as_what_was_drawn_for_it() -> None:
    native = compiled()
    assert native is not None
    assert native.write_texts(*written(edit(), drawn([0]))) == b"xbc"
    assert native.write_texts(*written(edit(), drawn([7, 0], [1]))) == b"xbc"
    assert native.write_texts(*written(edit(flags=EDIT.OUTSIDE), drawn([], None, [0]))) == b"xbc"


@pytest.mark.skipif(compiled() is None, reason="nothing is compiled here")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("first_uses", (np.zeros(2, np.int64), 2, TWO, np.array([1, 0]), 2, 1, *uses(2, 2))),  # groups fall
        ("first_uses", (np.zeros(2, np.int64), 2, TWO[::-1].copy(), TWO, 2, 1, *uses(2, 2))),  # stops fall
        ("first_uses", (np.zeros(2, np.int64), 2, ONE, ONE, 1, 1, *uses(2, 1))),  # a number of no text
        ("first_uses", (ONE, 1, ONE, ONE, 1, 1, *uses(1, 1))),  # a number that is too large
        ("first_uses", (ONE, 5, ONE, ONE, 1, 2, *uses(5, 1))),
        ("find_values", (b"abc", 3, np.array([2]), np.array([1]), 1, KINDS, KINDS.copy(), FOUND)),
        ("find_values", (b"abc", 9, NONE, NONE, 0, KINDS, KINDS.copy(), FOUND)),
        ("find_values", (b"abc", 3, NONE, NONE, 0, KINDS, KINDS.copy(), (*FOUND[:4], 9))),
        ("index_strings", ((np.zeros(4, np.uint64), 4, 1, np.array([0, 5, 1], np.int32), 2, b"ab", 2), 0)),
        ("index_strings", ((np.zeros(4, np.uint64), 3, 1, np.array([0, 1], np.int32), 1, b"ab", 2), 0)),
        ("index_short", ((np.zeros(12, np.uint64), 3, 1), STRINGS, np.zeros(1, np.uint64), 0)),
        ("index_short", ((np.zeros(12, np.uint64), 4, 1), STRINGS, np.zeros(1, np.uint64), 0)),
        ("index_short", ((np.zeros(16, np.uint64), 4, 1), STRINGS, np.zeros(0, np.uint64), 0)),
        ("write_texts", written(edit(), drawn([7]))),  # there is no word 7
        ("write_texts", written(edit(), drawn([-1]))),
        ("write_texts", written(edit(), drawn([]))),  # nothing was drawn for it
        ("write_texts", written(edit(), drawn([0], [1]))),
        ("write_texts", written(edit(), drawn([0], [-1]))),
        ("write_texts", written(edit(), drawn([0], []))),
        ("write_texts", written(edit(), drawn([0, 0]))),  # something was drawn for nothing
        ("write_texts", written(edit(), drawn([0], [0, 0]))),
        ("write_texts", written(edit(), drawn([0], None, [0]))),
        ("write_texts", written(edit(flags=EDIT.OUTSIDE), drawn([0]))),
        ("write_texts", written(edit(code=-2), drawn([]))),  # there is no string 1
        ("write_texts", written(edit(start=2, end=2), drawn([0]))),
        ("write_texts", written(edit(end=9), drawn([0]))),
    ],
)
def test_compiled_code_refuses_what_does_not_fit_together(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises((ValueError, IndexError)):
        getattr(compiled(), name)(*arguments)
