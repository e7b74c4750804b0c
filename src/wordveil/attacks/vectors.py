"""Recovers words from released noisy vectors.

If the noise is isotropic and the same for every word, and all words are equally likely, the nearest word is the best
possible guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.errors import InputError, OptionError
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.progress import Watch, ignore
from wordveil.spaces import PointSpace
from wordveil.spaces.space import Ids, Points
from wordveil.stats import Estimate, plain

_CELLS = 1 << 25


@dataclass(frozen=True)
class VectorAttack:
    """How well words are recovered from released vectors.

    Attributes
    ----------
    nearest : Estimate
        How often the nearest word is the original.
    among : Estimate
        How often the original is among the `neighbours` nearest words.
    neighbours : int
        The number of nearest words.
    overlap : Estimate
        NADP's estimate of ``p(x|M(x))``: the words near both the original and the noisy vector, as a share of those
        near either.
    skewness : Estimate
        The skewness of these estimates over the words: above 0 if a few words are found much more easily than most,
        NaN if all are equal.
    overlaps : array of float
        The estimate for each word, for plots.
    """

    nearest: Estimate
    among: Estimate
    neighbours: int
    overlap: Estimate
    skewness: Estimate
    overlaps: NDArray[np.float64]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values, without `overlaps`."""
        return plain({name: value for name, value in vars(self).items() if name != "overlaps"})


def attack_vectors(
    mechanism: Mechanism[Any],
    ids: Ids,
    *,
    neighbours: int = 10,
    entropy: Entropy | None = None,
    watch: Watch = ignore,
) -> VectorAttack:
    """Release one noisy vector for each of the words `ids`, and try to recover the words.

    Parameters
    ----------
    neighbours : int
        The number of nearest words to look at.

    Raises
    ------
    OptionError
        If the mechanism draws words without noisy vectors.
    """
    points = mechanism.perturb(np.asarray(ids), entropy or Entropy())
    return attack_released(mechanism.space, ids, points, neighbours=neighbours, watch=watch)


def attack_released(
    space: PointSpace, ids: Ids, points: Points, *, neighbours: int = 10, watch: Watch = ignore
) -> VectorAttack:
    """Try to recover the originals `ids` of released vectors.

    Parameters
    ----------
    space : PointSpace
        The words without noise.
    points : array of shape (words, dimension)
        The released vectors.
    neighbours : int
        The number of nearest words to look at; the nearest word to a word is itself.
    """
    ids = np.asarray(ids, dtype=np.int64)
    if len(ids) != len(points) or not len(ids):
        raise InputError("every released vector needs its original word, and there must be at least one.")
    if not 1 <= neighbours <= len(space):
        raise OptionError(f"neighbours must lie between 1 and the {len(space)} words of the space.")
    first, found, overlaps = 0, 0, np.empty(len(ids))
    for part in blocks(len(ids), max(1, _CELLS // len(space))):
        near, _ = space.closest(points[part], neighbours)
        own, _ = space.closest(space.points(ids[part]), neighbours)
        first += int((near[:, 0] == ids[part]).sum())
        found += int((near == ids[part][:, None]).any(axis=1).sum())
        shared = (near[:, :, None] == own[:, None, :]).sum(axis=(1, 2))
        overlaps[part] = shared / (2 * neighbours - shared)
        watch("looking for the nearest words", part.stop / len(ids))
    return VectorAttack(
        nearest=Estimate.share(first, len(ids)),
        among=Estimate.share(found, len(ids)),
        neighbours=neighbours,
        overlap=Estimate.mean(overlaps),
        skewness=Estimate.mean(overlaps, skewness),
        overlaps=overlaps,
    )


def skewness(values: NDArray[np.float64]) -> float:
    """Return the skewness ``m₃/m₂^{3/2}`` of a sample (Joanes & Gill's g₁); NaN if all values are the same.

    Examples
    --------
    >>> round(skewness(np.array([0.0, 0.0, 0.0, 1.0])), 4)
    1.1547
    """
    offsets = values - values.mean()
    spread = float((offsets**2).mean())
    return float((offsets**3).mean() / spread**1.5) if spread > 1e-18 else float("nan")
