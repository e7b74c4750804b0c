"""Small privatisers as other people write them: honest ones, and doubles of the faults that are found in the wild.

Each is made from a seed, so that an audit of it can be repeated; `named` has those that are called by their name.
"""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.audit import Claim
from wordveil.spaces import EuclideanSpace, Vocabulary

__all__ = [
    "EPSILON",
    "FAULTY",
    "HONEST",
    "LOCAL",
    "PLACE",
    "ROWS",
    "SPACE",
    "WORDS",
    "Double",
    "exponential",
    "response",
]

WORDS = [*"tea coffee milk water bread cheese river lake bridge road the of and with".split()]  # noqa: SIM905 - to be read
EPSILON = 1.5
_generator = np.random.default_rng(5)
POINTS = np.repeat(_generator.normal(size=(7, 2)) * 1.5, 2, axis=0) + _generator.normal(size=(14, 2)) * 0.15
SPACE = EuclideanSpace("small", Vocabulary(WORDS), POINTS)
ROWS = SPACE.distances(np.arange(len(WORDS))).astype(np.float64)
PLACE = {word: place for place, word in enumerate(WORDS)}

Word = Callable[[str], str]
Maker = Callable[[int], Callable[..., Any]]


def drawing(weights: NDArray[np.float64], seed: int, words: list[str] = WORDS) -> Word:
    """Draw a known word by the weights of its row, and for any other word one of all words."""
    tables = (np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)).tolist()
    return drawing_from(dict(zip(words, tables, strict=True)), words, random.Random(seed))


def drawing_from(tables: dict[str, list[float]], words: list[str], stream: random.Random) -> Word:
    even = [(place + 1) / len(words) for place in range(len(words))]
    return lambda word: words[min(bisect.bisect(tables.get(word, even), stream.random()), len(words) - 1)]


@lru_cache
def tables_of(rate: float) -> dict[str, list[float]]:
    weights = np.exp(-rate * EPSILON * ROWS)
    tables = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    return dict(zip(WORDS, tables.tolist(), strict=True))


def exponential(seed: int, rate: float = 0.5) -> Word:
    return drawing_from(tables_of(rate), WORDS, random.Random(seed))


def texts_of(word: Word) -> Word:
    return lambda text: " ".join(map(word, text.split()))


def listing(text: Word) -> Callable[[list[str]], list[str]]:
    return lambda texts: list(map(text, texts))


def response(seed: int, epsilon: float = 1.0, raw: float = 0.0) -> Word:
    """Randomised response, which loses exactly ε between any two words, or the word itself now and then."""
    even = np.where(np.eye(len(WORDS), dtype=bool), math.exp(epsilon), 1.0) / (math.exp(epsilon) + len(WORDS) - 1)
    return drawing(raw * np.eye(len(WORDS)) + (1 - raw) * even, seed)


def noisy(seed: int, *, stretch: tuple[float, float] = (1.0, 1.0), made_round: bool = False, scale: float = 1.0,
          second: str = "", index: int = 0) -> Word:  # fmt: skip
    """Planar Laplace noise and the nearest word, with what people do to it."""
    generator = np.random.default_rng(seed)
    ready: dict[str, list[str]] = {}

    def some(word: str) -> list[str]:
        count = 4000 if word in PLACE else 1
        start = POINTS[PLACE[word]] if word in PLACE else np.zeros(2)
        angle, length = generator.uniform(0, 2 * math.pi, count), generator.gamma(2, scale / EPSILON, count)
        noise = np.stack([np.cos(angle), np.sin(angle)], axis=1) * np.array(stretch)
        if made_round:
            noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        point = start + noise * length[:, None]
        order = np.linalg.norm(point[:, None] - POINTS, axis=2).argsort(axis=1)
        chosen = order[:, 0]
        if second == "looks back":  # takes the second word exactly where the first is the original
            chosen = np.where(chosen == PLACE.get(word, -1), order[:, 1], chosen)
        elif second:
            chosen = np.where(generator.random(count) < 0.5, chosen, order[:, 1])
        if index:  # an index that finds the nearest of every second word only
            chosen = np.where(order[:, 0] % index == 0, order[:, 0], order[:, 1])
        return [WORDS[place] for place in chosen]

    def draw(word: str) -> str:
        if not ready.get(word):
            ready[word] = some(word)
        return ready[word].pop()

    return draw


def with_neighbours(seed: int) -> Word:
    """Gives, one time in five, the word beside it."""
    word, generator = exponential(seed), np.random.default_rng(seed + 1)

    def veil(text: str) -> str:
        words = text.split()
        return " ".join(words[(i + 1) % len(words)] if len(words) > 1 and generator.random() < 0.2 else word(one)
                        for i, one in enumerate(words))  # fmt: skip

    return veil


def same_in_a_text(seed: int) -> Word:
    """Draws once for all occurrences of a word in a text."""
    word = exponential(seed)

    def veil(text: str) -> str:
        drawn = {one: word(one) for one in dict.fromkeys(text.split())}
        return " ".join(drawn[one] for one in text.split())

    return veil


def from_the_corpus(seed: int) -> Callable[[list[str]], list[str]]:
    """Draws among the words of the texts that it is given."""
    generator = np.random.default_rng(seed)

    def veil(texts: list[str]) -> list[str]:
        corpus = sorted({word for text in texts for word in text.split()})
        return [" ".join(corpus[i] for i in generator.integers(0, len(corpus), len(text.split()))) for text in texts]

    return veil


def raw_where_it_fails(seed: int) -> Word:
    """Looks words up in lower case, and gives back what the look-up fails on."""
    word = exponential(seed)

    def veil(given: str) -> str:
        try:
            if not given.isalpha():
                raise ValueError
            return word(given.lower())
        except ValueError:
            return given

    return veil


def remembering(seed: int, share: float = 0.5) -> Word:
    """Gives the word of the call before now and then."""
    word, generator, last = exponential(seed), np.random.default_rng(seed + 1), ["tea"]

    def veil(given: str) -> str:
        before, last[0] = last[0], given
        return before if before != given and generator.random() < share else word(given)

    return veil


def keeping_all(seed: int) -> Word:
    """Adds every word that it is given to the words it draws from."""
    word, generator, seen = exponential(seed), np.random.default_rng(seed + 1), ["tea"]

    def veil(given: str) -> str:
        if given not in seen:
            seen.append(given)
        return seen[generator.integers(len(seen))] if generator.random() < 0.3 else word(given)

    return veil


def seeded_by_a_clock(seed: int) -> Word:
    """Takes its seed from a clock that moves on every few hundred calls."""
    calls = [0]

    def veil(word: str) -> str:
        calls[0] += 1
        return exponential(seed + calls[0] // 500)(word)

    return veil


def underflowing(seed: int) -> Word:
    """Takes exponentials of large scores in single precision, and where all are 0 the word itself."""
    scores = np.exp(np.float32(-0.5 * EPSILON) * (ROWS + 100.0 * (ROWS[0] > 2.0)[:, None]).astype(np.float32) * 1.5)
    return drawing(np.where(scores.sum(axis=1, keepdims=True) == 0.0, np.eye(len(WORDS)), scores), seed)


LINE = EuclideanSpace("line", Vocabulary(WORDS), np.append(np.linspace(0.0, 0.6, len(WORDS) - 1), 2.3)[:, None])


def wrong_bottom(seed: int, clip: float = 2.0) -> Word:
    """TEM whose symbol for all far words has the weight of the whole vocabulary, however few are far from this word."""
    rows = LINE.distances(np.arange(len(LINE))).astype(np.float64)
    far = rows > clip
    spread = len(WORDS) * math.exp(-0.5 * EPSILON * clip) / np.maximum(1, far.sum(axis=1, keepdims=True))
    return drawing(np.where(far, spread, np.exp(-0.5 * EPSILON * rows)), seed)


def half_an_index(seed: int) -> Word:
    """Draws among the four nearest words of each word, by an index that misses every second word."""
    listed = np.where((np.arange(len(WORDS)) + np.arange(len(WORDS))[:, None]) % 3 == 1, 9.0, ROWS)
    cut = np.partition(listed, 3, axis=1)[:, 3:4]
    return drawing(np.where(listed <= cut, np.exp(-0.5 * EPSILON * ROWS), 0.0), seed)


def raw_sometimes(seed: int) -> Word:
    """Marks the word itself now and then, where it is a known one."""
    word, stream = response(seed), random.Random(seed + 1)
    return lambda given: f"{given}." if given in PLACE and stream.random() < 0.08 else word(given)


def raw_unknown(seed: int) -> Word:
    word = exponential(seed)
    return lambda given: word(given) if given in PLACE else given


def raw_function_words(seed: int) -> Word:
    word = exponential(seed)
    return texts_of(lambda given: given if given in WORDS[-4:] else word(given))


def cutting_unknown(seed: int) -> Word:
    word = exponential(seed)
    return lambda given: word(given) if given in PLACE else given[3:-3]


def fragile(seed: int) -> Word:
    """An honest one that refuses what it does not know, and sometimes fails for no reason."""
    word, generator = exponential(seed), np.random.default_rng(seed + 1)

    def veil(given: str) -> Any:
        if given not in PLACE:
            raise KeyError(given)
        return None if generator.random() < 0.05 else word(given)

    return veil


def as_long(seed: int) -> Word:
    """Pads what it draws to as many letters as it was given."""
    word = response(seed, 0.1)
    return lambda given: word(given)[: len(given)].ljust(len(given), "-")


class Double(NamedTuple):
    """A privatiser, what it takes, and what is claimed of it."""

    make: Maker
    takes: str = "word"
    claim: Claim = Claim(SPACE, EPSILON)


LOCAL = Claim(SPACE, 1.0, local=True)

HONEST = {
    "exponential": Double(exponential),
    "laplace": Double(noisy),
    "laplace with half an index, which looks at the noisy point alone": Double(lambda seed: noisy(seed, index=2)),
    "vickrey": Double(lambda seed: noisy(seed, second="either")),
    "randomised response": Double(response, claim=LOCAL),
    "randomised response with δ": Double(
        lambda seed: response(seed, raw=0.02), claim=Claim(SPACE, 1.0, 0.02, local=True)
    ),
    "texts": Double(lambda seed: texts_of(exponential(seed)), "text"),
    "lists": Double(lambda seed: listing(texts_of(exponential(seed))), "texts"),
    "a constant": Double(lambda seed: lambda _: "tea", "text"),  # noqa: ARG005 - nothing is drawn
    "refusals and failures": Double(fragile),
    "unknown words kept, and not claimed": Double(raw_unknown, claim=Claim(SPACE, EPSILON, known_only=True)),
}

FAULTY = {
    # named in "What the others get wrong"
    "noise made round after it was stretched": Double(
        lambda seed: noisy(seed, stretch=(4.0, 0.25), made_round=True, scale=0.5)
    ),
    "TEM with the wrong count": Double(wrong_bottom, claim=Claim(LINE, EPSILON)),
    "Vickrey that looks back": Double(lambda seed: noisy(seed, second="looks back")),
    "unknown words raw": Double(raw_unknown),
    "raw where it fails": Double(raw_where_it_fails),
    "the same seed in every call": Double(lambda seed: lambda word: exponential(seed)(word)),  # noqa: PLW0108
    "words of the private texts": Double(from_the_corpus, "texts"),
    "half an index": Double(half_an_index),
    # others
    "identity": Double(lambda seed: str, "text"),  # noqa: ARG005 - nothing is drawn
    "½ missing": Double(lambda seed: exponential(seed, 2.0)),
    "noise too small": Double(lambda seed: noisy(seed, scale=0.4)),
    "too large an ε": Double(lambda seed: response(seed, 1.8), claim=LOCAL),
    "δ hidden": Double(raw_sometimes, claim=LOCAL),
    "δ larger than claimed": Double(lambda seed: response(seed, raw=0.2), claim=Claim(SPACE, 1.0, 0.02, local=True)),
    "underflow": Double(underflowing),
    "seeded by a clock": Double(seeded_by_a_clock),
    "draws kept for all callers": Double(lambda seed: lru_cache(exponential(seed))),
    "the word before": Double(remembering),
    "words of earlier calls": Double(keeping_all),
    "the word beside": Double(with_neighbours, "text"),
    "one draw for a text": Double(same_in_a_text, "text"),
    "function words raw": Double(raw_function_words, "text"),
    "unknown words cut": Double(cutting_unknown),
    "as long as what went in": Double(as_long, claim=LOCAL),
}
