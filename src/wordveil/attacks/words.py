"""Optimal Bayesian inference, one word at a time.

The attacker knows the mechanism and a public prior. From an output ``y`` they compute the posterior ``Pr[w|y] ∝
π(w)·Pr[M(w)=y]`` and make two guesses: the likeliest word, which is right most often, and the word with the least
expected distance from the original, which is nearest on average. They ignore context; `attack_sentences` uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Effort, Law, Mechanism
from wordveil.attacks.knowledge import Guesses, Prior
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.progress import Watch, ignore, run_watched
from wordveil.reading.places import Words
from wordveil.spaces import Space
from wordveil.stats import Estimate
from wordveil.text import Once

_CELLS = 1 << 21
_COLUMNS = 1 << 27  # entries of a table of outputs and suspects: 1 GiB


@dataclass(frozen=True)
class WordAttack(Guesses):
    """How well words are guessed one at a time, without context; see also `Guesses`.

    Attributes
    ----------
    kept : Estimate
        How often the output is the original.
    best : Estimate
        How often the likeliest word is right.
    central : Estimate
        How often the word with the least expected distance is right.
    kept_distance, best_distance, central_distance : Estimate
        The mean distance of the output and of the two guesses from the original.
    unit : str
        The unit of the distance.
    """

    kept: Estimate
    best: Estimate
    central: Estimate
    kept_distance: Estimate
    best_distance: Estimate
    central_distance: Estimate
    unit: str


def attack_words(
    mechanism: Mechanism[Any],
    words: Words,
    prior: Prior,
    *,
    tokens: int = 2000,
    draws: int = 200_000,
    once: bool = True,
    entropy: Entropy | None = None,
    watch: Watch = ignore,
) -> WordAttack:
    """Veil words of a text and guess each of them from its output.

    With `once`, equal words of a record are drawn once. See `wordveil.attacks` for the other parameters.
    """
    learning, veiling, choosing = (entropy or Entropy()).spawn(3)
    places = words.sample_targets(tokens, choosing)
    originals, record = words.ids[places], words.records[places]
    outputs = (
        Once("record").words(mechanism, originals, np.arange(1, len(originals) + 1), record, (), veiling).each
        if once
        else mechanism.draw(originals, veiling)
    )
    seen, place = np.unique(outputs, return_inverse=True)
    prior = prior.including(seen)
    law = mechanism.law(Effort(column_draws=draws, seed=int(learning.generator.integers(1 << 62))), watch)
    best, central = _guesses(law, mechanism.space, prior, seen, watch)
    guesses = {"kept": outputs, "best": best[place], "central": central[place]}
    right = {name: Estimate.share_within(guess == originals, record) for name, guess in guesses.items()}
    away = _distances(mechanism.space, originals, guesses)
    return WordAttack(
        prior=prior.name,
        exact=law.exact,
        suspects=len(prior.ids),
        beyond=Estimate.share_within(~np.isin(originals, prior.ids), record),
        blind=Estimate.share_within(originals == prior.likeliest, record),
        **right,
        **{f"{name}_distance": Estimate.mean(distances) for name, distances in away.items()},
        unit=mechanism.space.unit,
    )


def _guesses(
    law: Law, space: Space, prior: Prior, outputs: NDArray[np.int64], watch: Watch
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the likeliest suspect and the one with the least expected distance, for each output."""
    best, central = np.empty(len(outputs), dtype=np.int64), np.empty(len(outputs), dtype=np.int64)
    for part in blocks(len(outputs), max(1, _COLUMNS // len(prior.ids))):
        belief = law.log_columns(outputs[part], prior.ids, prior=np.exp(prior.logs), watch=watch)
        belief += prior.logs
        belief -= belief.max(axis=1, keepdims=True)
        np.exp(belief, out=belief)
        belief /= belief.sum(axis=1, keepdims=True)
        best[part] = prior.ids[belief.argmax(axis=1)]
        central[part] = prior.ids[_least_distance(space, prior.ids, belief, watch)]
    return best, central


def _least_distance(
    space: Space, suspects: NDArray[np.int64], belief: NDArray[np.floating[Any]], watch: Watch
) -> NDArray[np.int64]:
    """Return the index of the suspect with the least expected distance from the original, for each row of beliefs."""
    parts = list(blocks(len(suspects), max(1, _CELLS // len(space))))
    light = belief.T.astype(np.float32)

    def measure(part: slice) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        expected = space.distances(suspects[part])[:, suspects].astype(np.float32) @ light
        return np.asarray(expected.min(axis=0)), expected.argmin(axis=0) + part.start

    found = run_watched(measure, parts, "weighing distances", watch)
    block = np.stack([least for least, _ in found]).argmin(axis=0)
    return np.asarray(np.stack([row for _, row in found])[block, np.arange(len(belief))])


def _distances(
    space: Space, originals: NDArray[np.int64], guesses: dict[str, NDArray[np.int64]]
) -> dict[str, NDArray[np.float64]]:
    """Return the distance of each guess from its original."""
    found = {name: np.empty(len(originals)) for name in guesses}
    distinct, place = np.unique(originals, return_inverse=True)
    for part in blocks(len(distinct), max(1, _CELLS // len(space))):
        rows = space.distances(distinct[part])
        here = np.flatnonzero((place >= part.start) & (place < part.stop))
        for name, guess in guesses.items():
            found[name][here] = rows[place[here] - part.start, guess[here]]
    return found
