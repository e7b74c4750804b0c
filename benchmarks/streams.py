"""Looks for repeated random numbers: ``python -m benchmarks.streams [--draws 100000000]``.

Draws 64-bit numbers from one stream after another, made in every way that a job makes them, and looks for two equal
ones. Among 10^8 numbers, chance gives a pair in one of 3,700 runs; a stream that is used twice gives thousands. A new
way is one function and one line in `WAYS`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from wordveil.noise import Entropy

__all__ = ["WAYS", "main", "repeats"]

Numbers = NDArray[np.uint64]
_AT_ONCE = 10_000  # numbers from each stream


def numbers(entropy: Entropy, count: int = _AT_ONCE) -> Numbers:
    """Draw 64-bit numbers."""
    return entropy.generator.integers(0, 2**64, count, dtype=np.uint64, endpoint=False)


def fresh(streams: int) -> list[Numbers]:
    """Open new streams, like each task of Spark, each retry of it and each run of a job."""
    return [numbers(Entropy()) for _ in range(streams)]


def one(streams: int) -> list[Numbers]:
    """Draw from one stream throughout."""
    entropy = Entropy()
    return [numbers(entropy) for _ in range(streams)]


def spawned(streams: int) -> list[Numbers]:
    """Draw from the children of a stream, like the threads of a draw."""
    return [numbers(child) for child in Entropy().spawn(streams)]


def threads(streams: int) -> list[Numbers]:
    """Draw from one stream in several threads at once."""
    entropy = Entropy()
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda _: numbers(entropy), range(streams)))


def pickled(streams: int) -> list[Numbers]:
    """Draw from copies of a stream that was sent elsewhere, and from the stream itself."""
    entropy = Entropy()
    copies = [pickle.loads(pickle.dumps(entropy)) for _ in range(streams - 1)]  # noqa: S301 - our own
    return [numbers(entropy), *map(numbers, copies)]


_SHARED = Entropy()


def _in_child(_: int) -> Numbers:
    return numbers(_SHARED)


def forked(streams: int) -> list[Numbers]:
    """Draw in processes forked with the stream at the same place, with one task each, and in their parent."""
    with multiprocessing.get_context("fork").Pool(4, maxtasksperchild=1) as pool:
        return [numbers(_SHARED), *pool.imap_unordered(_in_child, range(streams - 1), chunksize=1)]


def resumed(streams: int) -> list[Numbers]:
    """Draw in new processes, like a job that is stopped and resumed."""
    code = "import sys; from benchmarks.streams import *; from benchmarks.streams import numbers, Entropy\n"
    code += "sys.stdout.buffer.write(numbers(Entropy()).tobytes())"
    found = []
    for _ in range(min(streams, 8)):  # few, because each starts a Python
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        found.append(np.frombuffer(done.stdout, dtype=np.uint64))
    return found


WAYS: dict[str, Callable[[int], list[Numbers]]] = {
    "new streams": fresh,
    "one long stream": one,
    "children of a stream": spawned,
    "threads on one stream": threads,
    "pickled copies": pickled,
    "forked processes": forked,
    "new processes": resumed,
}


def repeats(drawn: Numbers) -> int:
    """Count the numbers that occur more than once. Sorts them on the way."""
    drawn.sort()
    return int((drawn[1:] == drawn[:-1]).sum())


def main() -> None:
    """Draw in every way, and count what occurs twice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=100_000_000)
    arguments = parser.parse_args()
    started = time.perf_counter()
    # Forks are slow, so there are few; what the others leave is drawn from new streams.
    shares = {"forked processes": 0.02, "one long stream": 0.18, "children of a stream": 0.2,
              "threads on one stream": 0.2, "pickled copies": 0.1, "new processes": 0.01}  # fmt: skip
    everything = np.empty(arguments.draws, dtype=np.uint64)
    filled = 0
    for name, share in shares.items():
        found = WAYS[name](max(2, int(share * arguments.draws / _AT_ONCE)))
        print(f"{name:<24} {len(found):>7,} streams or turns {sum(map(len, found)):>12,} numbers", flush=True)
        for part in found:
            everything[filled : filled + len(part)] = part
            filled += len(part)
    left = (arguments.draws - filled) // _AT_ONCE
    for _ in range(left):
        everything[filled : filled + _AT_ONCE] = numbers(Entropy())
        filled += _AT_ONCE
    print(f"{'new streams':<24} {left:>7,} streams or turns {left * _AT_ONCE:>12,} numbers")
    twice = repeats(everything[:filled])
    expected = filled**2 / 2.0**65
    print(
        f"{filled:,} numbers, {twice} twice ({expected:.1g} expected by chance), {time.perf_counter() - started:.0f} s"
    )
    sys.exit(1 if twice else 0)


if __name__ == "__main__":
    main()
