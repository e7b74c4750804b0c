"""Localizer, amplifier, curator: each user's words are randomised, the records mixed, and statistics recovered.

The first proposal of the challenges paper. `Pipeline` puts the three together; `bounds` has what each amplifier is
worth.
"""

from wordveil.lac.account import Account, UserGuarantee
from wordveil.lac.amplifiers import Amplifier, KThreshold, Shuffle, Subsample, shuffled
from wordveil.lac.curators import Classifier, Curator, Histogram, Plain, TopWords, Training
from wordveil.lac.ledger import Ledger
from wordveil.lac.pipeline import Localizer, Outcome, Pipeline, Stage
from wordveil.lac.records import Census, Crowd, Record
from wordveil.lac.recovery import Recovered, dense_law, invert, update
from wordveil.lac.simulation import Point, simulate

__all__ = [
    "Account",
    "Amplifier",
    "Census",
    "Classifier",
    "Crowd",
    "Curator",
    "Histogram",
    "KThreshold",
    "Ledger",
    "Localizer",
    "Outcome",
    "Pipeline",
    "Plain",
    "Point",
    "Record",
    "Recovered",
    "Shuffle",
    "Stage",
    "Subsample",
    "TopWords",
    "Training",
    "UserGuarantee",
    "dense_law",
    "invert",
    "shuffled",
    "simulate",
    "update",
]
