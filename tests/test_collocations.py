"""Which places of a text a cut into collocations would bind."""

from __future__ import annotations

from benchmarks.collocations import collocations, places

LINES = [
    "  1 a licence, with words_like this",
    "00001740 03 n 02 new_york 0 entity 0 000 | a city",
    "1 2 n 01 rain_forest 0 | x",
]


def test_places_that_are_joined_and_places_that_another_word_would_join() -> None:
    listed = collocations(LINES)
    assert listed == {("new", "york"), ("rain", "forest")}
    # "york" after "new" is bound with it; "coats" stands where "forest" would be joined to "rain"
    assert places(["new", "york", "sells", "rain", "coats"], listed) == (2, 1, 5)
    assert places([], listed) == (0, 0, 0)
