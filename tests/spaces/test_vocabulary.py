"""The words of a space."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wordveil.spaces import Vocabulary

letters = st.text("abAB\nßI\u0130", max_size=3)


@given(words=st.lists(letters, min_size=1, unique=True), lowered=st.frozensets(letters.map(str.lower)))
def test_words_are_found_among_others_by_their_small_letters(words: list[str], lowered: frozenset[str]) -> None:
    found = Vocabulary(words).among(lowered).tolist()
    assert found == [word.lower() in lowered for word in words]
