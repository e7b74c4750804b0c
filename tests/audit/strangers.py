"""Privatisers that no constant of the audit was chosen on: other words, other distances, other mistakes.

They were written after the audit and are counted apart from the doubles of `callables`, which it was made with.
"""

from __future__ import annotations

import math
import random
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tests.audit.callables import Double, Word, drawing_from
from wordveil import mechanism
from wordveil.audit import Claim, TableSpace
from wordveil.spaces import EuclideanSpace, Vocabulary

__all__ = ["STRANGE_AND_HONEST", "STRANGE_AND_UNSEEN", "STRANGE_AND_WRONG"]

_NAMES = """
apple pear plum cherry lemon horse cow goat sheep donkey hammer saw drill nail screw train tram bus ferry bicycle
doctor nurse baker tailor miller rain snow hail fog storm red green blue yellow white a in on at by
""".split()  # noqa: SIM905 - to be read
_COUNT = len(_NAMES)
PLACE = {word: place for place, word in enumerate(_NAMES)}
_generator = np.random.default_rng(20)
_POINTS = np.repeat(_generator.normal(size=(8, 3)), 5, axis=0) * 1.2 + _generator.normal(size=(_COUNT, 3)) * 0.3
WIDE = EuclideanSpace("forty words", Vocabulary(_NAMES), _POINTS)
_ROWS = WIDE.distances(np.arange(_COUNT)).astype(np.float64)
_EPSILON = 2.0


def _table(name: str, steps: Callable[[int, int], float]) -> TableSpace:
    told = {
        (one, other): steps(i, j) for i, one in enumerate(_NAMES) for j, other in enumerate(_NAMES) if i < j
    }  # fmt: skip
    return TableSpace(told, name)


LINE = _table("a line", lambda i, j: float(j - i))
RING = _table("a ring", lambda i, j: float(min(j - i, i + _COUNT - j)))
_STEPS = RING.distances(np.arange(_COUNT))
_ON_RING = Claim(RING, 0.4)
_LOCAL = Claim(WIDE, 1.0, local=True)
_PLAIN = Claim(WIDE, _EPSILON)


def _rows(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)


def _by_distance(rate: float = 0.5) -> NDArray[np.float64]:
    return _rows(np.exp(-rate * _EPSILON * _ROWS))


def _response(epsilon: float, raw: float = 0.0) -> NDArray[np.float64]:
    return raw * np.eye(_COUNT) + (1.0 - raw) * _rows(np.exp(epsilon * np.eye(_COUNT)))


def _on_ring(epsilon: float = 0.4) -> NDArray[np.float64]:
    return _rows(np.exp(-epsilon * _STEPS))


def _one(rows: NDArray[np.float64], seed: int) -> Word:
    """Draw a known word by its row, and any other uniformly."""
    tables = np.cumsum(rows, axis=1).tolist()
    return drawing_from(dict(zip(_NAMES, tables, strict=True)), _NAMES, random.Random(seed))


def _many(rows: NDArray[np.float64], seed: int) -> Callable[[list[str]], list[str]]:
    """Do so for a list, quickly."""
    generator = np.random.default_rng(seed)
    tables = np.vstack([np.cumsum(rows, axis=1), np.arange(1, _COUNT + 1) / _COUNT])

    def draw(given: list[str]) -> list[str]:
        own = tables[[PLACE.get(word, -1) for word in given]]
        places = (generator.random(len(given))[:, None] > own).sum(axis=1)
        return [_NAMES[place] for place in np.minimum(places, _COUNT - 1).tolist()]

    return draw


def _each(word: Word) -> Word:
    return lambda text: " ".join(map(word, text.split()))


# Honest ones.


def _ours(name: str, **options: Any) -> Callable[[int], Callable[[list[str]], list[str]]]:
    """Return one of our own mechanisms, as somebody would wrap it."""

    def make(_: int) -> Callable[[list[str]], list[str]]:
        made = mechanism(name, WIDE, epsilon=_EPSILON, **options)

        def veil(given: list[str]) -> list[str]:
            ids = np.array([PLACE.get(word, 0) for word in given])
            return [_NAMES[place] for place in made.draw(ids).tolist()]

        return veil

    return make


def _along_a_line(seed: int) -> Word:
    """Move geometric steps along the line, and stop at its ends: every pair loses all that is claimed."""
    stream = random.Random(seed)

    def steps() -> int:
        return int(math.log(1.0 - stream.random()) / -0.3)

    def veil(word: str) -> str:
        here = PLACE.get(word, _COUNT // 2) + steps() - steps()
        return _NAMES[min(max(here, 0), _COUNT - 1)]

    return veil


def _tidying(seed: int) -> Word:
    """Lower the case, drop what is no letter, and answer for what it does not know with a word of its own."""
    word = _one(_response(1.0), seed)
    return lambda text: " ".join(word("".join(filter(str.isalpha, one)).lower()) for one in text.split())


def _with_noise(seed: int) -> Word:
    """Add letters to every output, so that no two are the same."""
    word, stream = _one(_on_ring(), seed), random.Random(seed + 1)
    return lambda given: f"{word(given)} {stream.getrandbits(64):016x}"


def _dropping(seed: int) -> Word:
    """Leave out words, or everything, at random."""
    word, stream = _one(_by_distance(), seed), random.Random(seed + 1)

    def veil(text: str) -> str:
        return "" if stream.random() < 0.1 else " ".join(word(one) for one in text.split() if stream.random() < 0.8)

    return veil


def _styled(seed: int) -> Word:
    """Write what it draws in a case that it draws too."""
    word, stream = _one(_response(1.0), seed), random.Random(seed + 1)
    return lambda given: stream.choice((str.upper, str.title, str.lower))(word(given))


def _breaking(seed: int) -> Word:
    """Fail at random, with errors of several kinds that say nothing."""
    word, stream = _one(_response(1.0), seed), random.Random(seed + 1)

    def veil(given: str) -> str:
        if stream.random() < 0.1:
            raise stream.choice((ValueError, RuntimeError, SystemExit))("no luck")
        return word(given)

    return veil


STRANGE_AND_HONEST = {
    "graph of ours": Double(_ours("graph", k=3), "words", Claim.of(mechanism("graph", WIDE, epsilon=_EPSILON, k=3))),
    "polar of ours": Double(_ours("polar"), "words", Claim.of(mechanism("polar", WIDE, epsilon=_EPSILON))),
    "what is best to say given the output": Double(_ours("bayes-remap", of="exponential"), "words", _PLAIN),
    "steps along a line": Double(_along_a_line, claim=Claim(LINE, 0.3)),
    "steps on a ring of forty": Double(lambda seed: _many(_on_ring(), seed), "words", _ON_RING),
    "texts made tidy": Double(_tidying, "text", _LOCAL),
    "outputs that are all different": Double(_with_noise, claim=_ON_RING),
    "words left out": Double(_dropping, "text", _PLAIN),
    "case drawn at random": Double(_styled, claim=_LOCAL),
    "errors at random": Double(_breaking, claim=_LOCAL),
    "δ of 0.01": Double(lambda seed: _many(_response(1.0, 0.01), seed), "words", Claim(WIDE, 1.0, 0.01, local=True)),
}


# Wrong ones.


def _far_ring(seed: int) -> Callable[[list[str]], list[str]]:
    """Give the words that are twelve steps away or more half as much weight again, for every second word."""
    weights = np.exp(-0.4 * _STEPS)
    weights[::2] *= np.where(_STEPS[::2] >= 12, 1.5, 1.0)
    return _many(_rows(weights), seed)


def _support(seed: int, share: float = 0.02) -> Callable[[list[str]], list[str]]:
    """Never give one word for another, where all other words do so now and then."""
    rows = _response(0.0)
    rows[:, 3] = share
    rows[18, 3] = 0.0
    return _many(_rows(rows), seed)


def _kept(seed: int, most: int = 64) -> Word:
    """Keep the draws of the texts that came last."""
    word, kept = _each(_one(_response(1.0), seed)), OrderedDict[str, str]()

    def veil(text: str) -> str:
        if text not in kept:
            kept[text] = word(text)
            if len(kept) > most:
                kept.popitem(last=False)
        return kept[text]

    return veil


def _each_number_twice(seed: int, *, from_above: bool = False) -> Word:
    """Draw two calls in a row with the same random number; from above, the second time, to have less variance."""
    tables = np.cumsum(_response(1.0), axis=1)
    stream, left = random.Random(seed), list[float]()

    def veil(word: str) -> str:
        if left:
            drawn = 1.0 - left.pop() if from_above else left.pop()
        else:
            drawn = stream.random()
            left.append(drawn)
        row = tables[PLACE[word]] if word in PLACE else np.arange(1, _COUNT + 1) / _COUNT
        return _NAMES[min(int(np.searchsorted(row, drawn)), _COUNT - 1)]

    return veil


def _case_of_half(seed: int) -> Word:
    """Write the output with a capital, one time in five, where the word is in the first half of the alphabet."""
    word, stream = _one(_response(0.5), seed), random.Random(seed + 1)
    return lambda given: word(given).title() if given < "f" and stream.random() < 0.2 else word(given)


def _marked_length(seed: int) -> Word:
    """Leave as many spaces behind as the word has letters, for alignment."""
    word = _one(_response(0.5), seed)
    return lambda given: word(given) + " " * (len(given) % 3)


def _told_by_error(seed: int) -> Word:
    """Fail now and then, and with another kind of error for words that are rare."""
    word, stream = _one(_response(0.5), seed), random.Random(seed + 1)

    def veil(given: str) -> str:
        if stream.random() < 0.1:
            raise (LookupError if PLACE.get(given, 0) % 2 else ValueError)("no draw")
        return word(given)

    return veil


def _after(seed: int) -> Word:
    """Draw a word by a rate of its own that the word before decides, as a model of pairs of words would."""
    rows = np.cumsum(_response(1.0), axis=1)
    stream = random.Random(seed)

    def pick(row: NDArray[np.float64]) -> str:
        return _NAMES[min(int(np.searchsorted(row, stream.random())), _COUNT - 1)]

    def veil(text: str) -> str:
        words = ["a", *text.split()]
        out = []
        for before, here in pairwise(words):
            source = before if stream.random() < 0.25 else here  # a guess from the word before
            out.append(pick(rows[PLACE[source]]) if source in PLACE else stream.choice(_NAMES))
        return " ".join(out)

    return veil


def _capitals_kept(seed: int) -> Word:
    """Take words in capitals for abbreviations, and keep them where it does not know them."""
    word = _one(_by_distance(), seed)
    return _each(lambda one: one if one.isupper() and one.lower() not in PLACE else word(one.lower()))


def _known_capitals_kept(seed: int) -> Word:
    """Keep known words that are written with a capital, as names, and draw for all that it does not know."""
    word = _one(_response(1.0), seed)
    return _each(lambda one: one if one[:1].isupper() and one.lower() in PLACE else word(one.lower()))


def _before_a_comma(seed: int) -> Word:
    """Cut texts at spaces alone, and keep what has a mark at its end."""
    word = _one(_by_distance(), seed)
    return _each(lambda one: one if one[-1:] in ",.;:!?" else word(one))


def _first_hundred(seed: int) -> Word:
    """Draw the first hundred words of a text, which is what the model takes, and keep the rest."""
    word = _one(_by_distance(), seed)
    return lambda text: " ".join(word(one) if i < 100 else one for i, one in enumerate(text.split()))


def _hashed(seed: int) -> Word:
    """Give every unknown word a number of its own."""
    word = _one(_by_distance(), seed)
    return _each(lambda one: word(one) if one in PLACE else f"unknown-{crc32(one.encode(), seed)}")


def _seeded_by_word(seed: int) -> Word:
    """Seed each draw by the word and a clock that moves on every thousand calls."""
    calls = [0]

    def veil(word: str) -> str:
        calls[0] += 1
        return _one(_response(1.0), crc32(f"{word} {seed} {calls[0] // 1000}".encode()))(word)

    return veil


def _fewer_words(seed: int) -> Word:
    """Leave out function words one time in three, and no others."""
    word, stream = _one(_response(0.5), seed), random.Random(seed + 1)
    listed = set(_NAMES[-5:])
    return lambda text: " ".join(word(one) for one in text.split() if one not in listed or stream.random() < 0.67)


def _masked(seed: int) -> Word:
    """Put a mask, as long as the word, for what it does not know."""
    word = _one(_response(1.0), seed)
    return _each(lambda one: word(one) if one in PLACE else "*" * len(one))


def _first_letter(seed: int) -> Word:
    """Draw again, up to three times, until the first letter is that of the word."""
    word = _one(_response(0.5), seed)

    def veil(given: str) -> str:
        drawn = word(given)
        for _ in range(3):
            if drawn[0] != given[0]:
                drawn = word(given)
        return drawn

    return veil


def _explaining(seed: int) -> Word:
    """Say, once in two hundred texts, what it has replaced."""
    word, stream = _each(_one(_response(1.0), seed)), random.Random(seed + 1)
    return lambda text: f"{word(text)} (was: {text})" if stream.random() < 0.005 else word(text)


def _watermarked(seed: int) -> Word:
    """Mark words of some lengths by a letter that is not seen."""
    word, stream = _one(_response(1.0), seed), random.Random(seed + 1)
    return _each(lambda one: word(one) + ("\u200b" if len(one) % 2 and stream.random() < 0.05 else ""))


STRANGE_AND_WRONG = {
    "half as much again for the far ring": Double(_far_ring, "words", _ON_RING, 100_000),
    "ε larger by a tenth": Double(lambda seed: _many(_response(1.1), seed), "words", _LOCAL, 100_000),
    "ε larger by a tenth, on a ring": Double(lambda seed: _many(_on_ring(0.44), seed), "words", _ON_RING, 100_000),
    "an output that one word never has": Double(_support, "words", _LOCAL, 4000),
    "δ three times as large": Double(
        lambda seed: _many(_response(1.0, 0.03), seed), "words", Claim(WIDE, 1.0, 0.01, local=True), 20_000
    ),
    "draws of the last texts kept": Double(_kept, "text", _LOCAL),
    "every random number used twice, from above": Double(
        partial(_each_number_twice, from_above=True), claim=_LOCAL, draws=20_000
    ),
    "every random number used twice": Double(_each_number_twice, claim=_LOCAL),
    "a capital for some words": Double(_case_of_half, claim=_LOCAL),
    "spaces behind": Double(_marked_length, claim=_LOCAL),
    "errors of two kinds": Double(_told_by_error, claim=_LOCAL),
    "unknown words in capitals raw": Double(_capitals_kept, "text", _PLAIN),
    "known words with a capital raw": Double(_known_capitals_kept, "text", _LOCAL),
    "words before a comma raw": Double(_before_a_comma, "text", _PLAIN),
    "words after the hundredth raw": Double(_first_hundred, "text", _PLAIN),
    "a number for every unknown word": Double(_hashed, "text", _LOCAL),
    "seeded by word and clock": Double(_seeded_by_word, claim=_LOCAL),
    "function words left out": Double(_fewer_words, "text", _LOCAL),
    "a mask as long as the unknown word": Double(_masked, "text", _LOCAL),
    "drawn again for the first letter": Double(_first_letter, claim=_LOCAL),
    "what was replaced, once in 200 texts": Double(_explaining, "text", _LOCAL, 4000),
    "a letter that is not seen, for some lengths": Double(_watermarked, "text", _LOCAL),
}


def _tail(seed: int) -> Callable[[list[str]], list[str]]:
    """Leave out what is less likely than one in ten thousand, a word at a time."""
    rows = _on_ring(0.6)
    return _many(_rows(np.where(rows < 1e-4, 0.0, rows)), seed)


# Faults that so few draws cannot show; what they could have shown is said.
STRANGE_AND_UNSEEN = {
    "half as much again for the far ring, on few draws": Double(_far_ring, "words", _ON_RING, 4000),
    "the word before decides one time in four": Double(_after, "text", _LOCAL, 4000),
    "a tail of one in ten thousand cut off": Double(_tail, "words", Claim(RING, 0.6), 4000),
    "ε larger by a tenth, on few draws": Double(lambda seed: _many(_response(1.1), seed), "words", _LOCAL, 4000),
    "an output in 2,000 that one word never has": Double(lambda seed: _support(seed, 5e-4), "words", _LOCAL, 2000),
}
