"""NADP Fig. 2: four tasks over ε, on noisy vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordveil.extras import new_figure
from wordveil.lab.experiments.noisy_vectors import MECHANISMS, noise_mechanism, noisy
from wordveil.lab.experiments.result import Cell, Result, Setting, Table
from wordveil.lab.tasks import AveragedVectors, Reader, Task, evaluate, load_task
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, load_space

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["run"]

_GROUPS = {
    "word similarity": ("words",),
    "STS": ("stsb",),
    "classification": ("mr", "cr", "mpqa"),
    "odd-man-out": ("odd-man-out",),
}


def run(setting: Setting) -> Result:
    """Release every vector once with each mechanism at each ε, and do the tasks with the released vectors."""
    space = load_space("glove-50k").restrict(np.arange(setting.pick(15_000, 50_000)))
    epsilons = (1.0, 10.0, 40.0) if setting.quick else (0.5, 1.0, 5.0, 10.0, 20.0, 40.0)
    repeats = setting.pick(3, 5)
    most = setting.pick(700, 4000)
    reader = Reader(space)
    tasks = {
        group: [reader.known(load_task(name, setting.data).limited(most, setting.seed)) for name in names]
        for group, names in _GROUPS.items()
    }
    clean = {group: _score(space, members) for group, members in tasks.items()}
    found: dict[str, dict[str, NDArray[np.float64]]] = {}
    for number, name in enumerate(MECHANISMS):
        scores: dict[str, list[list[float]]] = {group: [] for group in tasks}
        for place, epsilon in enumerate(epsilons):
            setting.watch(name, (number + place / len(epsilons)) / len(MECHANISMS))
            made = noise_mechanism(name, space, epsilon)
            released = [noisy(made, space, one) for one in Entropy(setting.seed).spawn(repeats)]
            for group, members in tasks.items():
                scores[group].append([_score(one, members) for one in released])
        found[name] = {group: np.array(rows) for group, rows in scores.items()}
    tables = [
        Table(
            f"{group}: without noise {clean[group]:.3f}",
            ("mechanism", *(f"ε = {epsilon:g}" for epsilon in epsilons)),
            [[name, *_cells(of[group])] for name, of in found.items()],
        )
        for group in tasks
    ]
    return Result(
        tables,
        "The paper has NADP first on every task at every ε. In our full run that depends on the task. On word "
        "similarity and odd-man-out it is ahead of jaccard and gaussian at every ε, and laplace and mahalanobis "
        "overtake it at ε = 20 or 40. On classification it is last at ε = 0.5 and 1, ahead of jaccard and gaussian "
        "from 5 on, and behind laplace and mahalanobis from 20 on. On STS it is first up to ε = 5, level with gaussian "
        "at 10 and behind it from 20 on, and ahead of laplace and mahalanobis at every ε. More than half of the words "
        "stand alone in its graph and are released without noise (see nadp-fig3), while the noise of the others is "
        "large: averages over several words drown in it at small ε. As in the paper, STS suffers least; it even gains "
        "from noise, which weakens the frequent words that averages are full of. The ε of the five are not comparable "
        "with each other: wordveil compare matches mechanisms by what an adversary achieves.",
        changed="GloVe 6B in 100 dimensions stands for GloVe 42B in 300. The paper prints a figure without numbers; "
        "STS is scored by Pearson's r alone. NADP has τ = 0.5, which the paper names for this figure, and elsewhere "
        "0.1, where few words stand alone. The ± is over draws of the noise, not over examples.",
        facts={
            "epsilons": list(epsilons),
            "clean": clean,
            "scores": {name: {group: rows.tolist() for group, rows in of.items()} for name, of in found.items()},
            "repeats": repeats,
        },
        figures={"": _draw(epsilons, found, clean)},
    )


def _score(space: EuclideanSpace, tasks: list[Task]) -> float:
    model = AveragedVectors(Reader(space))
    return float(np.mean([evaluate(task, model).score for task in tasks]))


def _cells(scores: NDArray[np.float64]) -> list[Cell]:
    return [
        f"{mean:.3f} ± {error:.3f}" for mean, error in zip(scores.mean(axis=1), _standard_errors(scores), strict=True)
    ]


def _standard_errors(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1]))


def _draw(
    epsilons: tuple[float, ...], found: dict[str, dict[str, NDArray[np.float64]]], clean: dict[str, float]
) -> Figure:
    figure = new_figure(10.0, 7.0)
    for axes, group in zip(figure.subplots(2, 2).flat, clean, strict=True):
        for name, of in found.items():
            rows = of[group]
            errors = _standard_errors(rows)
            axes.errorbar(epsilons, rows.mean(axis=1), yerr=errors, marker="o", markersize=3, label=name)
        axes.axhline(clean[group], color="0.4", linestyle=":")
        axes.set_xscale("log")
        axes.set_xlabel("ε")
        axes.set_title(group)
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize="small")
    return figure
