"""The audit of one mechanism, from its name."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import ExponentialMechanism, Gaussian, Mechanism, NoiseMechanism, mechanism
from wordveil._mechanisms.gaussian_noise import GaussianNoise
from wordveil._mechanisms.nadp import Nadp
from wordveil.audit.exact import exact_deltas, exact_losses, law_of_draws, law_of_noise, law_of_radius
from wordveil.audit.freshness import fresh_draws
from wordveil.audit.pairs import interesting_pairs, sub_vocabulary
from wordveil.audit.sampled import compare_points, compare_words, search_pairs
from wordveil.audit.verdict import Evidence, Verdict
from wordveil.errors import WordveilError
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import Entropy, delta_between
from wordveil.spaces import EuclideanSpace, PoincareSpace, Space, Vocabulary
from wordveil.spaces.space import Ids

__all__ = ["ERROR", "Auditor", "audit"]

#: The probability with which one audit convicts an honest mechanism.
ERROR = 1e-6
_MOST_DRAWS = 10**9  # what counts them is held in memory


class Auditor:
    """Audits mechanisms.

    Parameters
    ----------
    words : int
        How many words the audited sub-vocabulary has.
    draws : int
        How many draws measure each event; a third as many choose it.
    each : int
        How many pairs of each kind are compared by sampling.
    error : float
        The probability that an honest mechanism is convicted.
    seed : int
        Fixes which words and pairs are looked at. The draws themselves are cryptographic unless `repeat` is set.
    repeat : bool
        Seed the draws as well, so that an audit gives the same figures again.
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
            raise WordveilError("an audit needs at least 2 words.")
        if not 1000 <= draws <= _MOST_DRAWS:
            raise WordveilError(f"an audit needs at least 1000 draws, and takes at most {_MOST_DRAWS:,}.")
        if seed < 0:
            raise WordveilError("the seed must be a whole number from 0 on.")
        self.words, self.draws, self.each, self.error, self.seed = words, draws, each, error, seed
        self.entropy = Entropy(seed if repeat else None)
        # The tests of the radius and of freshness have a tenth of the error each, the others what is left.
        self._side, self._main = 0.1 * error, 0.8 * error

    def audit(self, name: str, space: Space, *, epsilon: float, **options: Any) -> Verdict:
        """Audit a mechanism of the registry, given as to `wordveil.mechanism`."""
        return self.examine(
            mechanism(name, space, epsilon=epsilon, **options),
            lambda smaller: mechanism(name, smaller, epsilon=epsilon, **options),
        )

    def examine(self, made: Mechanism[Any], remake: Callable[[Space], Mechanism[Any]]) -> Verdict:
        """Audit a mechanism; `remake` makes the same mechanism on a smaller space.

        Where the law is known, the mechanism itself is audited, on the words of a sub-vocabulary and every output.
        Where draws must be counted, the same mechanism is made on that sub-vocabulary alone, and once more where losses
        show that are hidden there: on its projection to two dimensions, since in a hundred all words are far apart;
        of a Poincaré space, on the words nearest to the origin, since all others are far apart.
        """
        started = time.perf_counter()
        ids = sub_vocabulary(made.space, self.words, self.seed)
        claim = made.claim
        on_promise: list[Evidence] = []
        on_claim: list[Evidence] = []
        if isinstance(made, ExponentialMechanism):
            on_promise += exact_losses(made, ids)
            on_promise += law_of_draws(made, ids[:: max(1, len(ids) // 4)][:4], self.draws, self._main, self.entropy)
        elif isinstance(made, GaussianNoise):
            on_promise += self._gaussian(made, made.guarantee, ids)
            on_promise += law_of_noise(made, ids, self.draws // 4, self._main / 2, self.entropy)
            on_promise += self._drawn_words(remake(made.space.restrict(ids)))
            if claim is not None:
                on_claim += self._gaussian(made, claim, ids)
        else:
            for about, space in self._smaller(made, ids):
                small = remake(space)
                if claim is None:
                    on_promise += self._sampled(small, small.guarantee, about)
                else:
                    on_claim += self._sampled(small, small.claim or claim, about)
        on_promise += law_of_radius(made, ids, self.draws // 4, self._side, self.entropy)
        on_promise += fresh_draws(made, ids, self._side, self.entropy)
        return Verdict(
            made.describe(),
            made.guarantee,
            claim,
            _strongest_first(on_promise),
            _strongest_first(on_claim),
            self.error,
            time.perf_counter() - started,
        )

    def _gaussian(self, made: GaussianNoise, held: Guarantee, ids: NDArray[np.int64]) -> list[Evidence]:
        """Hold the exact δ of pairs against a promise that covers them."""
        near = made.space.neighbours(ids, 1)[0]
        pairs = [(int(word), int(other)) for word, other in zip(ids, near[:, 0], strict=True)]
        if isinstance(made, Nadp) and held == made.guarantee:
            edges = made.pairs[:: max(1, len(made.pairs) // 500)]
            return exact_deltas(made, [(int(a), int(b)) for a, b in edges], held, "words joined by an edge")
        if isinstance(made, Nadp):
            alone = set(made.alone.tolist())
            lone = [pair for pair in pairs if pair[0] in alone]
            return exact_deltas(made, lone, held, "lone words and their nearest words")
        reach = getattr(made, "reach", np.inf)
        distance = made.space.apart(made.space.points(ids), near[:, 0])
        covered = [pair for pair, apart in zip(pairs, distance, strict=True) if apart <= reach]
        found = exact_deltas(made, covered, held, "words and their nearest words")
        if isinstance(made, Gaussian):
            found.append(_at_the_edge(made, int(ids[0])))
        return found

    def _drawn_words(self, small: Mechanism[Any]) -> list[Evidence]:
        """Compare the words drawn for pairs that an (ε, δ) promise covers."""
        held = small.guarantee
        if held.notion is not Notion.APPROXIMATE or len(small.space) < 2:
            return []
        pairs = interesting_pairs(small.space, 1, self.seed)["nearest words"]
        if isinstance(small, Nadp):
            pairs = [(int(left), int(right)) for left, right in small.pairs[:3]]
        elif isinstance(small, Gaussian):
            distance = small.space.apart(
                small.space.points(np.array([pair[0] for pair in pairs])), np.array([pair[1] for pair in pairs])
            )
            pairs = [pair for pair, apart in zip(pairs, distance, strict=True) if apart <= small.reach]
        draws, error = (self.draws // 3, self.draws), self._main / 2 / max(1, len(pairs))
        about = f"drawn words, {len(small.space)} words"
        return [compare_words(small, pair, held, held.delta, about, draws, error, self.entropy) for pair in pairs]

    def _smaller(self, made: Mechanism[Any], ids: NDArray[np.int64]) -> list[tuple[str, Space]]:
        base = getattr(made.space, "base", made.space)
        small: Space = base.restrict(ids)
        smaller = [(f"{len(ids)} words", small)]
        if isinstance(small, EuclideanSpace):
            smaller.append((f"{len(ids)} words in 2-d", _flat(small)))
        if isinstance(base, PoincareSpace):
            smaller.append((f"the {len(ids)} most general words", base.restrict(np.argsort(base.radii)[: len(ids)])))
        return smaller

    def _sampled(self, small: Mechanism[Any], held: Guarantee, where: str) -> list[Evidence]:
        if held.notion is not Notion.METRIC:
            return []
        allowed = partial(_allowed, small, held)
        groups = dict(interesting_pairs(small.space, self.each, self.seed))
        groups["searched for"] = search_pairs(small, allowed, self.each + 2, 2000, self.entropy)
        count = sum(map(len, groups.values()))
        error = self._main / max(1, 4 * count)  # points and words, here and in the other space
        draws = (self.draws // 3, self.draws)
        found = []
        for kind, pairs in groups.items():
            for pair in pairs:
                loss = float(allowed(np.array([pair[0]]), np.array([pair[1]]))[0])
                words = f"drawn words, {where}, {kind}"
                found.append(compare_words(small, pair, held, loss, words, draws, error, self.entropy))
                if isinstance(small, NoiseMechanism):
                    points = f"noisy points, {where}, {kind}"
                    found.append(compare_points(small, pair, loss, points, draws, error, self.entropy))
        return found


def _allowed(made: Mechanism[Any], held: Guarantee, left: Ids, right: Ids) -> NDArray[np.float64]:
    """Return the largest loss that a promise, or a claim, allows between the words of each pair."""
    if held == made.guarantee:
        return made.allowed_loss(left, right)
    words, row = np.unique(left, return_inverse=True)
    return np.array([held.loss(distance) for distance in made.space.distances(words)[row, right].tolist()])


def _at_the_edge(made: Gaussian, word: int) -> Evidence:
    """Compute the exact δ at the largest distance that is covered."""
    deviation, name = float(made.deviations[word]), made.space.vocabulary[word]
    delta = delta_between(made.space.dimension, made.reach, deviation, deviation, made.epsilon)
    about = "two words as far apart as is covered"
    return Evidence(about, name, name, made.reach, made.delta, delta, "delta", "a half-space", exact=True)


def _strongest_first(found: list[Evidence]) -> list[Evidence]:
    return sorted(found, key=lambda evidence: -evidence.share)


def _flat(space: EuclideanSpace) -> EuclideanSpace:
    """Project a space onto the two directions in which its words vary most, at the scale of its nearest words."""
    centred = space.matrix - space.matrix.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    flat = centred @ axes.T
    if flat.shape[1] < 2:
        return space
    return EuclideanSpace(f"{space.name} in 2-d", Vocabulary(space.vocabulary.words), flat.astype(np.float32))


def audit(name: str, space: Space, *, epsilon: float, **options: Any) -> Verdict:
    """Audit a mechanism with the usual settings.

    Examples
    --------
    >>> import wordveil
    >>> from wordveil.audit import audit
    >>> audit("ring", wordveil.load_space("glove-50k"), epsilon=0.5).verdict
    'holds'
    """
    return Auditor().audit(name, space, epsilon=epsilon, **options)
