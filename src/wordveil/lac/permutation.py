"""A uniformly random order of any number of things, in bounded memory.

Each thing goes into one of many piles, chosen independently and uniformly; each pile is then put into a uniformly
random order, and the piles follow each other. Every order of all things is equally likely: given how many went into
each pile, which ones did is uniform, and so is their order within. A pile that is too large is treated the same way.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from wordveil.noise import Entropy

__all__ = ["shuffled"]

_PILES = 64


def shuffled(items: Iterable[Any], *, entropy: Entropy | None = None, in_memory: int = 1 << 18) -> Iterator[Any]:
    """Give the items in a uniformly random order.

    Parameters
    ----------
    items : iterable
        What JSON can hold: strings, or lists of them.
    entropy : Entropy, optional
        Where the randomness comes from; a fresh cryptographic stream if not given.
    in_memory : int
        How many items are held at once; what is more lies in a temporary folder that only this user can read.
    """
    entropy = entropy or Entropy()
    stream = iter(items)
    first = _take(stream, in_memory)
    if len(first) < in_memory:
        yield from (first[place] for place in entropy.generator.permutation(len(first)).tolist())
        return
    with tempfile.TemporaryDirectory(prefix="wordveil-") as folder:
        piles = [Path(folder) / str(number) for number in range(_PILES)]
        chunk = first
        while chunk:
            _scatter(chunk, piles, entropy)
            chunk = _take(stream, in_memory)
        del first, chunk
        for pile in piles:
            if pile.exists():
                yield from shuffled(_read(pile), entropy=entropy, in_memory=in_memory)
                pile.unlink()


def _take(stream: Iterator[Any], count: int) -> list[Any]:
    return list(islice(stream, count))


def _scatter(chunk: list[Any], piles: list[Path], entropy: Entropy) -> None:
    which = entropy.generator.integers(0, len(piles), len(chunk))
    order = np.argsort(which, kind="stable").tolist()
    ends = np.cumsum(np.bincount(which, minlength=len(piles))).tolist()
    start = 0
    for pile, end in zip(piles, ends, strict=True):
        if end > start:
            with pile.open("a", encoding="ascii") as file:
                file.write(json.dumps([chunk[place] for place in order[start:end]]) + "\n")
        start = end


def _read(pile: Path) -> Iterator[Any]:
    with pile.open(encoding="ascii") as file:
        for line in file:
            yield from json.loads(line)
