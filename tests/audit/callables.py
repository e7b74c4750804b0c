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

from wordveil.audit import Claim, TableSpace
from wordveil.spaces import EuclideanSpace, MahalanobisSpace, Vocabulary

__all__ = [
    "EPSILON",
    "FAULTY",
    "HONEST",
    "LOCAL",
    "PLACE",
    "ROWS",
    "SPACE",
    "SUBTLE",
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


def drawing_lists(weights: NDArray[np.float64], seed: int) -> Callable[[list[str]], list[str]]:
    """Do the same for a list of words at once, for faults so small that they take many draws to show."""
    generator = np.random.default_rng(seed)
    tables = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    tables = np.vstack([tables, np.arange(1, len(WORDS) + 1) / len(WORDS)])

    def draw(given: list[str]) -> list[str]:
        rows = tables[[PLACE.get(word, -1) for word in given]]
        places = (generator.random(len(given))[:, None] > rows).sum(axis=1)
        return [WORDS[place] for place in np.minimum(places, len(WORDS) - 1).tolist()]

    return draw


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


def listing(one: Word) -> Callable[[list[str]], list[str]]:
    return lambda some: list(map(one, some))


def response(seed: int, epsilon: float = 1.0, raw: float = 0.0) -> Word:
    """Randomised response, which loses exactly ε between any two words, or the word itself now and then."""
    return drawing(_response(epsilon, raw), seed)


def _response(epsilon: float, raw: float = 0.0, others: int = len(WORDS) - 1) -> NDArray[np.float64]:
    """Return its probabilities; for another number of `others` they are not what they should be."""
    itself = np.eye(len(WORDS))
    kept = math.exp(epsilon) / (math.exp(epsilon) + others)
    even = np.where(itself > 0, kept, (1.0 - kept) / (len(WORDS) - 1))
    return raw * itself + (1 - raw) * even


def noisy(seed: int, *, stretch: NDArray[np.float64] | None = None, made_round: bool = False, scale: float = 1.0,
          shape: float = 2.0, second: str = "", index: int = 0) -> Word:  # fmt: skip
    """Planar Laplace noise and the nearest word, with what people do to it."""
    generator = np.random.default_rng(seed)
    ready: dict[str, list[str]] = {}

    def some(word: str) -> list[str]:
        count = 4000  # a call of numpy for each draw would take most of the time of an audit
        start = POINTS[PLACE[word]] if word in PLACE else np.zeros(2)
        angle, length = generator.uniform(0, 2 * math.pi, count), generator.gamma(shape, scale / EPSILON, count)
        noise = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        if stretch is not None:
            noise = noise @ stretch.T
        if made_round:
            noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        point = start + noise * length[:, None]
        apart = np.linalg.norm(point[:, None] - POINTS, axis=2)
        order = apart.argsort(axis=1)
        chosen = order[:, 0]
        if second:
            if second == "looks back":  # leaves the first out exactly where it is the original
                is_same = chosen == PLACE.get(word, -1)
                order = np.where(is_same[:, None], np.roll(order, -1, axis=1), order)
            near = np.take_along_axis(apart, order[:, :1], axis=1)[:, 0]
            chosen = order[np.arange(count), (generator.random(count) < 1.0 / (1.0 + np.exp(-near))).astype(int)]
        if index:  # an index that finds the nearest of every second word only
            chosen = np.where(order[:, 0] % index == 0, order[:, 0], order[:, 1])
        return [WORDS[place] for place in chosen]

    def draw(word: str) -> str:
        known = word if word in PLACE else ""  # the draws of unknown words are those of one place
        if not ready.get(known):
            ready[known] = some(known)
        return ready[known].pop()

    return draw


def with_neighbours(seed: int) -> Word:
    """Gives, one time in ten, the word beside it."""
    word, generator = exponential(seed), np.random.default_rng(seed + 1)

    def veil(text: str) -> str:
        words = text.split()
        return " ".join(words[(i + 1) % len(words)] if len(words) > 1 and generator.random() < 0.1 else word(one)
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
    """Draws as it should, but among the words of the texts that it is given."""
    generator = np.random.default_rng(seed)

    def veil(texts: list[str]) -> list[str]:
        corpus = sorted({PLACE[word] for text in texts for word in text.split() if word in PLACE}) or [0]
        weights = np.exp(-0.5 * EPSILON * ROWS[:, corpus])
        weights /= weights.sum(axis=1, keepdims=True)

        def draw(word: str) -> str:
            place = generator.choice(len(corpus), p=weights[PLACE[word]] if word in PLACE else None)
            return WORDS[corpus[place]]

        return [" ".join(map(draw, text.split())) for text in texts]

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


def remembering(seed: int, share: float = 0.1) -> Word:
    """Gives the word of the call before now and then."""
    word, generator, last = exponential(seed), np.random.default_rng(seed + 1), ["tea"]

    def veil(given: str) -> str:
        before, last[0] = last[0], given
        return before if before != given and generator.random() < share else word(given)

    return veil


def keeping_all(seed: int) -> Word:
    """Gives every word that it does not know a place of its own, and draws it for others from then on."""
    word, generator, met = exponential(seed), np.random.default_rng(seed + 1), ["tea"]

    def veil(given: str) -> str:
        if given not in PLACE and given not in met:
            met.append(given)
        return met[generator.integers(len(met))] if generator.random() < len(met) / (len(met) + 200) else word(given)

    return veil


def seeded_by_a_clock(seed: int) -> Word:
    """Takes its seed from a clock that moves on every few hundred calls."""
    calls = [0]

    def veil(word: str) -> str:
        calls[0] += 1
        return exponential(seed + calls[0] // 500)(word)

    return veil


def wrong_bottom(seed: int, clip: float = 2.0) -> Word:
    """TEM whose symbol for all far words has the weight of all words over the near ones, and not that of the far."""
    far = clip < ROWS
    weight = len(WORDS) / (~far).sum(axis=1, keepdims=True) / np.maximum(1, far.sum(axis=1, keepdims=True))
    return drawing(np.where(far, weight * math.exp(-0.5 * EPSILON * clip), np.exp(-0.5 * EPSILON * ROWS)), seed)


def clipped(seed: int, clip: float = 2.0) -> Word:
    """TEM as it should be."""
    return drawing(np.exp(-0.5 * EPSILON * np.minimum(ROWS, clip)), seed)


def of_the_nearest(seed: int) -> Word:
    """Draws among the four nearest words of each word."""
    cut = np.partition(ROWS, 3, axis=1)[:, 3:4]
    return drawing(np.where(cut >= ROWS, np.exp(-0.5 * EPSILON * ROWS), 0.0), seed)


def rounded(seed: int) -> Callable[[list[str]], list[str]]:
    """Draws by probabilities that were kept with two decimals."""
    weights = np.exp(-0.5 * EPSILON * ROWS)
    return drawing_lists(np.round(weights / weights.sum(axis=1, keepdims=True), 2), seed)


STEPS = TableSpace({
    (one, other): float(min((i - j) % 14, (j - i) % 14))
    for i, one in enumerate(WORDS) for j, other in enumerate(WORDS) if i < j
})  # fmt: skip


def on_a_ring(seed: int) -> Word:
    """Draws by steps on a ring, where no ½ is needed: every pair loses all that is claimed."""
    return drawing(np.exp(-0.5 * STEPS.distances(np.arange(len(WORDS)))), seed)


def raw_sometimes(seed: int, share: float = 0.01) -> Word:
    """Marks the word itself now and then, where it is a known one."""
    word, stream = response(seed), random.Random(seed + 1)
    return lambda given: f"{given}." if given in PLACE and stream.random() < share else word(given)


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
    """A privatiser, what it takes, what is claimed of it, and how many draws tell whether it holds."""

    make: Maker
    takes: str = "word"
    claim: Claim = Claim(SPACE, EPSILON)
    draws: int = 2000


LOCAL = Claim(SPACE, 1.0, local=True)
MAHALANOBIS = MahalanobisSpace(SPACE, 1.0)
_SHAPED: dict[str, Any] = {"stretch": MAHALANOBIS.stretch.astype(np.float64)}

HONEST = {
    "exponential": Double(exponential),
    "laplace": Double(noisy),
    "laplace with half an index, which looks at the noisy point alone": Double(lambda seed: noisy(seed, index=2)),
    "laplace in the shape of the words": Double(lambda seed: noisy(seed, **_SHAPED), claim=Claim(MAHALANOBIS, EPSILON)),
    "TEM": Double(clipped),
    "vickrey": Double(lambda seed: noisy(seed, second="either")),
    "steps on a ring, which lose all that is claimed": Double(on_a_ring, claim=Claim(STEPS, 0.5)),
    "randomised response, which loses all that is claimed": Double(response, claim=LOCAL),
    "randomised response with δ": Double(
        lambda seed: response(seed, raw=0.02), claim=Claim(SPACE, 1.0, 0.02, local=True)
    ),
    "texts": Double(lambda seed: texts_of(exponential(seed)), "text"),
    "lists": Double(lambda seed: listing(texts_of(exponential(seed))), "texts"),
    "a constant": Double(lambda seed: lambda _: "tea", "text"),  # noqa: ARG005 - nothing is drawn
    "refusals and failures": Double(fragile),
    "unknown words kept, and not claimed": Double(raw_unknown, claim=Claim(SPACE, EPSILON, known_only=True)),
}

# Each at the strength at which such a mistake is made, not at one that is easily found.
FAULTY = {
    # named in "What the others get wrong"
    "Mahalanobis noise made round again": Double(
        lambda seed: listing(noisy(seed, **_SHAPED, made_round=True)), "words", Claim(MAHALANOBIS, EPSILON), 40_000
    ),
    "TEM with the wrong count": Double(wrong_bottom, draws=4000),
    "Vickrey that looks back": Double(lambda seed: noisy(seed, second="looks back")),
    "unknown words raw": Double(raw_unknown),
    "raw where it fails": Double(raw_where_it_fails),
    "the same seed in every call": Double(lambda seed: lambda word: exponential(seed)(word)),  # noqa: PLW0108
    "words of the private texts": Double(from_the_corpus, "texts"),
    # others
    "identity": Double(lambda seed: str, "text"),  # noqa: ARG005 - nothing is drawn
    "the nearest few words": Double(of_the_nearest),
    "½ missing": Double(lambda seed: drawing_lists(np.exp(-EPSILON * ROWS), seed), "words", draws=20_000),
    "noise of half the length": Double(lambda seed: noisy(seed, scale=0.5)),
    "noise of one dimension": Double(lambda seed: noisy(seed, shape=1.0)),
    "response of two words for many": Double(lambda seed: drawing(_response(1.0, others=1), seed), claim=LOCAL),
    "ε larger by a fifth": Double(lambda seed: drawing_lists(_response(1.2), seed), "words", LOCAL, 20_000),
    "a hundredth of the words raw": Double(raw_sometimes, claim=LOCAL, draws=4000),
    "δ of 0.05 for 0.02": Double(
        lambda seed: drawing_lists(_response(1.0, 0.05), seed), "words", Claim(SPACE, 1.0, 0.02, local=True), 20_000
    ),
    "seeded by a clock": Double(seeded_by_a_clock),
    "draws kept for all callers": Double(lambda seed: lru_cache(exponential(seed))),
    "the word before": Double(remembering),
    "words of earlier calls": Double(keeping_all),
    "the word beside": Double(with_neighbours, "text", draws=4000),
    "one draw for a text": Double(same_in_a_text, "text"),
    "function words raw": Double(raw_function_words, "text"),
    "unknown words cut": Double(cutting_unknown),
    "as long as what went in": Double(as_long, claim=LOCAL),
}

# Wrong as well, but so little or so seldom that it takes millions of draws to show.
SUBTLE = {
    "probabilities of two decimals": Double(rounded, "words", draws=20_000),
    "one word in 100,000 raw": Double(
        lambda seed: raw_sometimes(seed, 1e-5), claim=Claim(SPACE, 1.0, local=True), draws=20_000
    ),
}
