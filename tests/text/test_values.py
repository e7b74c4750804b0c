"""Values that compiled code finds: those that the expressions find, in every text that it does not leave to them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wordveil.kernels.native import compiled
from wordveil.kernels.words import VALUES, find_values
from wordveil.text.flow import Texts
from wordveil.text.identifiers import find_identifiers
from wordveil.text.spellings import kinds_of_characters

pytestmark = pytest.mark.skipif(compiled() is None, reason="nothing is compiled here")

STRETCHES = [
    "5", "12", "30th", "1845", "1,000", "1,000,000", "4.5", "1990s", "22d", "3d", "$5", "$1,000.50", "(5)", "(1845)",
    "\"12\"", "'45", "'90s", "1990's", "12345", "123456", "007", "0.5", "5%", "1845.", "1845,", "1845;", "5,", "5.",
    "12:", "1845:", "March", "march", "MARCH", "Mar", "mar", "Mar.", "may", "May", "MAY", "June", "june,", "Dec.",
    "Sept", "sepember", "of", "Of", "am", "pm", "a.m.", "p.m", "AM", "P.M.", "USD", "US", "NY", "EUR", "US$", "A$",
    "$", "(", "(at)", "-", "--", "x-y", "da-da-da-da-da-da", "Note:", "From:", "to:", "www.X", "U.S.", "file.TXT",
    "word:", "“the", "€5", "5€", "é", "[5", "+5", "-5", "1/2", "1st", "2nd", "4TH", "th", "the", "year", "year,",
    "man.", "million", "k", "deadbeef", "12ab", "ab12", "T5", "5:30", "1.2.3.4", "1.2", "3,4,5", "1'2", "don't",
    "he's", "20", "2020", "SMITH", "B", "80s", "5d", "5th", "11th,", "15.", "1,00", "1.50", "(12", "12)", "...", "!",
    "5!", "'s", "5x", "#5", "_", "@", "a@b.co", "10/10", "::", ":)", ":5", "x:)", "mailto:x", "12's", "0", "00", "05",
    "999,999", "12345,6", "1234.5", "1234.56", "x:'", "10-inch", "10-inch,", "$5-a", "10-may", "5-march", "5-x.",
    "10-ab-cd", "1,000-man", "5th-rate", "12345-abc", "123456-x", "10-X", "10-deadbeef", "5-pm", "5-year's", "-inch",
    "07-x", "(at)", "[@", "45°", "54°,", "$5°", "5°C", "40'", "°", "°5", "1.5°.", "5th°", "12345°", "1990s°",
    "3/4", "3/4,", "11/16", "0/5", "3/4/5", "1/2-x", "(1/2)", "3/400", "1845.-The", "1845-The,", "30.-May", "5.-MAY",
    "12345-A", "12345.-Ab", "1845.-A", "1st.-The", "S£", "A€t", ".word", ".a,", ".com", ".a.b", ".-x",
    "1862.-Me.", "4.-x-y",
]  # fmt: skip
stretches = st.one_of(
    st.sampled_from([*STRETCHES, "5\xa0March", "(\xa0at\xa0)", "x" * 31, "1" * 6, "a" * 32]),
    st.text("0123456789.,$:'sthd -()MAmap\n\xa0", max_size=6),
    st.text(max_size=2),
)
gaps = st.sampled_from([" "] * 12 + ["  ", "   ", "    ", "\t", "\n", "\r\n", "", "\xa0", "\x1f"])
texts_of = st.lists(
    st.lists(st.tuples(stretches, gaps), max_size=8).map(lambda some: "".join(map("".join, some))), max_size=4
)


def found_in(texts: Sequence[str]) -> list[list[tuple[str, str]] | None]:
    """Return the values of each text, None for one that is left to the expressions."""
    native, those = compiled(), Texts.of(texts)
    assert native is not None
    values, left = find_values(native, *those.parts, kinds_of_characters())
    found: list[list[tuple[str, str]] | None] = [None if one else [] for one in left.tolist()]
    for text, start, end, kind in zip(*(column.tolist() for column in values), strict=True):
        its = found[text]
        assert its is not None
        its.append((VALUES[kind], those.data[start:end].decode()))
    return found


@settings(max_examples=300, deadline=None)
@given(texts=texts_of)
@example(texts=["da-da-da-da-da-da 5", "a" * 32 + " 5", "5 (\xa0at\xa0) home.net", "x:' (\xa0at\xa0) home.net"])
@example(texts=["5% (at) 5 ", "1990s (at) 5", "5 [ @ ] 5", "x:' (at) a 5", "March 5 (AT) b", "5th of May (at) 5"])
@example(texts=["NY 10001", "1845 EC", "5 p.m", "1845. 1846", "12 345 6", "$ 5", "US$5", "5 $", "5 USD", "USD 5"])
@example(texts=["1,00\tS£t VAT", "3/4 A€", "4 1/2 S£", "5th A£", "12 R€."])
@example(texts=["a x:)Mar 1845", "a x:)USD 5", "a x:'NY 10001", "9 of\u202fJUL"])
@example(
    texts=["4 1/2 of it", "100 11/16", "1845 1/2", "4 1/2 3", "3/4 July 1", "3/4 of may 1845", "July 3/4", "3/4 $"]
)
@example(texts=["May 5, 1845.-May 6", "5 May 1845.-The", "1845.-The 5", "was .not 5", ".a [at] b", "x .com", "a .b.c"])
@example(texts=["March 5, 1845.5", "March 5, 18451", "5 March 12,000", "5 may 1845", "x\nFrom: 5", "5 of  May"])
def test_values_are_those_that_the_expressions_find(texts: list[str]) -> None:
    for text, found in zip(texts, found_in(texts), strict=True):
        if found is not None:
            assert found == [(kind, text[start:end]) for kind, start, end in find_identifiers(text)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("In 1845, of 27,459,185 letters (12 a day).", ["1845", "27,459,185", "12"]),
        ("It cost $1,000.50; it was: the 30th of June, 1894.", ["$1,000.50", "30th of June, 1894"]),
        ("On March 5, 1845 and Dec. 7th: the 1990s.", ["March 5, 1845", "Dec. 7th"]),
        ("A 10-inch gun, $5,000-not more, in March: a 5th-rate one.", ["10", "$5,000", "5th"]),
        ("It lies at 54° 40' north, or 9°, and may be 1,000° hot.", ["54", "40", "9", "1,000"]),
        ("At 4 1/2 per cent, or 3/4 of it.", ["4", "1", "2", "3", "4"]),
        ("May 4, 1856.-Riot .and, in March, 1865.-Revolution 12-The.", ["May 4, 1856", "1865", "12"]),
        ("No value: none, in “curly” words.", []),
    ],
)
def test_ordinary_values_are_not_left_to_the_expressions(text: str, values: list[str]) -> None:
    (found,) = found_in([text])
    assert found is not None
    assert [one for _, one in found] == values


def test_more_values_than_there_is_room_for_are_left_to_the_expressions() -> None:
    assert found_in(["1 " * 1000, "It was 5."]) == [None, [("NUMBER", "5")]]
