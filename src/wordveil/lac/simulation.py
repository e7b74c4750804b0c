"""What shuffling is worth for any number of users: the central ε, and the error of a recovered histogram.

Nothing is drawn, so a billion users cost no more than a thousand. The error is the expected total variation distance
between the recovered and the true frequencies, from the exact variance of the unbiased estimate: an estimate with
standard error σ is off by ``σ·√(2/π)`` on average. Every user gives one word and nothing else, so all records have one
shape. Three ways are compared:

- no privacy: the users' words are counted as they are;
- shuffled: each word is drawn by the mechanism and the records are shuffled, which guarantees some central ε;
- local only: the mechanism alone must guarantee that same ε, so it draws from farther away.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.errors import OptionError
from wordveil.extras import check_can_draw, new_figure, save
from wordveil.lac.account import Account
from wordveil.lac.records import Crowd
from wordveil.lac.recovery import dense_law
from wordveil.stats import Facts

DECADES = tuple(10**power for power in range(3, 10))


@dataclass(frozen=True)
class Point(Facts):
    """The figures for one number of users.

    Attributes
    ----------
    users : int
        How many users give a word each.
    local_epsilon : float
        The ε₀ of each word, from the exact law, which holds even if the shuffler is not trusted.
    central_epsilon : float
        The ε after shuffling.
    no_privacy, shuffled, local_only : float
        The expected total variation distance of the recovered frequencies from the true ones; 1 if nothing is learnt.
    """

    users: int
    local_epsilon: float
    central_epsilon: float
    no_privacy: float
    shuffled: float
    local_only: float


def zipfian(words: int) -> NDArray[np.float64]:
    """Return frequencies proportional to one over the rank, as those of words are (Zipf's law)."""
    frequencies = 1.0 / np.arange(1, words + 1)
    return np.asarray(frequencies / frequencies.sum())


def simulate(
    make: Callable[[float], Mechanism[Any]],
    epsilon: float,
    *,
    users: Iterable[int] = DECADES,
    delta: float = 1e-6,
    per_user: int = 1,
) -> list[Point]:
    """Compute the figures for several numbers of users, whose words follow Zipf's law.

    Parameters
    ----------
    make : callable
        Makes the mechanism at an ε per unit of distance; its probabilities must be exact.
    epsilon : float
        The ε per unit at which the shuffled words are drawn.
    users : iterable of int
        The numbers of users.
    """
    law = dense_law(make(epsilon))
    local = exact_epsilon(law)
    if not math.isfinite(local):
        raise OptionError("some outputs are impossible for some words, so there is no finite local ε₀ to amplify.")
    truth = zipfian(len(law))
    points = []
    for count in users:
        held = Account(local, Crowd(count), delta, per_user).shuffled().guarantees()[0]
        same = epsilon * min(held.epsilon / (per_user * local), 1.0)
        points.append(
            Point(
                count,
                local,
                held.epsilon,
                expected_error(truth, np.eye(len(truth)), count),
                expected_error(truth, law, count),
                expected_error(truth, dense_law(make(same)), count),
            )
        )
    return points


def exact_epsilon(law: NDArray[np.float64]) -> float:
    """Return the largest log-ratio between any two words, over every output."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(np.log(law.max(axis=0) / law.min(axis=0))))


def expected_error(truth: NDArray[np.float64], law: NDArray[np.float64], records: int) -> float:
    """Return the expected total variation distance of frequencies recovered with the inverse; at most 1.

    Words are drawn from the frequencies `truth`, and `law` has a row ``Pr[M(w)=u]`` for each input word.
    """
    try:
        inverse = np.linalg.inv(law)
    except np.linalg.LinAlgError:
        return 1.0
    variance = np.maximum((truth @ law) @ inverse**2 - truth**2, 0.0) / records
    return float(min(1.0, 0.5 * np.sqrt(2.0 / math.pi) * np.sqrt(variance).sum()))


def save_figure(points: Sequence[Point], path: Path) -> None:
    """Plot the central ε and the errors over the number of users."""
    check_can_draw()
    figure = new_figure(9.0, 3.6)
    left, right = figure.subplots(1, 2)
    users = [point.users for point in points]
    left.loglog(users, [point.central_epsilon for point in points], marker="o", label="shuffled")
    left.loglog(
        users, [point.local_epsilon for point in points], linestyle="--", label="if the shuffler is not trusted"
    )
    left.set(xlabel="users", ylabel="ε", title="Guarantee")
    left.legend()
    for name in ("no_privacy", "shuffled", "local_only"):
        right.loglog(users, [getattr(point, name) for point in points], marker="o", label=name.replace("_", " "))
    right.set(xlabel="users", ylabel="total variation distance", title="Error of the recovered frequencies")
    right.legend()
    save(figure, path)
