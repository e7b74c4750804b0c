"""The picture of a frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wordveil.extras import new_figure
from wordveil.lab.experiments.comparison import Frontier

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_frontier"]


def draw_frontier(frontier: Frontier, prior: str) -> Figure:
    """Draw utility against the adversary's success, and against the near loss.

    Parameters
    ----------
    frontier : Frontier
        What was measured.
    prior : str
        For which adversary.
    """
    figure = new_figure(11.0, 5.0)
    success, loss = figure.subplots(1, 2, sharey=True)
    points = [point for point in frontier.points if point.prior == prior and point.adversary is not None]
    for number, label in enumerate(dict.fromkeys(point.label for point in points)):
        own = sorted((point for point in points if point.label == label), key=lambda point: point.level)
        shares = [point.mean_share for point in own]
        style = {"marker": "osD^vPX*"[number % 8], "linewidth": 1.2, "label": label}
        success.plot([point.adversary.low for point in own if point.adversary], shares, **style)
        known = [(point.near_loss, point.mean_share) for point in own if point.near_loss is not None]
        if known:
            loss.plot(*zip(*known, strict=True), **style)
    knows = "knows word frequencies" if prior == "text" else "takes all words for equally likely"
    success.set_xlabel(f"the best guess of a word is right (adversary {knows})")
    success.set_ylabel("utility: share of the way from random words to clean text")
    success.set_xlim(left=0.0)
    loss.set_xscale("log")
    loss.set_xlabel("near loss: largest log-ratio to a similar word, median")
    for axes in (success, loss):
        axes.grid(alpha=0.3)
    success.legend(fontsize="small")
    return figure
