"""Does the time of a draw reveal the word? ``python -m benchmarks.timing``.

For each of several words one draw is timed many times, in turns, so that other work on the machine affects all words
alike. Prints how far the words' median times are apart, and how often an observer who knows those medians names the
right word from the time of one more draw, compared with guessing.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray

from wordveil import load_space, mechanism
from wordveil.text import Veil

__all__ = ["leak", "main", "times"]

_KINDS = (("graph", 3.0), ("ring", 0.3), ("exponential", 3.0), ("truncated", 3.0), ("laplace", 10.0), ("vickrey", 10.0))


def times(draw: object, cases: list[object], rounds: int) -> NDArray[np.float64]:
    """Time a call for each case, in a new order each round. Returns microseconds, a row for each round."""
    assert callable(draw)
    spent = np.empty((rounds, len(cases)))
    generator = np.random.default_rng(0)
    for case in cases:
        draw(case)
    for turn in range(rounds):
        for place in generator.permutation(len(cases)).tolist():
            started = time.perf_counter_ns()
            draw(cases[place])
            spent[turn, place] = (time.perf_counter_ns() - started) / 1000.0
    return spent


def leak(spent: NDArray[np.float64]) -> tuple[float, float]:
    """Return how often the case is named correctly from one time, and how often a guess would be correct.

    Half of the rounds teach the observer the median of each case. They then name the case with the nearest median.
    """
    rounds, cases = spent.shape
    medians = np.median(spent[: rounds // 2], axis=0)
    named = np.abs(spent[rounds // 2 :, :, None] - medians).argmin(axis=2)
    return float((named == np.arange(cases)).mean()), 1.0 / cases


def main() -> None:
    """Time single draws of each mechanism and texts of each kind, and print what the times reveal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=60)
    arguments = parser.parse_args()
    space = load_space("glove-50k")
    ids = np.linspace(50, 40_000, arguments.words).astype(np.int64)
    print(f"{'what is timed':<42} {'median':>9} {'fastest':>9} {'slowest':>9} {'named right':>11} {'by guessing':>11}")
    cases: list[object] = [np.array([word]) for word in ids]
    for name, epsilon in _KINDS:
        made = mechanism(name, space, epsilon=epsilon)
        _show(f"{name}: one of {len(ids)} words, drawn alone", times(made.draw, cases, arguments.rounds))
    veil = Veil(mechanism("graph", space, epsilon=6.0), select="all")
    words = [space.vocabulary[int(word)] for word in ids]
    texts = {
        "a word in or out of the vocabulary": ["harbour", "zyqxcanary"],
        "a word or a number out of it": ["zyqxcanary", "918273645"],
        "100 words, all different or all the same": [" ".join((words * 100)[:100]), " ".join(words[:1] * 100)],
    }
    for about, two in texts.items():
        _show(f"Veil: {about}", times(veil, list(two), 4 * arguments.rounds))


def _show(about: str, spent: NDArray[np.float64]) -> None:
    medians = np.median(spent, axis=0)
    right, guess = leak(spent)
    print(f"{about:<42} {np.median(medians):>7,.0f}µs {medians.min():>7,.0f}µs {medians.max():>7,.0f}µs "
          f"{right:>11.1%} {guess:>11.1%}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
