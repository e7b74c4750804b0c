"""Localizer, amplifier, curator: each user's words are randomised, the records mixed, and statistics recovered.

The first proposal of the challenges paper. `Pipeline` puts the three together; `bounds` has what each amplifier is
worth.

Throughout, `records` is how many records there are, or a `Crowd` of them: given only a number, all are assumed to have
one shape, and the guarantee says so. `delta` is the δ that may be spent, and `per_user` how many records one user may
give; the guarantee is for all of them together. A `seed` is for experiments: with one there is no amplification, by
that step or any other. To recover counts, `mechanism` is what randomised the words, `law` its matrix ``Pr[M(w)=u]``, a
row for each input word, and `counts` are those of noisy words, or of n-grams with an axis for each word. Where the
probabilities are not known exactly, `draws` of each word are counted; without it such a mechanism is refused, because
what is recovered through counted probabilities has errors that no bar shows.
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
