"""Some words of a space with what they are kinds of, laid out in the Poincaré disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from wordveil.errors import WordveilError
from wordveil.lab.training.pairs import Pairs
from wordveil.lab.training.trainer import Settings, train
from wordveil.lab.training.writing import to_space
from wordveil.spaces import PoincareSpace, Vocabulary

__all__ = ["family", "in_two_dimensions"]

# Chosen by eye: so a hierarchy of a few hundred words fills the disk instead of its rim.
_SHARPNESS = 2.0
_EPOCHS = 400
_SEED = 3


def family(space: PoincareSpace, words: Sequence[str], *, below: str | None = None, most: int = 60) -> list[int]:
    """Return the ids of some words and of everything that they are kinds of.

    Parameters
    ----------
    space : PoincareSpace
        The words, with the steps of their hierarchy.
    words : sequence of str
        The words to begin with.
    below : str, optional
        Also take kinds of this word, the more general first, of equals the more frequent.
    most : int
        How many of those at most.
    """
    if space.is_a is None:
        raise WordveilError("this space does not say which word is a kind of which; train one with wordveil train.")
    above: dict[int, list[int]] = {}
    under: dict[int, list[int]] = {}
    for child, parent in space.is_a.tolist():
        above.setdefault(child, []).append(parent)
        under.setdefault(parent, []).append(child)
    chosen = [space.vocabulary.id(word) for word in words]
    if below is not None:
        chosen += _walk([space.vocabulary.id(below)], under, most)
    if not chosen:
        raise WordveilError("name the words to draw, or give --below.")
    return sorted(_walk(chosen, above, len(space)))


def _walk(start: list[int], steps: dict[int, list[int]], most: int) -> list[int]:
    """Go step by step from some nodes, breadth first, until there are so many."""
    seen = dict.fromkeys(start)
    waiting = deque(start)
    while waiting:
        for node in sorted(steps.get(waiting.popleft(), ())):
            if node not in seen and len(seen) < most:
                seen[node] = None
                waiting.append(node)
    return list(seen)


def in_two_dimensions(space: PoincareSpace, ids: Sequence[int]) -> PoincareSpace:
    """Return these words in two dimensions: where the space has them, or, if it has more, newly trained for the eye."""
    kept = np.asarray(ids)
    place = np.full(len(space), -1)
    place[kept] = np.arange(len(kept))
    steps = place[space.is_a] if space.is_a is not None else np.empty((0, 2), dtype=np.int64)
    steps = steps[(steps >= 0).all(axis=1)]
    words = space.vocabulary.take(kept)
    if space.dimension == 2:
        return PoincareSpace(space.name, Vocabulary(words), space.hyperboloid[kept], is_a=steps)
    names = [(words[child], words[parent]) for child, parent in steps.tolist()]
    pairs = Pairs.of(names, words).closed()
    if not len(pairs):
        raise WordveilError("these words are kinds of nothing, so there is no hierarchy to draw.")
    settings = Settings(dimension=2, sharpness=_SHARPNESS, epochs=_EPOCHS, seed=_SEED)
    return to_space(f"{space.name} in 2-d", train(pairs, settings, device="cpu"), pairs)
