"""1-Diffractor: two-sided geometric steps along one of several lists of the words (Meisenbacher et al. 2024).

Proof. On one list of ``N`` words, the position ``i`` of the word moves to ``i + X`` with ``Pr[X=x] ∝ e^{-ε|x|}``, which
has one normaliser for all positions. Clipping at the ends of the list depends on ``i + X`` alone. So with ``d_l`` the
steps between two words along list ``l``, that list satisfies ``ε·d_l``. The list is drawn independently of the word, so
``Pr[M(w)=u] = mean_l Pr[M_l(w)=u] <= mean_l e^{ε·d_l(w,w')}·Pr[M_l(w')=u]``, which is at most
``e^{ε·max_l d_l(w,w')}·Pr[M(w')=u]``. ∎

The maximum of several metrics is a metric. It is not enough that two words are close on *one* list, because another
list tells them apart. (The package dp-diffractor draws on every list that has the word and picks one of the results.
The set of lists that have a word would then reveal it, so all lists must hold the same words, as they do here.)
"""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import ExponentialMechanism, needs_vectors
from wordveil.errors import OptionError
from wordveil.files import cached_arrays
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import Entropy, discrete_laplace, exact_rate
from wordveil.spaces import EuclideanSpace, Space, neighbourhoods
from wordveil.spaces.space import Ids, Rows

_LEAST, _MOST = 1e-4, 100.0  # rates that the exact sampler takes; at rate 100 the noise is practically always 0
_NEAR = 50  # neighbours tried before a list continues elsewhere, as in the package


class Diffractor(ExponentialMechanism[EuclideanSpace]):
    """Moves a random number of steps along one of several lists of the words, drawn at random.

    A list starts at some word and continues with the nearest word that it does not have yet.

    Parameters
    ----------
    epsilon : float
        The privacy loss per step, along the list on which two words are farthest apart.
    lists : int
        The number of lists. They start at different words; the paper has one list for each of several embeddings.
    """

    name = "diffractor"
    summary = "moves a geometric number of steps along one of several lists of the words, drawn at random"
    in_brief = "ε per step on the list where two words are farthest apart, for any two words"
    source = "Meisenbacher et al. 2024"

    def __init__(self, space: Space, epsilon: float, *, lists: int = 5) -> None:
        super().__init__(needs_vectors(self.name, space), epsilon)
        if not 1 <= lists <= 64:
            raise OptionError("lists must lie between 1 and 64.")
        if self.epsilon < self.least_epsilon(space):
            raise OptionError(f"epsilon must be {_LEAST:g} or more for {self.name}.")
        self.lists = int(lists)
        self._exact_rate = exact_rate(min(self.epsilon, _MOST))

    @classmethod
    def least_epsilon(cls, space: Space) -> float:  # noqa: ARG003 - the same on all
        """Return the bound that epsilon must exceed; with a smaller one, the steps would outgrow any list."""
        return _LEAST

    @cached_property
    def orders(self) -> NDArray[np.int64]:
        """The words of each list in order, one row per list."""

        def fill(folder: Path) -> None:
            words = len(self.space)
            near = neighbourhoods(self.space, min(_NEAR, words - 1))[0].tolist() if words > 1 else [[]]
            starts = [number * words // self.lists for number in range(self.lists)]
            np.save(folder / "orders.npy", np.array([_greedy_list(near, start) for start in starts], dtype=np.int32))

        kept = cached_arrays(f"diffractor-1-{self.lists}-{self.space.checksum}", fill, "orders")[0]
        return np.asarray(kept, dtype=np.int64)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The position of every word on each list, one row per list."""
        return np.argsort(self.orders, axis=1)

    def log_weights(self, ids: Ids) -> Rows:
        """Return the logarithms of the probabilities of every output, one row per word."""
        return self.log_weight_columns(np.arange(len(self.space)), ids).T

    def log_weight_columns(self, outputs: Ids, inputs: Ids) -> Rows:
        """Return the same logarithms, one row per output."""
        fall, last = float(self._exact_rate), len(self.space) - 1
        inside = math.log(math.tanh(0.5 * fall))  # (1-a)/(1+a)
        end = -math.log1p(math.exp(-fall))  # 1/(1+a)
        logs = np.full((len(outputs), len(inputs)), -np.inf)
        for places in self.places:
            there = places[outputs][:, None]
            base = np.where((there == 0) | (there == last), end if last else 0.0, inside)
            np.logaddexp(logs, base - fall * np.abs(there - places[inputs]), out=logs)
        return np.asarray(logs - math.log(self.lists))

    def _normalise(self, ids: Ids) -> NDArray[np.float64]:
        return np.zeros((len(ids), 2))  # `log_weights` are log probabilities already

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by the word a random number of steps away on a random list."""
        entropy = entropy or Entropy()
        ids = np.asarray(ids)
        chosen = entropy.below(np.full(len(ids), self.lists))
        moved = self.places[chosen, ids] + discrete_laplace(self._exact_rate, len(ids), entropy)
        return np.asarray(self.orders[chosen, np.clip(moved, 0, len(self.space) - 1)])

    def allowed_loss(self, left: Ids, right: Ids) -> NDArray[np.float64]:
        """Return the largest log-ratio that the guarantee allows for each pair."""
        steps = np.abs(self.places[:, left] - self.places[:, right]).max(axis=0)
        return np.asarray(self.epsilon * steps, dtype=np.float64)

    @property
    def largest_distance(self) -> float:
        """The distance at which the loss is largest: from one end of a list to the other."""
        return float(len(self.space) - 1)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        return Guarantee(
            Notion.METRIC, self.epsilon, "steps along the list on which two words are farthest apart", "step",
            caveats=(
                "Similar words are often thousands of steps apart on some list, where the promise is weak.",
                *self.space.remarks,
            ),
            claim="ε·d with d the steps along the list (Meisenbacher et al. 2024)",
        )  # fmt: skip


def _greedy_list(near: list[list[int]], start: int) -> list[int]:
    """List the words from `start`, each followed by its nearest unused neighbour, or the most frequent word left."""
    left = [True] * len(near)
    order, here, frequent = [], start, 0
    while True:
        order.append(here)
        left[here] = False
        if len(order) == len(near):
            return order
        following = next((word for word in near[here] if left[word]), None)
        if following is None:
            while not left[frequent]:
                frequent += 1
            following = frequent
        here = following
