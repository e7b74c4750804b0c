"""WSDM Fig. 4: the average N_w and S_w of two embeddings."""

from __future__ import annotations

from wordveil.calibration.figures import averages
from wordveil.lab.experiments.result import Result, Setting
from wordveil.lab.experiments.statistics import calibrated, curve_of, statistics_table
from wordveil.spaces import load_space

__all__ = ["run"]


def run(setting: Setting) -> Result:
    """Calibrate laplace on raw GloVe and on GloVe scaled to length 1."""
    words = setting.pick(80, 600)
    tables, curves = [], []
    for label, normalise in (("GloVe", False), ("GloVe of length 1", True)):
        space = load_space("glove-50k", normalise=normalise)
        found = calibrated(setting, "laplace", space, points=setting.pick(5, 8), words=words)
        tables.append(statistics_table(f"laplace on {label}, {words:,} words", found))
        curves.append(curve_of(found, label))
    return Result(
        tables,
        "As in the paper, two embeddings of one dimension reach the same averages at different ε, and equal averages "
        "hide different worst words: compare the columns of worst figures where the means agree. On vectors of "
        "length 1 the words are more alike in how far they stand from others, so the worst word is nearer to the "
        "mean.",
        changed="fastText is not in the data; GloVe scaled to length 1 stands for the second embedding. The paper "
        "prints a figure without numbers.",
        facts={curve.label: curve.measurements for curve in curves},
        figures={"": averages(curves)},
    )
