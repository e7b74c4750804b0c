"""Plots of attacks; they need matplotlib (the extra ``plots``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from wordveil.attacks.context import ContextAttack
from wordveil.attacks.vectors import VectorAttack
from wordveil.extras import new_figure
from wordveil.stats import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_rates(along: Sequence[float], curves: Mapping[str, Sequence[Estimate]], title: str, axis: str = "ε") -> Figure:
    """Plot success over ε, or over something else, with confidence intervals."""
    figure = new_figure(6.0, 4.0)
    _rates(figure.add_subplot(), along, curves, title, axis)
    return figure


def _rates(axes: Axes, along: Sequence[float], curves: Mapping[str, Sequence[Estimate]], title: str, axis: str) -> None:
    for name, rates in curves.items():
        _curve(axes, sorted(zip(along, rates, strict=True), key=lambda point: point[0]), name)
    _finish(axes, title, axis)


def _curve(axes: Axes, points: Sequence[tuple[float, Estimate]], name: str) -> None:
    """Plot one curve with its intervals."""
    reach = [
        [max(0.0, rate.value - rate.low) for _, rate in points],
        [max(0.0, rate.high - rate.value) for _, rate in points],
    ]
    values = [rate.value for _, rate in points]
    axes.errorbar([place for place, _ in points], values, yerr=reach, marker="o", capsize=3, label=name)


def _finish(axes: Axes, title: str, axis: str) -> None:
    axes.set(xlabel=axis, ylabel="share right, with 95% intervals", ylim=(-0.02, 1.02), title=title)
    axes.legend(fontsize="small")


def draw_context(epsilons: Sequence[float], attacks: Sequence[ContextAttack], title: str) -> Figure:
    """Plot what a reader finds at each ε, beside how often it is right for each stated probability."""
    figure = new_figure(10.0, 4.0)
    success, reliability = figure.subplots(1, 2)
    labels = {"the output itself": "kept", "one word at a time": "alone", f"reader: {attacks[0].reader}": "in_context"}
    curves = {label: [getattr(one, name) for one in attacks] for label, name in labels.items()}
    _rates(success, epsilons, curves, title, "ε")
    reliability.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle="--", label="as stated")
    for epsilon, one in zip(epsilons, attacks, strict=True):
        seen = [(part.stated, part.right) for part in one.reliability if part.right.n]
        _curve(reliability, seen, f"ε = {epsilon:g}")
    reliability.set_xlim(-0.02, 1.02)
    asked = "probability that the reader states for its best guess"
    _finish(reliability, "How far the reader's probabilities are to be believed", asked)
    return figure


def draw_overlaps(epsilons: Sequence[float], attacks: Sequence[VectorAttack], title: str) -> Figure:
    """Plot histograms of the words' overlap estimates at each ε (Figure 4 of the NADP paper)."""
    figure = new_figure(6.0, 1.4 * len(attacks) + 1.0)
    for place, (epsilon, found) in enumerate(zip(epsilons, attacks, strict=True)):
        axes = figure.add_subplot(len(attacks), 1, place + 1)
        axes.hist(found.overlaps, bins=40, range=(0, 1), color="tab:blue")
        axes.set_yscale("log")
        axes.set_ylabel(f"ε = {epsilon:g}", rotation=0, ha="right", va="center")
        axes.text(0.98, 0.9, f"skewness {found.skewness.value:.2f}", transform=axes.transAxes, ha="right", va="top")
        axes.tick_params(labelleft=False, labelbottom=place == len(attacks) - 1)
        if place == 0:
            axes.set_title(title)
    axes.set_xlabel("overlap of the words near the original and near the released vector")
    return figure
