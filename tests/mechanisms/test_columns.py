"""Columns are computed once, stay within their memory, and are the same wherever they come from."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import make_space
from wordveil._mechanisms import Law, mechanism
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.laws import columns
from wordveil.progress import Watch, ignore
from wordveil.reading import Reader
from wordveil.spaces.space import Ids

WORDS = 40
SPACE = make_space(WORDS, 4, seed=3)
COLUMN = 8 * WORDS  # the bytes of one, in double precision


class Asked(Exponential):
    """An exponential mechanism that notes which columns are computed."""

    def __init__(self, epsilon: float = 2.0) -> None:
        super().__init__(SPACE, epsilon)
        self.outputs: list[int] = []

    def log_columns(self, outputs: Ids, inputs: Ids, watch: Watch = ignore) -> NDArray[np.float64]:
        self.outputs += outputs.tolist()
        return super().log_columns(outputs, inputs, watch)


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    gc.collect()  # laws of earlier tests


def test_each_column_is_computed_once_whoever_asks() -> None:
    made = Asked()
    law, prior = made.law(), np.ones(WORDS)
    first = law.log_columns(np.array([5, 2, 5]))
    assert sorted(made.outputs) == [2, 5]
    first[:] = 0.0  # what was returned is the caller's own
    assert np.exp(law.log_columns(np.array([2, 9, 5]))) == pytest.approx(law.rows(np.arange(WORDS))[:, [2, 9, 5]].T)
    law.posterior(np.array([9, 2]), prior)
    assert sorted(made.outputs) == [2, 5, 9]
    law.log_columns(np.array([2]), np.arange(3))  # of other words
    assert made.outputs[3:] == [2]


def test_a_reader_that_fits_reads_and_guesses_computes_each_column_once() -> None:
    made = Asked()
    text = " ".join(SPACE.vocabulary.take(np.arange(10)))
    reader = Reader(made, kind="population", select="all").fit([text, text])
    before = list(made.outputs)
    reader.posterior(text)
    reader.transform([text], others=[[text]])
    assert sorted(before) == list(range(10))
    assert made.outputs == before


def test_columns_stay_within_their_memory_and_answers_do_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_BYTES", 6 * COLUMN)
    laws: list[Law] = [Asked(epsilon).law() for epsilon in (1.0, 2.0)]
    tables = [law.rows(np.arange(WORDS)) for law in laws]
    rng = np.random.default_rng(0)
    for _ in range(20):
        for law, table in zip(laws, tables, strict=True):
            outputs = rng.integers(WORDS, size=rng.integers(1, 12))
            assert np.exp(law.log_columns(outputs)) == pytest.approx(table[:, outputs].T)
    made = [law.mechanism for law in laws]
    asked = [len(one.outputs) for one in made if isinstance(one, Asked)]
    for law in laws:  # one after the other, no more than six of all columns are kept
        law.log_columns(np.arange(WORDS))
    again = [len(one.outputs) for one in made if isinstance(one, Asked)]
    assert sum(again) - sum(asked) >= 2 * WORDS - 2 * 6


def test_the_table_in_use_takes_the_memory_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_BYTES", 6 * COLUMN)
    one, other = Asked(), Asked()
    first, second = one.law(), other.law()
    first.log_columns(np.arange(6))
    second.log_columns(np.arange(6))
    second.log_columns(np.arange(10))  # keeps what it has, rather than what came last
    second.log_columns(np.arange(6))
    assert len(other.outputs) == 10
    first.log_columns(np.arange(6))
    assert len(one.outputs) == 12


def test_a_law_is_pickled_without_its_columns() -> None:
    law = mechanism("laplace", SPACE, epsilon=3.0).law()
    before = len(pickle.dumps(law))
    found = law.log_columns(np.arange(WORDS))
    bare = len(pickle.dumps(law))
    again = pickle.loads(pickle.dumps(law))  # noqa: S301 - what was written here
    assert np.array_equal(again.log_columns(np.arange(WORDS)), found)
    assert len(pickle.dumps(again)) == pytest.approx(bare, abs=100)
    assert before < bare
