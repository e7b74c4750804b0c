"""Records hide among those of their own shape only: promises against the exact law of what comes out."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.conftest import make_space
from wordveil import Veil
from wordveil._mechanisms.exponential import Exponential
from wordveil.lac import (
    Account,
    Amplifier,
    Census,
    Crowd,
    KThreshold,
    Localizer,
    Pipeline,
    Plain,
    Record,
    Shuffle,
    Subsample,
    Training,
    UserGuarantee,
    bounds,
    dense_law,
)
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, Vocabulary
from wordveil.text import NgramTree, RareWords

WORDS = ("rent", "noise")
TWO = EuclideanSpace("two", Vocabulary(WORDS), np.array([[0.0], [1.0]], dtype=np.float32))
MADE = Exponential(TWO, 1.0, clip=1.0)
LAW = dense_law(MADE)

Report = tuple[str, str | None]
Reports = dict[tuple[Report, ...], float]


def guarantee_of(
    records: Sequence[Record],
    amplifiers: Sequence[Amplifier],
    *,
    delta: float = 0.05,
    words: int = 2,
    per_user: int = 1,
) -> UserGuarantee:
    veil = Veil(MADE, case="lower")
    pipeline = Pipeline(Localizer(veil, words=words), amplifiers, Plain(), delta=delta, per_user=per_user)
    return pipeline(records).stages[-1].guarantees[0]


def reports(record: Record) -> dict[Report, float]:
    """Return the law of what one record becomes: its words are drawn, everything else stays."""
    found: dict[Report, float] = {}
    words = record.text.split()
    for drawn in itertools.product(*(WORDS if word in WORDS else [word] for word in words)):
        chance = math.prod(
            LAW[WORDS.index(word), WORDS.index(new)] for word, new in zip(words, drawn, strict=True) if word in WORDS
        )
        found[" ".join(drawn), record.label] = chance
    return found


def shuffled_law(records: Iterable[Record]) -> Reports:
    """Return the law of all reports without their order."""
    law: Reports = {(): 1.0}
    for record in records:
        after: Reports = {}
        for seen, chance in law.items():
            for report, more in reports(record).items():
                key = tuple(sorted((*seen, report), key=repr))
                after[key] = after.get(key, 0.0) + chance * more
        law = after
    return law


def sampled_law(records: Sequence[Record], size: int) -> Reports:
    """Return the law of the reports of a sample of fixed size, over every sample there is."""
    kinds, mixed = Counter(records), Reports()
    for taken in itertools.product(*(range(count + 1) for count in kinds.values())):
        if sum(taken) == size:
            ways = math.prod(map(math.comb, kinds.values(), taken)) / math.comb(len(records), size)
            sample = itertools.chain(*map(itertools.repeat, kinds, taken))
            for key, chance in shuffled_law(sample).items():
                mixed[key] = mixed.get(key, 0.0) + ways * chance
    return mixed


def excess(left: Reports, right: Reports, epsilon: float) -> float:
    return sum(max(0.0, chance - math.exp(epsilon) * right.get(key, 0.0)) for key, chance in left.items())


def neighbours(records: Sequence[Record]) -> Iterable[list[Record]]:
    """Give every set of records in which one has other words of the vocabulary where words of the vocabulary were."""
    for record in set(records):
        place = records.index(record)
        for words in itertools.product(*(WORDS if word in WORDS else [word] for word in record.text.split())):
            yield [*records[:place], record._replace(text=" ".join(words)), *records[place + 1 :]]


SETS = {
    "one shape": [Record("rent")] * 10 + [Record("noise")] * 20,
    "one longer": [Record("rent noise")] + [Record("noise")] * 30,
    "one label": [Record("rent", label="a")] + [Record("noise", label="b")] * 30,
    "no label": [Record("rent")] + [Record("noise", label="")] * 30,
    "left alone": [Record("the rent")] + [Record("of noise")] * 30,
    "two labels": [Record("rent", label="a")] * 4 + [Record("noise", label="b")] * 26,
    "two lengths": [Record("noise")] * 3 + [Record("rent noise")] * 4,
}


def longest(name: str) -> int:
    return max(sum(word in WORDS for word in record.text.split()) for record in SETS[name])


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("delta", [0.01, 0.05])
def test_shuffled_records_hide_as_well_as_is_promised(name: str, delta: float) -> None:
    records = SETS[name]
    held = guarantee_of(records, [Shuffle()], delta=delta, words=longest(name))
    before = shuffled_law(records)
    for other in neighbours(records):
        after = shuffled_law(other)
        assert excess(before, after, held.epsilon) <= held.delta + 1e-9
        assert excess(after, before, held.epsilon) <= held.delta + 1e-9


def test_records_of_one_shape_do_hide_each_other() -> None:
    local = guarantee_of(SETS["one shape"], [], words=1)
    shuffled = guarantee_of(SETS["one shape"], [Shuffle()], words=1)
    assert (local.epsilon, local.delta) == (1.0, 0.0)
    assert shuffled.epsilon < 0.5


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("rate", [0.1, 0.4])
@pytest.mark.parametrize("shuffles", [[], [Shuffle()]])
def test_sampled_records_hide_as_well_as_is_promised(name: str, rate: float, shuffles: list[Amplifier]) -> None:
    records = SETS[name]
    for amplifiers in ([Subsample(rate), *shuffles], [*shuffles, Subsample(rate)]):
        held = guarantee_of(records, amplifiers, words=longest(name))
        size = bounds.sample_size(rate, len(records))
        before = sampled_law(records, size)
        for other in neighbours(records):
            after = sampled_law(other, size)
            assert excess(before, after, held.epsilon) <= held.delta + 1e-9
            assert excess(after, before, held.epsilon) <= held.delta + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_with_a_seed_is_no_sample(seed: int) -> None:
    """Anyone who knows the seed knows which records are in it, so only these hide each other."""
    records = SETS["one shape"]
    held = guarantee_of(records, [Subsample(0.1, seed=seed), Shuffle()], words=1)
    taken = [int(one.text) for one in Subsample(0.1, seed=seed)([Record(str(n)) for n in range(len(records))])]
    before = shuffled_law([records[place] for place in taken])
    for word in WORDS:
        after = shuffled_law([Record(word), *(records[place] for place in taken[1:])])
        assert excess(before, after, held.epsilon) <= held.delta + 1e-9
        assert excess(after, before, held.epsilon) <= held.delta + 1e-9


def test_a_user_with_several_records_of_several_shapes() -> None:
    records = [Record("rent", "ann"), Record("the rent", "ann"), *[Record("noise")] * 4, *[Record("the noise")] * 4]
    held = guarantee_of(records, [Shuffle()], delta=0.1, per_user=2)
    before = shuffled_law(records)
    for one, other in itertools.product(WORDS, WORDS):
        after = shuffled_law([Record(one), Record(f"the {other}"), *records[2:]])
        assert excess(before, after, held.epsilon) <= held.delta + 1e-9


@pytest.mark.parametrize("alone", [Record("rent rent"), Record("rent", label="a"), Record("the rent"), Record("rent!")])
@pytest.mark.parametrize("amplifiers", [[Shuffle()], [Subsample(0.1)], [Subsample(0.1), Shuffle()]])
def test_a_record_alone_among_many_has_the_local_promise(alone: Record, amplifiers: list[Amplifier]) -> None:
    words = len([word for word in alone.text.split() if word.strip("!") in WORDS])
    held = guarantee_of([alone, *[Record("noise")] * 999], amplifiers, delta=1e-6, words=words)
    assert (held.epsilon, held.delta) == (float(words), 0.0)
    alike = guarantee_of([alone] * 1000, amplifiers, delta=1e-6, words=words)
    assert alike.epsilon < held.epsilon


def test_the_promise_is_for_the_rarest_shape() -> None:
    records = [Record("rent", label=str(number % 3)) for number in range(4000)] + [Record("rent", label="0")] * 500
    veil = Veil(MADE, case="lower")
    last = Pipeline(Localizer(veil), [Shuffle()], Training())(records).stages[-1]
    assert last.guarantees[0].epsilon == min(bounds.clones(1.0, 1333, 1e-6), bounds.blanket(1.0, 1333, 1e-6))
    assert "4,500 records, at least 1,333 of every shape" in last.sentence()
    assert "shape and label kept" in last.sentence()


def test_what_has_nothing_to_hide_leaves_the_others_their_promise() -> None:
    """A word outside the vocabulary is replaced by a draw that does not depend on it."""
    records = [*[Record("rent")] * 3000, Record("zyx"), Record(""), Record("the"), Record("2024")]
    held = guarantee_of(records, [Shuffle()], delta=1e-6, words=1)
    assert held.epsilon == min(bounds.clones(1.0, 3000, 1e-6), bounds.blanket(1.0, 3000, 1e-6))
    # but how many of the others are in a sample is no longer certain
    assert guarantee_of(records, [Subsample(0.1)], delta=1e-6, words=1).epsilon == 1.0
    assert guarantee_of([Record("zyx")] * 3, [Shuffle()], words=1).epsilon <= 1.0
    assert guarantee_of([], [Shuffle()], delta=1e-6, words=1).epsilon == 1.0


def test_a_census_that_cannot_tell_counts_on_nothing() -> None:
    shapes = [b"a", b"a", b"b", b"b", b"c", b"c"]
    for most, smallest in ((3, 2), (2, 1), (0, 1)):
        census = Census(most)
        assert [record.shape for record in census(Record("rent", shape=shape) for shape in shapes)] == [None] * 6
        assert census.crowd().alike == smallest
        assert census.crowd().shapes > 1
    census = Census()
    assert len(list(census([Record("rent")] * 9))) == 9
    assert census.crowd().alike == 1
    assert census.crowd().shapes > 1


def test_a_sample_of_several_shapes_neither_helps_nor_harms() -> None:
    account = Account(1.0, Crowd(9000, 3000, 3), 1e-6)
    shuffled, sampled = account.shuffled().guarantees()[0], account.with_sample(0.1).shuffled().guarantees()[0]
    assert (sampled.epsilon, sampled.delta) == (shuffled.epsilon, shuffled.delta)
    assert account.with_sample(0.1).guarantees()[0].epsilon == 1.0
    assert "several shapes adds nothing" in sampled.source
    threshold = KThreshold(30, 0.1).amplify(account).guarantees()
    assert bounds.thresholded(30, 0.1, 1e-6) in [held.epsilon for held in threshold]


def test_a_choice_of_rare_words_is_taken_as_given() -> None:
    tree = NgramTree(TWO.vocabulary, epsilon=0.5)
    veil = Veil(MADE, select="rare", rare=RareWords(tree))
    assert "given which words are common" in Localizer(veil).account(1000, 1e-6).untrusted().sentence()


class Constant(Exponential):
    """Always draws the first word: what still differs in the output was not hidden."""

    def draw(self, ids: NDArray[np.integer[Any]], entropy: Entropy | None = None) -> NDArray[np.int64]:  # noqa: ARG002
        return np.zeros(len(ids), dtype=np.int64)


SPACE = make_space(6, 2)
MADE_OF_SIX = Exponential(SPACE, 1.0)
PIECES = ["w1", "w2", "W3", "w4's", "the", "of", "THE", "zyx", "Zyx", "12", "345", "٣", ".", "!", "w5-w1", "  ", "\n\n"]
TEXTS = st.lists(st.sampled_from([*PIECES, *SPACE.vocabulary.words[:4]]), max_size=5).map(" ".join)


@settings(max_examples=40)  # in each of 18 ways
@given(texts=st.lists(TEXTS, min_size=2, max_size=12), once=st.sampled_from([None, "record"]))
@pytest.mark.parametrize("case", ["lower", "sentence", "copy"])
@pytest.mark.parametrize("oov", ["replace", "drop", "keep"])
@pytest.mark.parametrize("select", ["content", "all"])
def test_texts_of_one_shape_differ_in_nothing_but_draws(
    case: str, oov: str, select: str, texts: list[str], once: str | None
) -> None:
    made: dict[object, str] = {}
    for text in [*texts, *map(str.upper, texts), *map(str.title, texts)]:
        veil = Veil(Constant(SPACE, 1.0), select=select, oov=oov, case=case, once=once, seed=1, unproven=True)
        released = veil(text)
        shape = veil.shape(text)
        assert shape.drawn == released.counts.draws
        assert made.setdefault(shape, released.text) == released.text


def test_shapes() -> None:
    first, second = SPACE.vocabulary.words[:2]
    veil, copying = (Veil(MADE_OF_SIX, case=case, numbers="digits") for case in ("lower", "copy"))
    same = [
        (first, second),
        (f"the {first}", f"the {second}"),
        ("zyx", "abcdefg"),
        ("12", "34"),
        (first, first.upper()),
    ]
    other = [
        (first, f"{first} {second}"),
        (f"the {first}", f"of {first}"),
        (first, "zyx"),
        ("12", "345"),
        (first, "12"),
    ]
    other += [(f"{first}.", f"{first}!"), ("zyx", "12"), (f"{first} zyx", f"zyx {first}"), ("", " ")]
    assert all(veil.shape(one) == veil.shape(two) for one, two in same)
    assert all(veil.shape(one) != veil.shape(two) for one, two in other)
    capitals = Counter(copying.shape(text) for text in (first, first.title(), first.upper(), second))
    assert sorted(capitals.values()) == [1, 1, 2]
