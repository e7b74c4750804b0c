"""Finds out what an ε means for a mechanism on a space, and which ε to choose.

In all functions, `make` makes the mechanism for an ε (see `maker`), `space` is the space you asked for, which defines
which words are similar, and `effort` is how much to measure. A `meter` measures the mechanism, a `span` is where to
start the search for an ε, `by` is one of `MATCHED`, and `watch` is called with the progress of long work.
"""

from wordveil._mechanisms.attackers import Figure, OnProse, strongest
from wordveil._mechanisms.laws import Effort, PerWord
from wordveil.calibration.calibrate import Answer, Calibration, calibrate
from wordveil.calibration.matching import MATCHED, Side, match, side
from wordveil.calibration.measurement import Measurement
from wordveil.calibration.meter import Maker, Meter, Span, maker, meter_for, span_of
from wordveil.calibration.targets import TARGETS, Target, solve

__all__ = [
    "MATCHED",
    "TARGETS",
    "Answer",
    "Calibration",
    "Effort",
    "Figure",
    "Maker",
    "Measurement",
    "Meter",
    "OnProse",
    "PerWord",
    "Side",
    "Span",
    "Target",
    "calibrate",
    "maker",
    "match",
    "meter_for",
    "side",
    "solve",
    "span_of",
    "strongest",
]
