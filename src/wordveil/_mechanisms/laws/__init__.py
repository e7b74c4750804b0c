"""The laws Pr[M(w)=y] of all mechanisms: exact by rows or shells, or estimated from rays or draws."""

from wordveil._mechanisms.laws.directed import Directed, DirectedLaw
from wordveil._mechanisms.laws.exact import ExactLaw, RowLaw
from wordveil._mechanisms.laws.figures import PERCENTILES, Effort, Figures, Guess, PerWord, Question, sample
from wordveil._mechanisms.laws.law import Law
from wordveil._mechanisms.laws.radial import RadialLaw, UnitLength
from wordveil._mechanisms.laws.sampled import SampledLaw
from wordveil._mechanisms.laws.shells import HopFall, ShellLaw

__all__ = [
    "PERCENTILES",
    "Directed",
    "DirectedLaw",
    "Effort",
    "ExactLaw",
    "Figures",
    "Guess",
    "HopFall",
    "Law",
    "PerWord",
    "Question",
    "RadialLaw",
    "RowLaw",
    "SampledLaw",
    "ShellLaw",
    "UnitLength",
    "sample",
]
