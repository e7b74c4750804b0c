"""A calibration as a self-contained HTML report; needs Jinja2 and matplotlib (the extra ``plots``)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from wordveil import __version__
from wordveil._mechanisms.attackers import Figure
from wordveil.calibration.calibrate import Calibration
from wordveil.calibration.figures import Curve, averages, histograms, inline, panels
from wordveil.calibration.wording import caption, meaning, near_loss, success
from wordveil.rounding import percent


def page(calibration: Calibration, others: Sequence[Curve] = ()) -> str:
    """Return the report as HTML."""
    meter, curve = calibration.meter, Curve.from_dict(calibration.to_dict())
    shown = calibration.at(calibration.recommended or calibration.measurements[-1].epsilon)
    pictures = (
        histograms(calibration.measurements, meter.effort.draws),
        averages([curve, *others]),
        panels([curve, *others]),
    )
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    environment.filters |= {
        "bits": _bits,
        "loss": near_loss,
        "median": lambda values: float(np.median(values)),
        "number": _number,
        "percent": percent,
        "share": _share,
        "success": success,
    }
    return environment.get_template("page.html").render(
        advice=calibration.advice(),
        attacker=caption(calibration.measurements).replace("`", ""),
        described=meter.probe.describe(),
        examples=sorted(calibration.examples.items()),
        found=calibration,
        has_own=any(one.own for one in calibration.measurements),
        label=curve.label,
        meaning=meaning(shown, meter.vocabulary, meter.effort.draws),
        meter=meter,
        pictures=[Markup(inline(figure)) for figure in pictures],  # noqa: S704 - drawn here, with its texts escaped
        promise=meter.make(shown.epsilon).guarantee,
        settings=meter.effort,
        shown=shown,
        today=datetime.now(timezone.utc).date().isoformat(),
        version=__version__,
    )


def _bits(bits: float | None) -> str:
    return "-" if bits is None else f"{bits:.1f}"


def _share(figure: Figure | None) -> str:
    return "-" if figure is None else figure.share()


def _number(value: float) -> str:
    if not np.isfinite(value):
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
