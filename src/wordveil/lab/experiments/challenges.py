"""The challenges paper's proposals against the plain mechanism, at equal success of the adversary."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordveil.lab.experiments.comparison import compare
from wordveil.lab.experiments.contenders import entrant
from wordveil.lab.experiments.frontier_figure import draw_frontier
from wordveil.lab.experiments.points import points_table
from wordveil.lab.experiments.result import Result, Setting
from wordveil.lab.tasks import AveragedVectors, Reader, load_task
from wordveil.spaces import load_space

__all__ = ["run"]

_CONTENDERS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("plain: laplace", "laplace", {}),
    ("6.1 density-modulated noise", "density", {}),
    ("6.1 prior by density, exact draws", "exponential", {"prior": "density"}),
    ("6.1 prior by frequency, exact draws", "exponential", {"prior": "frequency"}),
    ("6.2 noise by local sensitivity", "elastic", {}),
    ("truncated at a distance", "truncated", {}),
    ("truncated at the k-th neighbour", "knn-truncated", {}),
    ("(ours) hops on the graph, k=3", "graph", {"k": 3, "first": 1.0}),
    ("(ours) hops on the graph, the default", "graph", {}),
)


def run(setting: Setting) -> Result:
    """Compare them on three tasks where the best guess of a word is right a quarter of the time."""
    space = load_space("glove-50k").restrict(np.arange(setting.pick(6000, 20_000)))
    tasks = [load_task(name, setting.data).limited(setting.pick(800, 1_000_000)) for name in ("trec6", "mr", "cr")]
    names = _CONTENDERS if not setting.quick else [one for one in _CONTENDERS if one[1] != "density"]
    found = compare(
        [entrant(label, name, options, space, setting.engine) for label, name, options in names],
        tasks,
        AveragedVectors(Reader(space)),
        (0.25,) if setting.quick else (0.1, 0.25, 0.4),
        repeats=setting.pick(1, 3),
        draws=setting.pick(10_000, 150_000),
        seed=setting.seed,
        workers=setting.workers,
        watch=setting.watch,
    )
    left_out = " The quick run leaves density-modulated noise out." if setting.quick else ""
    wide = "With so few examples the intervals are too wide to rank by utility. " if setting.quick else ""
    return Result(
        [points_table("At equal adversary success", "proposal", found.points, [task.name for task in tasks])],
        "The paper proposes and measures nothing. A share is how far utility is on the way from random words to clean "
        "text. The near loss of the mechanisms with noise is what they promise, an upper bound; for the others it is "
        f"computed. {wide}None of the proposals that draw from distances in the embedding keeps similar words as close "
        "together as the default does.",
        changed=f"The paper reports no experiment.{left_out}",
        facts=found.to_dict(),
        figures={} if setting.quick else {"": draw_frontier(found, "text")},
    )
