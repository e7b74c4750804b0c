"""The private tree of word sequences: its promise, its noise, and what it finds rare."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest, chisquare

import wordveil
from tests.conftest import ALPHA, make_space, names
from wordveil.errors import OptionError
from wordveil.guarantee import Notion
from wordveil.noise import Entropy
from wordveil.spaces import Vocabulary
from wordveil.text import NgramTree, RareWords

WORDS = ["the", "sea", "ship", "left", "harbour", "whale"]


def tree(
    texts: Sequence[str | list[str]], *, epsilon: float = 20.0, longest: int = 3, words: int = 5, seed: int = 0
) -> NgramTree:
    return NgramTree(Vocabulary(WORDS), epsilon=epsilon, longest=longest, words=words).grow(texts, Entropy(seed))


def test_transitions_come_close_to_the_true_ones() -> None:
    found = tree(["the ship left"] * 3000 + ["the sea left"] * 1000)
    assert found.transition([], "the") == pytest.approx(1 / 3, abs=0.02)
    assert found.transition(["the"], "ship") == pytest.approx(0.75, abs=0.03)
    assert found.transition(["the", "ship"], "left") == pytest.approx(1.0, abs=0.05)
    assert found.transition(["the"], "whale") == 0.0


def test_what_is_unknown_backs_off_to_a_shorter_context() -> None:
    found = tree(["the ship left"] * 3000)
    assert found.transition(["harbour", "the"], "ship") == found.transition(["the"], "ship")


def test_words_past_the_limit_do_not_count() -> None:
    found = tree(["the ship left whale harbour"] * 3000, words=2)
    assert found.transition([], "ship") > 0.3
    assert found.transition([], "whale") == 0.0


@pytest.mark.parametrize("present", [0, 40])
def test_noisy_counts_keep_the_stated_promise(present: int) -> None:
    """On one level and one word: each count's law against that of a neighbour, and against the geometric law."""
    epsilon, draws = 1.5, 4000
    counts = []
    for seed in range(draws):
        made = NgramTree(Vocabulary(["the"]), epsilon=epsilon, longest=1, words=1)
        made.grow(["the"] * present, Entropy(seed))
        counts.append(made._children.get((), {}).get(0, 0))
    fall, threshold = math.exp(-epsilon), made._threshold(epsilon)
    values = np.arange(threshold, present + 30)
    law = (1 - fall) / (1 + fall) * fall ** np.abs(values - present)
    kept = np.array([counts.count(value) for value in values.tolist()])
    expected = np.append(draws * law, draws * (1 - law.sum()))
    observed = np.append(kept, draws - kept.sum())
    enough = expected >= 5
    pooled = np.append(expected[enough], expected[~enough].sum())
    seen = np.append(observed[enough], observed[~enough].sum())
    usable = pooled > 0
    assert chisquare(seen[usable], pooled[usable] * seen.sum() / pooled[usable].sum()).pvalue > ALPHA


def test_no_path_spends_more_than_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add up what was spent on every path of a tree with a long one and short ones."""
    spent: dict[tuple[int, ...], float] = {}
    noisy = NgramTree._noisy
    order: list[float] = []

    def recording(
        self: NgramTree, words: NDArray[np.int64], counts: NDArray[np.int64], share: float, entropy: Entropy
    ) -> dict[int, int]:
        order.append(share)
        return noisy(self, words, counts, share, entropy)

    monkeypatch.setattr(NgramTree, "_noisy", recording)
    made = NgramTree(Vocabulary(WORDS), epsilon=9.0, longest=4, words=4)
    made.grow(["the ship left harbour"] * 5000 + ["the sea"] * 400 + ["whale"] * 100, Entropy(3))
    shares = iter(order)
    level: dict[tuple[int, ...], float] = {(): 0.0}
    for _ in range(4):
        following: dict[tuple[int, ...], float] = {}
        for gram, before in level.items():
            if before >= 9.0 * (1 - 1e-12):
                continue
            total = before + next(shares)
            spent[gram] = total
            following |= {(*gram, word): total for word in made._children.get(gram, {})}
        level = following
    assert next(shares, None) is None
    assert max(spent.values()) <= 9.0 * (1 + 1e-12)
    assert any(len(gram) == 3 for gram in spent)


def test_several_texts_of_a_record_count_together_and_are_not_joined() -> None:
    found = tree([["the ship", "left harbour", "whale"]] * 3000, words=4)
    assert found.transition(["the"], "ship") > 0.9
    assert found.transition(["ship"], "left") == pytest.approx(found.transition([], "left"), abs=0.02)
    assert found.transition([], "harbour") > 0.2
    assert found.transition([], "whale") == 0.0


def test_what_was_not_kept_is_shared_out_by_the_shorter_context() -> None:
    """Half of what follows "ship" is spread so thin that nothing of it is kept: the words' own shares decide there."""
    found = tree(["ship left"] * 2000 + ["ship"] * 2000 + ["sea"] * 4000, longest=2, words=2)
    assert found.transition(["ship"], "left") == pytest.approx(0.5, abs=0.03)
    assert found.transition(["ship"], "sea") == pytest.approx(0.5 * found.transition([], "sea"), abs=0.02)


def test_a_stored_tree_is_the_same_tree() -> None:
    made = tree(["the ship left"] * 3000 + ["the sea left"] * 1000)
    again = NgramTree.from_dict(json.loads(json.dumps(made.to_dict())), made.vocabulary)
    assert again.to_dict() == made.to_dict()
    assert len(again) == len(made) > 5
    assert RareWords(again).fingerprint == RareWords(made).fingerprint != RareWords(made, below=0.5).fingerprint
    assert [again.transition(["the"], word) for word in WORDS] == [made.transition(["the"], word) for word in WORDS]


def test_no_one_record_decides_what_is_common() -> None:
    """A phrase of one record passes about as often as one of the words that do not occur, not more."""
    vocabulary = Vocabulary(names(400))
    records = [vocabulary[0]] * 300
    one = " ".join(vocabulary[place] for place in range(1, 21))
    passed = 0
    for seed in range(400):
        made = NgramTree(vocabulary, epsilon=1.0, longest=1, words=20).grow([*records, one], Entropy(seed))
        passed += sum(made.transition([], vocabulary[place]) > 0 for place in range(1, 21))
    # Each of the 20 words passes with probability exp(-(threshold - 1)·ε/L)/(1 + exp(-ε/L)).
    threshold = math.ceil(20 * math.log(401 / 2))
    chance = math.exp(-(threshold - 1) / 20) / (1 + math.exp(-1 / 20))
    assert binomtest(passed, 400 * 20, chance).pvalue > ALPHA
    assert chance < 0.003


def test_a_shared_phrase_is_left_alone_and_a_phrase_of_one_is_veiled() -> None:
    space = make_space(60)
    shared = " ".join(space.vocabulary[place] for place in range(3))
    secret = " ".join(space.vocabulary[place] for place in range(50, 53))
    made = NgramTree(space.vocabulary, epsilon=1.0, longest=2, words=6).grow([shared] * 3000 + [secret], Entropy(0))
    rare = RareWords(made)
    mechanism = wordveil.mechanism("graph", space, epsilon=0.1)
    veil = wordveil.Veil(mechanism, select="rare", rare=rare, case="lower", seed=1)
    release = veil(f"{shared}; {secret}!")
    assert release.text.startswith(f"{shared}; ")
    assert (release.counts.left_alone, release.counts.drawn) == (3, 3)
    assert secret not in release.text
    assert veil(shared).text == shared


def test_a_choice_looks_at_nothing_that_is_hidden_but_the_word() -> None:
    """Put any other rare word in the place of a rare one: which words are veiled stays the same."""
    made = tree(["the ship left"] * 5000 + ["sea harbour"] * 5000)
    rare = RareWords(made, below=0.15)
    texts = [f"the {first} {second} left harbour ship".split() for first in WORDS for second in WORDS]
    for keys in texts:
        chosen = rare.choose(keys)
        for place, is_rare in enumerate(chosen):
            for other in WORDS if is_rare else ():
                swapped = [*keys[:place], other, *keys[place + 1 :]]
                again = rare.choose(swapped)
                assert not again[place] or again == chosen
    assert any(any(rare.choose(keys)) and not all(rare.choose(keys)) for keys in texts)


def test_unknown_words_are_rare_however_frequent_they_are() -> None:
    made = tree(["the Zyxxyplugh"] * 5000)
    assert made.transition(["the"], "zyxxyplugh") > 0.9
    assert RareWords(made).choose(["the", "zyxxyplugh"]) == [False, True]


def test_the_veil_says_both_promises_and_goes_by_them() -> None:
    space = make_space(60)
    mechanism = wordveil.mechanism("graph", space, epsilon=1.0)
    grown = NgramTree(space.vocabulary, epsilon=0.5).grow([space.vocabulary[0]] * 10)
    veil = wordveil.Veil(mechanism, select="rare", rare=RareWords(grown))
    assert veil.guarantee.notion is Notion.METRIC
    assert "e^0.5" in " ".join(veil.guarantee.caveats)
    facts = veil.report(veil("one"))
    assert facts["rare"]["tree_epsilon_per_record"] == 0.5
    assert any("released as it is" in line for line in facts["not_protected"])
    assert facts["rare"]["promise"] in facts.sentences()
    seeded = NgramTree(space.vocabulary, epsilon=0.5).grow([space.vocabulary[0]] * 10, Entropy(1))
    assert wordveil.Veil(mechanism, select="rare", rare=RareWords(seeded)).guarantee.notion is Notion.NONE
    other = NgramTree(space.vocabulary, epsilon=0.5).grow([space.vocabulary[1]] * 1000)
    assert wordveil.Veil(mechanism, select="rare", rare=RareWords(other)).fingerprint != veil.fingerprint
    with pytest.raises(OptionError):
        wordveil.Veil(mechanism, select="rare")


@pytest.mark.parametrize("options", [{"epsilon": 0.0}, {"epsilon": 1.0, "longest": 0}, {"epsilon": 1.0, "words": 0}])
def test_bad_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(OptionError):
        NgramTree(Vocabulary(WORDS), **options)  # type: ignore[arg-type]
    with pytest.raises(OptionError):
        RareWords(tree(["the"]), below=0.0)


def test_the_order_of_the_kept_words_says_nothing() -> None:
    """Words that occur, and words that passed by chance, stand in the one order that does not depend on the records."""
    by_chance = 0
    for seed in range(40):
        made = NgramTree(Vocabulary(names(30)), epsilon=1.0, longest=2, words=2)
        made.grow([f"{names(30)[20]} {names(30)[21]}"] * 200, Entropy(seed))
        for _, words, _ in made.to_dict()["children"]:
            assert words == sorted(words)
            by_chance += bool(set(words) - {20, 21})
    assert by_chance > 5
