"""``python -m benchmarks.frontier_search``: is there a better default? What docs/search.md says in figures.

python -m benchmarks.frontier_search --data FOLDER --attacker context --workers 6 --minutes 8 --json FILE
python -m benchmarks.frontier_search --data FOLDER --quick                    # a few candidates, on any machine
python -m benchmarks.frontier_search --data FOLDER --only prior --words 8000  # some candidates, beside the default
python -m benchmarks.frontier_search --data FOLDER --attacker context --reader shipped      # no network is fitted
python -m benchmarks.frontier_search --data FOLDER --attacker context --best 12 --of FILE   # of an earlier search
python -m benchmarks.frontier_search --tables FILE                            # what a search found, for docs/search.md

--data names the folder of data sets that docs/data.md describes. --wordnet names the folder of WordNet's database files
(Debian's package wordnet-base puts them into /usr/share/wordnet); without it, candidates that need synonyms are left
out. Every candidate is compared with the default at the same success of the attacker on three tasks, and the leading
ones on six others. Before that, the default made here as a matrix is checked against wordveil's own. All of it needs a
CUDA device.
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
CANDIDATE_WORDS = 8192  # in which a network looks for the originals
CHECKED = 1000
CLOSE = 1e-3  # between single and double precision
_SETTINGS = ("words", "quick", "attacker", "reader", "steps", "texts", "looked_for")
FIRST_PART = 0.65  # of the given time, for the tasks used to choose


def main() -> None:
    """Search and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of data sets")
    parser.add_argument("--wordnet", type=Path, help="the folder of WordNet's database files")
    parser.add_argument("--words", type=int, help="how many of the most frequent words (20,000; 2,000 with --quick)")
    parser.add_argument("--only", default="", help="a part of the family or the name of the candidates to try")
    parser.add_argument("--quick", action="store_true", help="few words, texts and candidates")
    parser.add_argument("--best", type=int, default=12, help="how many candidates of --of to try")
    parser.add_argument("--of", type=Path, help="try only the candidates that keep most in a search written by --json")
    parser.add_argument("--go-on", type=Path, metavar="FILE", help="continue a stopped search that --json wrote here")
    parser.add_argument("--texts", type=int, help="at most this many texts of each task (all; 2,000 with --quick)")
    parser.add_argument("--attacker", choices=("alone", "context"), default="alone", help="whose success to hold equal")
    parser.add_argument(
        "--reader",
        choices=("context", "shipped"),
        default="context",
        help="the network of the attacker with context: fitted to each release, or as shipped (ten times faster)",
    )
    parser.add_argument("--steps", type=int, default=300, help="steps to fit a network to each release, with context")
    parser.add_argument("--looked-for", type=int, help="about how many words the attacker with context looks for (all)")
    parser.add_argument("--repeats", type=int, help="how many veilings to measure utility on (2; 5 without context)")
    parser.add_argument("--workers", type=int, default=1, help="how many candidates to measure at once")
    parser.add_argument("--minutes", type=float, help="start no further candidate after this many minutes")
    parser.add_argument("--json", type=Path, help="write the figures to this file after every candidate")
    parser.add_argument("--tables", type=Path, help="only print the tables of a file that --json wrote")
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
    readers = ("population", chosen.reader) if context else ("population",)
    repeats = chosen.repeats or (1 if chosen.quick else 2 if context else 5)
    texts = chosen.texts or (2000 if chosen.quick else 1_000_000)
    reading = Reading(readers, steps=chosen.steps, candidates=CANDIDATE_WORDS) if context else Reading(readers)
    plan = Plan(
        chosen.data, chosen.wordnet, words, chosen.quick, chosen.attacker, reading, repeats, texts, chosen.looked_for
    )
    try:
        among = best_of(chosen.of, chosen.best) if chosen.of else None
        before = json.loads(chosen.go_on.read_text(encoding="utf-8")) if chosen.go_on else None
        how = {"only": chosen.only, "among": among, "before": before}
        search(plan, **how, workers=chosen.workers, minutes=chosen.minutes, file=chosen.json)
    except WordveilError as refused:
        parser.error(str(refused))


def best_of(file: Path, count: int) -> list[str]:
    """Return the names of the candidates that kept most in an earlier search, on the tasks used to choose."""
    rows = [Row.from_dict(row) for row in json.loads(file.read_text())["compared"]["tasks used to choose"]["rows"]]
    return [row.label for row in sorted(rows, key=lambda row: -row.share)[:count]]


class _Search:
    """A search, and what it has found, which is written to a file after every candidate."""

    def __init__(self, plan: Plan, before: dict[str, Any] | None, workers: int, file: Path | None) -> None:
        self.plan, self.workers, self.file = plan, workers, file
        self.found: dict[str, Any] = {
            "words": len(plan.ground),
            "device": plan.ground.device,
            "quick": plan.quick,
            "attacker": plan.attacker,
            "reader": plan.reading.readers[-1],
            "steps": plan.reading.steps,
            "texts": plan.texts,
            "looked_for": plan.looked_for,
            "seconds": 0,
            "left_out": [],
            "compared": {},
        }
        if before and any(before[name] != self.found[name] for name in _SETTINGS):
            raise WordveilError("the search to go on with had other settings; give the same ones.")
        self._known = before["compared"] if before else {}
        self._spent = before["seconds"] if before else 0
        self._started = time.perf_counter()

    def compare(
        self, title: str, tasks: tuple[str, ...], names: Sequence[str], levels: tuple[float, ...], until: float | None
    ) -> list[Row]:
        """Compare candidates with the default on some tasks, until `until` minutes of the whole search have passed."""
        comparison = self.plan.comparison(tasks)
        bounds = ", ".join(f"{name} {low:.3f} {high:.3f}" for name, (low, high) in comparison.bounds.items())
        print(f"\n{title} (random words, clean text: {bounds})\n", flush=True)
        print(headings(["as it stands", *self.plan.reading.readers]), flush=True)
        rows = [Row.from_dict(row) for row in self._known.get(title, {}).get("rows", [])]
        done = {row.label for row in rows}
        waiting = [name for name in names if name not in done]
        # measure the default once more if there are others to compare with it
        asked = [DEFAULT, *(name for name in waiting if name != DEFAULT)] if waiting else []
        left = None if until is None else until - (time.perf_counter() - self._started) / 60.0
        default: dict[float, Measured] = {}
        early: list[dict[float, Measured]] = []
        for number, measured in done_in_turn(
            self.plan.measured, [(tasks, name, levels) for name in asked], self.workers, left
        ):
            if asked[number] == DEFAULT:
                default = measured
            if asked[number] not in done:
                early.append(measured)
            done.add(asked[number])
            for one in early if default else []:
                for row in comparison.against(default, one):
                    rows.append(row)
                    print(line(row), flush=True)
            early = [] if default else early
            self._keep(title, comparison.bounds, rows)
        self.found["left_out"] += [f"{title}: {name}" for name in names if name not in done]
        rows.sort(key=lambda row: names.index(row.label))
        self._keep(title, comparison.bounds, rows)
        return rows

    def _keep(self, title: str, bounds: dict[str, tuple[float, float]], rows: Sequence[Row]) -> None:
        self.found["compared"][title] = {"bounds": bounds, "rows": [row.to_dict() for row in rows]}
        self.found["seconds"] = self._spent + round(time.perf_counter() - self._started)
        if self.file:
            self.file.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")


def search(
    plan: Plan,
    *,
    only: str = "",
    among: Sequence[str] | None = None,
    before: dict[str, Any] | None = None,
    workers: int = 1,
    minutes: float | None = None,
    file: Path | None = None,
) -> dict[str, Any]:
    """Compare all candidates, then the leading ones on other tasks. Print every row as soon as it is known.

    `before` is what a stopped search with the same settings has found. It is not measured again.
    """
    running = _Search(plan, before, workers, file)
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
    first = None if minutes is None else FIRST_PART * minutes
    rows = running.compare("tasks used to choose", CHOSEN_ON, tried, (LEVEL,), first)
    running.compare("tasks held out", HELD_OUT, leading(rows), (LEVEL,) if plan.quick else LEVELS, minutes)
    for left_out in running.found["left_out"]:
        print(f"not tried, for lack of time: {left_out}")
    print(f"\n{running.found['seconds']} s")
    return running.found


if __name__ == "__main__":
    main()
