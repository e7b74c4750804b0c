"""Words that are never drawn, such as slurs and obscenities.

Every word of a text is still veiled, blocked or not. Only the outputs are restricted, in one of two ways:

- `graph` draws only from the allowed words. Proof: it is the exponential mechanism on a smaller set of outputs. The
  numerator of an output changes by at most ``e^{εd/2}`` between two words, and so does the sum over the allowed
  outputs; the ratio is at most ``e^{εd}``, as before. ∎
- Any other mechanism replaces a blocked output by the allowed word nearest to it. Proof: the replacement depends on the
  output alone, so this is post-processing and keeps the guarantee. ∎
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import Mechanism
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.mapped import Mapped, of_inner
from wordveil.errors import OptionError
from wordveil.parallel import blocks
from wordveil.spaces import Vocabulary

_ENDINGS = ("s", "es")
_LONG_ENDINGS = ("ed", "er", "ers", "ing", "y")


@lru_cache(maxsize=1)
def blocked_words() -> frozenset[str]:
    """Return the bundled list of English words that are not drawn by default."""
    listed = Path(__file__).parent.parent / "data" / "blocked-english" / "words.txt"
    return frozenset(listed.read_text(encoding="utf-8").split())


def block(mechanism: Mechanism[Any], words: Collection[str]) -> Mechanism[Any]:
    """Return the mechanism restricted so that it never draws these words or their inflections.

    Examples
    --------
    >>> import wordveil
    >>> graph = wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=4)
    >>> polite = block(graph, ["damn", "hell"])
    >>> float(polite.law().chances(np.array([graph.space.vocabulary.id("damn")]), polite.blocked[None, :]).max())
    0.0
    """
    if isinstance(words, (str, bytes)) or not isinstance(words, Collection):
        raise OptionError("block must be a list of words; give a single word as a list of one.")
    if not all(isinstance(word, str) for word in words):
        raise OptionError("block must be a list of words, but one of its items is not a string.")
    return block_ids(mechanism, _ids(mechanism.space.vocabulary, {word.lower() for word in words}))


def block_ids(mechanism: Mechanism[Any], ids: NDArray[np.int64]) -> Mechanism[Any]:
    """Return the mechanism restricted so that it never draws the words with these ids."""
    if len(ids) == len(mechanism.space):
        raise OptionError("block lists every word of the space, so nothing could be drawn; give a shorter list.")
    if not len(ids):
        return mechanism
    made = mechanism.without(ids) if isinstance(mechanism, Graph) else Substituting(mechanism, ids)
    made.blocks_bundled = np.array_equal(ids, _ids(mechanism.space.vocabulary, set(blocked_words())))
    return made


def _ids(vocabulary: Vocabulary, listed: set[str]) -> NDArray[np.int64]:
    inflected = {word + ending for word in listed for ending in _ENDINGS}
    inflected |= {word + ending for word in listed if len(word) >= 4 for ending in _LONG_ENDINGS}
    blocked = listed | inflected
    return np.flatnonzero(vocabulary.among(blocked))


class Substituting(Mapped):
    """A mechanism whose blocked outputs are replaced by the nearest allowed word."""

    def __init__(self, inner: Mechanism[Any], blocked: NDArray[np.int64]) -> None:
        super().__init__(inner)
        self.blocked = blocked
        self.name = inner.name  # type: ignore[misc] # it acts as the inner mechanism everywhere

    @cached_property
    def instead(self) -> NDArray[np.int64]:
        """The word released for every output: itself, or the allowed word nearest to it."""
        instead = np.arange(len(self.space))
        for part in blocks(len(self.blocked), 64):
            distances = np.array(self.space.distances(self.blocked[part]), dtype=np.float64)
            distances[:, self.blocked] = np.inf
            instead[self.blocked[part]] = distances.argmin(axis=1)
        return instead

    options = of_inner("options")
