"""CusText: exponential draws from a small set of outputs (Chen et al. 2023).

Words are divided into groups of k: repeatedly, the most frequent word without a group and the k-1 words nearest to it
that have none either. A word is replaced by a word ``u`` of its group with probability ∝ ``e^{½ε·s(w,u)}``, where the
score ``s`` is their similarity, scaled to [0, 1] within the group.

Proof, for two words of one group. Both draw from the same words, and scores lie in [0, 1], so numerators differ by a
factor of at most ``e^{ε/2}``, and so do their sums: together ``e^ε``. ∎

For two words of *different* groups nothing holds: they have no output in common. The output always reveals the group,
so a word is hidden only among the k words of its group. With ``mapping="aggressive"`` every word has its own set of
outputs, its k nearest words. Two words with different sets are then told apart with certainty by some outputs, and
sets of neighbours are hardly ever equal, so nothing is guaranteed.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import ExponentialMechanism, needs_vectors
from wordveil._mechanisms.rows import drawn_closely, rate_of
from wordveil.errors import OptionError
from wordveil.files import cached_arrays
from wordveil.guarantee import Guarantee, Notion
from wordveil.parallel import blocks
from wordveil.progress import Watch, ignore
from wordveil.spaces import EuclideanSpace, Space, neighbourhoods
from wordveil.spaces.space import Ids, Rows, smallest

_AT_ONCE = 2048  # words processed at once
_MAPPINGS = ("conservative", "aggressive")


class Custext(ExponentialMechanism[EuclideanSpace]):
    """Draws one of the k words in the word's group; nearer words are likelier.

    Parameters
    ----------
    epsilon : float
        The largest log-ratio between two words of one group.
    k : int
        The number of words in a group.
    mapping : {"conservative", "aggressive"}
        "conservative" divides the words into groups that share their outputs. "aggressive" lets each word become one of
        its own k nearest words, and guarantees nothing.
    """

    name = "custext"
    summary = "draws a word of a small group that the word belongs to; the output tells the group"
    in_brief = "ε for two words of one group; nothing for others"
    source = "Chen et al. 2023"

    def __init__(self, space: Space, epsilon: float, *, k: int = 20, mapping: str = "conservative") -> None:
        super().__init__(needs_vectors(self.name, space), epsilon)
        if k < 1:
            raise OptionError("k must be 1 or more.")
        if mapping not in _MAPPINGS:
            raise OptionError(f"mapping must be one of {', '.join(_MAPPINGS)}.")
        self.k, self.mapping = int(k), mapping
        self._rate = rate_of(self.epsilon)

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """The number of every word's group."""
        k = min(self.k, len(self.space))

        def fill(folder: Path) -> None:
            group = np.full(len(self.space), -1)
            for number in range(-(-len(group) // k)):
                first = int(np.argmax(group < 0))
                row = self.space.distances(np.array([first]))
                row[:, group >= 0] = np.inf
                row[0, first] = -1.0  # so that the word comes before its twins
                near = smallest(row, min(k, int((group < 0).sum())))[0][0]
                group[near] = number
            np.save(folder / "group.npy", group)

        return np.asarray(cached_arrays(f"custext-1-{k}-{self.space.checksum}", fill, "group")[0], dtype=np.int64)

    @cached_property
    def _sets(self) -> NDArray[np.int64]:
        """The output sets of every group or of every word, one row each, padded with -1."""
        words, k = len(self.space), min(self.k, len(self.space))
        if self.mapping == "conservative":
            order = np.argsort(self.groups, kind="stable")
            return np.append(order, np.full(-words % k, -1)).reshape(-1, k)
        own = np.arange(words)[:, None]
        return own if k == 1 else np.append(own, neighbourhoods(self.space, k - 1)[0].astype(np.int64), axis=1)

    def _outputs(self, ids: Ids) -> NDArray[np.int64]:
        """Return the words that each of these words may become, one row per word, padded with -1."""
        return np.asarray(self._sets[self.groups[ids] if self.mapping == "conservative" else ids])

    def _logs(self, ids: Ids) -> NDArray[np.float64]:
        """Return the logarithms of the unnormalised probabilities of each word's own outputs."""
        outputs = self._outputs(ids)
        apart = self.space.matrix[ids][:, None].astype(np.float64) - self.space.matrix[outputs]
        inside = np.where(outputs >= 0, np.sqrt(np.einsum("wkd,wkd->wk", apart, apart)), np.nan)
        least, most = np.nanmin(inside, axis=1, keepdims=True), np.nanmax(inside, axis=1, keepdims=True)
        spread = np.where(most > least, most - least, 1.0)
        return np.where(outputs >= 0, -self._rate * (inside - least) / spread, -np.inf)

    def log_weights(self, ids: Ids) -> Rows:
        """Return the logarithms of the unnormalised probabilities; -inf outside the word's outputs."""
        ids = np.asarray(ids)
        rows = np.full((len(ids), len(self.space)), -np.inf)
        for part in blocks(len(ids), _AT_ONCE):
            outputs, logs = self._outputs(ids[part]), self._logs(ids[part])
            word, place = np.nonzero(outputs >= 0)
            rows[part][word, outputs[word, place]] = logs[word, place]
        return rows

    def log_columns(self, outputs: Ids, inputs: Ids, watch: Watch = ignore) -> NDArray[np.float64]:  # noqa: ARG002
        """Return the logarithms of the exact probabilities of some outputs; -inf for words that cannot give them."""
        outputs, inputs = np.asarray(outputs), np.asarray(inputs)
        found = np.full((len(outputs), len(inputs)), -np.inf)
        order = np.argsort(outputs, kind="stable")
        for part in blocks(len(inputs), _AT_ONCE):
            own, logs = self._outputs(inputs[part]), self._logs(inputs[part])
            logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
            first, last = (np.searchsorted(outputs[order], own, side=side) for side in ("left", "right"))
            word, place = np.nonzero((last > first) & (own >= 0))
            for number in range(int((last - first).max(initial=0))):  # `outputs` may contain duplicates
                here = first[word, place] + number < last[word, place]
                at = order[first[word[here], place[here]] + number]
                found[at, part.start + word[here]] = logs[word[here], place[here]]
        return found

    def probability_rows(self, ids: Ids) -> NDArray[np.float64]:
        """Return the exact probabilities of every output, one row per word; 0 outside the word's outputs."""
        weights = np.exp(self.log_weights(ids))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def covered_pairs(self, ids: Ids) -> NDArray[np.int64]:
        """Return pairs of words of one group: each word with the next one of its group."""
        order = np.argsort(self.groups, kind="stable")
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        after = order[np.minimum(place[ids] + 1, len(order) - 1)]
        pairs = np.stack([np.asarray(ids, dtype=np.int64), after], axis=1)
        return pairs[(self.groups[pairs[:, 0]] == self.groups[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])]

    def true_delta(self, left: int, right: int) -> float | None:
        """Return the smallest δ that holds between two words at this ε, from their exact probabilities."""
        rows = self.probability_rows(np.array([left, right]))
        factor = np.exp(self.epsilon) * (1.0 + 1e-12)  # a margin for rounding
        return float(max(np.maximum(one - factor * other, 0.0).sum() for one, other in (rows, rows[::-1])))

    @property
    def shortfall(self) -> str:
        """What a release under this mechanism lacks: the output reveals the group."""
        if self.mapping == "aggressive":
            return super().shortfall
        return f"Every output reveals which group of {min(self.k, len(self.space))} words the original belongs to."

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        if self.mapping == "aggressive":
            caveats = ("Which words can come out depends on the original, so an output may rule originals out.",)
            return self.make_guarantee(Notion.NONE, caveats=caveats, claim=_CLAIM)
        return self.make_guarantee(
            Notion.APPROXIMATE,
            pairs="two words of one group",
            caveats=(self.shortfall, drawn_closely(len(self.space))),
            claim=_CLAIM,
        )

    @property
    def claim(self) -> Guarantee:
        """The claim "ε-differential privacy", read without its restriction to words that share their outputs."""
        return self.make_guarantee(Notion.APPROXIMATE, pairs="a word and its nearest words")


_CLAIM = "ε-differential privacy for words that share their set of outputs (Chen et al. 2023)"
