"""Localizer, amplifier, curator: randomise each user's words, mix the records, and recover statistics.

This is the first proposal of the challenges paper. `Pipeline` puts the three together, and `bounds` says what each
amplifier is worth.

These parameters mean the same everywhere. `records` is the number of records or a `Crowd` of them; given a number, all
are assumed to have one shape, and the guarantee says so. `delta` is the δ that may be spent. `per_user` is how many
records one user may give; the guarantee covers all of them together. A `seed` is for experiments: a step with a seed
does not amplify, and neither does any other step of its pipeline.

To recover counts, `mechanism` is what randomised the words, `law` is its matrix ``Pr[M(w)=u]`` with a row for each
input word, and `counts` are counts of noisy words, or of n-grams with an axis for each word. If the probabilities are
not known exactly, `draws` says how often to draw each word to count them. Without it such a mechanism is refused,
because counted probabilities cause errors that no error bar shows.
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
