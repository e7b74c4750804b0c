from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.conftest import make_space, names
from wordveil.errors import InputError, OptionError
from wordveil.lab.attacks import Corpus, Incognito, MembershipAuditor, Versatile
from wordveil.lab.attacks.membership import Membership, ModelWords, WordModel, WordModelSize, rank_features

pytest.importorskip("torch", reason="the membership auditor's models are made with the extra that brings torch")

SMALL = WordModelSize(words=200, width=24, epochs=15, batch=8, rate=0.02)
WORDS = names(120)


def persons(count: int = 32, texts: int = 5, seed: int = 0) -> Corpus:
    """Make persons who each say a few things of their own, again and again."""
    generator = np.random.default_rng(seed)
    found: list[str] = []
    who: list[str] = []
    for person in range(count):
        own = [" ".join(generator.choice(WORDS, 5).tolist()) for _ in range(2)]
        found += [own[int(generator.integers(2))] for _ in range(texts)]
        who += [f"person {person}"] * texts
    return Corpus(found, who)


def audited(corpus: Corpus, veil: Any = None, *, shadows: int = 4, size: Any = None, **asked: Any) -> list[Membership]:
    return MembershipAuditor(corpus, shadows=shadows, size=size).attack(veil, **asked)


def blind(texts: Sequence[str]) -> list[str]:
    generator = np.random.default_rng(7)
    return [" ".join(generator.choice(WORDS, 5).tolist()) for _ in texts]


def test_a_model_expects_what_it_was_trained_on() -> None:
    texts = [f"{WORDS[i]} {WORDS[i + 1]} {WORDS[i + 2]}" for i in range(0, 60, 3)]
    model = WordModel(ModelWords(texts, 200), SMALL).fit(texts)
    ranks = model.ranks(texts).reshape(-1, 3)
    assert (ranks[:, 1:] == 0).mean() > 0.95  # the first word of a text cannot be known
    assert model.ranks([f"{WORDS[0]} {WORDS[4]} {WORDS[8]}"])[1:].min() > 0
    assert model.ranks(["", "none of these is known"]).size == 0
    again = WordModel(ModelWords(texts, 200), SMALL).fit(texts)
    assert (again.ranks(texts) == ranks.ravel()).all()


def test_features_are_a_histogram_of_all_ranks() -> None:
    features = rank_features(np.array([0, 0, 3, 499]), 500)
    assert features.sum() == pytest.approx(1.0)
    assert features[0] == 0.5
    assert features[-1] == 0.25
    assert rank_features(np.empty(0, dtype=np.int64), 500).sum() == 0.0


def test_members_of_a_clean_model_are_found_and_those_of_a_blind_one_are_not() -> None:
    clean, static, adaptive = audited(persons(), blind, shadows=2, size=SMALL)
    assert (clean.plan, static.plan, adaptive.plan) == ("clean", "static", "adaptive")
    assert clean.accuracy.value > 0.9
    assert clean.auc.value > 0.95
    assert clean.recall.n == 8
    for hidden in (static, adaptive):
        assert hidden.auc.low < 0.5 < hidden.auc.high
        assert hidden.accuracy.low < 0.5 < hidden.accuracy.high


def test_what_a_model_was_trained_on_is_known_again_even_if_it_is_noise() -> None:
    (released,) = audited(persons(), blind, plans=["adaptive"], asked="released", shadows=2, size=SMALL)
    assert released.asked == "released"
    assert released.auc.value > 0.9
    assert released.to_dict()["auc"]["n"] == 16


def test_both_questions_at_once_have_the_same_answers_as_each_alone() -> None:
    how: dict[str, Any] = {"plans": ["adaptive"], "shadows": 1, "size": SMALL}
    original, released = audited(persons(), blind, asked=("original", "released"), **how)
    assert original.auc.value < 0.8 < released.auc.value
    assert [released] == audited(persons(), blind, asked="released", **how)


def test_what_was_practised_on_clean_texts_serves_against_every_veil() -> None:
    auditor = MembershipAuditor(persons(), shadows=1, size=SMALL)
    auditor.attack(list, plans=["static"])
    (again,) = auditor.attack(blind, plans=["static"])
    assert [again] == audited(persons(), blind, plans=["static"], shadows=1, size=SMALL)


def test_what_cannot_be_audited_is_refused() -> None:
    with pytest.raises(OptionError):
        audited(persons())
    with pytest.raises(InputError):
        audited(persons(7), plans=["clean"])
    with pytest.raises(OptionError):
        audited(persons(), blind, plans=["all"])
    with pytest.raises(OptionError):
        audited(persons(), blind, shadows=0)
    with pytest.raises(OptionError):
        WordModelSize(epochs=0)


def test_versatile_generalises_by_a_dictionary() -> None:
    above = {"oak": ["tree"], "tree": ["plant"]}
    scramble = Versatile("semantic", general=lambda word: above.get(word, []))
    assert scramble(["The oak and the xylophone, a tree!"]) == ["The tree and the xylophone, a plant!"]


def test_versatile_takes_words_that_go_with_the_query() -> None:
    reference = ["lawyer court judge", "lawyer court fee", "river fish", "river boat", "court judge", "judge fee"]
    scramble = Versatile("statistical", reference=reference)
    (found,) = scramble(["lawyer"])
    assert found == "court"  # in both texts with a lawyer, and rare elsewhere
    assert scramble(["river"])[0] != "river"
    assert scramble(["unheard"]) == [""]
    with pytest.raises(OptionError):
        Versatile("statistical")
    with pytest.raises(OptionError):
        Versatile("other", reference=reference)


def test_incognito_replaces_what_singles_a_person_out() -> None:
    space = make_space(60, 4)
    common, rare = space.vocabulary.words[0], space.vocabulary.words[1]
    reference = [(f"person {i}", common) for i in range(20)] + [("person 3", rare)]
    scramble = Incognito(space, reference)
    assert (scramble.risk(common), scramble.risk(rare), scramble.risk("unheard")) == pytest.approx((0.0, 1.0, 1.0))
    (found,) = scramble([f"the {common} and {rare}"])
    assert found.startswith(f"the {common} and ")
    assert not found.endswith(rare)
    assert scramble([f"the {common} and {rare}"]) == [found]
    noisy = Incognito(space, reference, noise=0.5, seed=2)([f"{common} {rare}"] * 60)
    assert 10 < sum(text.split()[0] == common for text in noisy) < 50
    assert not any(text.endswith(rare) for text in noisy)
    with pytest.raises(OptionError):
        Incognito(space, reference, noise=2.0)
