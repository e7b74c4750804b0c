"""Which way of measuring suits a mechanism, and which ε are worth looking at."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from wordveil._mechanisms import ExponentialMechanism, Graph, Mechanism, Ring, mechanism
from wordveil.calibration.draw_meter import DrawMeter
from wordveil.calibration.meter import Maker, Meter
from wordveil.calibration.radial import RadialNoise
from wordveil.calibration.ray_meter import RayMeter
from wordveil.calibration.row_meter import RowMeter
from wordveil.calibration.search import largest_epsilon, smallest_accepted
from wordveil.calibration.settings import Settings, Watch, ignore
from wordveil.calibration.shell_meter import ShellMeter
from wordveil.errors import WordveilError
from wordveil.spaces import Space

__all__ = ["Span", "maker", "meter_for", "span_of"]

_TRIED = (1.0, 10.0, 100.0, 1000.0)  # the first ε that a mechanism accepts tells what it is
_FEW = 200


def maker(name: str, space: Space, **options: Any) -> Maker:
    """Return what makes a mechanism of the registry for any ε; it can be sent to another process."""
    return partial(_make, name, space, options)


def _make(name: str, space: Space, options: dict[str, Any], epsilon: float) -> Mechanism[Any]:
    return mechanism(name, space, epsilon=epsilon, **options)


def meter_for(make: Maker, space: Space, settings: Settings | None = None, watch: Watch = ignore) -> Meter:
    """Choose the way of measuring that suits a mechanism.

    Parameters
    ----------
    make : callable
        Makes the mechanism for an ε; see `maker`.
    space : Space
        The space it was asked for on.
    settings : Settings, optional
        How much to measure.
    watch : callable, optional
        Told how far it is.

    Examples
    --------
    >>> import wordveil
    >>> space = wordveil.load_space("glove-50k")
    >>> meter = meter_for(maker("graph", space), space)
    >>> round(meter.stays([5.0])[0].worst, 2)
    0.23
    """
    probe = _probe(make)
    kind: type[Meter] = DrawMeter
    if type(probe) in (Graph, Ring):
        kind = ShellMeter
    elif isinstance(probe, ExponentialMechanism):
        kind = RowMeter
    elif RadialNoise.covers(probe):
        kind = RayMeter
    return kind(make, probe, space, settings or Settings(), watch)


def _probe(make: Maker) -> Mechanism[Any]:
    """Make the mechanism at the first ε that it accepts."""
    *others, last = _TRIED
    for epsilon in others:
        with suppress(WordveilError):
            return make(epsilon)
    return make(last)


@dataclass(frozen=True)
class Span:
    """The range of ε in which a mechanism goes from changing nearly every word to keeping nearly every word."""

    low: float
    high: float

    def grid(self, count: int) -> list[float]:
        """Return so many ε, evenly spaced in ratio, rounded to two digits but not to below the range."""
        first, *others = (float(epsilon) for epsilon in np.geomspace(self.low, self.high, count))
        rounded = {float(f"{epsilon:.2g}") for epsilon in others}
        step = 10.0 ** (np.floor(np.log10(first)) - 1)  # a smaller ε might be one that the mechanism refuses
        return sorted(rounded | {float(f"{np.ceil(first / step) * step:.2g}")})


def span_of(meter: Meter) -> Span:
    """Find the ε at which 2% and 98% of the words stay, roughly, from a few words."""
    few = replace(meter.settings, words=min(_FEW, len(meter.space)), draws=_FEW)
    small = type(meter)(meter.make, meter.probe, meter.space, few)
    start = meter.probe.epsilon

    def ends_at(share: float) -> float:
        return largest_epsilon(
            lambda tried: [found.mean <= share for found in small.stays(tried, small.ids)],
            start,
            4 * start,
            batch=meter.batch,
            tolerance=0.05,
        )

    low, high = ends_at(0.02), ends_at(0.98)
    if not low:  # even the smallest ε that the mechanism accepts keeps more
        low = smallest_accepted(meter.make, start)
    if not np.isfinite(high) or high <= low:
        high = 10 * low
    return Span(low, high)
