"""ICDM Fig. 3: the density of the noise of Eq. 7, and whether the samplers follow it."""

from __future__ import annotations

import numpy as np
from scipy import special
from scipy.integrate import trapezoid

from wordveil.lab.experiments.result import Result, Setting, Table
from wordveil.lab.plots.density import draw_density
from wordveil.noise import Entropy, icdm19_lengths, metropolis_points
from wordveil.noise.hyperbolic import icdm19_log_normaliser

__all__ = ["run"]

_EPSILONS = (0.5, 1.0, 2.0, 8.0)


def run(setting: Setting) -> Result:
    """Draw the density and compare the paper's constant and both samplers with it."""
    draws = setting.pick(20_000, 100_000)
    rows, facts = [], []
    for number, epsilon in enumerate(_EPSILONS):
        setting.watch("drawing", number / len(_EPSILONS))
        ours = 2.0 * float(np.exp(icdm19_log_normaliser(1, epsilon)))  # over both signs
        paper = 2.0 * float(special.hyp2f1(1, epsilon, 2 + epsilon, -1)) / (1 + epsilon)
        entropy = Entropy(setting.seed)
        exact = icdm19_lengths(draws, 1, epsilon, entropy)
        chain = np.abs(metropolis_points(draws // 10, 1, epsilon, entropy)[:, 0])
        true = _mean_length(epsilon)
        rows.append((epsilon, paper, ours, true, float(exact.mean()), float(chain.mean())))
        facts.append(dict(zip(("epsilon", "paper_z", "our_z", "mean", "exact", "metropolis"), rows[-1], strict=True)))
    table = Table(
        "The constant Z, and the mean length of the noise in one dimension",
        ("ε", "Z of the paper", "Z integrated", "mean |x| of Eq. 7", "exact sampler", "paper's Algorithm 2"),
        rows,
    )
    return Result(
        [table],
        "The paper's constant is right in one dimension. Our exact sampler has the mean of Eq. 7; Algorithm 2 as "
        "printed does not, because it proposes in the plane, maps into the ball and leaves the Jacobian of that map "
        "out.",
        facts={"rows": facts, "draws": draws},
        figures={"": draw_density("icdm19", _EPSILONS)},
    )


def _mean_length(epsilon: float) -> float:
    x = np.linspace(0.0, 1.0, 200_001)
    density = ((1 - x) / (1 + x)) ** epsilon
    return float(trapezoid(x * density, x) / trapezoid(density, x))
