"""What an ε means for a mechanism on a space, and which ε to choose."""

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
