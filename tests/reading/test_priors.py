"""How likely words are before an output is seen."""

import numpy as np
import pytest

from wordveil.reading.places import Cutter
from wordveil.reading.priors import make_prior, usage
from wordveil.spaces import EuclideanSpace, Vocabulary, load_space

_SPACE = load_space("glove-50k")


def _space(words: list[str]) -> EuclideanSpace:
    return EuclideanSpace("own", Vocabulary(words), np.eye(len(words), dtype=np.float32))


def test_english_words_are_as_frequent_as_in_general_text_and_not_as_in_the_news() -> None:
    found = usage(_SPACE)
    assert found.sum() == pytest.approx(1.0)
    assert (found > 0).all()
    ids = _SPACE.vocabulary.ids
    assert ids["million"] < ids["thanks"]  # in the order of the space, which is of newswire and encyclopaedia
    assert found[ids["million"]] < found[ids["thanks"]]


def test_a_part_of_the_space_keeps_the_proportions() -> None:
    few = np.arange(200, 700)
    whole = usage(_SPACE)[few]
    np.testing.assert_allclose(usage(_SPACE.restrict(few)), whole / whole.sum(), rtol=1e-12)


def test_words_of_another_language_follow_their_rank() -> None:
    found = usage(_space(["straße", "häuser", "wiesen", "gläser"]))
    np.testing.assert_allclose(found, 1 / (np.arange(4) + 2.7) / (1 / (np.arange(4) + 2.7)).sum())


def test_a_few_unknown_words_keep_the_share_of_their_rank() -> None:
    words = [*list(_SPACE.vocabulary)[:200], "wordveilish"]
    found = usage(_space(words))
    by_rank = 1 / (np.arange(201) + 2.7)
    assert found[-1] == pytest.approx(by_rank[-1] / by_rank.sum())
    assert found.sum() == pytest.approx(1.0)


def test_function_words_are_never_behind_an_output() -> None:
    prior = make_prior("space", _SPACE, Cutter(_SPACE.vocabulary, "content"))
    assert prior[_SPACE.vocabulary.ids["the"]] == 0.0
    assert prior.sum() == pytest.approx(1.0)
