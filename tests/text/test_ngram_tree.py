"""The private tree of word sequences: its promise, its noise, and what it finds rare."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chisquare

import wordveil
from tests.conftest import ALPHA, make_space
from wordveil.errors import WordveilError
from wordveil.noise import Entropy
from wordveil.spaces import Vocabulary
from wordveil.text.ngram_tree import NgramTree, RareWords

WORDS = ["the", "sea", "ship", "left", "harbour", "whale"]


def tree(texts: list[str], *, epsilon: float = 20.0, longest: int = 3, words: int = 5, seed: int = 0) -> NgramTree:
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

    def recording(self: NgramTree, counts: dict[int, int], share: float, entropy: Entropy) -> dict[int, int]:
        order.append(share)
        return noisy(self, counts, share, entropy)

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


def test_rare_words_are_marked_and_veiled() -> None:
    space = make_space(60)
    common = " ".join(space.vocabulary[place] for place in range(3))
    made = NgramTree(space.vocabulary, epsilon=20.0, longest=2, words=4).grow([common] * 3000, Entropy(0))
    odd = space.vocabulary[50]
    text = f"{space.vocabulary[0]} {odd}, {space.vocabulary[1]} {space.vocabulary[2]}"
    document = RareWords(made, below=0.1).mark(text)
    assert [text[start:end] for start, end in document.spans or ()] == [odd]
    veil = wordveil.Veil(wordveil.mechanism("graph", space, epsilon=0.1), select="spans", case="lower", seed=1)
    release = veil.together([document])[0]
    assert release.text.startswith(space.vocabulary[0])
    assert release.counts.drawn == len(document.spans or ())


def test_a_fresh_word_after_anything_is_rare_and_the_usual_is_not() -> None:
    made = tree(["the ship left"] * 5000)
    assert RareWords(made).mark("the ship left").spans == ()
    text = "the whale left"
    spans = RareWords(made).mark(text).spans or ()
    assert "whale" in {text[start:end] for start, end in spans}


@pytest.mark.parametrize(
    ("options", "told"), [({"epsilon": 0.0}, "epsilon"), ({"epsilon": 1.0, "longest": 0}, "at least 1")]
)
def test_bad_options_are_refused(options: dict[str, float], told: str) -> None:
    with pytest.raises(WordveilError, match=told):
        NgramTree(Vocabulary(WORDS), **options)  # type: ignore[arg-type]
    with pytest.raises(WordveilError, match="above 0"):
        RareWords(tree(["the"]), below=0.0)
