"""Runs experiments that need a GPU on a machine with little but PyTorch, and puts their results on the page.

python -m benchmarks.evidence run --data FOLDER --out FOLDER reading frontier --attacker context --reader context
python -m benchmarks.evidence take FOLDER/*.json   # into docs/results, with pictures, and docs/results.md

`run` does what ``wordveil reproduce`` does, without packages for pictures and tables, and writes NAME.json as soon as
an experiment is done. `take` draws the pictures and writes the page, on this machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from wordveil.errors import WordveilError
from wordveil.lab.experiments.page import ResultFolder, write_page
from wordveil.lab.experiments.registry import EXPERIMENTS, run_experiment
from wordveil.lab.experiments.run import ATTACKERS, SIZES, Result, Run, Table
from wordveil.lab.tasks import READERS

_DRAWN = ("challenges", "frontier", "mechanisms")


def main() -> None:
    """Run experiments, or take in their results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    runs = verbs.add_parser("run", help="run experiments and write their results")
    runs.add_argument("names", nargs="+", choices=EXPERIMENTS, metavar="NAME")
    runs.add_argument("--data", type=Path, required=True, help="the folder of data sets")
    runs.add_argument("--out", type=Path, required=True, help="the folder to write to")
    runs.add_argument("--size", choices=SIZES, default="full")
    runs.add_argument("--seed", type=int, default=0)
    runs.add_argument("--workers", type=int, default=1)
    runs.add_argument("--engine", default="local")
    runs.add_argument("--attacker", choices=ATTACKERS, default="alone")
    runs.add_argument("--reader", choices=READERS, default="population")
    runs.add_argument("--device", help="cpu or cuda")
    runs.add_argument("--minutes", type=float, help="begin nothing new after so many minutes")
    takes = verbs.add_parser("take", help="put results on the page")
    takes.add_argument("files", nargs="+", type=Path)
    takes.add_argument("--into", type=Path, default=Path("docs/results"))
    takes.add_argument("--page", type=Path, default=Path("docs/results.md"))
    chosen = parser.parse_args()
    try:
        if chosen.verb == "run":
            run(chosen)
        else:
            take(chosen.files, chosen.into, chosen.page)
    except WordveilError as refused:
        parser.error(str(refused))


def run(chosen: argparse.Namespace) -> None:
    """Run experiments one after another."""
    chosen.out.mkdir(parents=True, exist_ok=True)
    told = [0.0]

    def watch(what: str, share: float) -> None:
        if time.monotonic() - told[0] > 5.0:
            told[0] = time.monotonic()
            print(f"{share:6.1%} {what}", file=sys.stderr, flush=True)

    started = time.monotonic()
    how = {"workers": chosen.workers, "engine": chosen.engine, "attacker": chosen.attacker, "reader": chosen.reader}
    for name in chosen.names:
        left = None if chosen.minutes is None else chosen.minutes - (time.monotonic() - started) / 60.0
        if left is not None and left <= 0.0:
            print(f"{name} was not begun for want of time")
            continue
        settings = Run(chosen.data, chosen.size, chosen.seed, watch, **how, device=chosen.device, minutes=left)
        result, facts = run_experiment(name, settings)
        (chosen.out / f"{name}.json").write_text(json.dumps(facts, ensure_ascii=False) + "\n", encoding="utf-8")
        for table in result.tables:
            print(f"{table.markdown()}\n")
        print(f"{name} took {facts['seconds']:,.0f} s", flush=True)


def take(files: list[Path], into: Path, page: Path) -> None:
    """Keep results in the folder of the page, with pictures that could not be drawn on the other machine."""
    folder = ResultFolder(into)
    for file in files:
        facts = json.loads(file.read_text(encoding="utf-8"))
        if facts.get("name") not in EXPERIMENTS:
            raise WordveilError(f"{file} was not written by an experiment.")
        figures = {}
        if facts["name"] in _DRAWN and not (facts["name"] == "challenges" and facts["quick"]):
            from wordveil.lab.experiments.frontier import drawn  # noqa: PLC0415 - slow to import

            figures = drawn(facts["name"], facts["facts"])
            facts["figures"] = sorted(figures)
        if facts["name"] == "wsdm-fig5":
            from wordveil.lab.experiments.wsdm import draw_fig5  # noqa: PLC0415 - slow to import

            figures = draw_fig5(facts["facts"])
            facts["figures"] = sorted(figures)
        tables = [Table(one["title"], one["columns"], one["rows"]) for one in facts["tables"]]
        kept = folder.keep(Result(tables, facts["reading"], figures=figures), facts)
        print(f"{facts['name']}: {'taken' if kept else 'left, because a full run is there'}")
    write_page(page, folder)


if __name__ == "__main__":
    main()
