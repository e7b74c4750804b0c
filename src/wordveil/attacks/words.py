"""Optimal Bayesian inference, a word at a time.

The adversary knows the mechanism and a public prior. From an output ``y`` he computes the posterior ``Pr[w|y] ∝
π(w)·Pr[M(w)=y]`` and makes two guesses: the likeliest word, which is right most often, and the word of least expected
distance from the original, which is nearest on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.attacks.intervals import Mean, Rate, plain
from wordveil.attacks.likelihood import Likelihood, likelihood_of
from wordveil.attacks.priors import Prior
from wordveil.attacks.watching import run_watched
from wordveil.attacks.wordlists import Words
from wordveil.errors import WordveilError
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.progress import Watch, ignore
from wordveil.spaces import Space

__all__ = ["WordAttack", "attack_words"]

_CELLS = 1 << 21
_COLUMNS = 1 << 27  # entries of a table of suspects and outputs: 1 GiB


@dataclass(frozen=True)
class WordAttack:
    """How well words are guessed one by one.

    Attributes
    ----------
    prior : str
        What was known of words beforehand.
    exact : bool
        Whether the guesses are the best there are; otherwise they were learnt from draws, and the best may be better.
    suspects : int
        Among how many words the original was looked for.
    beyond : Rate
        The share of the words that are none of the suspects, so that no guess can be right: with more suspects the
        best guess can gain no more than this.
    blind : Rate
        How often the likeliest word of the prior is right, for whoever sees nothing.
    kept : Rate
        How often the output is the original.
    best : Rate
        How often the likeliest word is right.
    central : Rate
        How often the word of least expected distance is right.
    kept_distance, best_distance, central_distance : Mean
        How far the output and the two guesses are from the original.
    unit : str
        One unit of the distance.
    """

    prior: str
    exact: bool
    suspects: int
    beyond: Rate
    blind: Rate
    kept: Rate
    best: Rate
    central: Rate
    kept_distance: Mean
    best_distance: Mean
    central_distance: Mean
    unit: str

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return plain(vars(self))


def attack_words(
    mechanism: Mechanism[Any],
    words: Words,
    prior: Prior,
    *,
    tokens: int = 2000,
    draws: int = 200_000,
    entropy: Entropy | None = None,
    watch: Watch = ignore,
) -> WordAttack:
    """Veil words of a text and guess each of them from its replacement.

    Parameters
    ----------
    mechanism : Mechanism
        What veils.
    words : Words
        The text's words.
    prior : Prior
        What the adversary knows of words. The outputs that he sees join the suspects.
    tokens : int
        How many words of the text to attack, drawn at random; all if there are fewer.
    draws : int
        How many words the adversary veils himself to learn the mechanism, where it does not state its probabilities.
    entropy : Entropy, optional
        Where all randomness comes from.
    watch : callable
        Told how far it is.
    """
    learning, veiling, choosing = (entropy or Entropy()).spawn(3)
    originals = words.ids[_sample_targets(words, tokens, choosing)]
    outputs = mechanism.draw(originals, veiling)
    seen, place = np.unique(outputs, return_inverse=True)
    prior = prior.including(seen)
    likelihood = likelihood_of(mechanism, prior, draws=draws, entropy=learning, watch=watch)
    best, central = _guesses(likelihood, mechanism.space, prior, seen, watch)
    guesses = {"kept": outputs, "best": best[place], "central": central[place]}
    right = {name: Rate.of(int((guess == originals).sum()), len(originals)) for name, guess in guesses.items()}
    away = _distances(mechanism.space, originals, guesses)
    return WordAttack(
        prior=prior.name,
        exact=likelihood.exact,
        suspects=len(prior.ids),
        beyond=Rate.of(int((~np.isin(originals, prior.ids)).sum()), len(originals)),
        blind=Rate.of(int((originals == prior.likeliest).sum()), len(originals)),
        kept=right["kept"],
        best=right["best"],
        central=right["central"],
        kept_distance=Mean.of(away["kept"]),
        best_distance=Mean.of(away["best"]),
        central_distance=Mean.of(away["central"]),
        unit=mechanism.space.unit,
    )


def _sample_targets(words: Words, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """Choose places of words that the mechanism replaces, at random; all of them if there are no more."""
    targets = words.targets
    if not targets.size:
        raise WordveilError("none of the words would be veiled and is in the space; give another text or space.")
    return np.sort(entropy.generator.permutation(targets)[:count])


def _posteriors(prior: Prior, likelihoods: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of each suspect (row) after each output (column), in the array of log likelihoods."""
    likelihoods += prior.logs[:, None]
    likelihoods -= likelihoods.max(axis=0)
    np.exp(likelihoods, out=likelihoods)
    likelihoods /= likelihoods.sum(axis=0)
    return likelihoods


def _guesses(
    likelihood: Likelihood, space: Space, prior: Prior, outputs: NDArray[np.int64], watch: Watch
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the likeliest suspect and the one of least expected distance, for each output."""
    best, central = np.empty(len(outputs), dtype=np.int64), np.empty(len(outputs), dtype=np.int64)
    for part in blocks(len(outputs), max(1, _COLUMNS // len(prior.ids))):
        belief = _posteriors(prior, likelihood.columns(outputs[part], watch))
        best[part] = prior.ids[belief.argmax(axis=0)]
        central[part] = prior.ids[_least_distance(space, prior.ids, belief, watch)]
    return best, central


def _least_distance(
    space: Space, suspects: NDArray[np.int64], belief: NDArray[np.float64], watch: Watch
) -> NDArray[np.int64]:
    """Return which suspect has the least expected distance from the original, for each column of beliefs."""
    parts = list(blocks(len(suspects), max(1, _CELLS // len(space))))
    light = belief.astype(np.float32)

    def measure(part: slice) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        expected = space.distances(suspects[part])[:, suspects].astype(np.float32) @ light
        row = expected.argmin(axis=0)
        return np.asarray(expected.min(axis=0)), row + part.start

    found = run_watched(measure, parts, "weighing distances", watch)
    block = np.stack([least for least, _ in found]).argmin(axis=0)
    return np.asarray(np.stack([row for _, row in found])[block, np.arange(belief.shape[1])])


def _distances(
    space: Space, originals: NDArray[np.int64], guesses: dict[str, NDArray[np.int64]]
) -> dict[str, NDArray[np.float64]]:
    """Return how far each guess is from its original."""
    found = {name: np.empty(len(originals)) for name in guesses}
    distinct, place = np.unique(originals, return_inverse=True)
    for part in blocks(len(distinct), max(1, _CELLS // len(space))):
        rows = space.distances(distinct[part])
        here = np.flatnonzero((place >= part.start) & (place < part.stop))
        for name, guess in guesses.items():
            found[name][here] = rows[place[here] - part.start, guess[here]]
    return found
