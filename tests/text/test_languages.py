"""The function words of languages, and the language of texts and of embeddings."""

from __future__ import annotations

import pytest

import wordveil
from wordveil.errors import OptionError
from wordveil.text import Veil, function_words, language_of, language_of_words, languages, stop_words

TEXTS = {
    "en": ["My parcel has not arrived yet, and nobody could tell me where it is.", "Please send it to us again!"],
    "de": [
        "Mein Paket ist noch nicht da, und niemand konnte mir sagen, wo es ist.",
        "Bitte schickt es uns noch einmal!",
    ],
    "fr": ["Mon colis n'est pas encore là et personne ne peut me dire où il est.", "Je vous prie de me le renvoyer."],
    "es": [
        "Mi paquete no ha llegado todavía y nadie me puede decir dónde está.",
        "Por favor, que nos lo envíen otra vez.",
    ],
    "ru": ["Моя посылка ещё не пришла, и никто не может мне сказать, где она.", "Пришлите её нам ещё раз, пожалуйста."],
    "nl": [
        "Mijn pakje is er nog niet en niemand kan mij zeggen waar het is.",
        "Stuur het ons nog een keer, als dat kan.",
    ],
}


@pytest.mark.parametrize("name", TEXTS)
def test_two_short_texts_tell_their_language(name: str) -> None:
    assert language_of(TEXTS[name]).name == name


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["broken screen"],
        ["blue cotton shirt size 42", "running shoes red", "garden hose 20 m", "steel kettle", "office chair"] * 5,
        ["1234 5678"] * 50,
        ["pls fix asap", "login broken again", "no invoice received", "refund not processed", "app crashes on start"]
        * 4,
    ],
)
def test_texts_that_tell_nothing_are_no_false_alarm(texts: list[str]) -> None:
    assert language_of(texts).name in ("", "en")


def test_another_script_is_noticed_without_a_list() -> None:
    assert language_of(["ο πελάτης δεν είναι ικανοποιημένος με την παράδοση του πακέτου"]).name not in ("", "en")
    assert language_of(["הלקוח אינו מרוצה מהמשלוח ומבקש את כספו בחזרה"]).name == "?"


def test_content_words_are_on_no_list() -> None:
    # Each is on the list of one of the packages.
    assert not {"война", "деньги", "город", "дверь"} & function_words("ru")
    assert not {"menschen", "jahr", "tag"} & function_words("de")
    assert {"und", "nicht"} <= function_words("de")
    assert function_words("en") == stop_words()
    assert all(len(function_words(one)) >= 40 for one in languages())
    with pytest.raises(OptionError):
        function_words("xx")


def test_the_bundled_space_is_english() -> None:
    assert language_of_words(wordveil.load_space("glove-50k").vocabulary.ids) == "en"
    assert language_of_words({"schiff", "boot"}) == ""


def test_a_veil_leaves_the_function_words_of_its_language_alone() -> None:
    mechanism = wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=1.0)
    german = Veil(mechanism, language="de")
    text = "Der Fluss ist nicht weit von hier."
    assert german.shape(text) == german.shape("Der Fjordd ist nicht fernn von hier.")
    assert german.shape(text) != german.shape("Die Fjordd ist nicht fernn von hier.")
    own = Veil(mechanism, stop_words=["nicht", "weit"])
    assert "nicht" in own(text).text
    assert "weit" in own(text).text
    assert len({german.fingerprint, own.fingerprint, Veil(mechanism).fingerprint}) == 3
    assert own.fingerprint != Veil(mechanism, stop_words=["Fluss"]).fingerprint
    with pytest.raises(OptionError):
        Veil(mechanism, select="all", stop_words=["a"])
    with pytest.raises(OptionError):
        Veil(mechanism, stop_words="a")


def test_a_reader_knows_the_language_of_a_release() -> None:
    mechanism = wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=4.0)
    veil = Veil(mechanism, language="de", seed=1)
    report = veil.report(veil("Der Fluss ist nicht weit."))
    reader = wordveil.Reader.of_report(report)
    assert reader.rewrite(["Der river ist nicht far."]).__next__().text.startswith("Der ")
    with pytest.raises(wordveil.errors.InputError):
        wordveil.Reader.of_report(Veil(mechanism, stop_words=["der"]).report())
