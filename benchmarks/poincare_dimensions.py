"""Which dimension and sharpness of the bundled Poincaré space are best at equal success of the attacker.

Trains what is not there yet, and prints a row for each space and mechanism. For `hyperbolic`, the noise is fixed
slightly above the least epsilon, and the move towards the origin is set so that the attacker is right a quarter of the
time. For `exponential` with the prior ``general``, the epsilon is set in this way.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.hierarchy import Relations, guessed, measure, near_loss, settle, stays
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.hyperbolic import Hyperbolic
from wordveil.lab.training import Pairs, Training, WordNet, to_space, train, word_pairs
from wordveil.spaces import PoincareSpace, load_space
from wordveil.spaces.poincare import is_poincare_folder
from wordveil.text import stop_words
from wordveil.text.lookup import BaseForms

__all__ = ["GRID", "SPARE", "rows", "training_pairs"]

#: Dimensions, and the sharpnesses to try in each.
GRID: dict[int, tuple[float, ...]] = {
    2: (1.5, 2, 3),
    3: (1.5, 2, 3),
    5: (1.5, 2, 3, 4, 6),
    10: (2, 3, 4, 6),
    20: (2, 3, 4, 6),
    50: (2, 4, 8),
    100: (4, 8),
}
#: How far the epsilon of `hyperbolic` is above its least value.
SPARE = 0.5
GUESSED = 0.25


def training_pairs(wordnet: WordNet) -> Pairs:
    """Return the pairs that the bundled space is trained on."""
    words = load_space("glove-50k").vocabulary.words
    return word_pairs(wordnet, words, leave_out=stop_words(), bases=BaseForms(wordnet.folder).of)


def open_or_train(folder: Path, wordnet: WordNet, dimension: int, sharpness: float) -> PoincareSpace:
    """Open one space of the grid. Train it first if necessary."""
    target = folder / f"{dimension}-{sharpness:g}"
    if not is_poincare_folder(target):
        pairs = training_pairs(wordnet)
        epochs = 1000 if dimension < 50 else 500
        trained = train(pairs, Training(dimension=dimension, sharpness=sharpness, epochs=epochs))
        to_space(target.name, trained, pairs).save(target)
    return PoincareSpace.load(target)


def rows(wordnet: WordNet, folder: Path, only: list[str]) -> Iterator[dict[str, Any]]:
    """Measure every space of the grid, or those named ``dimension-sharpness``."""
    glove = load_space("glove-50k")
    for dimension, sharpnesses in GRID.items():
        for sharpness in sharpnesses:
            if only and f"{dimension}-{sharpness:g}" not in only:
                continue
            space = open_or_train(folder, wordnet, dimension, sharpness)
            relations = Relations(wordnet, space.vocabulary.words, glove)
            yield from _measured(space, relations, dimension, sharpness)


def _measured(space: PoincareSpace, relations: Relations, dimension: int, sharpness: float) -> Iterator[dict[str, Any]]:
    least = dimension - 1 + SPARE
    pull = settle(lambda t: guessed(Hyperbolic(space, least, generalise=t), 6)[0], 0.0, space.diameter, GUESSED)
    scale = 1.0 / float(space.diameter)
    epsilon = settle(lambda e: stays(Exponential(space, e, prior="general")), 150 * scale, 10 * scale, GUESSED)
    for made, near in (
        (Hyperbolic(space, least, generalise=pull), near_loss(space, least)),
        (Exponential(space, epsilon, prior="general"), near_loss(space, epsilon)),
    ):
        found = measure(made, relations)
        yield {
            "dimension": dimension,
            "sharpness": sharpness,
            "mechanism": made.name,
            "epsilon": round(made.epsilon, 3),
            "generalise": round(made.options().get("generalise", 0.0), 2),
            "near_loss": round(near, 1),
            "guessed": round(found.guessed, 3),
            "stays": round(found.stays, 3),
            "wu_palmer": round(found.similarity, 3),
            "cosine": round(found.cosine, 3),
            **{name: round(found.shares.get(name, 0.0), 3) for name in ("hypernym", "co-hyponym", "unrelated")},
        }
