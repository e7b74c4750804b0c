"""Plots of a calibration; they need matplotlib (the extra ``plots``)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wordveil import extras
from wordveil.calibration.measurement import Measurement
from wordveil.errors import InputError
from wordveil.extras import check_can_draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BINS = 40


@dataclass(frozen=True)
class Curve:
    """The figures of one mechanism over ε, as `Calibration.to_dict` returns them."""

    label: str
    measurements: list[dict[str, Any]]  # one dict of figures per ε

    def over(self, part: str, figure: str) -> tuple[list[float], list[float]]:
        """Return the ε that have a figure, and the figures."""
        points = [(found["epsilon"], found[part][figure]) for found in self.measurements]
        known = sorted((epsilon, value) for epsilon, value in points if value is not None)
        return [epsilon for epsilon, _ in known], [value for _, value in known]

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Curve:
        """Make a curve from the JSON of a calibration."""
        try:
            options = ", ".join(f"{key}={value}" for key, value in facts["options"].items() if value is not None)
            label = f"{facts['mechanism']}{f' ({options})' if options else ''} on {facts['on']['name']}"
            curve = cls(label, facts["measurements"])
            curve.over("stays", "mean")
        except (KeyError, TypeError, AttributeError):
            raise InputError("expected the JSON of a calibration, as `wordveil calibrate` writes it.") from None
        return curve


def histograms(measurements: Sequence[Measurement], draws: int) -> Figure:
    """Plot histograms of N_w and S_w over the words at each ε (Figure 2 of the WSDM paper)."""
    figure, axes = _figure(len(measurements), 1.1 * len(measurements) + 1.2)
    for row, measured in enumerate(measurements):
        _histogram(axes[row][0], draws * measured.stays.values, draws, measured.epsilon, "tab:blue")
        _histogram(axes[row][1], measured.distinct.values, draws, measured.epsilon, "tab:orange")
    axes[0][0].set_title(f"N_w: times out of {draws:,} that a word stays")
    axes[0][1].set_title(f"S_w: distinct outputs in {draws:,} draws")
    return figure


def _histogram(axes: Axes, values: Any, most: int, epsilon: float, colour: str) -> None:
    axes.hist(values, bins=_BINS, range=(0, most), color=colour)
    axes.set_yscale("log")
    axes.set_ylabel(f"ε = {epsilon:g}", rotation=0, ha="right", va="center")
    axes.tick_params(labelleft=False)
    extreme = float(np.max(values) if colour == "tab:blue" else np.min(values))
    axes.axvline(extreme, color="black", linewidth=0.8, linestyle=":")


def averages(curves: Sequence[Curve]) -> Figure:
    """Plot the means of N_w and S_w over ε (Figures 3 and 4 of the WSDM paper)."""
    shown = (("distinct", "mean", "mean S_w: distinct outputs"), ("stays", "mean", "mean N_w: probability of staying"))
    return _curves(curves, shown, height=3.6)


def panels(curves: Sequence[Curve]) -> Figure:
    """Plot mean and worst N_w, and mean S_w and K_w, over ε (Figure 5 of the ICDM paper)."""
    shown = (
        ("stays", "mean", "(a) mean N_w: probability of staying"),
        ("stays", "worst", "(b) worst N_w"),
        ("distinct", "mean", "(c) mean S_w: distinct outputs"),
        ("inputs", "mean", "(d) mean K_w: inputs that give the same output"),
    )
    return _curves(curves, shown, height=6.4)


def _figure(rows: int, height: float) -> tuple[Figure, Any]:
    """Return a figure of two columns of axes."""
    check_can_draw()
    figure = extras.new_figure(9.0, height)
    return figure, figure.subplots(rows, 2, squeeze=False)


def _curves(curves: Sequence[Curve], shown: Sequence[tuple[str, str, str]], height: float) -> Figure:
    """Plot a panel of all curves for each part of a measurement, figure and title in `shown`."""
    figure, axes = _figure(len(shown) // 2, height)
    for panel, (part, which, title) in zip(axes.flat, shown, strict=True):
        for curve in curves:
            panel.plot(*curve.over(part, which), marker="o", markersize=3, label=curve.label)
        panel.set_title(title, fontsize="medium")
        panel.set_xlabel("ε")
        panel.grid(alpha=0.3)
        panel.set_ylim(bottom=0)
    axes[0][0].legend(fontsize="small")
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a plot as PNG or SVG, depending on the file's name."""
    extras.check_target(path)
    extras.save(figure, path)


def inline(figure: Figure) -> str:
    """Return a plot as SVG for a page."""
    from matplotlib import rc_context  # noqa: PLC0415 - an extra

    text = io.StringIO()
    # reproducible: no date, and no random ids
    with rc_context({"svg.hashsalt": "wordveil"}):
        figure.savefig(text, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return text.getvalue()[text.getvalue().index("<svg") :]
