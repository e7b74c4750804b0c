"""Words that are never drawn: slurs and obscenities that nobody wants to read in a veiled text.

Every word is still veiled, a blocked one like any other; only what comes out is restricted, in one of two ways:

- `graph` draws from the allowed words alone. Proof: it is the exponential mechanism on a smaller set of outputs. The
  numerator of an output changes by at most ``e^{εd/2}`` between two words, and so does the sum over the allowed
  outputs; the ratio is at most ``e^{εd}``, as before. ∎
- Any other mechanism has a blocked output replaced by the allowed word nearest to it. Proof: which word that is depends
  on the output alone, so this is post-processing and keeps whatever was promised. ∎
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import ExponentialMechanism, Mechanism
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.laws import Effort, Law, RowLaw, SampledLaw
from wordveil.errors import OptionError
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.progress import Watch, ignore
from wordveil.spaces import Vocabulary
from wordveil.spaces.space import Ids

_ENDINGS = ("s", "es")
_LONG_ENDINGS = ("ed", "er", "ers", "ing", "y")


@lru_cache(maxsize=1)
def blocked_words() -> frozenset[str]:
    """Return the bundled list of English words that are not drawn unless asked for."""
    listed = Path(__file__).parent.parent / "data" / "blocked-english" / "words.txt"
    return frozenset(listed.read_text(encoding="utf-8").split())


def block(mechanism: Mechanism[Any], words: Collection[str]) -> Mechanism[Any]:
    """Return the same mechanism, never drawing any of these words or their inflections.

    Examples
    --------
    >>> import wordveil
    >>> graph = wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=4)
    >>> polite = block(graph, ["damn", "hell"])
    >>> float(polite.law().chances(np.array([graph.space.vocabulary.id("damn")]), polite.blocked[None, :]).max())
    0.0
    """
    if isinstance(words, (str, bytes)):
        raise OptionError("block must be a list of words; give a single word as a list of one.")
    ids = _ids(mechanism.space.vocabulary, {word.lower() for word in words})
    if len(ids) == len(mechanism.space):
        raise OptionError("block has every word of the space, so nothing could be drawn; give a shorter list.")
    if not len(ids):
        return mechanism
    return mechanism.without(ids) if isinstance(mechanism, Graph) else Substituting(mechanism, ids)


def _ids(vocabulary: Vocabulary, listed: set[str]) -> NDArray[np.int64]:
    inflected = {word + ending for word in listed for ending in _ENDINGS}
    inflected |= {word + ending for word in listed if len(word) >= 4 for ending in _LONG_ENDINGS}
    blocked = listed | inflected
    return np.array([place for place, word in enumerate(vocabulary) if word.lower() in blocked], dtype=np.int64)


def _of_inner(name: str) -> Any:
    """Return what the other mechanism has under this name."""
    return property(lambda self: getattr(self.inner, name))


class Substituting(Mechanism[Any]):
    """A mechanism whose blocked outputs are replaced by the allowed word nearest to each."""

    family = "another mechanism, with some outputs replaced"
    summary = "another mechanism, with some outputs replaced"
    in_brief = "what the other mechanism promises"
    source = "post-processing"

    def __init__(self, inner: Mechanism[Any], blocked: NDArray[np.int64]) -> None:
        super().__init__(inner.space, inner.epsilon)
        self.inner, self.blocked = inner, blocked
        self.name = inner.name  # type: ignore[misc] # it stands for the other one everywhere

    @cached_property
    def _instead(self) -> NDArray[np.int64]:
        """What is given for every output: itself, or the allowed word nearest to it."""
        instead = np.arange(len(self.space))
        for part in blocks(len(self.blocked), 64):
            distances = np.array(self.space.distances(self.blocked[part]), dtype=np.float64)
            distances[:, self.blocked] = np.inf
            instead[self.blocked[part]] = distances.argmin(axis=1)
        return instead

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by what the other mechanism draws, or by what stands in for that."""
        return np.asarray(self._instead[self.inner.draw(ids, entropy)])

    def draw_each(self, ids: Ids, seeds: Sequence[bytes]) -> NDArray[np.int64]:
        """Replace each word by what the other mechanism draws from its seed, or by what stands in for that."""
        return np.asarray(self._instead[self.inner.draw_each(ids, seeds)])

    def probability_rows(self, ids: Ids) -> NDArray[np.float64]:
        """Return the exact probabilities of every output, a row for each word, where the other mechanism has them."""
        if not isinstance(self.inner, ExponentialMechanism):
            raise OptionError(f"the mechanism {self.name} has no exact probabilities; ask its law for estimates.")
        rows = self.inner.probability_rows(ids)
        for blocked in self.blocked.tolist():
            rows[:, self._instead[blocked]] += rows[:, blocked]
        rows[:, self.blocked] = 0.0
        return rows

    def law(self, effort: Effort | None = None, watch: Watch = ignore) -> Law:
        """Return its probabilities: exact where those of the other mechanism are rows of weights, else from draws."""
        kind = RowLaw if isinstance(self.inner, ExponentialMechanism) else SampledLaw
        return kind(self, effort, watch)

    # Nothing that is promised, or stated of the noise, changes. (An exact δ does: it may only become smaller.)
    guarantee, claim, shortfall = _of_inner("guarantee"), _of_inner("claim"), _of_inner("shortfall")
    largest_distance, largest_loss = _of_inner("largest_distance"), _of_inner("largest_loss")
    allowed_loss, covered_pairs = _of_inner("allowed_loss"), _of_inner("covered_pairs")
    perturb, options = _of_inner("perturb"), _of_inner("options")
    radius_law, projection_law = _of_inner("radius_law"), _of_inner("projection_law")
