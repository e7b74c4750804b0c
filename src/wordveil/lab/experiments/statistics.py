"""N_w and S_w over ε, as several figures of the papers show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.calibration import Calibration, Effort, calibrate, maker, meter_for
from wordveil.calibration.figures import Curve
from wordveil.lab.experiments.result import Setting, Table
from wordveil.spaces import EuclideanSpace, Space

__all__ = ["calibrated", "curve_of", "projected", "statistics_table"]


def calibrated(
    setting: Setting,
    mechanism: str,
    space: Space,
    *,
    epsilons: Sequence[float] = (),
    points: int = 8,
    words: int,
    **options: Any,
) -> Calibration:
    """Measure a mechanism at some ε, or at some that matter if none is given.

    Parameters
    ----------
    setting : Setting
        How the experiment is run.
    mechanism : str
        The mechanism's name.
    space : Space
        Its space.
    epsilons : sequence of float
        The ε.
    points : int
        How many ε to look at if none is given.
    words : int
        On how many words.
    **options
        Of the mechanism.
    """
    # None of these figures shows the adversary, who would take most of the time.
    settings = Effort(words=words, near_words=min(words, 100), adversary_words=100, seed=setting.seed)
    meter = meter_for(maker(mechanism, space, **options), space, settings, setting.watch)
    return calibrate(meter, list(epsilons), points=points)


def statistics_table(title: str, calibration: Calibration, draws: int = 1000) -> Table:
    """Write the worst and the mean N_w and S_w at each ε, counted out of so many draws."""
    rows = [
        (
            found.epsilon,
            draws * found.stays.mean,
            draws * found.stays.worst,
            float(np.mean(found.distinct.values)),
            found.distinct.worst,
        )
        for found in calibration.measurements
    ]
    return Table(title, ("ε", "N_w mean", "N_w worst", "S_w mean", "S_w worst"), rows)


def curve_of(calibration: Calibration, label: str) -> Curve:
    """Return the calibration as a curve with a label of its own."""
    return Curve(label, calibration.to_dict()["measurements"])


def projected(space: EuclideanSpace, dimension: int) -> EuclideanSpace:
    """Return the space on its main directions alone (principal components).

    Parameters
    ----------
    space : EuclideanSpace
        The words and their vectors.
    dimension : int
        How many directions to keep.
    """
    centred: NDArray[np.float64] = space.matrix.astype(np.float64) - space.matrix.mean(axis=0, dtype=np.float64)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    kept = vectors[:, ::-1][:, :dimension]
    return EuclideanSpace(f"{space.name} in {dimension}-d", space.vocabulary, (centred @ kept).astype(np.float32))
