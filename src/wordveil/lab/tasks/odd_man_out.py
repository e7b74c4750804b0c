"""Reader of odd-man-out (Stanovsky & Hopkins 2018): which of five does not belong."""

from __future__ import annotations

import numpy as np

from wordveil.lab.tasks.folder import DataFolder
from wordveil.lab.tasks.task import ODD, Task

__all__ = ["odd_man_out"]

_ITEMS = 5


def odd_man_out(data: DataFolder) -> Task:
    """Read the crowd's sets that annotators agreed on; the places in a set are shuffled, always the same way."""
    rows = data.columns("odd-man-out/crowdsourced_filtered.tsv", 2)
    generator = np.random.default_rng(0)
    sets, gold = [], []
    for _, *items in (row[: 1 + _ITEMS] for row in rows if len(row) > _ITEMS):  # a few lines lack an item
        order = generator.permutation(len(items))
        sets.append([items[place] for place in order])
        gold.append(float(np.flatnonzero(order == 0)[0]))  # the odd one comes first in the file
    columns = tuple(list(column) for column in zip(*sets, strict=True))
    return Task("odd-man-out", ODD, columns, np.array(gold))
