"""The laws of hyperbolic noise, at several ε."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from wordveil.errors import WordveilError
from wordveil.extras import new_figure
from wordveil.noise.hyperbolic import icdm19_log_normaliser

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LAWS", "draw_density"]

LAWS = ("icdm19", "hyperbolic")
_POINTS = 1001


def draw_density(law: str, epsilons: Sequence[float], dimension: int = 1) -> Figure:
    """Draw the density of the noise, a curve for each ε.

    Parameters
    ----------
    law : {"icdm19", "hyperbolic"}
        The paper's noise: in one dimension over the interval from -1 to 1 (its Fig. 3), in more over the length. Or
        the noise of the mechanism `hyperbolic`, over the hyperbolic distance from the word.
    epsilons : sequence of float
        The values of ε.
    dimension : int
        Of the space.
    """
    if law not in LAWS:
        raise WordveilError(f"there is no law {law!r}; choose one of {', '.join(LAWS)}.")
    if dimension < 1 or not epsilons or not all(0.0 < epsilon < np.inf for epsilon in epsilons):
        raise WordveilError("give at least one epsilon, each finite and above 0, and a dimension of 1 or more.")
    if law == "hyperbolic" and min(epsilons) <= dimension - 1:
        raise WordveilError(f"in {dimension} dimensions the law hyperbolic needs every epsilon above {dimension - 1}.")
    figure = new_figure(7.0, 4.2)
    axes = figure.subplots()
    for epsilon in sorted(epsilons):
        with np.errstate(all="ignore"):
            x, density = _hyperbolic(epsilon, dimension) if law == "hyperbolic" else _icdm19(epsilon, dimension)
        if not np.isfinite(density).all():
            raise WordveilError(f"the noise at ε = {epsilon:g} is too narrow or too wide to be drawn; try another ε.")
        axes.plot(x, density, label=f"ε = {epsilon:g}")
    if law == "hyperbolic":
        axes.set_xlabel(f"hyperbolic distance from the word, in {dimension} dimensions")
    elif dimension == 1:
        axes.set_xlabel("x, the noise in one dimension")
    else:
        axes.set_xlabel(f"‖x‖, the length of the noise in {dimension} dimensions")
    axes.set_ylabel("density")
    axes.set_ylim(bottom=0.0)
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def _icdm19(epsilon: float, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    log_z = icdm19_log_normaliser(dimension, epsilon)
    if dimension == 1:
        x = np.linspace(-1.0, 1.0, _POINTS)
        return x, 0.5 * np.exp(-log_z) * ((1.0 - np.abs(x)) / (1.0 + np.abs(x))) ** epsilon
    r = np.linspace(0.0, 1.0, _POINTS)
    return r, np.exp(-log_z) * r ** (dimension - 1) * ((1.0 - r) / (1.0 + r)) ** epsilon


def _hyperbolic(epsilon: float, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    shape = 0.5 * (epsilon - dimension + 1.0)
    farthest = -0.5 * np.log(special.betaincinv(shape, dimension, 0.02))
    rho = np.linspace(0.0, min(float(farthest), 30.0), _POINTS)
    logs = np.log(2.0) - special.betaln(shape, dimension) - 2.0 * shape * rho
    return rho, np.exp(logs) * (-np.expm1(-2.0 * rho)) ** (dimension - 1)
