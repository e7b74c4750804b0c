"""The list of experiments: one line for each table or figure, and for each one of a paper a file."""

from __future__ import annotations

import importlib
import sys
import time
from dataclasses import dataclass, replace
from typing import Any

from wordveil.errors import WordveilError
from wordveil.extras import training_device
from wordveil.lab.experiments.result import Result, Setting

__all__ = ["EXPERIMENTS", "Experiment", "run_experiment"]

_PAPERS = {
    "icdm": "Feyisetan, Diethe & Drake, ICDM 2019",
    "wsdm": "Feyisetan, Balle, Drake & Diethe, WSDM 2020",
    "nadp": "Bollegala, Otake, Machide & Kawarabayashi 2023 (NADP)",
    "challenges": "Feyisetan, Aggarwal, Xu & Teissier 2021 (challenges)",
    "mechanisms": "All papers",
    "tasks": "All papers",
    "frontier": "This project",
}


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    Attributes
    ----------
    name : str
        By which it is asked for; its file is the same with underscores.
    title : str
        What the paper shows there.
    needs_data : bool
        Whether it needs the folder of data sets.
    """

    name: str
    title: str
    needs_data: bool

    @property
    def paper(self) -> str:
        """Whose table or figure it is."""
        return _PAPERS[self.name.split("-")[0]]

    @property
    def module(self) -> str:
        """The file that does it."""
        return f"wordveil.lab.experiments.{self.name.replace('-', '_')}"


#: The experiments by name, in the order of the papers.
EXPERIMENTS: dict[str, Experiment] = {
    name: Experiment(name, title, needs_data)
    for name, title, needs_data in (
        ("icdm-fig3", "Fig. 3: density of the noise of Eq. 7", False),
        ("icdm-fig4", "Fig. 4: IS-A relations in the Poincaré disk", False),
        ("icdm-fig5", "Fig. 5: privacy statistics over ε", False),
        ("icdm-table3", "Table III: authors found by Koppel's method", True),
        ("icdm-table4", "Table IV: hyperbolic against Euclidean at equal worst case", True),
        ("icdm-table6", "Table VI: eight tasks at three ε", True),
        ("wsdm-fig1", "Fig. 1: distances to the k nearest words", False),
        ("wsdm-fig2", "Fig. 2: histograms of N_w and S_w", False),
        ("wsdm-fig3", "Fig. 3: average N_w and S_w at two numbers of dimensions", False),
        ("wsdm-fig4", "Fig. 4: average N_w and S_w of two embeddings", False),
        ("wsdm-fig5", "Fig. 5: utility over ε, at training and at test time", True),
        ("wsdm-table1", "Table 1: replacements at equal average N_w", False),
        ("wsdm-table2", "Table 2: the membership auditor against query scramblers", True),
        ("wsdm-table3", "Table 3: the membership auditor over ε", True),
        ("nadp-fig2", "Fig. 2: four tasks over ε on noisy vectors", True),
        ("nadp-fig3", "Fig. 3: skewness over ε", False),
        ("nadp-fig4", "Fig. 4: histograms of the estimated p(x|M(x))", False),
        ("nadp-table1", "Table 1: nearest words of noisy vectors", False),
        ("challenges", "Section 6: each proposal against the plain mechanism at equal adversary success", True),
        ("mechanisms", "Every mechanism at equal adversary success, with and without word frequencies", True),
        ("tasks", "Every task: clean, veiled at training and at test time, random", True),
        ("frontier", "How the default mechanism was chosen, and tasks that were not used to choose it", True),
    )
}


def run_experiment(name: str, setting: Setting) -> tuple[Result, dict[str, Any]]:
    """Run one experiment.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    setting : Setting
        How to run it.

    Returns
    -------
    Result, dict
        What it found, and the same as plain values with how long it took.
    """
    experiment = EXPERIMENTS.get(name)
    if experiment is None:
        raise WordveilError(f"there is no experiment {name!r}; `wordveil reproduce --list` shows them.")
    if experiment.needs_data and setting.folder is None:
        raise WordveilError(f"the experiment {name} needs data sets; give their folder with --data.")
    watch = setting.watch
    setting = replace(setting, watch=lambda what, share: watch(f"{name}, {what}", share))
    began = time.perf_counter()
    result: Result = importlib.import_module(experiment.module).run(setting)
    facts = {
        "name": name,
        "title": experiment.title,
        "paper": experiment.paper,
        "seed": setting.seed,
        "quick": setting.quick,
        "cuda": _has_cuda(),
        "seconds": round(time.perf_counter() - began, 1),
        "changed": result.changed,
        "reading": result.reading,
        "tables": [table.to_dict() for table in result.tables],
        "figures": sorted(result.figures),
        "facts": result.facts,
    }
    return result, facts


def _has_cuda() -> bool:
    """Whether what PyTorch trained, it trained on a CUDA device."""
    return "torch" in sys.modules and training_device().type == "cuda"
