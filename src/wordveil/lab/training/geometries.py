"""The three geometries to learn embeddings in: where points start, how far apart they are, and how they move.

Gradients are Riemannian: they point where the distance grows fastest, by one unit per unit of length. Between two
points they have the form ``near·(x - y) + own·x``, where the geometry gives the two numbers.

Each geometry has a number, by which the CUDA kernels know it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import OptionError
from wordveil.spaces.hyperbolic_geometry import BallPoints, exp_map, hyperboloid_exp, tangent_length

Floats = NDArray[np.float64]

_CLOSE = 1e-12  # sinh(d) of points that count as equal, between which no direction is defined
_FIRST = 1e-3  # points start in a cube of this half width around the origin
#: The longest step, whatever the rate, at a sharpness of 1.
LONGEST_STEP = 1.0
#: The largest distance of a point from the origin. There, 1-‖x‖² is 1e-9 and still has seven digits.
FARTHEST = 22.0


class Slopes(NamedTuple):
    """Distances, and the two numbers of the gradient at each end."""

    distance: Floats
    near_x: Floats
    own_x: Floats
    near_y: Floats
    own_y: Floats


class Geometry(ABC):
    """One way to represent points and measure distances between them."""

    name: ClassVar[str]
    number: ClassVar[int]

    def first(self, nodes: int, dimension: int, generator: np.random.Generator) -> Floats:
        """Return where the points start: close to the origin, but none at it."""
        return generator.uniform(-_FIRST, _FIRST, (nodes, dimension))

    @abstractmethod
    def slopes(self, x: Floats, y: Floats, difference: Floats) -> Slopes:
        """Return distances and gradients between ``x[:, None]`` and ``y``.

        `x` has the shape (pairs, dimension), `y` and ``difference = x[:, None] - y`` have (pairs, k, dimension).
        """

    @abstractmethod
    def moved(self, points: Floats, step: Floats, longest: float) -> Floats:
        """Return where a step leads. It is a tangent vector in the points' coordinates, cut to `longest`."""

    @abstractmethod
    def rows(self, some: Floats, points: Floats) -> Floats:
        """Return, for each of some points, a row of numbers that order all points by their distance."""

    @abstractmethod
    def radii(self, points: Floats) -> Floats:
        """Return the distances from the origin."""

    @abstractmethod
    def hyperboloid(self, points: Floats) -> Floats:
        """Return the points' coordinates on the hyperboloid, as a Poincaré space stores them."""


class EuclideanGeometry(Geometry):
    """Flat space, for comparison."""

    name = "euclidean"
    number = 0

    def slopes(self, x: Floats, y: Floats, difference: Floats) -> Slopes:  # noqa: ARG002
        """Return distances and gradients."""
        distance = np.sqrt(np.einsum("ijk,ijk->ij", difference, difference))
        near = 1.0 / np.maximum(distance, _CLOSE)
        none = np.zeros_like(near)
        return Slopes(distance, near, none, near, none)

    def moved(self, points: Floats, step: Floats, longest: float) -> Floats:
        """Return where a step leads."""
        return points + step * _shortening(np.linalg.norm(step, axis=1), longest)[:, None]

    def rows(self, some: Floats, points: Floats) -> Floats:
        """Return rows of half the squared distances, without terms that are constant in a row."""
        return 0.5 * (points**2).sum(axis=1) - some @ points.T

    def radii(self, points: Floats) -> Floats:
        """Return the distances from the origin."""
        return np.linalg.norm(points, axis=1)

    def hyperboloid(self, points: Floats) -> Floats:  # noqa: ARG002
        """Refuse: flat space has no hyperboloid."""
        raise OptionError("a Euclidean embedding has no coordinates on the hyperboloid.")


class PoincareGeometry(Geometry):
    """The ball of Nickel & Kiela (2017), with steps along geodesics where they use straight ones."""

    name = "poincare"
    number = 1

    def slopes(self, x: Floats, y: Floats, difference: Floats) -> Slopes:
        """Return distances and gradients."""
        squares = np.einsum("ijk,ijk->ij", difference, difference)
        alpha = 1.0 - np.einsum("ij,ij->i", x, x)[:, None]
        beta = 1.0 - np.einsum("ijk,ijk->ij", y, y)
        s2 = squares / (alpha * beta)
        half = 0.5 / np.maximum(np.sqrt(s2 * (1.0 + s2)), _CLOSE)
        own_x, own_y = half / beta, half / alpha
        return Slopes(2.0 * np.arcsinh(np.sqrt(s2)), alpha * own_x, squares * own_x, beta * own_y, squares * own_y)

    def moved(self, points: Floats, step: Floats, longest: float) -> Floats:
        """Return where a step leads."""
        gap = 1.0 - np.einsum("ij,ij->i", points, points)
        shorter = step * _shortening(2.0 * np.linalg.norm(step, axis=1) / gap, longest)[:, None]
        moved = exp_map(BallPoints(points, gap), shorter).x
        lengths = np.linalg.norm(moved, axis=1)
        return moved * np.minimum(1.0, np.tanh(FARTHEST / 2) / np.maximum(lengths, _CLOSE))[:, None]

    def rows(self, some: Floats, points: Floats) -> Floats:
        """Return rows of ``cosh(d)``."""
        return _LORENTZ.rows(self.hyperboloid(some), self.hyperboloid(points))

    def radii(self, points: Floats) -> Floats:
        """Return the distances from the origin."""
        return 2.0 * np.arctanh(np.linalg.norm(points, axis=1))

    def hyperboloid(self, points: Floats) -> Floats:
        """Return the points' coordinates on the hyperboloid."""
        return 2.0 * points / (1.0 - np.einsum("ij,ij->i", points, points))[:, None]


class LorentzGeometry(Geometry):
    """The hyperboloid of Nickel & Kiela (2018), with steps along geodesics.

    A point is stored as its space-like coordinates; the time-like one follows from them.
    """

    name = "lorentz"
    number = 2

    def slopes(self, x: Floats, y: Floats, difference: Floats) -> Slopes:
        """Return distances and gradients."""
        x0 = np.sqrt(1.0 + np.einsum("ij,ij->i", x, x))[:, None]
        y0 = np.sqrt(1.0 + np.einsum("ijk,ijk->ij", y, y))
        later = np.einsum("ijk,ijk->ij", difference, x[:, None] + y) / (x0 + y0)  # x0 - y0, without losing digits
        # sinh²(d/2) by way of the ball, where little cancels
        apart = (1.0 + y0)[:, :, None] * difference - later[:, :, None] * y
        s2 = np.einsum("ijk,ijk->ij", apart, apart) / (4.0 * (1.0 + x0) * (1.0 + y0))
        root = np.maximum(np.sqrt(s2 * (1.0 + s2)), _CLOSE)
        near, own = 0.5 / root, s2 / root
        return Slopes(2.0 * np.arcsinh(np.sqrt(s2)), near, own, near, own)

    def moved(self, points: Floats, step: Floats, longest: float) -> Floats:
        """Return where a step leads."""
        shorter = _shortening(np.asarray(tangent_length(points, step), dtype=np.float64), longest)
        moved = hyperboloid_exp(points, step * shorter[:, None])
        lengths = np.linalg.norm(moved, axis=1)
        return moved * np.minimum(1.0, np.sinh(FARTHEST) / np.maximum(lengths, _CLOSE))[:, None]

    def rows(self, some: Floats, points: Floats) -> Floats:
        """Return rows of ``cosh(d)``."""
        times = np.sqrt(1.0 + np.einsum("ij,ij->i", points, points))
        own = np.sqrt(1.0 + np.einsum("ij,ij->i", some, some))
        return np.concatenate([own[:, None], -some], axis=1) @ np.concatenate([times[:, None], points], axis=1).T

    def radii(self, points: Floats) -> Floats:
        """Return the distances from the origin."""
        return np.arcsinh(np.linalg.norm(points, axis=1))

    def hyperboloid(self, points: Floats) -> Floats:
        """Return the points' coordinates on the hyperboloid."""
        return points


_LORENTZ = LorentzGeometry()
GEOMETRIES: dict[str, Geometry] = {one.name: one for one in (PoincareGeometry(), _LORENTZ, EuclideanGeometry())}


def geometry(name: str) -> Geometry:
    """Return the geometry of this name, or refuse it."""
    if name not in GEOMETRIES:
        raise OptionError(f"unknown geometry {name!r}; choose from {', '.join(GEOMETRIES)}.")
    return GEOMETRIES[name]


def _shortening(lengths: Floats, longest: float) -> Floats:
    return longest / np.maximum(lengths, longest)
