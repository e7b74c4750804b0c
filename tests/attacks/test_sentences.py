from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.attacks.doubles import Bare, Blank, Table, random_rows, texts_of
from tests.conftest import make_space, names
from wordveil.attacks import NgramModel, Prior, SentenceAttack, Words, attack_sentences, words_of
from wordveil.errors import InputError, OptionError
from wordveil.noise import Entropy
from wordveil.reading.ngrams import BigramDecoder, decode_trigrams
from wordveil.spaces import EuclideanSpace, Vocabulary

WORDS = 5


def model_of(seed: int) -> NgramModel:
    vocabulary = Vocabulary(names(WORDS))
    texts = texts_of(names(WORDS), 12, 4, seed, np.array([0.5, 0.2, 0.15, 0.1, 0.05]))
    return NgramModel(words_of(texts, vocabulary, "all"), WORDS)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_probabilities_after_any_context_sum_to_one(seed: int) -> None:
    model = model_of(seed)
    every = np.arange(WORDS)
    for before in (*range(WORDS), model.start):
        assert model.after(before, every).sum() == pytest.approx(1.0)
        for earlier in (*range(WORDS), model.start):
            assert model.after_two(earlier, before, every).sum() == pytest.approx(1.0)


def test_the_probabilities_are_those_of_the_formula() -> None:
    a, b, c = names(3)
    reference = words_of([f"{a} {b}", f"{a} {b}", f"{a} {c}", f"{b} outsideword {c}"], Vocabulary(names(3)), "all")
    model = NgramModel(reference, 3)
    unigram = np.array([3.5, 3.5, 2.5]) / 9.5
    assert model.unigram == pytest.approx(unigram)
    assert model.after(0, 1) == pytest.approx((2 - 0.75) / 3 + 0.75 * 2 / 3 * unigram[1])
    assert model.after(2, 0) == pytest.approx(unigram[0])  # nothing ever came after the third word
    first = (2 - 0.75) / 3 + 0.75 * 2 / 3 * model.after(0, 1)
    assert model.after_two(model.start, 0, 1) == pytest.approx(first)
    assert model.after_two(1, 1, 2) == pytest.approx(model.after(1, 2))


def brute_force(
    model: NgramModel, likelihoods: NDArray[np.float64], order: int
) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Try every stretch of words."""
    marginals, top = np.zeros(likelihoods.shape), -1.0
    best: tuple[int, ...] = ()
    for stretch in product(range(WORDS), repeat=len(likelihoods)):
        chance, before = 1.0, (model.start, model.start)
        for place, word in enumerate(stretch):
            step = model.after(before[1], word) if order == 2 else model.after_two(*before, word)
            chance *= float(step) * likelihoods[place, word]
            before = (before[1], word)
        marginals[np.arange(len(stretch)), stretch] += chance
        if chance > top:
            best, top = stretch, chance
    return marginals / marginals.sum(axis=1, keepdims=True), best


@pytest.mark.parametrize("seed", range(6))
def test_bigrams_are_decoded_as_by_brute_force(seed: int) -> None:
    model = model_of(seed)
    likelihoods = np.random.default_rng(seed).exponential(size=(4, WORDS)) ** 3
    likelihoods[2] = np.eye(WORDS)[1]  # a word that the veil left alone
    marginals, best = brute_force(model, likelihoods, 2)
    decoder = BigramDecoder(model)
    assert decoder.marginals(likelihoods) == pytest.approx(marginals)
    assert tuple(decoder.viterbi(likelihoods).tolist()) == best
    decoded = decoder.decode(likelihoods)
    assert decoded.belief == pytest.approx(marginals)
    assert decoded.likeliest.tolist() == marginals.argmax(axis=1).tolist()


@pytest.mark.parametrize("seed", range(6))
def test_trigrams_among_all_candidates_are_decoded_as_by_brute_force(seed: int) -> None:
    model = model_of(seed)
    likelihoods = np.random.default_rng(seed).exponential(size=(4, WORDS)) ** 3
    likelihoods[1] = np.eye(WORDS)[2]
    marginals, best = brute_force(model, likelihoods, 3)
    belief = BigramDecoder(model).decode(likelihoods).belief
    decoded = decode_trigrams(model, likelihoods, belief, WORDS)
    assert decoded.held == pytest.approx(np.ones(4))
    assert decoded.belief == pytest.approx(marginals)
    assert decoded.likeliest.tolist() == marginals.argmax(axis=1).tolist()
    assert tuple(decoded.path.tolist()) == best
    less = decode_trigrams(model, likelihoods, belief, 2)
    assert less.belief.sum(axis=1) == pytest.approx(np.ones(4))
    assert less.held == pytest.approx(np.sort(belief, axis=1)[:, -2:].sum(axis=1))


def chained(words: list[str], count: int, seed: int) -> list[str]:
    """Make texts in which every word is followed by the next of the list nine times out of ten."""
    generator = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        place, row = int(generator.integers(len(words))), []
        for _ in range(10):
            row.append(words[place])
            place = (place + 1) % len(words) if generator.uniform() < 0.9 else int(generator.integers(len(words)))
        texts.append(" ".join(row))
    return texts


@pytest.mark.parametrize("order", [2, 3])
def test_context_gives_away_what_a_word_alone_does_not(order: int) -> None:
    space = make_space(20, 3, seed=2)
    words = space.vocabulary.words
    reference, private = (words_of(chained(words, 300, seed), space.vocabulary, "all") for seed in (0, 1))
    rows = 0.4 * np.eye(20) + 0.6 / 20
    model = NgramModel(reference, len(space))
    found = attack_sentences(
        Table(space, rows), private, model, Prior.of(reference, space), order=order, tokens=600, entropy=Entropy(3)
    )
    assert found.exact
    assert found.kept.value == pytest.approx(0.43, abs=0.08)
    assert found.alone.high < 0.55
    assert found.in_context.low > found.alone.high + 0.1
    assert found.as_a_whole.low > found.alone.high
    assert found.in_context.value >= found.as_a_whole.value - 0.03
    assert 0.9 < found.held.value <= 1.0 + 1e-9


def test_the_contexts_of_a_word_that_is_drawn_once_add_up() -> None:
    """A word stands in several sentences of a record, each of which says a little: together they say more."""
    space = make_space(20, 3, seed=2)
    words = space.vocabulary.words
    reference, private = (words_of(chained(words, 300, seed), space.vocabulary, "all") for seed in (0, 1))
    made, model = Table(space, 0.2 * np.eye(20) + 0.8 / 20), NgramModel(reference, len(space))
    records = private.in_records(np.arange(300) // 5)

    def found(some: Words, *, once: bool = True) -> SentenceAttack:
        prior = Prior.of(reference, space)
        return attack_sentences(made, some, model, prior, order=2, tokens=1500, once=once, entropy=Entropy(3))

    together, apart = found(records), found(records, once=False)
    assert together.in_context.value > apart.in_context.value + 0.05
    assert together.alone.value == pytest.approx(apart.alone.value, abs=0.1)
    assert together.records[:, 0].sum() == together.kept.n
    assert len(together.records) < len(found(private).records)


def test_sentences_released_as_they_are_are_found_and_blind_ones_are_not(toy: EuclideanSpace) -> None:
    words = words_of(texts_of(toy.vocabulary.words, 60, 8, 0), toy.vocabulary, "all")
    model, prior = NgramModel(words, len(toy)), Prior.of(words, toy)
    bare = attack_sentences(Bare(toy), words, model, prior, tokens=200, draws=100_000, entropy=Entropy(0))
    assert (bare.in_context.value, bare.as_a_whole.value, bare.whole_stretches.value) == (1.0, 1.0, 1.0)
    assert not bare.exact
    unrelated = words_of(texts_of(toy.vocabulary.words, 60, 8, 9), toy.vocabulary, "all")
    blank = attack_sentences(Blank(toy), unrelated, model, prior, order=2, tokens=480, draws=20_000, entropy=Entropy(0))
    assert blank.in_context.value < 0.07  # one in sixty
    assert blank.whole_stretches.value == 0.0


def test_words_that_are_left_alone_are_context_and_not_counted(toy: EuclideanSpace) -> None:
    vocabulary = Vocabulary(["the", "of", *names(58)])
    space = EuclideanSpace("with stop words", vocabulary, toy.matrix)
    first, second = names(2)
    words = words_of([f"the {first} of the {second}"] * 30, vocabulary)
    model, prior = NgramModel(words, 60), Prior.of(words, space)
    found = attack_sentences(Table(space, random_rows(60, 0)), words, model, prior, tokens=1000, entropy=Entropy(0))
    assert found.kept.n == 60
    assert found.in_context.value == 1.0  # only the context tells, and it tells all
    with pytest.raises(OptionError):
        attack_sentences(Bare(space), words, model, prior, order=4)
    with pytest.raises(InputError):
        attack_sentences(Bare(space), words_of(["the of"], vocabulary), model, prior)
    with pytest.raises(InputError):
        NgramModel(words_of(["nothing"], vocabulary), 60)
