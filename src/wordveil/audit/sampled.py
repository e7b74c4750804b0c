"""Audits by sampling: noisy points and drawn words of two inputs, told apart as well as an attacker could."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism, NoiseMechanism
from wordveil.audit.bounds import choose_threshold, loss_bound, lower, upper
from wordveil.audit.verdict import Evidence
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import Entropy
from wordveil.spaces.space import Ids

__all__ = ["compare_points", "compare_words", "search_pairs"]


def compare_points(
    mechanism: NoiseMechanism[Any],
    pair: tuple[int, int],
    allowed: float,
    about: str,
    draws: tuple[int, int],
    error: float,
    entropy: Entropy,
) -> Evidence:
    """Tell two words apart by their noisy points.

    The statistics are the point's distances from either word and their difference, which for noise that falls with the
    distance is the log-ratio itself. The event is chosen on the first `draws` and measured on the second.
    """
    left, right = pair

    def statistics(word: int, count: int) -> list[NDArray[np.float64]]:
        points = mechanism.perturb(np.full(count, word), entropy)
        ours = mechanism.space.apart(points, np.full(count, left))
        theirs = mechanism.space.apart(points, np.full(count, right))
        return [theirs - ours, ours, theirs]

    best = None
    train = statistics(left, draws[0]), statistics(right, draws[0])
    test = statistics(left, draws[1]), statistics(right, draws[1])
    for way in (0, 1):
        event, _ = choose_threshold(train[way], train[1 - way], error)
        hits = event.count(test[way]), event.count(test[1 - way])
        bound = float(loss_bound(np.array(hits[0]), np.array(hits[1]), (draws[1], draws[1]), error / 4))
        if best is None or bound > best[0]:
            best = bound, event, way
    assert best is not None  # noqa: S101 - there are two ways
    bound, event, way = best
    what = ("difference of distances", "distance from the first", "distance from the second")[event.statistic]
    where = f"{what} {'≥' if event.at_least else '≤'} {event.threshold:.4g}"
    return _evidence(mechanism, (pair, pair[::-1])[way], allowed, bound, about, where)


def compare_words(
    mechanism: Mechanism[Any],
    pair: tuple[int, int],
    held: Guarantee,
    allowed: float,
    about: str,
    draws: tuple[int, int],
    error: float,
    entropy: Entropy,
) -> Evidence:
    """Tell two words apart by the words drawn: the best single output or set of outputs, measured on fresh draws.

    For an (ε, δ) promise what is measured, and allowed, is δ: how much ``Pr[left] - e^ε·Pr[right]`` is at least.
    """
    words = len(mechanism.space)

    def counts(word: int, count: int) -> NDArray[np.int64]:
        return np.bincount(mechanism.draw(np.full(count, word), entropy), minlength=words)

    def bound(ours: NDArray[Any], theirs: NDArray[Any], count: int, risk: float) -> NDArray[np.float64]:
        if held.notion is Notion.APPROXIMATE:
            return lower(ours, count, risk) - math.exp(min(held.epsilon, 700.0)) * upper(theirs, count, risk)
        return loss_bound(ours, theirs, (count, count), risk)

    train = [counts(word, draws[0]) for word in pair]
    test = [counts(word, draws[1]) for word in pair]
    best = None
    for way in (0, 1):
        ours, theirs = train[way], train[1 - way]
        order = np.argsort(-(ours + 0.5) / (theirs + 0.5), kind="stable")
        # Sets that take the outputs in order of their ratio, and every single output.
        sets = bound(np.cumsum(ours[order]), np.cumsum(theirs[order]), draws[0], error)
        singles = bound(ours, theirs, draws[0], error)
        best_set, best_single = order[: int(sets.argmax()) + 1], np.array([int(singles.argmax())])
        chosen = best_set if sets.max() >= singles.max() else best_single
        hits = test[way][chosen].sum(), test[1 - way][chosen].sum()
        found = float(bound(hits[0], hits[1], draws[1], error / 4))
        if best is None or found > best[0]:
            best = found, chosen, way
    assert best is not None  # noqa: S101 - there are two ways
    found, chosen, way = best
    output = mechanism.space.vocabulary[int(chosen[0])] if len(chosen) == 1 else f"a set of {len(chosen)} words"
    quantity = "delta" if held.notion is Notion.APPROXIMATE else "loss"
    return _evidence(mechanism, (pair, pair[::-1])[way], allowed, found, about, output, quantity)


def search_pairs(
    mechanism: Mechanism[Any],
    allowed: Callable[[Ids, Ids], NDArray[np.float64]],
    count: int,
    draws: int,
    entropy: Entropy,
) -> list[tuple[int, int]]:
    """Look for pairs that might exceed the allowed loss: few draws of every word, all pairs and outputs compared."""
    words = len(mechanism.space)
    place = np.repeat(np.arange(words), draws)
    drawn = mechanism.draw(place, entropy)
    counts = np.bincount(place * words + drawn, minlength=words * words).reshape(words, words)
    logs = np.log(counts + 0.5)
    everyone = np.arange(words)
    excess = np.full((words, words), -np.inf)
    for word in range(words):
        # An output must have been seen often enough for its ratio to mean something.
        gaps = np.where(counts[word] >= 30, logs[word] - logs, -np.inf).max(axis=1)
        excess[word] = gaps - allowed(np.full(words, word), everyone)
    np.fill_diagonal(excess, -np.inf)
    excess[np.isnan(excess)] = -np.inf
    order = np.argsort(-excess, axis=None, kind="stable")[:count]
    return [(int(spot // words), int(spot % words)) for spot in order if np.isfinite(excess.flat[spot])]


def _evidence(
    mechanism: Mechanism[Any],
    pair: tuple[int, int],
    allowed: float,
    bound: float,
    about: str,
    output: str,
    quantity: str = "loss",
) -> Evidence:
    words = mechanism.space.vocabulary
    distance = float(mechanism.space.distances(np.array([pair[0]]))[0, pair[1]])
    return Evidence(about, words[pair[0]], words[pair[1]], distance, allowed, max(bound, 0.0), quantity, output)
