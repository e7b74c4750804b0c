"""How often a replacement is more general, a sibling, or unrelated, for the nouns of the Snips slots."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hierarchy import relation, settle
from wordveil._mechanisms import ExponentialMechanism, Mechanism
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.hyperbolic import Hyperbolic
from wordveil._mechanisms.hyperbolic_icdm19 import HyperbolicIcdm19
from wordveil._mechanisms.laplace import Laplace
from wordveil.lab.training import WordNet
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, PoincareSpace, Space, Vocabulary, load_space
from wordveil.text import stop_words, tokenise
from wordveil.text.lookup import Lookup

__all__ = ["rows", "slot_nouns"]

_DRAWS = 20
_STAYS = 0.25
_NAMES = ("same", "synonym", "hypernym", "hyponym", "co-hyponym", "unrelated")
Make = Callable[[float], Mechanism[Any]]


def slot_nouns(folder: Path, wordnet: WordNet, vocabulary: Vocabulary) -> Counter[str]:
    """Count the nouns of the slots of Snips that are in a vocabulary of base forms."""
    lookup, left_alone, found = Lookup(vocabulary), stop_words(), Counter[str]()
    for path in sorted(folder.glob("*/train_*_full.json")):
        intents = json.loads(path.read_bytes().decode("latin-1" if "PlayMusic" in path.name else "utf-8"))
        for sentence in next(iter(intents.values())):
            for piece in sentence["data"]:
                if "entity" in piece:
                    for key in tokenise(piece["text"]).keys:
                        place = lookup.id(key, key)
                        word = None if place is None or key in left_alone else vocabulary[place]
                        if word is not None and wordnet.by_frequency(word)[0].part == "noun":
                            found[word] += 1
    return found


def rows(wordnet: WordNet, snips: Path, space: PoincareSpace) -> Iterator[dict[str, Any]]:
    """Measure each mechanism at the setting where a quarter of all words of the vocabulary stay."""
    counts = slot_nouns(snips, wordnet, space.vocabulary)
    ids = np.array([space.vocabulary.id(word) for word in counts])
    weights = np.array(list(counts.values()), dtype=np.float64)
    glove = load_space("glove-50k")
    flat = EuclideanSpace(
        "glove, the same words",
        space.vocabulary,
        glove.vectors[[glove.vocabulary.id(word) for word in space.vocabulary]],
    )
    for about, made in _mechanisms(space, flat):
        drawn = made.draw(np.repeat(ids, _DRAWS), Entropy(1)).reshape(-1, _DRAWS)
        shares = dict.fromkeys(_NAMES, 0.0)
        for word, outputs, weight in zip(ids.tolist(), drawn.tolist(), weights, strict=True):
            for output in outputs:
                found = relation(wordnet, space.vocabulary[word], space.vocabulary[output])
                shares[found] += weight / _DRAWS
        yield {
            "mechanism": about,
            "epsilon": round(made.epsilon, 3),
            "options": made.options(),
            **{name: round(share / weights.sum(), 3) for name, share in shares.items()},
            "examples": _examples(made, ("ohio", "techno", "milk", "pizza", "paris")),
        }


def _mechanisms(space: PoincareSpace, flat: EuclideanSpace) -> Iterator[tuple[str, Mechanism[Any]]]:
    least = space.dimension - 0.5
    reach = float(space.diameter)

    def pulled(pull: float) -> Mechanism[Any]:
        return Hyperbolic(space, least, generalise=pull)

    def carried(epsilon: float) -> Mechanism[Any]:
        return HyperbolicIcdm19(space, epsilon, translate="mobius")

    ways: list[tuple[str, Make, float, float]] = [
        ("hyperbolic, generalise", pulled, 0.0, reach),
        ("exponential, hyperbolic distance", lambda e: Exponential(space, e), 150 / reach, 5 / reach),
        ("exponential, prior general", lambda e: Exponential(space, e, prior="general"), 150 / reach, 5 / reach),
        ("graph of the Poincaré space", lambda e: Graph(space, e), 20.0, 1.0),
        ("graph of GloVe", lambda e: Graph(flat, e), 8.0, 1.0),
        ("laplace, GloVe", lambda e: Laplace(flat, e), 20.0, 1.0),
    ]
    yield "hyperbolic", Hyperbolic(space, least)
    yield "hyperbolic-icdm19, as printed", HyperbolicIcdm19(space, 1.0)
    yield "hyperbolic-icdm19, carried", carried(1.0)
    for about, make, low, high in ways:
        yield about, make(settle(partial(_stay_at, make), low, high, _STAYS, steps=8))


def _stay_at(make: Make, value: float) -> float:
    return _stay(make(value))


def _stay(mechanism: Mechanism[Any], words: int = 400) -> float:
    """Return how often words stay: exactly if that is known, otherwise from draws."""
    space: Space = mechanism.space
    some = np.random.default_rng(0).choice(len(space), min(words, len(space)), replace=False)
    if isinstance(mechanism, ExponentialMechanism):
        return float(mechanism.probability_rows(some)[np.arange(len(some)), some].mean())
    drawn = mechanism.draw(np.repeat(some, 50), Entropy(2)).reshape(-1, 50)
    return float((drawn == some[:, None]).mean())


def _examples(mechanism: Mechanism[Any], words: tuple[str, ...]) -> dict[str, list[str]]:
    vocabulary = mechanism.space.vocabulary
    found = {}
    for word in words:
        if word in vocabulary:
            drawn = mechanism.draw(np.full(400, vocabulary.id(word)), Entropy(3))
            found[word] = [vocabulary[place] for place, _ in Counter(drawn.tolist()).most_common(4)]
    return found
