"""Cutting texts into words."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordveil.text import tokenise
from wordveil.text.tokens import has_more_words, is_number, visible_key


def words(text: str) -> list[str]:
    return tokenise(text).pieces[1::2]


@given(st.text() | st.text("nst'’-"))
def test_the_pieces_are_the_text(text: str) -> None:
    pieces, keys = tokenise(text)
    assert "".join(pieces) == text
    assert len(pieces) == 2 * len(keys) + 1
    assert all(pieces[1::2])


@given(st.text())
def test_nothing_alphabetic_lies_between_words(text: str) -> None:
    assert not any(
        character.isalpha() or character.isdigit() for gap in tokenise(text).pieces[::2] for character in gap
    )


@pytest.mark.parametrize(
    ("text", "found", "keys"),
    [
        ("Don't panic!", ["Do", "n't", "panic"], ["do", "not", "panic"]),
        (
            "can't won’t shan't ain't",
            ["ca", "n't", "wo", "n’t", "sha", "n't", "ai", "n't"],
            ["can", "not", "will", "not", "shall", "not", "is", "not"],
        ),
        (
            "Ann's we'll I'm they've he'd you're",
            ["Ann", "'s", "we", "'ll", "I", "'m", "they", "'ve", "he", "'d", "you", "'re"],
            ["ann", "is", "we", "will", "me", "am", "they", "have", "he", "would", "you", "are"],
        ),
        (
            "o'clock rock'n'roll l’eau",
            ["o", "clock", "rock", "n", "roll", "l", "eau"],
            ["o", "clock", "rock", "n", "roll", "l", "eau"],
        ),
        (
            "state-of-the-art U.S. and/or",
            ["state", "of", "the", "art", "U", "S", "and", "or"],
            ["state", "of", "the", "art", "u", "s", "and", "or"],
        ),
        ("a I", ["a", "I"], ["an", "me"]),
        ("12,000.50 4th b2b", ["12,000.50", "4th", "b2b"], ["<NUMBER>", "<NUMBER>", "b2b"]),
        ("cafe\u0301 CAFÉ", ["cafe\u0301", "CAFÉ"], ["café", "café"]),
        ("co\u00adop a\u200db", ["co\u00adop", "a\u200db"], ["co\u00adop", "a\u200db"]),
        (
            "⠓⠑⠇⠇⠕ ⒮⒠⒞ ㌔ \u0378 \ud800",
            ["⠓⠑⠇⠇⠕", "⒮⒠⒞", "㌔", "\u0378", "\ud800"],
            ["⠓⠑⠇⠇⠕", "(s)(e)(c)", "キロ", "\u0378", "\ud800"],
        ),
        ("⼈⼝ ㋐ ㈱ 🈁", ["⼈⼝", "㋐", "㈱", "🈁"], ["人口", "ア", "(株)", "ココ"]),
        ("a\U000e0041\U000e0042 x", ["a\U000e0041\U000e0042", "x"], ["a\U000e0041\U000e0042", "x"]),
        ("ﬁne ｗｏｒｄ", ["ﬁne", "ｗｏｒｄ"], ["fine", "word"]),
        (
            "हिन्दी العربية 日本語 Ⓙⓞⓔ",
            ["हिन्दी", "العربية", "日本語", "Ⓙⓞⓔ"],
            ["हिन्दी", "العربية", "日本語", "joe"],
        ),
        ("'quoted' ''", ["quoted"], ["quoted"]),
        (
            "snake_case john.doe@example.com",
            ["snake_case", "john.doe@example.com"],
            ["<HANDLE>", "<EMAIL>"],
        ),
        ("did'n't ca’n't", ["did", "n't", "ca", "n't"], ["did", "not", "can", "not"]),
        ("n't 's t", ["n", "t", "s", "t"], ["n", "t", "s", "t"]),
        ("\U0001ccd6\U0001ccd7 🇩🇪 𝐭𝐡𝐞", ["\U0001ccd6\U0001ccd7", "🇩🇪", "𝐭𝐡𝐞"], ["\U0001ccd6\U0001ccd7", "🇩🇪", "the"]),
        ("", [], []),
        (" \n👩‍👩‍👧 …", [], []),
    ],
)
def test_words_and_keys(text: str, found: list[str], keys: list[str]) -> None:
    assert words(text) == found
    assert tokenise(text).keys == keys


@pytest.mark.parametrize(
    ("word", "number"), [("12", True), ("½", True), ("٣", True), ("4th", False), ("Ⅷ", True), ("x", False)]
)
def test_numbers_hold_no_letter(word: str, number: bool) -> None:
    assert is_number(word) is number


@given(st.lists(st.text() | st.text("nst'’-1@.")), st.integers(0, 20))
def test_words_are_counted_as_they_are_cut_with_nothing_set_apart(texts: list[str], most: int) -> None:
    counted = sum(len(tokenise(text, apart=()).keys) for text in texts)
    assert has_more_words(texts, most) or counted <= most


def test_words_in_identifiers_are_counted_one_by_one() -> None:
    texts = ["We don't. ", "ann@home.net"]
    assert has_more_words(texts, 5)
    assert not has_more_words(texts, 6)


def test_every_character_that_spells_is_part_of_a_word() -> None:
    signs = set("₨℀℁℃℅℆℉№℠℡™℻﷼")  # each stands for one thing
    for code in (*range(0xD800), *range(0xE000, sys.maxunicode + 1)):
        character = chr(code)
        spelt = any(unicodedata.category(one)[0] in "LN" for one in unicodedata.normalize("NFKC", character))
        assert not spelt or character in signs or len(tokenise(character).keys) >= 1, f"U+{code:04X}"


@pytest.mark.parametrize(
    ("key", "visible"),
    [
        ("paris", "paris"),
        ("par\u00adis", "paris"),
        ("p\u034faris\ufe0f", "paris"),
        ("a\u200d", "an"),
        ("\u200b", "\u200b"),
    ],
)
def test_a_key_without_what_nobody_sees(key: str, visible: str) -> None:
    assert visible_key(key) == visible
