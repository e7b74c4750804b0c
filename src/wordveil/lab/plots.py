"""Pictures of hyperbolic space and its noise. They need matplotlib (the extra ``plots``)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import special

from wordveil._mechanisms.hyperbolic import Hyperbolic
from wordveil.errors import InputError, OptionError, SpaceError
from wordveil.extras import new_figure
from wordveil.lab.training import Pairs, Training, to_space, train
from wordveil.noise import Entropy
from wordveil.noise.hyperbolic import icdm19_log_normaliser
from wordveil.spaces import PoincareSpace, Vocabulary
from wordveil.spaces.hyperbolic_geometry import BallPoints, exp_map, from_hyperboloid, log_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The laws of noise that can be drawn.
LAWS = ("icdm19", "hyperbolic")

_POINTS = 1001
_INCHES = 8.0
_MARGIN = 1.12
_BENDS = 32
_ANGLES = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
_REACHES = (5.0, 11.0, 18.0, 27.0, 38.0)  # in points
_LETTER = 0.6  # mean width of a letter, relative to the font size
# Chosen by eye, so that a hierarchy of a few hundred words fills the disk and not only its rim.
_SHARPNESS = 2.0
_EPOCHS = 400
_SEED = 3


def draw_density(law: str, epsilons: Sequence[float], dimension: int = 1) -> Figure:
    """Draw the density of the noise, a curve for each ε.

    The law ``icdm19`` is the paper's noise: in one dimension, over the interval from -1 to 1 (its Fig. 3), in more
    dimensions, over the length. The law ``hyperbolic`` is our mechanism's, over the hyperbolic distance from the word.
    """
    if law not in LAWS:
        raise OptionError(f"unknown law {law!r}; choose from {', '.join(LAWS)}.")
    if dimension < 1 or not epsilons or not all(0.0 < epsilon < np.inf for epsilon in epsilons):
        raise OptionError("at least one epsilon is needed, each finite and above 0, and a dimension of 1 or more.")
    if law == "hyperbolic" and min(epsilons) <= dimension - 1:
        raise OptionError(f"in {dimension} dimensions the law hyperbolic needs every epsilon above {dimension - 1}.")
    figure = new_figure(7.0, 4.2)
    axes = figure.subplots()
    for epsilon in sorted(epsilons):
        with np.errstate(all="ignore"):
            x, density = _hyperbolic(epsilon, dimension) if law == "hyperbolic" else _icdm19(epsilon, dimension)
        if not np.isfinite(density).all():
            raise OptionError(f"the noise at ε = {epsilon:g} is too narrow or too wide to draw; try another epsilon.")
        axes.plot(x, density, label=f"ε = {epsilon:g}")
    if law == "hyperbolic":
        across = f"hyperbolic distance from the word, in {dimension} dimensions"
    elif dimension == 1:
        across = "x, the noise in one dimension"
    else:
        across = f"‖x‖, the length of the noise in {dimension} dimensions"
    axes.set(xlabel=across, ylabel="density")
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


def draw_disk(
    space: PoincareSpace,
    *,
    cloud: str | None = None,
    epsilon: float = 2.0,
    draws: int = 2000,
    entropy: Entropy | None = None,
) -> Figure:
    """Draw the words of a two-dimensional space.

    The steps of the hierarchy are drawn as geodesics. Noisy points of the word `cloud`, as the mechanism `hyperbolic`
    makes them, are coloured by whether the word is still the nearest one.
    """
    from matplotlib.patches import Circle  # noqa: PLC0415 - an extra, and slow to import

    figure = new_figure(_INCHES, _INCHES)
    axes = figure.subplots()
    axes.set(aspect="equal", xlim=(-_MARGIN, _MARGIN), ylim=(-_MARGIN, _MARGIN))
    axes.set_axis_off()
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
    places, texts = np.asarray(ball.x[order], dtype=np.float64), space.vocabulary.take(order)
    _put_labels(axes, places, texts, sizes[order].tolist(), 72.0 * _INCHES / (2.0 * _MARGIN))
    return figure


def _some(points: BallPoints, ids: NDArray[np.int64]) -> BallPoints:
    return BallPoints(points.x[ids], points.gap[ids])


def _geodesics(starts: BallPoints, ends: BallPoints) -> NDArray[np.float64]:
    """Return points along the geodesics, of shape (points, geodesics, 2)."""
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


def _put_labels(
    axes: Axes, places: NDArray[np.float64], texts: Sequence[str], sizes: Sequence[float], points: float
) -> None:
    """Write each text beside its place, clear of the labels written before it. So the first have the best choice.

    Font sizes are in points. `points` is the width of one unit of the axes.
    """
    taken: list[tuple[float, float, float, float]] = []
    dots = places * points
    for dot, text, size in zip(dots, texts, sizes, strict=True):
        half = np.array([0.5 * _LETTER * size * len(text), 0.6 * size])
        outward = np.arctan2(dot[1], dot[0])
        best, least = np.zeros(2), np.inf
        for reach in _REACHES:
            for angle in sorted(_ANGLES, key=lambda a: abs(np.angle(np.exp(1j * (a - outward))))):
                way = np.array([np.cos(angle), np.sin(angle)])
                centre = dot + way * (reach + np.abs(way) * half)
                covered = sum(_overlap((*(centre - half), *(centre + half)), box) for box in taken)
                covered += 4.0 * ((np.abs(dots - centre) < half + 1.0).all(axis=1)).sum()
                if covered < least:
                    best, least = centre, covered
            if least == 0.0:
                break
        taken.append((*(best - half), *(best + half)))
        axes.annotate(
            text,
            (dot[0] / points, dot[1] / points),
            (best[0] / points, best[1] / points),
            size=size,
            ha="center",
            va="center",
            zorder=5,
            arrowprops={"arrowstyle": "-", "color": "0.6", "lw": 0.4, "shrinkA": 0, "shrinkB": 0},
            bbox={"boxstyle": "square,pad=0.05", "fc": "white", "ec": "none", "alpha": 0.75},
        )


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)


def family(space: PoincareSpace, words: Sequence[str], *, below: str | None = None, most: int = 60) -> list[int]:
    """Return the ids of some words and of everything they are kinds of.

    At most `most` kinds of the word `below` are added: the more general first, then the more frequent.
    """
    if space.is_a is None:
        raise SpaceError("this space has no hierarchy of words; train one with `wordveil train`.")
    above: dict[int, list[int]] = {}
    under: dict[int, list[int]] = {}
    for child, parent in space.is_a.tolist():
        above.setdefault(child, []).append(parent)
        under.setdefault(parent, []).append(child)
    chosen = [space.vocabulary.id(word) for word in words]
    if below is not None:
        chosen += _walk([space.vocabulary.id(below)], under, most)
    if not chosen:
        raise OptionError("name the words to draw, or a word to draw the kinds of.")
    return sorted(_walk(chosen, above, len(space)))


def _walk(start: list[int], steps: dict[int, list[int]], most: int) -> list[int]:
    """Follow steps from some nodes, breadth first, until there are `most` nodes."""
    seen = dict.fromkeys(start)
    waiting = deque(start)
    while waiting:
        for node in sorted(steps.get(waiting.popleft(), ())):
            if node not in seen and len(seen) < most:
                seen[node] = None
                waiting.append(node)
    return list(seen)


def in_two_dimensions(space: PoincareSpace, ids: Sequence[int]) -> PoincareSpace:
    """Return these words in two dimensions: as they are, or trained anew for drawing if the space has more."""
    kept = np.asarray(ids)
    place = np.full(len(space), -1)
    place[kept] = np.arange(len(kept))
    steps = place[space.is_a] if space.is_a is not None else np.empty((0, 2), dtype=np.int64)
    steps = steps[(steps >= 0).all(axis=1)]
    words = space.vocabulary.take(kept)
    if space.dimension == 2:
        return PoincareSpace(space.name, Vocabulary(words), space.hyperboloid[kept], is_a=steps)
    names = [(words[child], words[parent]) for child, parent in steps.tolist()]
    pairs = Pairs.of(names, words).closed()
    if not len(pairs):
        raise InputError("these words are not kinds of anything, so there is no hierarchy to draw.")
    training = Training(dimension=2, sharpness=_SHARPNESS, epochs=_EPOCHS, seed=_SEED)
    return to_space(f"{space.name} in 2-d", train(pairs, training, device="cpu"), pairs)
