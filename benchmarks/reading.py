"""How long reading a release takes: the table, the release by the table, and the frequencies of a population.

python -m benchmarks.reading            # all of it, on glove-50k with graph, ε = 4
python -m benchmarks.reading --words 100000

Each figure is given in seconds of the clock and of the processor: on a busy machine only the second says anything.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import wordveil
from benchmarks.measure import peak_memory
from wordveil._mechanisms.priors import log_prior
from wordveil.parallel import cores

Found = TypeVar("Found")

_TEXT = 20  # words in each text of the made-up release


def timed(what: str, target: str, work: Callable[[], Found], words: int = 0) -> Found:
    """Do the work and print how long it took."""
    clock, processor = time.perf_counter(), time.process_time()
    found = work()
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    rate = f"{words / clock:>12,.0f} words/s ({words / processor:,.0f} a processor second)" if words else ""
    print(f"{what:<44}{clock:>8.2f} s {processor:>8.2f} s of processor {rate} peak {peak_memory():,.0f} MB  [{target}]")
    return found


def release(mechanism: wordveil.Mechanism[Any], words: int) -> list[str]:
    """Veil made-up texts whose words are as frequent as in the space, a third of them function words."""
    generator = np.random.default_rng(0)
    chances = np.exp(log_prior(mechanism.space, "frequency"))
    ids = generator.choice(len(chances), size=words, p=chances / chances.sum())
    listed = mechanism.space.vocabulary.take(ids)
    texts = (" ".join(listed[start : start + _TEXT]) for start in range(0, words, _TEXT))
    return [one.text for one in wordveil.Veil(mechanism, seed=0).many(texts)]


def speeches(mechanism: wordveil.Mechanism[Any], words: int) -> list[str]:
    """Veil the bundled speeches, over and over until there are so many words."""
    path = Path(wordveil.__file__).parent / "data" / "sotu" / "addresses.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row["text"] for row in csv.DictReader(file)]
    per_pass = sum(len(row.split()) for row in rows)
    repeated = itertools.chain.from_iterable(itertools.repeat(rows, max(1, words // per_pass)))
    return [one.text for one in wordveil.Veil(mechanism, seed=0).many(repeated)]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=1_000_000, help="words in the release")
    parser.add_argument("--epsilon", type=float, default=4.0)
    arguments = parser.parse_args()
    print(f"{cores()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["WORDVEIL_CACHE"] = cache
        mechanism = wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=arguments.epsilon)
        texts = ["The committee met in Paris."]
        timed("table, the first time", "60 s, 3,000 MB", lambda: wordveil.Reader(mechanism).transform(texts))
        reader = wordveil.Reader(mechanism)
        timed("table, from the cache", "1 s", lambda: reader.transform(texts))
        veiled = speeches(mechanism, arguments.words)
        count = sum(len(text.split()) for text in veiled)
        timed("reading speeches as vectors", "300,000 words/s", lambda: reader.transform(veiled), count)
        timed("reading speeches as text", "", lambda: list(reader.rewrite(veiled)), count)
        texts = release(mechanism, arguments.words)
        population = wordveil.Reader(mechanism, kind="population")
        timed(f"population of {arguments.words:,} words, fitted", "120 s", lambda: population.fit(texts))
        timed("the same, read the first time", "", lambda: population.transform(texts), arguments.words)


if __name__ == "__main__":
    main()
