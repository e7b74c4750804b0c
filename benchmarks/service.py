"""The service under load on loopback, with the load generator on the same machine.

python -m benchmarks.service
python -m benchmarks.service --against ../before --workers 1   # processor time an answer, beside that of another tree
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import math
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import wordveil
from benchmarks.load import Outcome, at_rate, flat_out

_WANTED = 1000.0
_WORDS = 20


def sentences() -> list[str]:
    """Cut the bundled speeches into pieces of twenty words, so that requests contain different words."""
    speeches = Path(wordveil.__file__).parent / "data" / "sotu" / "addresses.csv"
    with speeches.open(newline="", encoding="utf-8") as file:
        words = " ".join(row["text"] for row in csv.DictReader(file)).split()
    return [" ".join(words[start : start + _WORDS]) for start in range(0, len(words) - _WORDS, _WORDS)]


@contextmanager
def running(workers: int, tree: Path | None = None) -> Iterator[tuple[int, int]]:
    """Run the service of this tree or another one. Yield its port and process id."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "wordveil", "serve", "--port", str(port), "--workers", str(workers)]
    environment = os.environ if tree is None else {**os.environ, "PYTHONPATH": str(tree.resolve() / "src")}
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment)
    try:
        for _ in range(300):
            try:
                with urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
                    if answer.status == 200:
                        break
            except (URLError, ConnectionError):
                time.sleep(0.1)
        time.sleep(1.0 + workers)  # for the other workers
        yield port, server.pid
    finally:
        server.terminate()
        server.wait(30)


def _family(parent: int) -> Iterator[Path]:
    """Yield the /proc folders of a process and its children."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent_of_it = re.search(r"^PPid:\s+(\d+)", (folder / "status").read_text(), re.MULTILINE)
        except OSError:
            continue
        if folder.name == str(parent) or (parent_of_it and parent_of_it[1] == str(parent)):
            yield folder


def memory_of(parent: int) -> float:
    """Return the memory of a process and its children, in MB."""
    held = (re.search(r"^VmRSS:\s+(\d+)", (folder / "status").read_text(), re.MULTILINE) for folder in _family(parent))
    return sum(int(found[1]) for found in held if found) / 1024


def seconds_of(parent: int) -> float:
    """Return the processor time of a process and its children."""
    ticks = ((folder / "stat").read_text().rpartition(")")[2].split()[11:13] for folder in _family(parent))
    return sum(int(user) + int(system) for user, system in ticks) / os.sysconf("SC_CLK_TCK")


def show(what: str, outcome: Outcome) -> None:
    """Print what came back."""
    print(
        f"{what}: {outcome.rate:,.0f} answers/s, p50 {outcome.percentile(50):.0f} ms, "
        f"p99 {outcome.percentile(99):.0f} ms, {outcome.refused:,} told to come back (503), {outcome.errors:,} errors",
        flush=True,
    )


async def watch_memory(port: int, process: int, texts: list[str], minutes: float) -> tuple[Outcome, float, float]:
    """Load the service. Return what came back, its memory after a quarter of the time, and its peak after that."""
    load = asyncio.get_running_loop().create_task(at_rate(port, texts, _WANTED / 2, 60 * minutes))
    seen = []
    step = max(2.0, 6 * minutes)
    while not load.done():
        await asyncio.wait([load], timeout=step)
        seen.append(memory_of(process))
        print(f"  memory {seen[-1]:.0f} MB", flush=True)
    outcome = await load
    show(f"{minutes:g} min at {_WANTED / 2:g}/s", outcome)
    settled = seen[len(seen) // 4]
    return outcome, settled, max(seen[len(seen) // 4 :])


def compare(tree: Path, asked: argparse.Namespace) -> None:
    """Print the processor time per answer of this tree and another, in turns, so that other work affects both alike."""
    texts, ratios = sentences(), []
    with running(asked.workers) as ours, running(asked.workers, tree) as theirs:
        for port, _ in (ours, theirs):
            asyncio.run(flat_out(port, texts, 64, asked.seconds))  # warm
        for number in range(asked.rounds):
            spent = {}
            for port, process in (ours, theirs) if number % 2 else (theirs, ours):
                before = seconds_of(process)
                outcome = asyncio.run(flat_out(port, texts, asked.connections, asked.seconds))
                spent[port] = 1000 * (seconds_of(process) - before) / len(outcome.times)
            ratios.append(spent[ours[0]] / spent[theirs[0]])
            print(
                f"an answer takes {spent[ours[0]]:.3f} ms here, {spent[theirs[0]]:.3f} ms there: "
                f"{ratios[-1]:.2f} times",
                flush=True,
            )
    logs = [math.log(ratio) for ratio in ratios]
    around = 1.96 * statistics.stdev(logs) / math.sqrt(len(logs))
    mean, low, high = (math.exp(statistics.fmean(logs) + sign * around) for sign in (0, -1, 1))
    print(
        f"median of {len(ratios)}: {statistics.median(ratios):.2f} times; geometric mean {mean:.2f}, 95% from "
        f"{low:.2f} to {high:.2f}; load of the machine {os.getloadavg()[0]:.0f}"
    )


def main() -> None:
    """Measure saturation, half the target load, twice saturation, and memory over time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2, help="processes of the service")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load")
    parser.add_argument("--connections", type=int, default=256, help="for saturation")
    parser.add_argument("--minutes", type=float, default=1.0, help="of watching memory; 10 for the whole")
    parser.add_argument("--against", type=Path, help="another tree, its kernel built in place, to compare with")
    parser.add_argument("--rounds", type=int, default=8, help="of such a comparison; two at least")
    asked = parser.parse_args()
    if asked.against is not None:
        compare(asked.against, asked)
        return
    texts = sentences()
    print(f"{len(texts):,} different sentences of {_WORDS} words, graph, ε = 6, {os.cpu_count()} cores", flush=True)
    with running(asked.workers) as (port, process):
        asyncio.run(flat_out(port, texts, 64, 3.0))  # warm
        server, generator = seconds_of(process), time.process_time()
        full = asyncio.run(flat_out(port, texts, asked.connections, asked.seconds))
        server, generator = (
            spent / len(full.times) for spent in (seconds_of(process) - server, time.process_time() - generator)
        )
        show(f"saturation, {asked.connections} connections", full)
        print(
            f"  processor time an answer: service {1000 * server:.2f} ms, load generator {1000 * generator:.2f} ms",
            flush=True,
        )
        half = asyncio.run(at_rate(port, texts, _WANTED / 2, asked.seconds))
        show(f"half the wanted load, {_WANTED / 2:g}/s", half)
        twice = asyncio.run(at_rate(port, texts, 2 * full.rate, asked.seconds, 2048))
        show(f"twice saturation, {2 * full.rate:,.0f}/s offered", twice)
        long, settled, most = asyncio.run(watch_memory(port, process, texts, asked.minutes))
    verdicts = {
        f"at least {_WANTED:,.0f} answers/s": full.rate >= _WANTED and not full.errors,
        "p99 under 100 ms at half of that": half.percentile(99) < 100.0 and not half.errors and not half.refused,
        "no error at twice saturation": not twice.errors,
        f"no error in {asked.minutes:g} min": not long.errors and not long.refused,
        f"memory flat ({settled:.0f} MB, at most {most:.0f} MB after)": most <= 1.1 * settled + 10,
    }
    for what, held in verdicts.items():
        print(f"{'holds' if held else 'MISSED'}: {what}")
    sys.exit(0 if all(verdicts.values()) else 1)


if __name__ == "__main__":
    main()
