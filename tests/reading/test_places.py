"""A veiled text as arrays: the same words, selection and writing as the veil's own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import make_space, names
from wordveil import Document, InputError, OptionError, Veil
from wordveil._mechanisms import mechanism
from wordveil.reading import LEFT_ALONE, UNKNOWN, VEILED, Cutter
from wordveil.spaces import EuclideanSpace, Vocabulary

WORDS = [*names(20), "the", "not", "is", "Paris", "1999"]
SPACE = EuclideanSpace("placed", Vocabulary(WORDS), make_space(len(WORDS)).vectors)
FAITHFUL = mechanism("exponential", SPACE, epsilon=1e6)  # draws the word itself

pieces = st.sampled_from(
    [*WORDS, "ZQA", "unheard", "42", "don't", "Zqb's", "o'clock", "x-y", ".", "!", "\n\n", ",", "“", "", "…", "🙂", "é"]
)
texts = st.lists(pieces, max_size=12).map(" ".join)


@given(st.lists(texts, max_size=4), st.sampled_from(["content", "all"]), st.sampled_from(["sentence", "lower", "copy"]))
def test_places_are_those_of_the_veil_and_are_written_as_it_writes(drafts: list[str], select: str, case: str) -> None:
    how = {"oov": "keep", "identifiers": "veil", "numbers": "digits", "once": None, "unproven": True}
    veil = Veil(FAITHFUL, select=select, case=case, **how)  # type: ignore[arg-type]
    releases = veil.together(drafts)
    places = Cutter(SPACE.vocabulary, select).cut(drafts, keep=True)
    assert len(places) == len(drafts)
    rewritten = places.write(SPACE.vocabulary.take(places.ids[places.veiled]), veil.guarantee, case)
    for release, other in zip(releases, rewritten, strict=True):
        assert other.text == release.text
        assert other.counts == release.counts
        assert other.replacements == release.replacements


def test_kinds_and_ids() -> None:
    places = Cutter(SPACE.vocabulary).cut(["The zqb wasn't unheard 42 Paris 1999", "", "zqc"])
    kinds = [LEFT_ALONE, VEILED, UNKNOWN, LEFT_ALONE, UNKNOWN, UNKNOWN, VEILED, VEILED, VEILED]
    kinds[2] = LEFT_ALONE  # was, before n't
    assert places.kinds.tolist() == kinds
    assert places.ids.tolist() == [20, 1, -1, 21, -1, -1, 23, 24, 2]
    assert places.starts.tolist() == [0, 8, 8, 9]
    assert places.outputs.tolist() == [[1], [23], [24], [2]]


def test_where_the_release_does_not_tell_spans_must() -> None:
    for select in ("marked", "rare", "nothing"):
        with pytest.raises(OptionError):
            Cutter(SPACE.vocabulary, select)
    for cutter in (Cutter(SPACE.vocabulary, "spans"), Cutter(SPACE.vocabulary, "words", ["zqa", "Paris"])):
        assert cutter.needs_spans
        found = cutter.cut([Document("zqa zqb the", ((4, 11),))])
        assert found.kinds.tolist() == [LEFT_ALONE, VEILED, VEILED]
        for wrong in ("zqa", Document("zqa"), Document("zqa", ((2, 9),))):
            with pytest.raises(InputError):
                cutter.cut([wrong])
    with pytest.raises(OptionError):
        Cutter(SPACE.vocabulary, "words")
    assert np.flatnonzero(cutter.possible).tolist() == [0, 23]
    assert np.flatnonzero(~Cutter(SPACE.vocabulary).possible).tolist() == [20, 21, 22]


def test_what_is_no_text() -> None:
    with pytest.raises(InputError):
        Cutter(SPACE.vocabulary).cut([3])  # type: ignore[list-item]


def test_draws_of_one_text() -> None:
    cutter = Cutter(SPACE.vocabulary)
    # a draw may be a function word, a number may be known or not
    places = cutter.cut_draws(["The zqa, zqb 42!", "The the, zqc 1999!"])
    assert places.kinds.tolist() == [LEFT_ALONE, VEILED, VEILED, UNKNOWN]
    assert places.outputs.tolist() == [[0, 20], [1, 2]]
    for other in ("The zqa zqb 42!", "Not zqa, zqb 42!", "The zqa, zqb!", ""):
        with pytest.raises(InputError):
            cutter.cut_draws(["The zqa, zqb 42!", other])


def test_a_copy_remembers_no_words() -> None:
    cutter = Cutter(SPACE.vocabulary)
    cutter.cut(["canary"])
    copy = pickle.dumps(cutter)
    assert b"canary" not in copy
    assert pickle.loads(copy).cut(["zqa"]).ids.tolist() == [0]  # noqa: S301
