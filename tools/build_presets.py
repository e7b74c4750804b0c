"""Measures what the presets of protection come to on bundled prose: ``python tools/build_presets.py``.

The page offers strong, balanced and light before it knows anything of a text. What it then sets are the ε at which all
attackers of `wordveil.plan`, the network too, keep to the bounds of the presets on sentences of the State of the Union
addresses that come with the package. They are written to ``src/wordveil/data/presets.json``. It needs PyTorch, and
takes a quarter of an hour on two cores. What the network would guess without the draws is not known and taken to be
little, so the ε err on the safe side, and no larger one than the last of `EPSILONS` is tried.
"""

from __future__ import annotations

import csv
import json
import random
import re
from pathlib import Path

from wordveil._mechanisms import DEFAULT
from wordveil.calibration import maker
from wordveil.plan import PROTECTION
from wordveil.plan.presets import USUAL
from wordveil.plan.records import Records
from wordveil.plan.survey import Sampled, Survey
from wordveil.plan.trial import Bench
from wordveil.spaces import load_space

SPACES = ("glove-50k",)
PROSE = Path(__file__).parent.parent / "src" / "wordveil" / "data" / "sotu" / "addresses.csv"
ON = "three State of the Union addresses"
_LEAST = 20  # characters: shorter ones are headings
EPSILONS = (0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)
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
        records = [Sampled((text,), None) for text in texts]
        nothing = Records(len(records), 0, 0, 0.0, 1.0, 0.0, 0.0, is_exact=True)
        bench = Bench(Survey([], ("",), nothing, None, records, [], 0), maker(DEFAULT, space), space)
        epsilons: dict[str, float] = {}
        holding = list(PROTECTION)
        for epsilon in EPSILONS:
            found_here = bench.deepened(epsilon)
            gain = found_here.gain
            print(f"{name} {DEFAULT} ε = {epsilon:g}: {gain.value:.3f} ({gain.low:.3f} to {gain.high:.3f})", flush=True)
            # a smaller ε that gave too much away counts, whatever a larger one happened to give
            holding = [preset for preset in holding if PROTECTION[preset].allows(found_here)]
            epsilons |= dict.fromkeys(holding, epsilon)
        found[name] = {DEFAULT: epsilons}
    USUAL.write_text(json.dumps({"on": ON, "epsilons": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
