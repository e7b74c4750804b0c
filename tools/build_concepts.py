"""Draw the pictures of docs/concepts.md, from the bundled space and exact probabilities.

    python tools/build_concepts.py      # part of `make picture`

Nothing here is drawn at random, so the pictures change only with the space, the mechanism or this file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import wordveil
from wordveil._mechanisms import ExponentialMechanism
from wordveil.extras import new_figure, save
from wordveil.spaces import EuclideanSpace, GraphSpace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOCS = Path(__file__).parent.parent / "docs"
WORD, OTHER = "harbour", "dock"
EPSILON = 4.0
EPSILONS = (2.0, 4.0, 8.0)
FAR = 5  # words this many hops away, or more, are counted together
NEAR = ((10, 4.0), (3, 2.1))  # k and ε at which the word stays about equally often
BLUE, ORANGE, GREY = "#3b5bdb", "#e8590c", "#868e96"


def main() -> None:
    """Draw all pictures."""
    space = wordveil.load_space("glove-50k")
    graph = GraphSpace.of(space)
    draw_hops(graph)
    draw_shells(space, graph)
    draw_odds(space)
    draw_near(space)


def chances(space: EuclideanSpace, word: str, epsilon: float, k: int = 10) -> NDArray[np.float64]:
    """Return the probability of every output for a word."""
    mechanism = wordveil.mechanism("graph", space, epsilon=epsilon, k=k)
    assert isinstance(mechanism, ExponentialMechanism)
    return mechanism.probabilities(word)


def draw_hops(graph: GraphSpace) -> None:
    """Draw a word in the middle and the words one hop away around it, with the edges between them."""
    centre = graph.vocabulary.id(WORD)
    hops = graph.distances(np.array([centre]))[0]
    around = np.flatnonzero(hops == 1).tolist()
    angles = 2.0 * np.pi * np.arange(len(around)) / len(around)
    places = {centre: (0.0, 0.0)}
    places |= {word: (float(np.cos(angle)), float(np.sin(angle))) for word, angle in zip(around, angles, strict=True)}
    figure = new_figure(8.0, 6.4)
    axes = figure.subplots()
    for one, place in places.items():
        for other in graph.indices[graph.indptr[one] : graph.indptr[one + 1]].tolist():
            if other in places and one < other:
                own = centre in (one, other)
                colour, wide = (BLUE, 1.2) if own else (GREY, 0.5)
                axes.plot(*zip(place, places[other], strict=True), color=colour, lw=wide, zorder=1)
    for word, (across, up) in places.items():
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": ORANGE if word == centre else BLUE}
        axes.text(across, up, graph.vocabulary[word], ha="center", va="center", size=9.5, bbox=box, zorder=2)
    further = np.bincount(hops.astype(int))
    axes.set_title(
        f"{WORD} and the {further[1]} words one hop away; not shown are {further[2]:,} at two hops,\n"
        f"{further[3]:,} at three, and all others of {len(hops):,} within {int(hops.max())}",
        size=10,
    )
    axes.set(xlim=(-1.25, 1.25), ylim=(-1.1, 1.1))
    axes.set_axis_off()
    save(figure, DOCS / "concept-hops.svg")


def draw_shells(space: EuclideanSpace, graph: GraphSpace) -> None:
    """Draw how far a draw goes, at three values of ε."""
    hops = np.minimum(graph.distances(np.array([graph.vocabulary.id(WORD)]))[0].astype(int), FAR)
    figure = new_figure(8.0, 3.2)
    drawn = figure.subplots(1, len(EPSILONS), sharey=True)
    for axes, epsilon in zip(drawn, EPSILONS, strict=True):
        mass = np.bincount(hops, weights=chances(space, WORD, epsilon), minlength=FAR + 1)
        bars = axes.bar(range(FAR + 1), mass, color=[ORANGE, *[BLUE] * FAR])
        axes.bar_label(bars, [f"{share:.0%}" if share >= 0.005 else "<1%" for share in mass], size=8)
        axes.set_title(f"ε = {epsilon:g}: {mass[0]:.0%} of the draws\ngive {WORD} itself", size=10)
        axes.set_xticks(range(FAR + 1), [*map(str, range(FAR)), f"{FAR}+"])
        axes.set_xlabel("hops from the word")
        _bare(axes)
    drawn[0].set_ylabel("probability")
    save(figure, DOCS / "concept-epsilon.svg")


def draw_odds(space: EuclideanSpace) -> None:
    """Draw what two neighbouring words become, and how much each output reveals."""
    one, other = chances(space, WORD, EPSILON), chances(space, OTHER, EPSILON)
    shown = np.argsort(-(one + other), kind="stable")[:10]
    figure = new_figure(8.0, 3.6)
    left, right = figure.subplots(1, 2)
    rows = np.arange(len(shown))
    left.barh(rows - 0.2, one[shown], 0.4, color=ORANGE, label=f"from {WORD}")
    left.barh(rows + 0.2, other[shown], 0.4, color=BLUE, label=f"from {OTHER}")
    left.set_yticks(rows, space.vocabulary.take(shown))
    left.invert_yaxis()
    left.set_xlabel("probability of this output")
    left.legend(frameon=False, loc="lower right")
    losses = np.sort(np.log(one / other))
    right.plot(np.arange(len(losses)), losses, color=GREY, lw=2)
    for bound in (-EPSILON, EPSILON):
        right.axhline(bound, color="black", lw=1, ls="--")
    right.text(0, EPSILON, f"  ε·d = {EPSILON:g}", va="bottom", size=9)
    right.set_ylim(-1.3 * EPSILON, 1.3 * EPSILON)
    right.set_xlabel(f"all {len(losses):,} outputs, in order")
    right.set_ylabel(f"log-odds in favour of {WORD}")
    for axes in (left, right):
        _bare(axes)
    save(figure, DOCS / "concept-odds.svg")


def draw_near(space: EuclideanSpace) -> None:
    """Draw the loss between a word and each of its ten most similar words, on the default graph and a sparser one."""
    word = space.vocabulary.id(WORD)
    similar = space.similar(np.array([word]), 10)[0][0]
    figure = new_figure(8.0, 3.4)
    for axes, (k, epsilon) in zip(figure.subplots(1, 2, sharey=True), NEAR, strict=True):
        hops = GraphSpace.of(space, k=k).distances(np.array([word]))[0][similar]
        own = chances(space, WORD, epsilon, k)
        found = [
            np.abs(np.log(own / chances(space, name, epsilon, k))).max() for name in space.vocabulary.take(similar)
        ]
        rows = np.arange(len(similar))
        axes.bar(rows, epsilon * hops, color="#dee2e6", label="guaranteed: ε times the hops")
        axes.plot(rows, found, "o", color=ORANGE, label="actual: the most that any output reveals")
        axes.axhline(max(found), color=ORANGE, lw=1, ls=":")
        axes.set_xticks(rows, space.vocabulary.take(similar), rotation=60, ha="right")
        axes.set_title(f"k = {k}, ε = {epsilon:g}: stays {own[word]:.0%}, near loss {max(found):.1f}", size=10)
        _bare(axes)
    figure.axes[0].set_ylabel("loss (exponent of e)")
    figure.axes[0].legend(frameon=False, loc="upper left", fontsize=8)
    save(figure, DOCS / "concept-near.svg")


def _bare(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
