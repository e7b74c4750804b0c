"""What an ε means for a mechanism on a space, and which ε to choose."""

from wordveil.calibration.calibrate import Answer, Calibration, calibrate
from wordveil.calibration.choosing import Span, maker, meter_for, span_of
from wordveil.calibration.matching import MATCHED, Side, match, side
from wordveil.calibration.meter import Meter
from wordveil.calibration.settings import Settings
from wordveil.calibration.statistics import Adversary, Measurement, PerWord, Share
from wordveil.calibration.targets import TARGETS, Target, solve

__all__ = [
    "MATCHED",
    "TARGETS",
    "Adversary",
    "Answer",
    "Calibration",
    "Measurement",
    "Meter",
    "PerWord",
    "Settings",
    "Share",
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
]
