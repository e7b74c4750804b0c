"""A measurement put together from counted draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.calibration.counts import Counts
from wordveil.calibration.settings import Settings
from wordveil.calibration.statistics import Adversary, Measurement, PerWord, Share
from wordveil.calibration.surroundings import Surroundings
from wordveil.guarantee import Notion
from wordveil.parallel import blocks
from wordveil.spaces import PointSpace

__all__ = ["AGAIN", "distinct_of", "estimated", "mean_error", "near_frequency", "promised_loss", "worst_words"]

#: How many of the worst words are measured again, and on how many times as many draws.
WORST, AGAIN = 20, 4

_PAIRS = 512
_LOSS_WORDS = 500


def mean_error(errors: NDArray[np.float64], block: int) -> float:
    """Return the standard error of a mean over words whose errors are independent between blocks of words only.

    Within a block it counts them as if they all erred alike, which no dependence exceeds.
    """
    parts = [errors[part].sum() for part in blocks(len(errors), block)]
    return float(np.sqrt(np.square(parts).sum()) / len(errors))


def distinct_of(ids: NDArray[np.int64], counts: Counts, draws: int, block: int) -> PerWord:
    """Return the number of distinct outputs, with its jackknife error.

    Leaving one draw out changes the number by one if its output came once, and not at all otherwise: with f outputs
    that came once the jackknife variance is f·(1 - f/n), a little above the true one.
    """
    errors = np.sqrt(counts.singles * (1.0 - counts.singles / draws))
    return PerWord(ids, counts.distinct, errors, mean_error(errors, block), worst_is_largest=False)


def near_frequency(
    around: Surroundings, near: int, outputs: NDArray[np.integer[Any]], rows: slice
) -> NDArray[np.float64]:
    """Return how often each of these words became one of its near words.

    Parameters
    ----------
    around : Surroundings
        The near words.
    near : int
        How many of them count.
    outputs : array of shape (words, draws)
        What came out of the words.
    rows : slice
        Which words of `around` they are.
    """
    found = np.zeros(len(outputs))
    for place, listed in enumerate(np.sort(around.near[rows, :near], axis=1)):
        if listed.size:
            where = np.minimum(np.searchsorted(listed, outputs[place]), listed.size - 1)
            found[place] = (listed[where] == outputs[place]).mean()
    return found


def promised_loss(mechanism: Mechanism[Any], around: Surroundings, similar: int) -> PerWord:
    """Return what the mechanism promises between each word and its most similar words: an upper bound of the loss.

    A promise with a δ bounds no ratio: an output as unlikely as δ may come from one of the words alone.
    """
    ids, near = around.ids[:_LOSS_WORDS], around.near[:_LOSS_WORDS, :similar]
    if near.shape[1] == 0:
        return PerWord(ids, np.zeros(len(ids)), bound=True)
    promise = mechanism.guarantee
    if promise.notion is not Notion.METRIC:
        return PerWord(ids, np.full(len(ids), np.inf), bound=True)
    left, right = np.repeat(ids, near.shape[1]), near.ravel()
    space = mechanism.space
    if type(mechanism).allowed_loss is Mechanism.allowed_loss and isinstance(space, PointSpace):
        distances = space.apart(space.points(left), right)  # quicker than whole rows of distances
        losses = np.array([promise.loss(float(distance)) for distance in distances])
    else:
        losses = np.concatenate([mechanism.allowed_loss(left[part], right[part]) for part in blocks(len(left), _PAIRS)])
    return PerWord(ids, losses.reshape(near.shape).max(axis=1), bound=True)


def worst_words(stays: PerWord) -> NDArray[np.int64]:
    """Return the words that stay most."""
    return np.asarray(stays.ids[np.argsort(-stays.values, kind="stable")[:WORST]])


def estimated(
    epsilon: float,
    stays: PerWord,
    counts: Counts,
    near: NDArray[np.float64],
    near_loss: PerWord,
    adversaries: tuple[Adversary, Adversary],
    settings: Settings,
    *,
    block: int,
    has_hierarchy: bool,
) -> Measurement:
    """Put a measurement together.

    Parameters
    ----------
    epsilon : float
        The privacy parameter.
    stays : PerWord
        N_w.
    counts : Counts
        What the draws told, in the order of the words of `stays`.
    near : array of float
        How often each of the first words became a near word.
    near_loss : PerWord
        The bound on the near loss.
    adversaries : pair of Adversary
        The success under the uniform and the frequency prior.
    settings : Settings
        What was asked for.
    block : int
        How many consecutive words share their draws.
    has_hierarchy : bool
        Whether inputs below their output were counted.
    """
    ids, draws = stays.ids, settings.draws
    kept = Share(stays.mean, stays.mean_error)
    near_errors = np.sqrt(near * (1.0 - near) / draws)
    replaced = Share(float(near.mean()), mean_error(near_errors, block))
    far = Share(max(0.0, 1.0 - kept.value - replaced.value), float(np.hypot(kept.error, replaced.error)))
    likeliest = np.maximum(counts.largest, 1.0 / draws)
    outputs, alike = counts.alike(settings.gamma)
    return Measurement(
        epsilon=epsilon,
        exact=False,
        stays=stays,
        distinct=distinct_of(ids, counts, draws, block),
        effective=PerWord(ids, counts.effective, worst_is_largest=False),
        min_entropy=PerWord(
            ids,
            -np.log2(likeliest),
            np.sqrt((1.0 - likeliest) / (likeliest * draws)) / np.log(2.0),
            worst_is_largest=False,
        ),
        support=PerWord(ids, np.log2(counts.distinct), worst_is_largest=False),
        inputs=PerWord(counts.reached, counts.reached_by.astype(np.float64), worst_is_largest=False),
        below=PerWord(counts.reached, counts.below.astype(np.float64), worst_is_largest=False)
        if has_hierarchy
        else None,
        alike=PerWord(outputs, alike, worst_is_largest=False),
        near_loss=near_loss,
        kept=kept,
        near=replaced,
        far=far,
        uniform=adversaries[0],
        frequency=adversaries[1],
    )
