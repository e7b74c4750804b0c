"""WSDM Fig. 1: the distance to the k-th nearest word, at percentiles of the words."""

from __future__ import annotations

from wordveil.calibration import geometry_of
from wordveil.calibration.figures import distances
from wordveil.calibration.geometry import PERCENTILES
from wordveil.lab.experiments.result import Result, Setting, Table
from wordveil.spaces import load_space

__all__ = ["run"]


def run(setting: Setting) -> Result:
    """Measure the distances in raw GloVe and in GloVe scaled to length 1."""
    tables, figures, facts = [], {}, {}
    for name, normalise in (("raw", False), ("unit", True)):
        space = load_space("glove-50k", normalise=normalise)
        words = setting.pick(1000, 5000)
        found = geometry_of(space, words=words, graphs=(), seed=setting.seed, watch=setting.watch)
        rows = [(k, *map(float, row)) for k, row in zip(found.neighbours, found.distances, strict=True)]
        title = f"Distance to the k-th nearest word, GloVe 100-d {'scaled to length 1' if normalise else 'as it is'}"
        tables.append(Table(title, ("k", *(f"{percent}th percentile" for percent in PERCENTILES)), rows))
        figures["" if not normalise else "unit"] = distances(found)
        facts[name] = {"words": words, "growth": found.growth, "intrinsic_dimension": found.intrinsic}
    return Result(
        tables,
        "As in the paper, GloVe's distances hardly grow with k: the thousandth neighbour is not twice as far as the "
        "first. That is why noise large enough to leave a word lands on a word that has nothing to do with it. "
        "Scaled to length 1, words differ less in how far their neighbours are from k = 5 on, the less the larger k "
        "is; in the nearest word they differ as much.",
        changed="The 50,000 most frequent words of GloVe 6B in 100 dimensions stand for 319,000 words. fastText is "
        "not in the data; GloVe scaled to length 1 stands in its place as a second embedding. The paper prints a "
        "figure without numbers, so there is nothing to put beside ours.",
        facts=facts,
        figures=figures,
    )
