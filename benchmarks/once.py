"""What drawing equal words once gives away, and what drawing them each time: the same texts, the same attackers.

python -m benchmarks.once reviews.csv --column text --texts 25 --reference 6000 -e 4 -e 6

Some texts of the file are attacked, each a record; others tell the attackers how frequent words are and which follow
which (a bigram model). An attacker either knows which places of a record hold the same word, guesses it from the draws
(a word is likelier where other places of the record are likely to hold it), or ignores it. Context is that of each
place, all others summed out; that of several places is multiplied. Minutes.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wordveil
from wordveil._mechanisms import Mechanism
from wordveil.attacks.knowledge import words_of
from wordveil.noise import Entropy
from wordveil.reading.ngrams import BigramDecoder, NgramModel
from wordveil.reading.places import Words

_LONGEST = 2500  # characters of a text: longer ones take long
_STRETCH = 64  # words that are decoded together
_RECUR = 0.3  # how likely a place is thought to hold a word of another place of its record
_LEAST = 1e-300

Floats = NDArray[np.float64]
Hits = NDArray[np.bool_]


def texts_of(path: Path, column: str) -> list[str]:
    """Read the texts of a CSV file, plain or gzipped."""
    csv.field_size_limit(1 << 28)
    content = path.read_bytes()
    lines = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8", "replace")
    return [row[column].replace("<br />", " ") for row in csv.DictReader(io.StringIO(lines, newline=""))]


@dataclass(frozen=True)
class Evidence:
    """What is known of each veiled place, in logarithms over the vocabulary."""

    context: NDArray[np.float32]  # from the words around it
    output: Floats  # from its own draw
    frequency: Floats  # the same for all places


def evidence(law: Any, model: NgramModel, words: Words, drawn: NDArray[np.int64]) -> Evidence:
    """Look at veiled words through a bigram model."""
    places, size = words.targets, model.words
    seen, row = np.unique(drawn, return_inverse=True)
    columns = law.log_columns(seen, np.arange(size), prior=model.unigram)
    of_place = np.full(len(words.ids), -1)
    of_place[places] = np.arange(len(places))
    decoder = BigramDecoder(model)
    context = np.zeros((len(places), size), dtype=np.float32)
    for part in _stretches(words):
        known = of_place[part] < 0
        likely = np.zeros((len(known), size))
        likely[known, words.ids[part][known]] = 1.0
        own = of_place[part][~known]
        logs = columns[row[own]]
        likely[~known] = np.exp(logs - logs.max(axis=1, keepdims=True))
        belief = decoder.marginals(likely)[~known]
        around = np.log(np.maximum(belief, _LEAST)) - np.log(np.maximum(likely[~known], _LEAST))
        context[own] = around - around.max(axis=1, keepdims=True)
    return Evidence(context, columns[row], np.log(model.unigram))


def _stretches(words: Words) -> Iterator[slice]:
    for run in words.runs():
        for start in range(run.start, run.stop, _STRETCH):
            part = slice(start, min(start + _STRETCH, run.stop))
            if words.hidden[part].any():
                yield part


def ignoring(told: Evidence, originals: NDArray[np.int64], *, context: bool) -> Hits:
    """Guess every place by itself."""
    return np.asarray(((told.context if context else told.frequency) + told.output).argmax(axis=1) == originals)


def knowing(
    told: Evidence, originals: NDArray[np.int64], groups: list[NDArray[np.int64]], *, context: bool, once: bool
) -> Hits:
    """Guess the places of each group together: one draw if it was drawn once, else all."""
    hits = np.zeros(len(originals), dtype=np.bool_)
    for group in groups:
        belief = told.output[group[:1] if once else group].sum(axis=0) + told.frequency
        if context:
            belief = belief + (told.context[group] - told.frequency).sum(axis=0)
        hits[group] = belief.argmax() == originals[group[0]]
    return hits


def guessing(told: Evidence, originals: NDArray[np.int64], record: NDArray[np.int64]) -> Hits:
    """Guess every place, with the words that other places of its record seem to hold as likelier."""
    hits = np.zeros(len(originals), dtype=np.bool_)
    for own in np.unique(record):
        places = np.flatnonzero(record == own)
        alone = told.context[places] - told.frequency + told.output[places]
        prior: Any = told.frequency
        for _ in range(4):
            belief = alone + prior
            shares = np.exp(belief - belief.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            others = (shares.sum(axis=0) - shares) / max(1, len(places) - 1)
            prior = np.log((1.0 - _RECUR) * np.exp(told.frequency) + _RECUR * others)
        hits[places] = belief.argmax(axis=1) == originals[places]
    return hits


def attack(made: Mechanism[Any], model: NgramModel, words: Words) -> dict[str, dict[str, Hits]]:
    """Veil words each time and once a record, and return which of them each attacker finds."""
    entropy, places = Entropy(5), words.targets
    originals, record = words.ids[places], words.text[places]
    _, first, same = np.unique(record * len(made.space) + originals, return_index=True, return_inverse=True)
    groups = [np.flatnonzero(same == number) for number in range(len(first))]
    found = {}
    for how, drawn in (
        ("each time", made.draw(originals, entropy)),
        ("once", made.draw(originals[first], entropy)[same]),
    ):
        told, once = evidence(made.law(), model, words, drawn), how == "once"
        found[how] = {
            "no context, ignores": ignoring(told, originals, context=False),
            "no context, knows": knowing(told, originals, groups, context=False, once=once),
            "context, ignores": ignoring(told, originals, context=True),
            "context, guesses": guessing(told, originals, record),
            "context, knows": knowing(told, originals, groups, context=True, once=once),
        }
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--column", default="text")
    parser.add_argument("--texts", type=int, default=25)
    parser.add_argument("--reference", type=int, default=6000)
    parser.add_argument("-e", "--epsilon", type=float, action="append")
    asked = parser.parse_args()
    texts = texts_of(asked.file, asked.column)
    order = np.random.default_rng(0).permutation(len(texts))
    reference = [texts[number] for number in order[: asked.reference]]
    short = (texts[number] for number in order[asked.reference :] if len(texts[number]) < _LONGEST)
    space = wordveil.load_space("glove-50k")
    model = NgramModel(words_of(reference, space.vocabulary), len(space))
    words = words_of([text for text, _ in zip(short, range(asked.texts), strict=False)], space.vocabulary)
    places = words.targets
    pair = words.text[places] * len(space) + words.ids[places]
    _, same, times = np.unique(pair, return_inverse=True, return_counts=True)
    often = times[same]
    print(f"{len(places):,} veiled words in {asked.texts} texts, {(often > 1).mean():.0%} of which recur in their text")
    for epsilon in asked.epsilon or [4.0, 6.0]:
        found = attack(wordveil.mechanism("graph", space, epsilon=epsilon), model, words)
        for how, attackers in found.items():
            for who, hits in attackers.items():
                every, recurring, many = (f"{hits[often > least].mean():6.1%}" for least in (0, 1, 4))
                print(f"ε = {epsilon:g}  {how:<10} {who:<20} all {every}  recurring {recurring}  5 or more {many}")


if __name__ == "__main__":
    main()
