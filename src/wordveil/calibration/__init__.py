"""What an ε means for a mechanism on a space, and which ε to choose."""

from wordveil.calibration.choosing import Span, maker, meter_for, span_of
from wordveil.calibration.meter import Meter
from wordveil.calibration.settings import Settings
from wordveil.calibration.statistics import Adversary, Measurement, PerWord, Share
from wordveil.calibration.targets import TARGETS, Target, solve

__all__ = [
    "TARGETS",
    "Adversary",
    "Measurement",
    "Meter",
    "PerWord",
    "Settings",
    "Share",
    "Span",
    "Target",
    "maker",
    "meter_for",
    "solve",
    "span_of",
]
