"""Exact hyperbolic noise around the origin, and the noise of the ICDM 2019 paper.

All functions return radii or points around the origin, which callers then translate to a word.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil.noise.entropy import Entropy, log_gamma_draws

Floats = NDArray[np.float64]

_LAST = 1e-6
_NODES = 128  # nodes of an integral over a smooth bump
_LARGEST_EPSILON = 1e15  # at this ε, noise is smaller than the rounding of any word's coordinates


def hyperbolic_radii(count: int, dimension: int, kappa: float, entropy: Entropy) -> Floats:
    """Draw the radii of points with density ∝ ``e^{-κρ}`` with respect to hyperbolic volume, for κ above n-1.

    Notes
    -----
    The volume at radius ρ grows like ``sinh^{n-1}ρ``. With ``T = e^{-2ρ}`` the law ``e^{-κρ}·sinh^{n-1}ρ dρ`` becomes
    ``T ~ Beta((κ-n+1)/2, n)``. Written with Gamma variables, ``T = A/(A+B)``, so ``ρ = ½·ln(1 + B/A)``. The logarithm
    of A is drawn directly, because A underflows for κ close to n-1.

    Examples
    --------
    >>> hyperbolic_radii(3, 5, 6.0, Entropy(0)).shape
    (3,)
    """
    shape = 0.5 * (kappa - dimension + 1.0)
    generator = entropy.generator
    log_a = log_gamma_draws(shape, count, entropy)
    log_b = np.log(generator.standard_gamma(dimension, count))
    return np.asarray(0.5 * np.logaddexp(0.0, log_b - log_a))


def icdm19_log_normaliser(dimension: int, epsilon: float) -> float:
    """Return ``ln ∫₀¹ r^{n-1}((1-r)/(1+r))^ε dr = ln(B(n, ε+1)·₂F₁(ε, n; n+ε+1; -1))``."""
    n = dimension
    # Pfaff's transformations keep every term of the series positive: F(ε,n;c;-1) = 2^{-n}·F(n, n+1; c; ½), and the same
    # with ε for n. The sum is about 2 to the power of n or ε; with the smaller of the two it does not overflow.
    least = min(float(n), epsilon)
    series = scipy.special.hyp2f1(least, least + 1.0, n + epsilon + 1.0, 0.5)
    return float(scipy.special.betaln(n, epsilon + 1.0) - least * np.log(2.0) + np.log(series))


def icdm19_radius_distribution(radii: Floats, dimension: int, epsilon: float) -> Floats:
    """Return the CDF of the distance from the origin, for points of the paper's Eq. 7.

    With ``r = tanh(ρ/2)`` it is ``∫₀^ρ tanh^{n-1}(s/2)·e^{-εs}/(2·cosh²(s/2)) ds``, normalised.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    # Cut off where the density has fallen by e^60; beyond, the nodes would be too far apart to resolve the bump.
    mode = np.arcsinh((dimension - 1.0) / (epsilon + 1.0))
    far = np.minimum(radii, 2.0 * mode + 60.0 / (epsilon + 1.0))
    half = 0.5 * np.asarray(far, dtype=np.float64)[..., None]
    places = half * (nodes + 1.0)
    tiny = np.finfo(np.float64).tiny  # a radius of 0 has no logarithm
    logs = (dimension - 1.0) * np.log(np.tanh(0.5 * places) + tiny) - 2.0 * np.log(np.cosh(0.5 * places))
    logs -= np.log(2.0) + epsilon * places + icdm19_log_normaliser(dimension, epsilon)
    return np.asarray(np.minimum((np.exp(logs) * half) @ weights, 1.0))


def icdm19_lengths(count: int, dimension: int, epsilon: float, entropy: Entropy) -> Floats:
    """Draw the lengths of points with density ∝ ``e^{-ε·d(x,0)}`` with respect to *Euclidean* volume on the ball.

    This is Eq. 7 of the paper in ``n`` dimensions: the length has density ∝ ``r^{n-1}((1-r)/(1+r))^ε``.

    Notes
    -----
    The log-density is concave, so three lines lie above it: a flat one through the mode, and tangents on both sides.
    A point is drawn below the lines and kept if it is below the density. This is exact, whatever the lines.
    """
    envelope = _Envelope(dimension, min(epsilon, _LARGEST_EPSILON))
    drawn = np.empty(count)
    missing = np.arange(count)
    while missing.size:
        r, log_height = envelope.draw(len(missing), entropy)
        kept = np.log(entropy.uniform(len(missing))) + log_height <= envelope.log_density(r)
        drawn[missing[kept]] = r[kept]
        missing = missing[~kept]
    return drawn


class _Envelope:
    """An envelope of three exponentials above the density of the length."""

    def __init__(self, dimension: int, epsilon: float) -> None:
        self._power, self._epsilon = dimension - 1.0, epsilon
        power = self._power
        # the mode solves power·(1-r²) = 2εr
        mode = min(float(power / (epsilon + np.hypot(epsilon, power))), 1.0 - _LAST**2)
        self._top = self._height(mode)
        left = self._drop(0.0, mode) if power > 0 else 0.0
        right = self._drop(1.0, mode)
        self._touch = np.array([left, mode, right])
        self._heights = np.array([self._height(left), self._top, self._height(right)])
        self._slopes = np.array([self._slope(left) if power > 0 else 1.0, 0.0, self._slope(right)])
        # the flat line takes over where a tangent reaches the height of the mode
        first, second = (self._touch + (self._top - self._heights) / np.where(self._slopes, self._slopes, 1.0))[[0, 2]]
        self._edges = np.array([0.0, first, second, 1.0])
        self._sums = np.cumsum([self._area(piece) for piece in range(3)])

    def log_density(self, r: Floats) -> Floats:
        """Return the logarithm of the density, up to a constant."""
        with np.errstate(divide="ignore"):
            radial = self._power * np.log(r) if self._power > 0 else np.zeros_like(r)
            return np.asarray(radial + self._epsilon * (np.log1p(-r) - np.log1p(r)))

    def _height(self, r: float) -> float:
        return float(self.log_density(np.array(r)))

    def _slope(self, r: float) -> float:
        return float(self._power / r - 2.0 * self._epsilon / ((1.0 - r) * (1.0 + r)))

    def _drop(self, end: float, mode: float) -> float:
        """Return a point between the mode and the end where the density has fallen by about e."""
        near, far = mode, end
        for _ in range(80):
            middle = 0.5 * (near + far)
            if self._height(middle) > self._top - 1.0:
                near = middle
            else:
                far = middle
        # if it falls only in the last digits before the end, any other point will do
        return near if abs(end - near) > _LAST else 0.5 * (mode + end)

    def _area(self, piece: int) -> float:
        low, high, slope = self._edges[piece], self._edges[piece + 1], self._slopes[piece]
        width = high - low
        if width <= 0.0:
            return 0.0
        if slope == 0.0:
            return float(width)
        # Computed from the higher end, where the curve is about as high as the mode; from the other end it would
        # underflow in hundreds of dimensions.
        highest = self._heights[piece] - self._top + slope * ((high if slope > 0.0 else low) - self._touch[piece])
        return float(np.exp(highest) * -np.expm1(-abs(slope) * width) / abs(slope))

    def draw(self, count: int, entropy: Entropy) -> tuple[Floats, Floats]:
        """Draw lengths from the envelope, and return its logarithm there."""
        piece = np.searchsorted(self._sums, entropy.uniform(count) * self._sums[-1])
        low, high = self._edges[piece], self._edges[piece + 1]
        slope, share = self._slopes[piece], entropy.uniform(count)
        bent = np.abs(slope) * (high - low)
        with np.errstate(divide="ignore", invalid="ignore"):
            rising = high + np.logaddexp(np.log(share), np.log1p(-share) - bent) / slope
            falling = low + np.log1p(share * np.expm1(-bent)) / slope
        r = np.select([slope > 0.0, slope < 0.0], [rising, falling], low + share * (high - low))
        r = np.clip(r, np.finfo(float).tiny, 1.0 - 2.0**-53)
        return r, self._heights[piece] + slope * (r - self._touch[piece])


def metropolis_points(count: int, dimension: int, epsilon: float, entropy: Entropy, *, steps: int = 1000) -> Floats:
    """Draw points of the ball by Algorithm 2 of the paper as printed, with one Metropolis-Hastings chain per point.

    Each chain starts at the origin and makes `steps` steps. A step adds a standard normal vector, maps the sum from
    flat space to the hyperboloid and on to the ball, and accepts it with probability ``min(1, f(x')/f(x))``. This
    omits the Jacobian of the map, so the limit is not Eq. 7 (see docs/hyperbolic.md); `icdm19_lengths` is exact.
    """
    x = np.zeros((count, dimension))
    log_f = np.zeros(count)
    for _ in range(steps):
        proposal = x + entropy.generator.standard_normal((count, dimension))
        proposal /= 1.0 + np.hypot(1.0, np.linalg.norm(proposal, axis=1))[:, None]
        length = np.linalg.norm(proposal, axis=1)
        log_new = epsilon * (np.log1p(-length) - np.log1p(length))
        accepted = np.log(entropy.uniform(count)) <= log_new - log_f
        x[accepted], log_f[accepted] = proposal[accepted], log_new[accepted]
    return x
