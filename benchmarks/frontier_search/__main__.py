"""``python -m benchmarks.frontier_search``: is there a better default? What docs/search.md says in figures.

python -m benchmarks.frontier_search --data FOLDER --attacker context --workers 6 --minutes 8 --json FILE
python -m benchmarks.frontier_search --data FOLDER --quick                    # a few candidates, on any machine
python -m benchmarks.frontier_search --data FOLDER --only prior --words 8000  # some candidates, beside the default
python -m benchmarks.frontier_search --data FOLDER --attacker context --best 12 --of FILE   # of an earlier search
python -m benchmarks.frontier_search --tables FILE                            # what a search found, for docs/search.md

FOLDER of --data is the folder of data sets that docs/data.md describes, that of --wordnet holds WordNet's database
files (Debian's package wordnet-base puts them into /usr/share/wordnet); without it the candidates that need synonyms
are left out. Every candidate is compared with the default at the same success of the attacker on three tasks, and
those that lead on six others. First of all the default, made here as a matrix, is held against wordveil's own. All of
it wants a CUDA device.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frontier_search.candidates import DEFAULT, FORMER, entries
from benchmarks.frontier_search.checks import differences
from benchmarks.frontier_search.ground import Ground
from benchmarks.frontier_search.plan import Plan
from benchmarks.frontier_search.search import Measured, Row, leading
from benchmarks.frontier_search.table import headings, line, tables
from wordveil.errors import WordveilError
from wordveil.lab.experiments.run import done_in_turn
from wordveil.lab.tasks import Reading
from wordveil.spaces import load_space

CHOSEN_ON = ("trec6", "mr", "cr")
HELD_OUT = ("mpqa", "subj", "sst2", "snips", "sick-e", "mrpc")
LEVEL = 0.25
LEVELS = (0.1, 0.25)
FEWEST = 500  # words
CANDIDATE_WORDS = 8192  # among which a network looks for the originals
CHECKED = 1000
CLOSE = 1e-3  # between single and double precision
FIRST_PART = 0.65  # of the time that is given, for the tasks used to choose


def main() -> None:
    """Search and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of data sets")
    parser.add_argument("--wordnet", type=Path, help="the folder of WordNet's database files")
    parser.add_argument("--words", type=int, help="how many of the most frequent words (20,000; 2,000 with --quick)")
    parser.add_argument("--only", default="", help="a part of the family or the name of the candidates to try")
    parser.add_argument("--quick", action="store_true", help="few words, texts and candidates")
    parser.add_argument("--best", type=int, default=12, help="how many candidates of --of go on")
    parser.add_argument("--of", type=Path, help="try only those that keep most in a search that --json wrote")
    parser.add_argument("--texts", type=int, help="at most so many texts of each task (all; 2,000 with --quick)")
    parser.add_argument("--attacker", choices=("alone", "context"), default="alone", help="by whom levels are meant")
    parser.add_argument("--steps", type=int, default=300, help="of fitting a network to each release, with context")
    parser.add_argument("--looked-for", type=int, help="words, about, that the attacker with context looks for (all)")
    parser.add_argument("--repeats", type=int, help="veilings that utility is measured on (2; 5 without context)")
    parser.add_argument("--workers", type=int, default=1, help="candidates that are measured at once")
    parser.add_argument("--minutes", type=float, help="begin no further candidate after so many minutes")
    parser.add_argument("--json", type=Path, help="write the figures here as well, after every candidate")
    parser.add_argument("--tables", type=Path, help="print the tables of a file that --json wrote, and stop")
    chosen = parser.parse_args()
    if chosen.tables:
        print(tables(json.loads(chosen.tables.read_text(encoding="utf-8"))), end="")
        return
    if chosen.data is None:
        parser.error("the search needs data sets: name their folder with --data")
    words = (2000 if chosen.quick else 20_000) if chosen.words is None else chosen.words
    if words < FEWEST:
        parser.error(f"the search needs at least {FEWEST} words")
    context = chosen.attacker == "context"
    readers = ("population", "context") if context else ("population",)
    repeats = chosen.repeats or (1 if chosen.quick else 2 if context else 5)
    texts = chosen.texts or (2000 if chosen.quick else 1_000_000)
    reading = Reading(readers, steps=chosen.steps, candidates=CANDIDATE_WORDS) if context else Reading(readers)
    plan = Plan(
        chosen.data, chosen.wordnet, words, chosen.quick, chosen.attacker, reading, repeats, texts, chosen.looked_for
    )
    try:
        among = best_of(chosen.of, chosen.best) if chosen.of else None
        search(plan, only=chosen.only, among=among, workers=chosen.workers, minutes=chosen.minutes, file=chosen.json)
    except WordveilError as refused:
        parser.error(str(refused))


def best_of(file: Path, count: int) -> list[str]:
    """Return the names of those that kept most in an earlier search, on the tasks used to choose."""
    rows = [Row.from_dict(row) for row in json.loads(file.read_text())["compared"]["tasks used to choose"]["rows"]]
    return [row.label for row in sorted(rows, key=lambda row: -row.share)[:count]]


def search(
    plan: Plan,
    *,
    only: str = "",
    among: Sequence[str] | None = None,
    workers: int = 1,
    minutes: float | None = None,
    file: Path | None = None,
) -> dict[str, Any]:
    """Compare all candidates, then the leading ones on other tasks; print every row as soon as it is known."""
    started = time.perf_counter()
    ground = plan.ground
    checked = differences(Ground(load_space("glove-50k").restrict(np.arange(CHECKED)), ground.device))
    shown = ", ".join(f"{name} {apart:.0e}" for name, apart in checked.items())
    print(f"{len(ground):,} words on {ground.device}; relative differences from wordveil's own: {shown}", flush=True)
    if max(checked.values()) > CLOSE:
        raise WordveilError("the matrices made here are not those of wordveil's mechanism, so nothing was searched.")
    everyone = entries(wordnet=plan.wordnet is not None, quick=plan.quick)
    tried = [one.label for one in everyone if one.label == DEFAULT or only in f"{one.family}, {one.label}"]
    tried = [label for label in tried if among is None or label in (DEFAULT, FORMER, *among)]
    if len(tried) < 2:
        raise WordveilError(f"no candidate has {only!r} in its family or its name; --only needs a part of one.")
    found: dict[str, Any] = {
        "words": len(ground),
        "device": ground.device,
        "quick": plan.quick,
        "attacker": plan.attacker,
        "steps": plan.reading.steps,
        "texts": plan.texts,
        "looked_for": plan.looked_for,
        "seconds": 0,
        "left_out": [],
        "compared": {},
    }

    def compared(
        title: str, tasks: tuple[str, ...], names: list[str], levels: tuple[float, ...], until: float | None
    ) -> None:
        left = None if until is None else until - (time.perf_counter() - started) / 60.0
        comparison = plan.comparison(tasks)
        bounds = ", ".join(f"{name} {low:.3f} {high:.3f}" for name, (low, high) in comparison.bounds.items())
        print(f"\n{title} (random words, clean text: {bounds})\n", flush=True)
        print(headings(["as it stands", *plan.reading.readers]), flush=True)
        rows: list[Row] = []
        found["compared"][title] = {"bounds": comparison.bounds, "rows": []}
        default: dict[float, Measured] = {}
        waiting: list[dict[float, Measured]] = []
        done: set[str] = set()
        jobs = [(tasks, name, levels) for name in names]
        for number, measured in done_in_turn(plan.measured, jobs, workers, left):
            label = names[number]
            done.add(label)
            waiting.append(measured)
            default = measured if label == DEFAULT else default
            for one in waiting if default else []:
                for row in comparison.against(default, one):
                    rows.append(row)
                    print(line(row), flush=True)
            waiting = [] if default else waiting
            found["compared"][title]["rows"] = [row.to_dict() for row in rows]
            found["seconds"] = round(time.perf_counter() - started)
            if file:
                file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        found["left_out"] += [f"{title}: {name}" for name in names if name not in done]

    compared("tasks used to choose", CHOSEN_ON, tried, (LEVEL,), None if minutes is None else FIRST_PART * minutes)
    rows = [Row.from_dict(row) for row in found["compared"]["tasks used to choose"]["rows"]]
    compared("tasks held out", HELD_OUT, leading(rows), (LEVEL,) if plan.quick else LEVELS, minutes)
    for left_out in found["left_out"]:
        print(f"not tried, for lack of time: {left_out}")
    if file:
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"\n{found['seconds']} s")
    return found


if __name__ == "__main__":
    main()
