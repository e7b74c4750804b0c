"""What drawing equal words once gives away, and what drawing each time does: the same texts, the same attackers.

python -m benchmarks.once reviews.csv --column text --texts 100 --reference 6000 -e 4 -e 6
python -m benchmarks.once reviews.csv --column text --texts 100 --network -e 4 -e 6

Some texts of the file are attacked; each is a record. The others teach the attackers how frequent words are and which
follow which (a bigram model). With --network, the attackers know public text instead, through the network of the
context reader. An attacker knows which places of a record hold the same word, guesses it from the draws (a word is
likelier if other places of the record are likely to hold it), or ignores it. The context of each place is used with all
other places summed out. Contexts of several places are multiplied; those of the network are averaged, because its
answers for a text rest on the same words. Takes minutes.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wordveil
from wordveil._mechanisms import Mechanism
from wordveil.attacks.knowledge import words_of
from wordveil.noise import Entropy
from wordveil.reading.ngrams import BigramDecoder, NgramModel
from wordveil.reading.places import Places, Words
from wordveil.reading.priors import make_prior

_LONGEST = 2500  # characters of a text; longer ones are slow
_STRETCH = 64  # words to decode together
_RECUR = 0.3  # the assumed probability that a place holds a word of another place of its record
_LEAST = 1e-300
_CANDIDATES = 5000  # words among which the network looks for the original

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
    """What is known about each veiled place, as logarithms over the vocabulary."""

    context: NDArray[np.float32]  # from the words around it
    output: NDArray[np.floating[Any]]  # from its own draw
    frequency: Floats  # the same for all places
    adds_up: bool  # whether contexts of several places are multiplied; otherwise they are averaged


def by_network(reader: wordveil.Reader, original: Places, drawn: NDArray[np.int64]) -> Evidence:
    """Look at the veiled words of a text through a reader's network, given which words are veiled."""
    law, size = reader.mechanism.law(), len(reader.mechanism.space)
    ids = original.ids.copy()
    ids[original.veiled] = drawn
    words, chances = reader.likeliest(replace(original, ids=ids), _CANDIDATES)
    believed = np.full((len(drawn), size), _LEAST)
    np.put_along_axis(believed, words, np.maximum(chances, _LEAST), axis=1)
    prior = np.maximum(make_prior("space", reader.mechanism.space, reader.cutter), _LEAST)
    output = law.log_columns(drawn, np.arange(size), prior=prior)
    around = np.where(believed > _LEAST, np.log(believed) - output, np.log(_LEAST))
    return Evidence(around.astype(np.float32), output, np.log(prior), adds_up=False)


def evidence(law: Any, decoder: BigramDecoder, words: Words, drawn: NDArray[np.int64]) -> Evidence:
    """Look at the veiled words of a text through a bigram model."""
    model = decoder.model
    places, size = words.targets, model.words
    seen, row = np.unique(drawn, return_inverse=True)
    columns = law.log_columns(seen, np.arange(size), prior=model.unigram)
    of_place = np.full(len(words.ids), -1)
    of_place[places] = np.arange(len(places))
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
    return Evidence(context, columns[row], np.log(model.unigram), adds_up=True)


def _stretches(words: Words) -> Iterator[slice]:
    for run in words.runs():
        for start in range(run.start, run.stop, _STRETCH):
            part = slice(start, min(start + _STRETCH, run.stop))
            if words.hidden[part].any():
                yield part


def ignoring(told: Evidence, originals: NDArray[np.int64], *, context: bool) -> Hits:
    """Guess every place separately."""
    return np.asarray(((told.context if context else told.frequency) + told.output).argmax(axis=1) == originals)


def knowing(
    told: Evidence, originals: NDArray[np.int64], groups: list[NDArray[np.int64]], *, context: bool, once: bool
) -> Hits:
    """Guess the places of each group together: from one draw if it was drawn once, otherwise from all."""
    hits = np.zeros(len(originals), dtype=np.bool_)
    for group in groups:
        belief = told.output[group[:1] if once else group].sum(axis=0) + told.frequency
        if context:
            around = told.context[group] - told.frequency
            belief = belief + (around.sum(axis=0) if told.adds_up else around.mean(axis=0))
        hits[group] = belief.argmax() == originals[group[0]]
    return hits


def guessing(told: Evidence, originals: NDArray[np.int64]) -> Hits:
    """Guess every place, taking words that other places of the record seem to hold as likelier."""
    alone = told.context - told.frequency + told.output
    prior: Any = told.frequency
    for _ in range(4):
        belief = alone + prior
        shares = np.exp(belief - belief.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        others = (shares.sum(axis=0) - shares) / max(1, len(shares) - 1)
        prior = np.log(np.maximum((1.0 - _RECUR) * np.exp(told.frequency) + _RECUR * others, _LEAST))
    return np.asarray(belief.argmax(axis=1) == originals)


def attack(
    made: Mechanism[Any], texts: list[str], look: Callable[[str, NDArray[np.int64]], Evidence]
) -> dict[str, dict[str, list[Hits]]]:
    """Veil texts each time and once per record. Return which of their words each attacker finds, text by text."""
    entropy = Entropy(5)
    found: dict[str, dict[str, list[Hits]]] = {}
    for text in texts:
        words = words_of([text], made.space.vocabulary)
        originals = words.ids[words.targets]
        _, first, same = np.unique(originals, return_index=True, return_inverse=True)
        groups = [np.flatnonzero(same == number) for number in range(len(first))]
        for how, drawn in (
            ("each time", made.draw(originals, entropy)),
            ("once", made.draw(originals[first], entropy)[same]),
        ):
            told, once = look(text, drawn), how == "once"
            for who, hits in {
                "no context, ignores": ignoring(told, originals, context=False),
                "no context, knows": knowing(told, originals, groups, context=False, once=once),
                "context, ignores": ignoring(told, originals, context=True),
                "context, guesses": guessing(told, originals),
                "context, knows": knowing(told, originals, groups, context=True, once=once),
            }.items():
                found.setdefault(how, {}).setdefault(who, []).append(hits)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--column", default="text")
    parser.add_argument("--texts", type=int, default=25)
    parser.add_argument("--reference", type=int, default=6000)
    parser.add_argument("--network", action="store_true")
    parser.add_argument("-e", "--epsilon", type=float, action="append")
    asked = parser.parse_args()
    texts = texts_of(asked.file, asked.column)
    order = np.random.default_rng(0).permutation(len(texts))
    reference = [texts[number] for number in order[: asked.reference]]
    short = (texts[number] for number in order[asked.reference :] if len(texts[number]) < _LONGEST)
    space = wordveil.load_space("glove-50k")
    chosen = [text for text, _ in zip(short, range(asked.texts), strict=False)]
    words = words_of(chosen, space.vocabulary)
    places = words.targets
    pair = words.text[places] * len(space) + words.ids[places]
    _, same, times = np.unique(pair, return_inverse=True, return_counts=True)
    often = times[same]
    print(f"{len(places):,} veiled words in {asked.texts} texts, {(often > 1).mean():.0%} of which recur in their text")
    decoder = None if asked.network else BigramDecoder(NgramModel(words_of(reference, space.vocabulary), len(space)))
    for epsilon in asked.epsilon or [4.0, 6.0]:
        made = wordveil.mechanism("graph", space, epsilon=epsilon)
        reader = wordveil.Reader(made, kind="context", once=False) if asked.network else None

        def look(
            text: str,
            drawn: NDArray[np.int64],
            made: Mechanism[Any] = made,
            reader: wordveil.Reader | None = reader,
        ) -> Evidence:
            if reader is not None:
                return by_network(reader, reader.cutter.cut([text]), drawn)
            assert decoder is not None
            return evidence(made.law(), decoder, words_of([text], space.vocabulary), drawn)

        found = attack(made, chosen, look)
        for how, attackers in found.items():
            for who, parts in attackers.items():
                hits = np.concatenate(parts)
                every, recurring, many = (f"{hits[often > least].mean():6.1%}" for least in (0, 1, 4))
                print(f"ε = {epsilon:g}  {how:<10} {who:<20} all {every}  recurring {recurring}  5 or more {many}")


if __name__ == "__main__":
    main()
