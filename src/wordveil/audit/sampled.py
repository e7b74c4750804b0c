"""Audits by sampling: tell two inputs apart by their noisy points and drawn words as well as an attacker could.

Events are chosen on some draws and measured on others, so that the choice does not flatter the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil._mechanisms import Mechanism
from wordveil.audit.verdict import Evidence
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import Entropy
from wordveil.spaces import Space
from wordveil.spaces.space import Ids
from wordveil.stats import lower_bound, upper_bound

__all__ = [
    "Sampling",
    "choose_pairs",
    "choose_words",
    "compare_points",
    "compare_words",
    "loss_bound",
    "pairs_in_excess",
    "search_pairs",
]

SampleT = TypeVar("SampleT")
EventT = TypeVar("EventT")
Pair = tuple[int, int]


class Sampling(NamedTuple):
    """How to sample a pair."""

    chosen_on: int  # draws of each word to choose the event on
    measured_on: int  # and to measure it on
    error: float  # the probability that the bound is wrong
    entropy: Entropy


def choose_words(space: Space, words: int, seed: int = 0) -> NDArray[np.int64]:
    """Choose words to audit: half at random, and their nearest words, so that close pairs occur."""
    if len(space) <= words:
        return np.arange(len(space))
    generator = np.random.default_rng(seed)
    chosen = generator.choice(len(space), size=words // 2, replace=False)
    near = space.neighbours(np.sort(chosen), 1)[0][:, 0]
    ids = np.unique(np.concatenate([chosen, near]))
    rest = np.setdiff1d(np.arange(len(space)), ids)
    return np.sort(np.concatenate([ids, generator.choice(rest, size=words - len(ids), replace=False)]))


def choose_pairs(distances: NDArray[Any], each: int, seed: int = 0) -> dict[str, list[Pair]]:
    """Choose a few pairs: nearest words, random words, a crowded and a lonely word, and the loneliest words."""
    words = len(distances)
    if words < 2:
        return {}
    generator = np.random.default_rng(seed)
    rows = distances.astype(np.float64)
    np.fill_diagonal(rows, np.inf)
    nearest, gap = rows.argmin(axis=1), rows.min(axis=1)
    closest = np.argsort(gap, kind="stable")
    sparse = gap >= np.median(gap)
    across = np.where(sparse[:, None] != sparse[None, :], rows, np.inf)
    crossing = np.argsort(across.min(axis=1), kind="stable")
    crossing = crossing[np.isfinite(across.min(axis=1)[crossing])]
    at_random = (generator.choice(words, 2, replace=False).tolist() for _ in range(each))
    return {
        "nearest words": [(int(word), int(nearest[word])) for word in closest[: 2 * each : 2]],
        "random words": [(left, right) for left, right in at_random],
        "across densities": [(int(word), int(across[word].argmin())) for word in crossing[: 2 * each : 2]],
        "loneliest words": [(int(word), int(nearest[word])) for word in closest[::-1][:each]],
    }


def search_pairs(
    made: Mechanism[Any], allowed: Callable[[Ids, Ids], NDArray[np.float64]], count: int, draws: int, entropy: Entropy
) -> list[Pair]:
    """Look for pairs that might exceed the allowed loss: a few draws of every word, all pairs and outputs compared."""
    words = len(made.space)
    everyone = np.arange(words)
    place = np.repeat(everyone, draws)
    counts = np.bincount(place * words + made.draw(place, entropy), minlength=words * words).reshape(words, words)
    return pairs_in_excess(counts, np.array([allowed(np.full(words, word), everyone) for word in range(words)]), count)


def pairs_in_excess(counts: NDArray[np.int64], allowed: NDArray[np.float64], count: int, seen: int = 30) -> list[Pair]:
    """Return the pairs that exceed the allowed loss most on an output, from counts with words as rows.

    An output must have been `seen` this often for its ratio to mean anything. A ratio of few counts is reduced by its
    standard deviation.
    """
    words, logs, spread = len(counts), np.log(counts + 0.5), 1.0 / (counts + 0.5)
    gaps = [
        np.where(row >= seen, log - logs - np.sqrt(wide + spread), -np.inf).max(axis=1)
        for row, log, wide in zip(counts, logs, spread, strict=True)
    ]
    excess = np.array(gaps) - allowed
    np.fill_diagonal(excess, -np.inf)
    excess[np.isnan(excess)] = -np.inf
    order = np.argsort(-excess, axis=None, kind="stable")[:count]
    return [(int(spot // words), int(spot % words)) for spot in order if np.isfinite(excess.flat[spot])]


def loss_bound(
    left: ArrayLike, right: ArrayLike, draws: tuple[int, int], error: float, delta: float = 0.0
) -> NDArray[np.float64]:
    """Return lower bounds on ``ln((Pr[left]-δ)/Pr[right])`` from hits; each is wrong with at most twice the error."""
    with np.errstate(divide="ignore"):
        likelier = np.maximum(lower_bound(left, draws[0], error) - delta, 0.0)
        return np.log(likelier) - np.log(upper_bound(right, draws[1], error))


class _Event(NamedTuple):
    """A half-line of one statistic: at least, or at most, a threshold."""

    statistic: int
    threshold: float
    at_least: bool

    def count(self, statistics: list[NDArray[np.float64]]) -> int:
        """Return how many samples lie in the event."""
        values = statistics[self.statistic]
        return int((values >= self.threshold if self.at_least else values <= self.threshold).sum())


def compare_points(made: Mechanism[Any], pair: Pair, allowed: float, about: str, sampling: Sampling) -> Evidence:
    """Tell two words apart by their noisy points.

    The statistics are the point's distances from both words and their difference. For noise that falls with distance,
    the difference is the log-ratio itself.
    """
    left, right = pair

    def statistics(word: int, count: int) -> list[NDArray[np.float64]]:
        points = made.perturb(np.full(count, word), sampling.entropy)
        ours = made.space.apart(points, np.full(count, left))
        theirs = made.space.apart(points, np.full(count, right))
        return [theirs - ours, ours, theirs]

    def bound(ours: int, theirs: int) -> float:
        return float(loss_bound(ours, theirs, (sampling.measured_on,) * 2, sampling.error / 4))

    choose = partial(_best_threshold, error=sampling.error)
    found, event, told = _tell_apart(pair, statistics, choose, _Event.count, bound, sampling)
    what = ("difference of distances", "distance from the first", "distance from the second")[event.statistic]
    where = f"{what} {'≥' if event.at_least else '≤'} {event.threshold:.4g}"
    return _evidence(made, told, allowed, found, about, where)


def compare_words(
    made: Mechanism[Any], pair: Pair, held: Guarantee, allowed: float, about: str, sampling: Sampling
) -> Evidence:
    """Tell two words apart by the drawn words: by the best single output or set of outputs.

    For an (ε, δ) guarantee, what is measured and allowed is δ: a lower bound on ``Pr[left] - e^ε·Pr[right]``.
    """
    of_delta = held.notion is Notion.APPROXIMATE

    def counts(word: int, count: int) -> NDArray[np.int64]:
        return np.bincount(made.draw(np.full(count, word), sampling.entropy), minlength=len(made.space))

    def bound(ours: ArrayLike, theirs: ArrayLike, count: int, risk: float) -> NDArray[np.float64]:
        if of_delta:
            factor = math.exp(min(held.epsilon, 700.0))
            return lower_bound(ours, count, risk) - factor * upper_bound(theirs, count, risk)
        return loss_bound(ours, theirs, (count, count), risk)

    def choose(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> NDArray[np.int64]:
        order = np.argsort(-(ours + 0.5) / (theirs + 0.5), kind="stable")
        # Sets of the first outputs by their ratio, and every single output.
        sets = bound(np.cumsum(ours[order]), np.cumsum(theirs[order]), sampling.chosen_on, sampling.error)
        singles = bound(ours, theirs, sampling.chosen_on, sampling.error)
        return order[: int(sets.argmax()) + 1] if sets.max() >= singles.max() else np.array([int(singles.argmax())])

    found, chosen, told = _tell_apart(
        pair,
        counts,
        choose,
        lambda outputs, seen: int(seen[outputs].sum()),
        lambda ours, theirs: float(bound(ours, theirs, sampling.measured_on, sampling.error / 4)),
        sampling,
    )
    output = made.space.vocabulary[int(chosen[0])] if len(chosen) == 1 else f"a set of {len(chosen)} words"
    return _evidence(made, told, allowed, found, about, output, "delta" if of_delta else "loss")


def _tell_apart(
    pair: Pair,
    sample: Callable[[int, int], SampleT],
    choose: Callable[[SampleT, SampleT], EventT],
    count: Callable[[EventT, SampleT], int],
    bound: Callable[[int, int], float],
    sampling: Sampling,
) -> tuple[float, EventT, Pair]:
    """Return the best bound, its event, and the pair in the direction for which it holds."""
    train = [sample(word, sampling.chosen_on) for word in pair]
    test = [sample(word, sampling.measured_on) for word in pair]
    found = []
    for way in (0, 1):
        event = choose(train[way], train[1 - way])
        found.append((bound(count(event, test[way]), count(event, test[1 - way])), event, (pair, pair[::-1])[way]))
    return max(found, key=lambda one: one[0])


def _best_threshold(left: list[NDArray[np.float64]], right: list[NDArray[np.float64]], error: float) -> _Event:
    """Choose the statistic and the cut that tell two samples apart best."""
    best, top = _Event(0, np.inf, at_least=True), -np.inf
    for number, samples in enumerate(zip(left, right, strict=True)):
        ours, theirs = map(np.sort, samples)
        draws = (len(ours), len(theirs))
        levels = np.geomspace(10 / len(ours), 0.5, 24)
        cuts = np.unique(np.quantile(ours, np.clip(np.concatenate([levels, 1 - levels]), 0, 1)))
        for at_least in (True, False):
            side: Literal["left", "right"] = "left" if at_least else "right"
            below = np.searchsorted(ours, cuts, side=side), np.searchsorted(theirs, cuts, side=side)
            hits = [draws[i] - below[i] if at_least else below[i] for i in (0, 1)]
            bounds = loss_bound(hits[0], hits[1], draws, error)
            place = int(bounds.argmax())
            if bounds[place] > top:
                best, top = _Event(number, float(cuts[place]), at_least), float(bounds[place])
    return best


def _evidence(
    made: Mechanism[Any], pair: Pair, allowed: float, bound: float, about: str, output: str, quantity: str = "loss"
) -> Evidence:
    words = made.space.vocabulary
    distance = float(made.space.distances(np.array([pair[0]]))[0, pair[1]])
    return Evidence(about, words[pair[0]], words[pair[1]], distance, allowed, max(bound, 0.0), quantity, output)
