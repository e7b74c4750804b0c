"""``python -m benchmarks.poincare``: the figures of docs/hyperbolic.md.

python -m benchmarks.poincare mammals --wordnet FOLDER
python -m benchmarks.poincare dimensions --wordnet FOLDER --spaces FOLDER [--only 5-4 ...]
python -m benchmarks.poincare generalising --wordnet FOLDER --data FOLDER

FOLDER of --wordnet holds WordNet's database files (Debian's package wordnet-base puts them into /usr/share/wordnet).
FOLDER of --data has a folder snips with the seven intents of the Snips 2017 benchmark. Every row is printed as JSON as
soon as it is known.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks import poincare_dimensions, poincare_generalising, poincare_mammals
from wordveil.lab.training import WordNet
from wordveil.spaces import load_space


def main() -> None:
    """Run one of the benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["mammals", "dimensions", "generalising"])
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument(
        "--spaces", type=Path, default=Path("benchmarks/.data/poincare"), help="where trained spaces are kept"
    )
    parser.add_argument("--only", nargs="*", default=[], help="dimension-sharpness, to measure some spaces only")
    parser.add_argument("--data", type=Path, help="the folder that holds snips")
    chosen = parser.parse_args()
    wordnet = WordNet(chosen.wordnet)
    if chosen.what == "mammals":
        found = poincare_mammals.rows(wordnet)
    elif chosen.what == "dimensions":
        found = poincare_dimensions.rows(wordnet, chosen.spaces, chosen.only)
    else:
        if chosen.data is None:
            parser.error("generalising needs --data, the folder that holds snips")
        found = poincare_generalising.rows(wordnet, chosen.data / "snips", load_space("wordnet-poincare"))
    for row in found:
        print(json.dumps(row, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
