"""``python -m benchmarks.frontier_search``: is there a better default? What docs/search.md says in figures.

python -m benchmarks.frontier_search --data FOLDER --wordnet FOLDER --json FILE  # everything; needs a CUDA device
python -m benchmarks.frontier_search --data FOLDER --quick                       # a few candidates, on any machine
python -m benchmarks.frontier_search --data FOLDER --only prior --words 8000     # some candidates, beside the default

FOLDER of --data is the folder of data sets that docs/data.md describes, that of --wordnet holds WordNet's database
files (Debian's package wordnet-base puts them into /usr/share/wordnet); without it the candidates that need synonyms
are left out. Every candidate is compared with the default at the same success of the adversary on three tasks, and
those that lead on six others. First of all the default, made here as a matrix, is held against wordveil's own.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.frontier_search.candidates import DEFAULT, entries
from benchmarks.frontier_search.checks import differences
from benchmarks.frontier_search.ground import Ground
from benchmarks.frontier_search.search import Comparison, Row, leading
from benchmarks.frontier_search.table import HEADINGS, line
from wordveil.errors import WordveilError
from wordveil.lab.tasks import load_task
from wordveil.spaces import load_space

CHOSEN_ON = ("trec6", "mr", "cr")
HELD_OUT = ("mpqa", "subj", "sst2", "snips", "sick-e", "mrpc")
LEVEL = 0.25
LEVELS = (0.1, 0.25, 0.4)
FEWEST = 500  # words
CHECKED = 1000
CLOSE = 1e-3  # between single and double precision


def main() -> None:
    """Search and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of data sets")
    parser.add_argument("--wordnet", type=Path, help="the folder of WordNet's database files")
    parser.add_argument("--words", type=int, help="how many of the most frequent words (20,000; 2,000 with --quick)")
    parser.add_argument("--only", default="", help="a part of the family or the name of the candidates to try")
    parser.add_argument("--quick", action="store_true", help="few words, texts and candidates")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    chosen = parser.parse_args()
    words = (2000 if chosen.quick else 20_000) if chosen.words is None else chosen.words
    if words < FEWEST:
        parser.error(f"the search needs at least {FEWEST} words")
    try:
        facts = search(chosen.data, chosen.wordnet, words, only=chosen.only, quick=chosen.quick)
    except WordveilError as refused:
        parser.error(str(refused))
    if chosen.json:
        chosen.json.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def search(data: Path, wordnet: Path | None, words: int, *, only: str, quick: bool) -> dict[str, Any]:
    """Compare all candidates, then the leading ones on other tasks; print every row as soon as it is known."""
    started = time.perf_counter()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    space = load_space("glove-50k")
    checked = differences(Ground(space.restrict(np.arange(CHECKED)), device))
    shown = ", ".join(f"{name} {apart:.0e}" for name, apart in checked.items())
    print(f"{words:,} words on {device}; relative differences from wordveil's own figures: {shown}", flush=True)
    if max(checked.values()) > CLOSE:
        raise WordveilError("the matrices made here are not those of wordveil's mechanism, so nothing was searched.")
    ground = Ground(space.restrict(np.arange(min(words, len(space)))), device, wordnet)
    everyone = entries(wordnet=wordnet is not None, quick=quick)
    tried = [one for one in everyone if one.label == DEFAULT or only in f"{one.family}, {one.label}"]
    if len(tried) < 2:
        raise WordveilError(f"no candidate has {only!r} in its family or its name; --only needs a part of one.")
    found: dict[str, Any] = {"words": len(ground), "device": device, "quick": quick}

    def compared(title: str, tasks: tuple[str, ...], names: Iterable[str], levels: tuple[float, ...]) -> list[Row]:
        read = [load_task(name, data).limited(2000 if quick else 1_000_000) for name in tasks]
        comparison = Comparison(ground, read, repeats=1 if quick else 5)
        bounds = ", ".join(f"{name} {low:.3f} {high:.3f}" for name, (low, high) in comparison.bounds.items())
        print(f"\n{title} (random words, clean text: {bounds})\n\n{HEADINGS}", flush=True)
        wanted = set(names)
        rows = []
        for row in comparison.rows([entry for entry in tried if entry.label in wanted], levels):
            rows.append(row)
            print(line(row), flush=True)
        found[title] = {"bounds": comparison.bounds, "rows": [row.to_dict() for row in rows]}
        return rows

    rows = compared("tasks used to choose", CHOSEN_ON, [entry.label for entry in tried], (LEVEL,))
    compared("tasks held out", HELD_OUT, leading(rows), (LEVEL,) if quick else LEVELS)
    found["seconds"] = round(time.perf_counter() - started)
    print(f"\n{found['seconds']} s")
    return found


if __name__ == "__main__":
    main()
