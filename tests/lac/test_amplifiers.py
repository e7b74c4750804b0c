"""Shuffle, sub-sample and k-threshold: what they let through, and what the account makes of them."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.conftest import ALPHA, make_space
from wordveil import Veil
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.nadp import Nadp
from wordveil.errors import InputError, OptionError
from wordveil.lac import Account, Amplifier, Crowd, KThreshold, Localizer, Record, Shuffle, Subsample, bounds, shuffled
from wordveil.noise import Entropy

RECORDS = [Record(f"w{number % 7}", user=f"u{number}", label="a" if number % 2 else None) for number in range(500)]


@pytest.mark.parametrize("in_memory", [2, 3, 100])
def test_every_order_is_equally_likely(in_memory: int) -> None:
    entropy = Entropy(1)
    seen = Counter("".join(shuffled("abcd", entropy=entropy, in_memory=in_memory)) for _ in range(480))
    assert len(seen) == 24
    assert stats.chisquare(list(seen.values())).pvalue > ALPHA


def test_shuffling_keeps_the_records_and_takes_the_names_off() -> None:
    for in_memory in (16, 1 << 18):
        out = list(Shuffle(in_memory=in_memory)(RECORDS))
        assert Counter((r.text, r.label) for r in out) == Counter((r.text, r.label) for r in RECORDS)
        assert all(record.user is None for record in out)
        assert [r.text for r in out] != [r.text for r in RECORDS]


def test_any_text_survives_the_disk() -> None:
    odd = ["line\nbreak", '"', "\ud800", "", "é🎈", "\x00"] * 3
    assert sorted(shuffled(odd, in_memory=4)) == sorted(odd)


def test_shuffling_nothing() -> None:
    assert list(Shuffle()([])) == []


def test_a_sample_has_its_size_and_no_names() -> None:
    out = list(Subsample(0.1)(RECORDS))
    assert len(out) == 50
    assert all(record.user is None for record in out)
    first = Counter(
        next(iter(Subsample(0.1, seed=seed)([Record("a"), Record("b"), Record("c")]))).text for seed in range(600)
    )
    assert stats.chisquare([first[name] for name in "abc"]).pvalue > ALPHA


def test_a_threshold_lets_only_the_frequent_through() -> None:
    records = [Record("often")] * 400 + [Record("seldom")] * 6
    out = Counter(record.text for record in KThreshold(20, 0.5, seed=1)(records))
    assert set(out) == {"often"}
    assert stats.binomtest(out["often"], 400, 0.5).pvalue > ALPHA
    assert list(KThreshold(500, 0.5)(records)) == []


def account(local: float = 1.0, records: int = 100_000, per_user: int = 1) -> Account:
    return Account(local, Crowd(records), 1e-6, per_user)


def test_the_account_uses_the_best_bound() -> None:
    after = Shuffle().amplify(account()).guarantees()[0]
    assert after.epsilon == min(bounds.clones(1.0, 100_000, 1e-6), bounds.blanket(1.0, 100_000, 1e-6))
    assert after.delta == pytest.approx(1e-6)
    assert Shuffle().amplify(account()).untrusted().epsilon == 1.0


def test_a_sample_and_a_shuffle_help_each_other_in_either_order() -> None:
    one = Subsample(0.1).amplify(Shuffle().amplify(account())).guarantees()[0]
    other = Shuffle().amplify(Subsample(0.1).amplify(account())).guarantees()[0]
    assert one == other
    assert one.epsilon < Shuffle().amplify(account()).guarantees()[0].epsilon
    assert one.delta == pytest.approx(1e-6)
    alone = Subsample(0.1).amplify(account()).guarantees()[0]
    assert alone.epsilon == pytest.approx(math.log(1 + 0.1 * math.expm1(1.0)))
    assert alone.delta == 0.0


def test_a_threshold_adds_a_promise_of_its_own() -> None:
    found = KThreshold(30, 0.1).amplify(Shuffle().amplify(account())).guarantees()
    assert {p.neighbours.split()[-1] for p in found} == {"removed", "kept"}
    held = next(p for p in found if p.neighbours.endswith("removed"))
    assert held.epsilon == bounds.thresholded(30, 0.1, 1e-6)
    # without any finite local ε₀ it is all there is
    bare = KThreshold(30, 0.1).amplify(account(math.inf)).guarantees()
    assert [math.isfinite(p.epsilon) for p in bare] == [True, False]


def test_what_is_not_proved_is_not_promised() -> None:
    """A sample after a threshold, or before it, or a second threshold, adds nothing."""
    threshold, sample = KThreshold(30, 0.1), Subsample(0.1)
    assert sample.amplify(threshold.amplify(account())).guarantees() == threshold.amplify(account()).guarantees()
    before = threshold.amplify(sample.amplify(account())).guarantees()
    assert [p.source for p in before if math.isinf(p.epsilon)] == [
        "a k-threshold after a sample of fixed size is not proved; leave that sample out"
    ]
    assert (
        KThreshold(90, 0.01).amplify(threshold.amplify(account())).guarantees()
        == threshold.amplify(account()).guarantees()
    )
    weak = KThreshold(2, 0.5).amplify(account()).guarantees()[-1]
    assert "too small" in weak.sentence()


def test_two_samples_in_a_row_are_counted_as_they_are_taken() -> None:
    for rates in ((0.016, 0.8), (0.014, 0.9), (0.5, 0.016), (0.004, 0.9), (1.0, 0.3)):
        one, other = (Subsample(rate) for rate in rates)
        taken = len(list(other(one([Record("w")] * 100))))
        assert other.amplify(one.amplify(account(records=100))).sampled == taken


@pytest.mark.parametrize("seeded", [Shuffle(seed=1), Subsample(0.5, seed=1), KThreshold(30, 0.1, seed=1)])
@pytest.mark.parametrize("other", [None, Shuffle(), Subsample(0.5), KThreshold(30, 0.1)])
def test_a_seed_leaves_the_local_promise_only(seeded: Amplifier, other: Amplifier | None) -> None:
    """Before and after: a seeded sample has other records in it, and a seeded threshold suppresses some."""
    for amplifiers in ([seeded, other], [other, seeded]):
        after = account()
        for amplifier in amplifiers:
            after = after if amplifier is None else amplifier.amplify(after)
        (held,) = after.guarantees()
        assert (held.epsilon, held.delta) == (1.0, 0.0)
        assert "seed" in held.sentence()


def test_a_user_with_several_records_pays_for_all() -> None:
    one = Shuffle().amplify(account()).guarantees()[0]
    three = Shuffle().amplify(account(per_user=3)).guarantees()[0]
    assert three.epsilon > 3 * one.epsilon
    assert three.delta <= 1e-6
    assert account(per_user=3).untrusted().epsilon == 3.0


@pytest.mark.parametrize("per_user", [2, 10, 50])
@pytest.mark.parametrize("delta", [1e-9, 1e-2])
def test_no_account_spends_more_than_it_was_given(per_user: int, delta: float) -> None:
    """What several records of a user make of δ is part of what was given, for every bound."""
    for local, records in ((0.5, 1000), (4.0, 10**5), (12.0, 10**7)):
        opened = Account(local, Crowd(records), delta, per_user)
        for after in (
            opened.shuffled(),
            opened.with_sample(0.1).shuffled(),
            opened.with_threshold(60, 0.1),
            opened.shuffled().with_threshold(400, 0.3),
        ):
            for held in after.guarantees():
                assert held.epsilon == math.inf or held.delta <= delta


STEPS = st.lists(
    st.one_of(
        st.just(("shuffle",)),
        st.tuples(st.just("sample"), st.floats(0.001, 1.0)),
        st.tuples(st.just("threshold"), st.integers(1, 2000), st.floats(0.001, 0.9)),
    ),
    max_size=4,
)


@settings(deadline=None, max_examples=60)
@given(
    local=st.floats(0.01, 20.0),
    records=st.integers(2, 10**7),
    rarest=st.integers(1, 10**7),
    delta=st.floats(1e-15, 0.5),
    per_user=st.integers(1, 200),
    steps=STEPS,
)
def test_no_way_through_a_pipeline_spends_more_delta_than_was_given(
    local: float, records: int, rarest: int, delta: float, per_user: int, steps: list[tuple[Any, ...]]
) -> None:
    crowd = Crowd(records) if rarest >= records else Crowd(records, rarest, 2)
    after = Account(local, crowd, delta, per_user)
    for kind, *how in steps:
        if kind == "shuffle":
            after = after.shuffled()
        elif kind == "sample":
            after = after.with_sample(*how)
        else:
            after = after.with_threshold(*how)
    for held in [*after.guarantees(), after.untrusted()]:
        assert held.epsilon == math.inf or held.delta <= delta


def test_several_records_of_a_user_are_suppressed_within_delta() -> None:
    one, three = (
        next(one for one in account(per_user=count).with_threshold(60, 0.1).guarantees() if "removed" in one.neighbours)
        for count in (1, 3)
    )
    assert one.delta == 1e-6
    assert 1e-7 < three.delta <= 1e-6
    assert three.epsilon > 3 * one.epsilon


def test_the_localizer_opens_the_account() -> None:
    space = make_space(40, 4)
    clipped = Exponential(space, 1.0, clip=2.0)
    assert Localizer(Veil(clipped)).account(1000, 1e-6).local == 2.0
    assert Localizer(Veil(clipped), words=3).account(1000, 1e-6).local == 6.0
    far = Shuffle().amplify(Localizer(Veil(Graph(space, 9.0))).account(10_000, 1e-6)).guarantees()[0]
    assert "no amplification" in far.source
    assert "clip of 0.4" in far.source
    none = Shuffle().amplify(Localizer(Veil(Nadp(space, 1.0), unproven=True)).account(10_000, 1e-6))
    assert none.guarantees()[0].epsilon == math.inf
    seeded = Localizer(Veil(clipped, seed=1)).account(1000, 1e-6)
    assert seeded.local == math.inf
    assert "seed" in seeded.why


def test_the_localizer_refuses_a_record_that_is_too_long_without_quoting_it() -> None:
    space = make_space(40, 4)
    words = space.vocabulary.words
    localizer = Localizer(Veil(Exponential(space, 1.0, clip=2.0)))
    assert [r.user for r in localizer([Record(words[0], "ann"), Record(words[1], "bob")])] == ["ann", "bob"]
    with pytest.raises(InputError) as caught:
        list(localizer([Record(words[0]), Record(f"{words[1]} {words[2]}")]))
    assert "record 2 " in str(caught.value)
    assert not any(word in str(caught.value).split() for word in words)


@pytest.mark.parametrize(
    "wrong", [lambda: Subsample(0.0), lambda: Subsample(1.1), lambda: KThreshold(0, 0.5), lambda: Shuffle(in_memory=1)]
)
def test_nonsense_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(OptionError):
        wrong()


def test_many_more_records_than_are_held_at_once() -> None:
    out = np.array(list(shuffled(range(20_000), entropy=Entropy(3), in_memory=200)))
    assert np.array_equal(np.sort(out), np.arange(20_000))
    assert abs(stats.spearmanr(out, np.arange(20_000)).statistic) < 0.04


def test_a_sample_before_a_shuffle_helps_users_of_several_records_too() -> None:
    """The multiple of δ for a group goes by the ε that the sample leaves, not by the one before it."""
    five = Shuffle().amplify(Subsample(0.1).amplify(account(6.0, per_user=5))).guarantees()[0]
    assert five.epsilon < 3.0
    assert five.delta <= 1e-6
    one = Shuffle().amplify(Subsample(0.1).amplify(account(6.0))).guarantees()[0]
    assert one.epsilon < five.epsilon
