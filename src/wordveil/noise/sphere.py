"""Exact von Mises-Fisher noise on the unit sphere: density ∝ ``e^{κ⟨μ,z⟩}`` around a unit vector μ.

A point is ``c·μ + √(1-c²)·t`` with ``t`` uniform among the unit vectors orthogonal to μ, and ``c`` with density ∝
``e^{κc}(1-c²)^{(n-3)/2}`` on [-1, 1], which is drawn by rejection (Ulrich 1984, corrected by Wood 1994). Everything is
computed in ``v = 1-c``, which avoids cancellation if κ is large and the points are close to μ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil.noise.entropy import Entropy

__all__ = ["around_on_sphere", "sphere_radius_distribution", "versines"]

Floats = NDArray[np.float64]

_GRID = 20_001
_DEPTH = 60.0  # the distribution is cut off below e^-60 times the mode


def versines(count: int, dimension: int, kappa: float, entropy: Entropy) -> Floats:
    """Draw ``1-c`` for the cosine ``c`` between the mean direction and a point.

    Examples
    --------
    >>> bool((versines(5, 3, 2.0, Entropy(0)) >= 0).all())
    True
    """
    if dimension == 1:  # the sphere is two points
        return np.where(entropy.uniform(count) < 1.0 / (1.0 + np.exp(-2.0 * kappa)), 0.0, 2.0)
    free = dimension - 1
    b = free / (2.0 * kappa + np.hypot(2.0 * kappa, free))
    start, mode = (1.0 - b) / (1.0 + b), 2.0 * b / (1.0 + b)  # x₀ and 1-x₀
    drawn = np.empty(count)
    left = np.arange(count)
    while left.size:
        beta = entropy.generator.beta(0.5 * free, 0.5 * free, len(left))
        versine = 2.0 * b * beta / (1.0 - (1.0 - b) * beta)
        above = kappa * (mode - versine) + free * np.log((mode + start * versine) * (1.0 + b) ** 2 / (4.0 * b))
        keep = np.log(entropy.uniform(len(left))) <= above
        drawn[left[keep]] = versine[keep]
        left = left[~keep]
    return drawn


def around_on_sphere(centres: NDArray[np.float32], kappa: float, entropy: Entropy) -> NDArray[np.float32]:
    """Draw a point around each of these unit vectors, one per row."""
    versine = versines(len(centres), centres.shape[1], kappa, entropy)
    aside = entropy.generator.standard_normal(centres.shape, dtype=np.float32)
    aside -= np.einsum("ij,ij->i", aside, centres)[:, None] * centres
    length = np.sqrt(np.einsum("ij,ij->i", aside, aside, dtype=np.float64))
    length[length == 0.0] = 1.0  # in one dimension there is no orthogonal direction
    sine = np.sqrt(versine * (2.0 - versine))
    aside *= (sine / length)[:, None].astype(np.float32)
    return np.asarray(aside + (1.0 - versine)[:, None].astype(np.float32) * centres)


def sphere_radius_distribution(radii: Floats, dimension: int, kappa: float) -> Floats:
    """Return the CDF of the straight-line distance from the mean direction, in two dimensions or more.

    It integrates over the angle θ, with density ∝ ``e^{κ·cos θ}sin^{n-2}θ``, by the trapezoidal rule.
    """
    tiny = np.finfo(np.float64).tiny

    def height(angle: Floats) -> Floats:
        return np.asarray(-2.0 * kappa * np.sin(0.5 * angle) ** 2 + (dimension - 2) * np.log(np.sin(angle) + tiny))

    rough = np.linspace(0.0, np.pi, _GRID)
    rough = np.concatenate([np.geomspace(1e-12, 1e-3, _GRID), rough[rough > 1e-3]])
    logs = height(rough)
    held = rough[logs > logs.max() - _DEPTH]
    angles = np.linspace(0.0 if dimension == 2 else 0.9 * held[0], min(np.pi, 1.1 * held[-1]), _GRID)
    logs = height(angles)
    density = np.exp(logs - logs.max())
    sums = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    reached = 2.0 * np.arcsin(np.clip(0.5 * np.asarray(radii), 0.0, 1.0))
    return np.asarray(np.interp(reached, angles, sums / sums[-1]))
