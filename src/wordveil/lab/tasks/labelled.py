"""A task of the user's own: texts with labels, and perhaps authors, from a table in any format that is read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from wordveil.errors import InputError
from wordveil.io import Reading, make_plan
from wordveil.lab.tasks.task import CLASSES, Task
from wordveil.plan.sketches import Reservoir
from wordveil.plan.survey import check_columns, records_of
from wordveil.progress import Watch, ignore

_EACH = 10  # texts that a label must have to be learnt
_LEAST = 50  # texts in all
_AUTHORS = 5  # so that each fold has one to test on
_MOST_LABELS = 200


def read_labelled(
    path: str | Path,
    column: str,
    label: str,
    author: str | None = None,
    *,
    rows: int = 2000,
    seed: int = 0,
    format_name: str | None = None,
    encoding: str = "utf-8",
    watch: Watch = ignore,
) -> tuple[Task, dict[str, int]]:
    """Read texts and their labels; return the task of telling the label from the text, and what was left out.

    Records without a text, a label or an author are left out, and so are labels of fewer than ten texts. Of more than
    `rows` records, so many are chosen at random. With authors, the task tests on people it has not learnt from.
    """
    asked = [name for name in (column, label, author) if name is not None]
    if len(set(asked)) < len(asked):
        raise InputError("the text, the label and the author must be different columns.")
    kept: Reservoir[tuple[str, ...]] = Reservoir(rows, seed)
    empty = records = 0
    for fields in records_of(make_plan(Path(path), format_name), Reading(encoding=encoding, every_column=True), watch):
        records += 1
        if records == 1:
            check_columns(list(fields), asked)
        found = tuple((fields.get(name) or "").strip() for name in asked)
        if not all(found):
            empty += 1
        elif (place := kept.place()) is not None:
            kept.put(place, found)
    sampled = list(kept)
    counts = Counter(one[1] for one in sampled)
    names = sorted(name for name, count in counts.items() if count >= _EACH)
    usable = [one for one in sampled if counts[one[1]] >= _EACH]
    _check(records, len(sampled), len(usable), len(names), len(counts))
    place_of = {name: float(place) for place, name in enumerate(names)}
    authors = None
    if author is not None:
        people = {name: place for place, name in enumerate(dict.fromkeys(one[2] for one in usable))}
        if len(people) < _AUTHORS:
            raise InputError(
                f"the texts have only {len(people)} authors, and {_AUTHORS} are needed to compare by author."
            )
        authors = np.array([people[one[2]] for one in usable])
    task = Task(
        label, CLASSES, ([one[0] for one in usable],), np.array([place_of[one[1]] for one in usable]), authors=authors
    )
    told = {
        "records": records,
        "empty": empty,
        "rare_labels": len(sampled) - len(usable),
        "texts": len(usable),
        "labels": len(names),
        "authors": 0 if authors is None else len(np.unique(authors)),
    }
    return task, told


def _check(records: int, sampled: int, usable: int, labels: int, values: int) -> None:
    if not records:
        raise InputError("the input has no records.")
    if not sampled:
        raise InputError("no record has a text and a label.")
    if values == 1:
        raise InputError("all texts have the same label, so there is nothing to tell from them.")
    if labels < 2:
        raise InputError(
            f"the {sampled:,} texts have {values:,} labels, but only {labels} has {_EACH} texts or more; at least two "
            "must."
        )
    if labels > _MOST_LABELS:
        raise InputError(f"the column of labels has {labels:,} values; at most {_MOST_LABELS} can be told apart here.")
    if usable < _LEAST:
        raise InputError(f"only {usable} texts have a label of {_EACH} texts or more; {_LEAST} are needed.")
