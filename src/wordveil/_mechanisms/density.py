"""Laplace noise weighted by the density of words (challenges paper, section 6.1), sampled exactly.

The noisy point has density ∝ ``μ(z)·e^{-a‖z-φ(w)‖}``, with ``μ(z) = Σ_u e^{-‖z-φ(u)‖²/2σ²}`` and ``a = ε/2``.

Proof. The numerators of ``w`` and ``w'`` differ by a factor of at most ``e^{a·d(w,w')}``, and so do the normalisers,
which are their integrals: together ``e^{2a·d} = e^{ε·d}``. The paper counts only the numerator, and so claims ``a``
where ``2a`` holds. ∎

Sampler. ``e^{-ar}`` is a mixture of Gaussians: ``e^{-ar} = ∫ a/√(2πτ)·e^{-r²/2τ}·e^{-a²τ/2} dτ``. With τ and the
component u of μ as further variables, the joint density is ∝
``τ^{-1/2}·e^{-a²τ/2}·e^{-‖z-φ(w)‖²/2τ}·e^{-‖z-φ(u)‖²/2σ²}``: given u and τ, the point is Gaussian, with precision
``1/τ + 1/σ²`` and the precision-weighted mean of φ(w) and φ(u). Integrating z out, with ``D = ‖φ(u)-φ(w)‖``,

    f(τ | D) = τ^{-1/2}·e^{-a²τ/2}·(τσ²/(τ+σ²))^{n/2}·e^{-D²/2(τ+σ²)},

So u is drawn with probability ∝ ``g(D) = ∫ f(τ | D) dτ``, a function of the distance alone, then τ from ``f(·|D)``,
then z. The paper calls this sampling hard, but it needs neither a Markov chain nor Bessel functions.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms.base import DRAWN_IN_FLOATS, NoiseMechanism, needs_vectors
from wordveil._mechanisms.rows import RowDraws, WholeRows, drawn_closely
from wordveil.errors import OptionError
from wordveil.guarantee import Guarantee
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.spaces import EuclideanSpace, Space, neighbourhoods
from wordveil.spaces.space import Ids, Points, Rows

_CELLS = 256
_TABLE = 4096
_FINE = 2049
_AT_ONCE = 1 << 14  # distances at once, so that intermediate results stay in the processor's cache
_DEPTH = 45.0  # tails below e^-45 times the mode are cut off


class Density(NoiseMechanism[EuclideanSpace]):
    """Adds Laplace noise modulated by a kernel density of the vocabulary, and takes the nearest word.

    Parameters
    ----------
    epsilon : float
        The privacy loss per unit of Euclidean distance. The noise has rate ε/2, because the density costs as much as
        the noise.
    bandwidth : float, optional
        The σ of the kernel. Default: the median distance to the nearest word, divided by the root of the dimension.
    """

    name = "density"
    summary = "adds Laplace noise that prefers crowded regions, then takes the nearest word"
    in_brief = "ε per unit of Euclidean distance, for any two words"
    source = "challenges paper, which claims half the loss"

    def __init__(self, space: Space, epsilon: float, *, bandwidth: float | None = None) -> None:
        super().__init__(needs_vectors(self.name, space), epsilon)
        if bandwidth is not None and not (np.isfinite(bandwidth) and bandwidth > 0):
            raise OptionError("bandwidth must be above 0; leave it out for the default.")
        self._bandwidth = bandwidth

    @cached_property
    def bandwidth(self) -> float:
        """The σ of the kernel."""
        if self._bandwidth is not None:
            return float(self._bandwidth)
        typical = float(np.median(neighbourhoods(self.space, 1)[1])) if len(self.space) > 1 else 1.0
        return (typical or 1.0) / float(np.sqrt(self.space.dimension))

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""
        return self.make_guarantee(
            caveats=(
                DRAWN_IN_FLOATS,
                # log masses fall by at most ε per unit of a distance known in single precision
                drawn_closely(len(self.space), 4.0 * self.epsilon * self.space.precision + 2.0**-16),
            ),
            claim="that a public prior leaves the promise unchanged (challenges paper, 6.1): it doubles the loss",
        )

    @cached_property
    def mixing(self) -> MixingLaw:
        """The laws of the mixing variable."""
        return MixingLaw(self.space.dimension, self.epsilon / 2.0, self.bandwidth, self.space.diameter)

    @cached_property
    def _components(self) -> RowDraws:
        return RowDraws(WholeRows(len(self.space), self._log_masses))

    def _log_masses(self, ids: Ids) -> Rows:
        return self.mixing.log_mass(self.space.distances(ids))

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        """Return a noisy point for each word."""
        centre = self._components.draw(ids, entropy)
        start, towards = self.space.points(ids), self.space.points(centre)
        apart = self.space.apart(start, centre)
        mixing = np.concatenate(
            [self.mixing.draw(apart[part], entropy) for part in blocks(len(ids), 1 << 15)] or [np.empty(0)]
        )
        share = mixing / (mixing + self.bandwidth**2)  # the weight of the component against the word
        deviation = np.sqrt(share) * self.bandwidth
        noise = entropy.generator.standard_normal(start.shape, dtype=np.float32)
        return (
            start
            + share[:, None].astype(np.float32) * (towards - start)
            + deviation[:, None].astype(np.float32) * noise
        )


class MixingLaw:
    """The law ``f(τ | D)`` of the mixing variable and its mass ``g(D)``, as logarithms, for D up to `largest`."""

    def __init__(self, dimension: int, rate: float, bandwidth: float, largest: float) -> None:
        self.dimension, self.rate, self.variance = dimension, rate, bandwidth**2
        self.largest = max(largest, 1e-12)
        self._grid = self._range()

    def log_density(self, log_tau: NDArray[np.float64], distance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of the density of ln τ (not of τ)."""
        tau = np.exp(log_tau)
        total = tau + self.variance
        return (
            0.5 * (self.dimension + 1) * log_tau
            - 0.5 * self.rate**2 * tau
            - 0.5 * self.dimension * np.log(total)
            - 0.5 * distance**2 / total
        )

    def _range(self) -> NDArray[np.float64]:
        # covers the mass of the law for the smallest and the largest distance
        rough = np.linspace(-60.0, 60.0, 20_001) - 2.0 * np.log(self.rate)
        ends = []
        for distance in (0.0, self.largest):
            height = self.log_density(rough, np.array(distance))
            ends.append(rough[height > height.max() - _DEPTH][[0, -1]])
        return np.linspace(min(end[0] for end in ends), max(end[1] for end in ends), _CELLS + 1)

    @cached_property
    def _table(self) -> tuple[float, NDArray[np.float64]]:
        """The step between nodes, and the coefficients of the cubic from each node to the next."""
        # ln g bends where D is about σ: nodes evenly spaced in asinh(D/σ) are dense there and still reach far.
        nodes = np.linspace(0.0, np.arcsinh(self.largest / np.sqrt(self.variance)), _TABLE)
        distances = np.sqrt(self.variance) * np.sinh(nodes)
        fine = np.linspace(self._grid[0], self._grid[-1], _FINE)
        heights = [
            scipy.special.logsumexp(self.log_density(fine, distances[part][:, None]), axis=1)
            for part in blocks(_TABLE, 256)
        ]
        return float(nodes[1]), np.ascontiguousarray(scipy.interpolate.CubicSpline(nodes, np.concatenate(heights)).c)

    def log_mass(self, distances: NDArray[Any]) -> NDArray[np.float64]:
        """Return ``ln g(D)`` up to a constant."""
        masses = np.empty(distances.size)
        flat = distances.reshape(-1)
        for part in blocks(flat.size, _AT_ONCE):
            masses[part] = self._log_mass(flat[part].astype(np.float64))
        return masses.reshape(distances.shape)

    def _log_mass(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        # Three times as fast as SciPy's spline: evenly spaced nodes need no search, and asinh written as a logarithm
        # is vectorised.
        step, coefficients = self._table
        place = np.minimum(distances, self.largest) / np.sqrt(self.variance)
        place = np.log(place + np.sqrt(place * place + 1.0))
        node = np.minimum((place / step).astype(np.intp), coefficients.shape[1] - 1)
        place -= node * step
        height = coefficients[0][node]
        for row in coefficients[1:]:
            height *= place
            height += row[node]
        return height

    def draw(self, distances: NDArray[np.float64], entropy: Entropy) -> NDArray[np.float64]:
        """Draw τ for each distance, exactly, by rejection from a piecewise linear envelope of the log-density.

        Between two grid points, a line differs from a curve by at most the curve's largest second derivative times the
        squared step divided by 8. Raising the line of each cell by this bound gives the envelope.
        """
        grid, step = self._grid, self._grid[1] - self._grid[0]
        distances, row = np.unique(distances, return_inverse=True)  # draws at the same distance share a table
        heights = self.log_density(grid, distances[:, None])
        low, high = np.exp(grid[:-1]), np.exp(grid[1:])
        curve = 0.5 * self.rate**2 * high + self.dimension / 8.0
        bend = step**2 / 8.0 * (curve + 0.5 * distances[:, None] ** 2 * high / (low + self.variance) ** 2)
        ends = np.exp(heights - heights.max(axis=1, keepdims=True))
        slopes = np.diff(heights, axis=1)
        level = np.abs(slopes) < 1e-9
        slopes[level] = 1.0
        with np.errstate(over="ignore"):  # far from the mode the bound may be huge, but the density is negligible
            cells = np.where(level, ends[:, :-1], np.diff(ends, axis=1) / slopes) * np.exp(np.minimum(bend, 700.0))
        sums = np.cumsum(cells, axis=1)
        slopes[level] = 0.0
        line_of_sums = (sums / sums[:, -1:] + np.arange(len(sums))[:, None]).ravel()
        drawn = np.empty(len(row))
        left = np.arange(len(row))
        while left.size:
            of = row[left]
            place = np.searchsorted(line_of_sums, of + entropy.uniform(len(left)))
            cell = np.clip(place - of * _CELLS, 0, _CELLS - 1)
            slope, part = slopes[of, cell], entropy.uniform(len(left))
            steep = np.where(slope == 0.0, 1.0, slope)
            inside = np.where(slope == 0.0, part, np.log1p(part * np.expm1(slope)) / steep)
            log_tau = grid[cell] + step * inside
            line = heights[of, cell] + slope * inside
            keep = (
                np.log(entropy.uniform(len(left))) <= self.log_density(log_tau, distances[of]) - line - bend[of, cell]
            )
            drawn[left[keep]] = log_tau[keep]
            left = left[~keep]
        return np.exp(drawn)
