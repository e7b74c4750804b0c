"""WSDM Fig. 3: the average N_w and S_w of one embedding at two numbers of dimensions."""

from __future__ import annotations

from wordveil.calibration.figures import averages
from wordveil.lab.experiments.result import Result, Setting
from wordveil.lab.experiments.statistics import calibrated, curve_of, projected, statistics_table
from wordveil.spaces import load_space

__all__ = ["run"]


def run(setting: Setting) -> Result:
    """Calibrate laplace in 25 and in 100 dimensions."""
    space = load_space("glove-50k")
    words = setting.pick(80, 600)
    tables, curves = [], []
    for dimension, one in ((25, projected(space, 25)), (100, space)):
        found = calibrated(setting, "laplace", one, points=setting.pick(5, 8), words=words)
        tables.append(statistics_table(f"laplace in {dimension} dimensions, {words:,} words", found))
        curves.append(curve_of(found, f"GloVe {dimension}-d"))
    return Result(
        tables,
        "As in the paper, both dimensions go through the same averages, each at its own ε: an ε means nothing "
        "without the space it is used in. Fewer directions mean shorter noise but also shorter distances, so that "
        "here the ε lie close together. Equal averages hide unequal extremes: in 100 dimensions the worst word stays "
        "far more often.",
        changed="The 25 main directions of GloVe 100-d and GloVe 100-d itself stand for GloVe 50-d and 300-d. The "
        "paper prints a figure without numbers.",
        facts={curve.label: curve.measurements for curve in curves},
        figures={"": averages(curves)},
    )
