"""ICDM Fig. 5: N_w, S_w and K_w over ε."""

from __future__ import annotations

from wordveil.calibration.figures import panels
from wordveil.lab.experiments.result import Result, Setting
from wordveil.lab.experiments.statistics import calibrated, curve_of, statistics_table
from wordveil.spaces import load_space

__all__ = ["run"]


def run(setting: Setting) -> Result:
    """Calibrate the paper's mechanism and the exact one."""
    space = load_space("wordnet-poincare")
    words = setting.pick(120, 2000)
    plans = (
        ("hyperbolic-icdm19", (0.125, 0.5, 1.0, 2.0, 8.0) if setting.quick else (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)),
        ("hyperbolic", (2.5, 4.0, 8.0) if setting.quick else (2.25, 2.5, 3.0, 4.0, 6.0, 8.0)),
    )
    tables, curves = [], []
    for name, epsilons in plans:
        found = calibrated(setting, name, space, epsilons=epsilons, words=words)
        tables.append(statistics_table(f"{name}, {words:,} words", found))
        curves.append(curve_of(found, name))
    return Result(
        tables,
        "The curves of the paper's mechanism have the paper's shapes: the average word hardly ever stays at small ε "
        "while the worst one does. On average our words stay less often than those of the paper's Table IV, in a space "
        "of another size and shape. The worst word, which is the worst of those sampled, stays more often than the "
        "paper's at ε = 0.125, 0.5, 1 and 2, and less often at 8. The exact mechanism cannot go below an ε of 2 in 3 "
        "dimensions, where no hyperbolic Laplace law exists, and above it words nearly always stay, since neighbours "
        "in this ball are several units apart: on such a space the mechanism exponential, which takes any ε, is the "
        "one to use.",
        changed="WordNet's nouns and verbs in a 3-d ball stand for WebIsADb in 100-d. The paper prints figures "
        "without numbers.",
        facts={curve.label: curve.measurements for curve in curves},
        figures={"": panels(curves)},
    )
