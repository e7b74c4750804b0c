"""A function word is left alone only where it is written as one."""

import csv
from pathlib import Path

import pytest

import wordveil
from wordveil.reading.places import LEFT_ALONE, Cutter
from wordveil.text.selection import Selection, stop_words
from wordveil.text.tokens import tokenise


def veiled(text: str) -> list[str]:
    tokens = tokenise(text)
    chosen = Selection("content").choose(tokens, None)
    return [word for word, one in zip(tokens.pieces[1::2], chosen, strict=True) if one]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Dear Will, all of it is for US.", ["Dear", "Will", "US"]),
        ("Will came in May.", ["Will", "came", "May"]),
        ("I gave it to IT, who told WHO.", ["gave", "IT", "told", "WHO"]),
        ("He saw A. and I. there.\nThe end. (So it was.)", ["saw", "A", "I", "end"]),
        ("A. Smith", ["A", "Smith"]),
        ("DON'T", ["DO", "N'T"]),
        ("we don't, I'm, it's, you'll", []),
        (
            "he is #me, @all, will.may, all/me, x=all, -all, `all`, me_",
            ["me", "@all", "will", "may", "all", "me", "x", "all", "all", "all", "me"],
        ),
        ("state-of-the-art", ["state", "of", "the", "art"]),
        ('this—and that, "all" of them...the (few) others; *not* him', []),
        ("ｔｈｅ 𝐭𝐡𝐞 tHe of\u00ad", ["ｔｈｅ", "𝐭𝐡𝐞", "tHe", "of\u00ad"]),
        ("<b>The</b> <p>all", ["<b>", "</b>", "<p>"]),
    ],
)
def test_form_and_place_decide(text: str, names: list[str]) -> None:
    assert veiled(text) == names


def test_a_reader_applies_the_same_rule_to_the_release() -> None:
    veil = wordveil.Veil(epsilon=4, seed=1)
    texts = ["Dear Will, all of US met. The WHO did not.", "It is state-of-the-art.\nThe end of @all, for me."]
    places = Cutter(veil.mechanism.space.vocabulary).cut([release.text for release in veil.together(texts)])
    left = [kind == LEFT_ALONE for kind in places.kinds.tolist()]
    before = [not one for text in texts for one in Selection("content").choose(tokenise(text), None)]
    # Placeholders count as left alone, and so does a function word that was drawn; nothing left alone seems veiled.
    assert all(now for now, then in zip(left, before, strict=True) if then)
    assert sum(left) - sum(before) <= 5


def test_plain_prose_keeps_its_function_words() -> None:
    """On the bundled speeches the rule veils few of the words that are spelt like function words."""
    listed = Path(wordveil.__file__).parent / "data" / "sotu" / "addresses.csv"
    with listed.open(encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    spelt = kept = 0
    for text in texts:
        tokens = tokenise(text)
        chosen = Selection("content").choose(tokens, None)
        for key, one in zip(tokens.keys, chosen, strict=True):
            spelt += key in stop_words()
            kept += not one
    assert kept / spelt > 0.97
