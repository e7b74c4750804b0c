"""Localizer, amplifier, curator: words randomised by each user, a promise strengthened without noise, and statistics.

The challenges paper's first proposal. `Pipeline` puts the three together; `bounds` has what each amplifier is worth.
"""

from wordveil.lac.account import Account, Promise
from wordveil.lac.amplifiers import Amplifier, KThreshold, Shuffle, Subsample
from wordveil.lac.channels import dense_channel
from wordveil.lac.classifier import Classifier
from wordveil.lac.crowd import Census, Crowd
from wordveil.lac.curators import Curator, Histogram, Plain, TopWords, Training
from wordveil.lac.estimate import Estimate
from wordveil.lac.ledger import Ledger, OverBudgetError
from wordveil.lac.localizer import Localizer
from wordveil.lac.permutation import shuffled
from wordveil.lac.pipeline import Outcome, Pipeline, Stage
from wordveil.lac.records import Record
from wordveil.lac.recovery import invert, update
from wordveil.lac.simulation import Point, simulate

__all__ = [
    "Account",
    "Amplifier",
    "Census",
    "Classifier",
    "Crowd",
    "Curator",
    "Estimate",
    "Histogram",
    "KThreshold",
    "Ledger",
    "Localizer",
    "Outcome",
    "OverBudgetError",
    "Pipeline",
    "Plain",
    "Point",
    "Promise",
    "Record",
    "Shuffle",
    "Stage",
    "Subsample",
    "TopWords",
    "Training",
    "dense_channel",
    "invert",
    "shuffled",
    "simulate",
    "update",
]
