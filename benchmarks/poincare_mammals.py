"""The mammals of WordNet in 5 dimensions: our training and gensim's, on the processor, in one run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wordveil.lab.training import Pairs, Progress, Training, WordNet, reconstruction, synset_pairs, train, write_pairs
from wordveil.lab.training.geometries import geometry

__all__ = ["rows"]

_HOME = Path(__file__).parent / ".peer"
_DIMENSION = 5
_EPOCHS = 60
# gensim's default rate, and the best one we found
_RATES = (0.1, 0.5)

_SCRIPT = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy
from gensim.models.poincare import PoincareModel
path, dimension, rate = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
pairs = [tuple(line.rstrip("\\n").split("\\t")) for line in open(path, encoding="utf-8")]
names = sorted({name for pair in pairs for name in pair})
model = PoincareModel(pairs, size=dimension, alpha=rate, negative=10, burn_in=10, seed=1)
started = time.perf_counter()
model.train(epochs=50)
seconds = time.perf_counter() - started
points = [model.kv.get_vector(name).tolist() for name in names]
print(json.dumps({"seconds": seconds, "points": dict(zip(names, points))}))
"""


def _gensim(pairs: Pairs, rate: float) -> tuple[float, float]:
    """Train gensim's model for its 50 epochs. Return the seconds and the mean average precision."""
    python = _HOME / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(_HOME)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "gensim>=4.3"], check=True)
    path = _HOME / "mammals.tsv"
    write_pairs(path, pairs)
    done = subprocess.run(
        [str(python), "-c", _SCRIPT, str(path), str(_DIMENSION), str(rate)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    points = np.array([found["points"][name] for name in pairs.names])
    return found["seconds"], reconstruction(geometry("poincare"), points, pairs).mean_average_precision


def rows(wordnet: WordNet) -> Iterator[dict[str, Any]]:
    """Train both, and report how long ours takes to be as good."""
    pairs = synset_pairs(wordnet).below("mammal.n.01")
    seen: list[Progress] = []
    train(pairs, Training(dimension=_DIMENSION, epochs=_EPOCHS), device="cpu", evaluate_every=1, tell=seen.append)
    for rate in _RATES:
        seconds, precision = _gensim(pairs, rate)
        as_good = [one for one in seen if one.sample and one.sample.mean_average_precision >= precision]
        yield {
            "gensim_rate": rate,
            "gensim_seconds": round(seconds, 1),
            "gensim_map": round(precision, 3),
            "our_seconds_to_that": round(as_good[0].seconds, 2) if as_good else None,
            "times_faster": round(seconds / as_good[0].seconds, 1) if as_good else None,
            "our_seconds": round(seen[-1].seconds, 1),
            "our_map": round(seen[-1].sample.mean_average_precision, 3) if seen[-1].sample else None,
        }
