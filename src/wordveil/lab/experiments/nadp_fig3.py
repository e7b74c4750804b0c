"""NADP Fig. 3: the skewness of the estimated p(x|M(x)) over ε."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordveil._mechanisms.laws import sample
from wordveil.attacks import attack_vectors
from wordveil.canvas import new_figure
from wordveil.lab.experiments.noisy_vectors import noise_mechanism
from wordveil.lab.experiments.result import Cell, Result, Setting, Table
from wordveil.noise import Entropy
from wordveil.spaces import load_space

__all__ = ["run"]

_SERIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("nadp τ=0.1", "nadp", {"tau": 0.1}),
    ("nadp τ=0.5", "nadp", {"tau": 0.5}),
    ("nadp τ=0.5, lone words joined", "nadp", {"tau": 0.5, "join": True}),
    ("jaccard", "jaccard", {}),
    ("gaussian", "gaussian", {}),
    ("laplace", "laplace", {}),
    ("mahalanobis", "mahalanobis", {}),
)


def run(setting: Setting) -> Result:
    """Release vectors, look for their words, and measure overlap and skewness."""
    space = load_space("glove-50k").restrict(np.arange(setting.pick(15_000, 50_000)))
    ids = sample(len(space), setting.pick(1000, 10_000), setting.seed)
    epsilons = (1.0, 5.0, 15.0, 40.0) if setting.quick else (0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 40.0)
    skews: list[list[Cell]] = []
    rates: list[list[Cell]] = []
    facts = []
    figure = new_figure(7.0, 4.5)
    axes = figure.subplots()
    for number, (label, name, options) in enumerate(_SERIES):
        setting.watch(label, number / len(_SERIES))
        found = [
            attack_vectors(noise_mechanism(name, space, epsilon, **options), ids, entropy=Entropy(setting.seed))
            for epsilon in epsilons
        ]
        skews.append([label, *(_interval(one.skewness.value, one.skewness.low, one.skewness.high) for one in found)])
        rates.append([label, *(f"{one.nearest.value:.1%}" for one in found)])
        facts.append({"series": label, "figures": [one.to_dict() for one in found]})
        axes.plot(epsilons, [one.skewness.value for one in found], marker="o", markersize=3, label=label)
    axes.set_xscale("log")
    axes.set_xlabel("ε")
    axes.set_ylabel("skewness of the estimated p(x|M(x))")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    headings = ("mechanism", *(f"ε = {epsilon:g}" for epsilon in epsilons))
    return Result(
        [
            Table("Skewness; lower is better by the paper's reading", headings, skews),
            Table("How often the nearest word to a released vector is the original", headings, rates),
        ],
        "The paper reads a skewness near or below 0 as protection of most words. It is not: the skewness is also low "
        "where most words are found, since then the exceptions are on the other side. The second table shows it. "
        "Where NADP's skewness is lowest (τ = 0.5), the word nearest to a released vector is the original for more "
        "than half of the words at every ε, because words that stand alone in its graph get no noise. With lone "
        "words joined to a neighbour, or τ = 0.1, which joins them too, that goes away, and so does the low skewness.",
        changed="GloVe 6B in 100 dimensions stands for GloVe 42B in 300. The paper prints a figure without numbers. "
        "The overlap is of the ten nearest words; the paper gives no number for it.",
        facts={"epsilons": list(epsilons), "rows": facts},
        figures={"": figure},
    )


def _interval(value: float, low: float, high: float) -> str:
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"
