"""How long reading a release takes: the table, a release read with it, a population's frequencies, and context.

python -m benchmarks.reading                   # all of it, on glove-50k with graph, ε = 4
python -m benchmarks.reading --words 100000    # a smaller release
python -m benchmarks.reading --only context    # one of: table, population, context
python -m benchmarks.reading --data FOLDER     # short texts of the data sets instead of made-up ones

Each figure is given in seconds of the clock and of the processor. On a busy machine, only the second means anything.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import wordveil
from benchmarks.measure import peak_memory
from wordveil._mechanisms.priors import log_prior
from wordveil.lab.tasks import load_task
from wordveil.parallel import cores

Found = TypeVar("Found")

PARTS = ("table", "population", "context")
_TEXT = 20  # words in each text of the made-up release
_SHORT = ("trec6", "mr", "cr")
_TEXTS = 10_000


class Clock:
    """Times pieces of work, prints each and keeps the figures."""

    def __init__(self) -> None:
        self.figures: list[dict[str, Any]] = []

    def __call__(
        self,
        what: str,
        work: Callable[[], Found],
        *,
        words: int = 0,
        most: float | None = None,
        least: float | None = None,
        memory: float | None = None,
    ) -> Found:
        """Do the work.

        `most` is how many seconds it may take, `least` how many words per second it must read, `memory` how many MB
        this process may have taken by then.
        """
        clock, processor = time.perf_counter(), time.process_time()
        found = work()
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        rate = words / clock if words else None
        met = None
        if most is not None or least is not None:
            met = (most is None or clock <= most) and (least is None or (rate or 0.0) >= least)
            met = met and (memory is None or peak_memory() <= memory)
        asked = f"≤ {most:,g} s" if most is not None else f"≥ {least:,g} words/s" if least is not None else ""
        asked += "" if memory is None else f" and {memory:,g} MB"
        verdict = "" if met is None else f"[{asked}: {'met' if met else 'not met'}]"
        speed = f"{rate:>12,.0f} words/s" if rate else ""
        print(
            f"{what:<52}{clock:>8.2f} s {processor:>8.2f} s of processor {speed} peak {peak_memory():,.0f} MB {verdict}"
        )
        figure = {"seconds": clock, "processor": processor, "words_per_second": rate, "asked": asked, "met": met}
        self.figures.append({"what": what} | figure | {"peak_mb": peak_memory()})
        return found


def made_up(mechanism: wordveil.Mechanism[Any], words: int, each: int = _TEXT) -> list[str]:
    """Make up texts with words as frequent as in the space, a third of them function words."""
    generator = np.random.default_rng(0)
    chances = np.exp(log_prior(mechanism.space, "frequency"))
    ids = generator.choice(len(chances), size=words, p=chances / chances.sum())
    listed = mechanism.space.vocabulary.take(ids)
    return [" ".join(listed[start : start + each]) for start in range(0, words, each)]


def veiled(mechanism: wordveil.Mechanism[Any], texts: Sequence[str]) -> list[str]:
    """Veil texts."""
    return [one.text for one in wordveil.Veil(mechanism, seed=0).many(texts)]


def speeches() -> list[str]:
    """Return the bundled speeches."""
    path = Path(wordveil.__file__).parent / "data" / "sotu" / "addresses.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


def short_texts(data: Path | None) -> list[str]:
    """Return short texts: those of three data sets, or the sentences of the bundled speeches."""
    if data is not None:
        return [text for name in _SHORT for text in load_task(name, data).texts]
    return [part.strip() for speech in speeches() for part in speech.split(".") if len(part.split()) > 2]


def time_table(clock: Clock, mechanism: wordveil.Mechanism[Any], words: int) -> None:
    """Time the table, at first and from the cache, and reading a long release with it."""
    rows = speeches()
    per_pass = sum(len(row.split()) for row in rows)
    long = veiled(mechanism, list(itertools.chain(*itertools.repeat(rows, max(1, words // per_pass)))))
    count = sum(len(text.split()) for text in long)
    sentence = ["The committee met in Paris."]
    clock("a sentence, without a table", lambda: wordveil.Reader(mechanism).transform(sentence))
    # with so many different words, the reader computes its whole table and keeps it
    clock(
        "the table, and a release by it",
        lambda: wordveil.Reader(mechanism).transform(long),
        words=count,
        most=60,
        memory=3000,
    )
    reader = wordveil.Reader(mechanism)
    clock("a sentence, the table from the cache", lambda: reader.transform(sentence), most=1)
    clock("reading speeches as vectors", lambda: reader.transform(long), words=count, least=300_000)
    clock("reading speeches as text", lambda: list(reader.rewrite(long)), words=count, least=300_000)


def time_population(clock: Clock, mechanism: wordveil.Mechanism[Any], words: int) -> None:
    """Time fitting the frequencies of a release with this many words, and reading it."""
    texts = veiled(mechanism, made_up(mechanism, words))
    reader = wordveil.Reader(mechanism, kind="population")
    clock(f"population of {words:,} words, fitted", lambda: reader.fit(texts), most=120 * words / 1e6)
    clock("the same, read the first time", lambda: reader.transform(texts), words=words)


def time_context(clock: Clock, mechanism: wordveil.Mechanism[Any], texts: Sequence[str], count: int) -> None:
    """Time fitting a network on this many short texts, and reading with it."""
    import torch  # noqa: PLC0415 - an extra, and slow to import

    repeated = list(itertools.islice(itertools.cycle(texts), count))
    short = veiled(mechanism, repeated)
    on_gpu = torch.cuda.is_available()
    where = torch.cuda.get_device_name() if on_gpu else f"{torch.get_num_threads()} threads"
    reader = wordveil.Reader(mechanism, kind="context")
    share = count / _TEXTS
    clock(
        f"context fitted on {count:,} short texts, {where}",
        lambda: reader.fit(short),
        most=(60 if on_gpu else 600) * share,
    )
    some = short[: max(1, count // 5)]
    words = sum(len(text.split()) for text in some)
    clock("the same, read the first time", lambda: reader.transform(some), words=words, least=2000)
    clock("the same, read again", lambda: reader.transform(some), words=words, least=2000)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=1_000_000, help="words in the long releases")
    parser.add_argument("--texts", type=int, default=_TEXTS, help="short texts that the network is fitted on")
    parser.add_argument("--epsilon", type=float, default=4.0)
    parser.add_argument("--only", choices=PARTS, help="time this part alone")
    parser.add_argument("--data", type=Path, help="the folder of data sets, for short texts that people wrote")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    chosen = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"{cores()} cores, load {load:.1f}")
    clock = Clock()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["WORDVEIL_CACHE"] = cache
        mechanism = wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=chosen.epsilon)
        parts = (chosen.only,) if chosen.only else PARTS
        if "table" in parts:
            time_table(clock, mechanism, chosen.words)
        if "population" in parts:
            time_population(clock, mechanism, chosen.words)
        if "context" in parts:
            time_context(clock, mechanism, short_texts(chosen.data), chosen.texts)
    if chosen.json:
        facts = {"cores": cores(), "load": load, "figures": clock.figures}
        chosen.json.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def table_of(facts: dict[str, Any]) -> str:
    """Write the figures as a Markdown table."""
    verdicts = {True: "yes", False: "NO", None: "-"}
    lines = ["| work | seconds | CPU s | words/s | peak MB so far | target | met |", "|---|---|---|---|---|---|---|"]
    for row in facts["figures"]:
        rate = "-" if row["words_per_second"] is None else f"{row['words_per_second']:,.0f}"
        cells = [row["what"], f"{row['seconds']:.2f}", f"{row['processor']:.2f}", rate, f"{row['peak_mb']:,.0f}"]
        lines.append(f"| {' | '.join([*cells, row['asked'] or '-', verdicts[row['met']]])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
