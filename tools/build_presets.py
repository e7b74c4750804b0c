"""Measures what the presets of protection come to on bundled prose: ``python tools/build_presets.py``.

The page offers strong, balanced and light before it knows anything of a text. What it then sets are the ε that
`wordveil.plan` chooses for the State of the Union addresses that come with the package, by their sentences. The figures
are written to ``src/wordveil/data/presets.json``;
it takes some minutes, needs PyTorch, and tries
the network that reads in context, too.
"""

from __future__ import annotations

import csv
import json
import random
import re
from pathlib import Path

from wordveil._mechanisms import DEFAULT
from wordveil.calibration import maker
from wordveil.plan import PROTECTION, epsilon_for
from wordveil.plan.presets import USUAL
from wordveil.spaces import load_space

SPACES = ("glove-50k",)
PROSE = Path(__file__).parent.parent / "src" / "wordveil" / "data" / "sotu" / "addresses.csv"
ON = "three State of the Union addresses"
_LEAST = 20  # characters: shorter ones are headings
_SENTENCES = 2000  # as many as `wordveil plan` samples


def main() -> None:
    """Measure and write."""
    with PROSE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    sentences = [one for row in rows for one in re.split(r"(?<=[.!?])\s+", row["text"]) if len(one) > _LEAST]
    texts = random.Random(0).sample(sentences, min(_SENTENCES, len(sentences)))  # noqa: S311 - no secret
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name in SPACES:
        space = load_space(name)
        make = maker(DEFAULT, space)
        epsilons = {preset: epsilon_for(texts, preset, make, space, fast=False) for preset in PROTECTION}
        found[name] = {DEFAULT: epsilons}
        print(name, DEFAULT, epsilons, flush=True)
    USUAL.write_text(json.dumps({"on": ON, "epsilons": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
