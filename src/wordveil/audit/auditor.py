"""The audit of a mechanism by its name."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism, mechanism
from wordveil._mechanisms.base import nearest_pairs
from wordveil.audit.exact import (
    allowed_loss,
    draws_follow_law,
    exact_deltas,
    exact_losses,
    fresh_draws,
    noise_follows_law,
)
from wordveil.audit.sampled import Sampling, choose_pairs, choose_words, compare_points, compare_words, search_pairs
from wordveil.audit.verdict import Evidence, Verdict
from wordveil.errors import OptionError
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, Space

__all__ = ["ERROR", "Auditor", "audit"]

#: The probability that one audit finds an honest mechanism broken.
ERROR = 1e-6
_MOST_DRAWS = 10**9  # because they are counted in memory


class Auditor:
    """Audits mechanisms.

    Parameters
    ----------
    words : int
        How many words to audit.
    draws : int
        How many draws to measure each event on. A third as many choose the event.
    each : int
        How many pairs of each kind to compare by sampling.
    error : float
        The probability of finding an honest mechanism broken.
    seed : int
        Random seed for the choice of words and pairs. The draws themselves are cryptographic unless `repeat` is set.
    repeat : bool
        Whether to seed the draws as well, so that an audit gives the same figures again.
    """

    def __init__(
        self,
        *,
        words: int = 200,
        draws: int = 60_000,
        each: int = 1,
        error: float = ERROR,
        seed: int = 0,
        repeat: bool = False,
    ) -> None:
        if words < 2:
            raise OptionError("words must be 2 or more.")
        if not 1000 <= draws <= _MOST_DRAWS:
            raise OptionError(f"draws must lie between 1,000 and {_MOST_DRAWS:,}.")
        if seed < 0:
            raise OptionError("seed must be 0 or a positive whole number.")
        self.words, self.draws, self.each, self.error, self.seed = words, draws, each, error, seed
        self.entropy = Entropy(seed if repeat else None)
        # A tenth of the error each for the tests of the noise and of freshness, and the rest for the others.
        self._side, self._main = 0.1 * error, 0.8 * error

    def audit(self, name: str, space: Space, *, epsilon: float, **options: Any) -> Verdict:
        """Audit a mechanism of the registry. The arguments are those of `wordveil.mechanism`."""
        return self.examine(
            mechanism(name, space, epsilon=epsilon, **options),
            lambda smaller: mechanism(name, smaller, epsilon=epsilon, **options),
        )

    def examine(self, made: Mechanism[Any], remake: Callable[[Space], Mechanism[Any]]) -> Verdict:
        """Audit a mechanism. `remake` makes the same mechanism on a smaller space.

        If the law is exact, this audits the mechanism itself, on a sub-vocabulary and every output; an (ε, δ)
        guarantee is audited on the exact δ of pairs. Otherwise draws must be counted, so the same mechanism is made on
        the sub-vocabulary alone. It is also made where losses show that are hidden there: on its projection to two
        dimensions, because in a hundred dimensions all words are far apart, and, for a hierarchy, on its most general
        words, because all others are far apart.
        """
        started = time.perf_counter()
        ids = choose_words(made.space, self.words, self.seed)
        found = self._against(made, made.guarantee, remake, ids)
        if made.law().exact:
            found += draws_follow_law(made, ids[:: max(1, len(ids) // 4)][:4], self.draws, self._main / 2, self.entropy)
        found += noise_follows_law(made, ids, self.draws // 4, self._side, self.entropy)
        found += fresh_draws(made, ids, self._side, self.entropy)
        on_claim = [] if made.claim is None else self._against(made, made.claim, remake, ids)
        return Verdict(
            made.describe(),
            made.guarantee,
            made.claim,
            sorted(found, key=lambda evidence: -evidence.share),
            sorted(on_claim, key=lambda evidence: -evidence.share),
            self.error,
            time.perf_counter() - started,
        )

    def _against(
        self, made: Mechanism[Any], held: Guarantee, remake: Callable[[Space], Mechanism[Any]], ids: NDArray[np.int64]
    ) -> list[Evidence]:
        """Look for evidence against the guarantee or the claim."""
        is_claim = held != made.guarantee
        if held.notion is Notion.NONE:
            return []
        if held.notion is Notion.APPROXIMATE:
            if is_claim:
                return exact_deltas(made, held, nearest_pairs(made.space, ids))
            return exact_deltas(made, held, made.covered_pairs(ids)) + self._drawn(remake(made.space.restrict(ids)))
        if made.law().exact:
            return exact_losses(made, held, ids)
        found = []
        for about, space in self._smaller(made, ids):
            small = remake(space)
            found += self._sampled(small, (small.claim or held) if is_claim else small.guarantee, about)
        return found

    def _drawn(self, small: Mechanism[Any]) -> list[Evidence]:
        """Compare the drawn words of some pairs that an (ε, δ) guarantee covers."""
        held, covered = small.guarantee, small.covered_pairs(np.arange(len(small.space)))
        pairs = covered[:: max(1, len(covered) // 3)][:3]
        sampling = self._sampling(self._main / 2 / max(1, len(pairs)))
        about = f"drawn words, {len(small.space)} words"
        return [
            compare_words(small, (left, right), held, held.delta, about, sampling) for left, right in pairs.tolist()
        ]

    def _smaller(self, made: Mechanism[Any], ids: NDArray[np.int64]) -> list[tuple[str, Space]]:
        base = getattr(made.space, "base", made.space)  # for a graph: the points it was made from
        small: Space = base.restrict(ids)
        smaller = [(f"{len(ids)} words", small)]
        if isinstance(small, EuclideanSpace):
            smaller.append((f"{len(ids)} words in 2-d", small.projected(2)))
        if base.depths is not None:
            smaller.append((f"the {len(ids)} most general words", base.restrict(np.argsort(base.depths)[: len(ids)])))
        return smaller

    def _sampling(self, error: float) -> Sampling:
        return Sampling(self.draws // 3, self.draws, error, self.entropy)

    def _sampled(self, small: Mechanism[Any], held: Guarantee, where: str) -> list[Evidence]:
        allowed = partial(allowed_loss, small, held)
        groups = choose_pairs(small.space.distances(np.arange(len(small.space))), self.each, self.seed)
        groups["searched for"] = search_pairs(small, allowed, self.each + 2, 2000, self.entropy)
        count = sum(map(len, groups.values()))
        sampling = self._sampling(self._main / max(1, 4 * count))  # points and words, in this space and the other
        found = []
        for kind, pairs in groups.items():
            for pair in pairs:
                loss = float(allowed(np.array([pair[0]]), np.array([pair[1]]))[0])
                found.append(compare_words(small, pair, held, loss, f"drawn words, {where}, {kind}", sampling))
                if small.searches_points:
                    found.append(compare_points(small, pair, loss, f"noisy points, {where}, {kind}", sampling))
        return found


def audit(name: str, space: Space, *, epsilon: float, **options: Any) -> Verdict:
    """Audit a mechanism with the default options of `Auditor`.

    Examples
    --------
    >>> import wordveil
    >>> from wordveil.audit import audit
    >>> audit("ring", wordveil.load_space("glove-50k"), epsilon=0.5).verdict
    'holds'
    """
    return Auditor().audit(name, space, epsilon=epsilon, **options)
