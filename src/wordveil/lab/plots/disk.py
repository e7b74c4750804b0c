"""The Poincaré disk: words, what they are kinds of, and the noise around one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Hyperbolic
from wordveil.extras import new_figure
from wordveil.lab.plots.labels import put_labels
from wordveil.noise import Entropy
from wordveil.spaces import PoincareSpace
from wordveil.spaces.hyperbolic_geometry import BallPoints, exp_map, from_hyperboloid, log_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_disk"]

_INCHES = 8.0
_MARGIN = 1.12
_BENDS = 32


def draw_disk(
    space: PoincareSpace,
    *,
    cloud: str | None = None,
    epsilon: float = 2.0,
    draws: int = 2000,
    entropy: Entropy | None = None,
) -> Figure:
    """Draw the words of a space of two dimensions.

    Parameters
    ----------
    space : PoincareSpace
        The words, and the steps of their hierarchy, which are drawn as geodesics.
    cloud : str, optional
        Also draw noisy points of this word, as the mechanism `hyperbolic` makes them, coloured by whether the word
        itself is still the nearest.
    epsilon : float
        The mechanism's epsilon.
    draws : int
        How many noisy points.
    entropy : Entropy, optional
        Where the noise comes from.
    """
    from matplotlib.patches import Circle  # noqa: PLC0415 - an extra, and slow to import

    figure = new_figure(_INCHES, _INCHES)
    axes = figure.subplots()
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_xlim(-_MARGIN, _MARGIN)
    axes.set_ylim(-_MARGIN, _MARGIN)
    axes.add_patch(Circle((0.0, 0.0), 1.0, facecolor="0.985", edgecolor="0.3", lw=1.0))
    ball = space.ball(np.arange(len(space)))
    if space.is_a is not None and len(space.is_a):
        child, parent = space.is_a.T
        lines = _geodesics(_some(ball, child), _some(ball, parent))
        axes.plot(lines[:, :, 0], lines[:, :, 1], color="#3b75af", lw=0.6, alpha=0.45, zorder=1)
    if cloud is not None:
        _draw_cloud(axes, space, cloud, epsilon, draws, entropy or Entropy())
    order = np.argsort(space.radii, kind="stable")
    sizes = np.clip(11.0 - 0.9 * (space.radii - space.radii.min()), 5.5, 11.0)
    axes.scatter(ball.x[:, 0], ball.x[:, 1], s=1.2 * sizes, color="#c2452d", zorder=4, lw=0)
    texts = space.vocabulary.take(order)
    put_labels(
        axes,
        np.asarray(ball.x[order], dtype=np.float64),
        texts,
        sizes[order].tolist(),
        72.0 * _INCHES / (2.0 * _MARGIN),
    )
    return figure


def _some(points: BallPoints, ids: NDArray[np.int64]) -> BallPoints:
    return BallPoints(points.x[ids], points.gap[ids])


def _geodesics(starts: BallPoints, ends: BallPoints) -> NDArray[np.float64]:
    """Return points along the shortest ways, of shape (points, ways, 2)."""
    way = log_map(starts, ends)
    return np.stack([exp_map(starts, share * way).x for share in np.linspace(0.0, 1.0, _BENDS)])


def _draw_cloud(axes: Axes, space: PoincareSpace, word: str, epsilon: float, draws: int, entropy: Entropy) -> None:
    made = Hyperbolic(space, epsilon)
    place = space.vocabulary.id(word)
    noisy = made.perturb(np.full(draws, place), entropy)
    own = space.nearest(noisy) == place
    seen = from_hyperboloid(noisy).x
    for which, colour, what in ((own, "#e1a100", "stays"), (~own, "#4a9c5d", "becomes another word")):
        label = f"{what}: {which.mean():.0%}"
        axes.scatter(seen[which, 0], seen[which, 1], s=3, color=colour, alpha=0.35, lw=0, zorder=2, label=label)
    axes.legend(title=f"{word}, hyperbolic, ε = {epsilon:g}", loc="lower right", fontsize=8, markerscale=4)
