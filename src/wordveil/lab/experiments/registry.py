"""The list of experiments, one line for each table or figure, and the one function that runs them."""

from __future__ import annotations

import importlib
import sys
import time
from dataclasses import dataclass, replace
from typing import Any

from wordveil.errors import OptionError
from wordveil.lab.experiments.run import USUAL_ATTACKER, Result, Run
from wordveil.lab.pytorch import training_device

_PAPERS = {
    "icdm": "Feyisetan, Diethe & Drake, ICDM 2019",
    "wsdm": "Feyisetan, Balle, Drake & Diethe, WSDM 2020",
    "nadp": "Bollegala, Otake, Machide & Kawarabayashi 2023 (NADP)",
    "challenges": "Feyisetan, Aggarwal, Xu & Teissier 2021 (challenges)",
    "mechanisms": "All papers",
    "tasks": "All papers",
    "frontier": "This project",
    "reading": "This project",
}


_OWN = {"reading": "reading"}
AT_LEVELS = ("challenges", "mechanisms", "frontier")
_ON_TASKS = (*AT_LEVELS, "tasks", "wsdm-fig5", "icdm-table6")


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    ``icdm-fig3`` is the function ``fig3`` in the module ``icdm``. A name without a dash is a function in the module
    ``frontier``, unless it has a module of its own.
    """

    name: str
    title: str  # what the paper shows there
    needs_data: bool  # whether it needs the folder of data sets

    @property
    def paper(self) -> str:
        """Whose table or figure it is."""
        return _PAPERS[self.name.split("-")[0]]

    def check(self, run: Run) -> None:
        """Refuse settings that mean nothing to it."""
        if self.needs_data and run.folder is None:
            raise OptionError(f"the experiment {self.name} needs the folder of data sets.")
        if run.rows is not None and self.name not in _ON_TASKS:
            raise OptionError(f"the experiment {self.name} does no tasks, so it takes no rows.")
        if run.only is not None and self.name != "mechanisms":
            raise OptionError(f"the experiment {self.name} has mechanisms of its own, so it takes none.")
        if run.levels is not None and self.name not in AT_LEVELS:
            raise OptionError(f"the experiment {self.name} does not compare mechanisms, so it takes no levels.")

    def __call__(self, run: Run) -> Result:
        """Run it. Its module is imported only now."""
        module, _, function = self.name.rpartition("-")
        found = importlib.import_module(f"wordveil.lab.experiments.{module or _OWN.get(self.name, 'frontier')}")
        result: Result = getattr(found, function)(run)
        return result


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
        ("challenges", "Section 6: each proposal against the plain mechanism at equal attacker success", True),
        ("mechanisms", "Every mechanism at equal attacker success, with and without word frequencies", True),
        ("tasks", "Every task: clean, veiled at training and at test time, random", True),
        ("reading", "Releases as they stand and by every reader: what is kept, and what is guessed", True),
        ("frontier", "How the default mechanism was chosen, and tasks that were not used to choose it", True),
    )
}


def run_experiment(name: str, run: Run) -> tuple[Result, dict[str, Any]]:
    """Run one experiment. Return its result, and the same as plain values with the time it took."""
    experiment = EXPERIMENTS.get(name)
    if experiment is None:
        raise OptionError(f"unknown experiment {name!r}; choose from {', '.join(EXPERIMENTS)}.")
    experiment.check(run)
    watch = run.watch
    run = replace(run, watch=lambda what, share: watch(f"{name}, {what}", share))
    started = time.perf_counter()
    result = experiment(run)
    facts = {
        "name": name,
        "title": experiment.title,
        "paper": experiment.paper,
        "seed": run.seed,
        "quick": run.quick,
        "rows": run.rows,
        "levels": run.levels,
        "only": run.only,
        "date": time.strftime("%Y-%m-%d"),
        "attacker": run.attacker if name in AT_LEVELS else USUAL_ATTACKER,
        "reader": run.reader,
        "cuda": "torch" in sys.modules and training_device().type == "cuda",
        "seconds": round(time.perf_counter() - started, 1),
        "changed": result.changed,
        "reading": result.reading,
        "tables": [table.to_dict() for table in result.tables],
        "figures": sorted(result.figures),
        "facts": result.facts,
    }
    return result, facts
