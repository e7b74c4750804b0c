"""How often another word would change how a text is cut: ``python -m benchmarks.collocations FOLDER``.

FOLDER holds WordNet's ``data.noun``, plain or gzipped (``data.noun.3.0.gz``). Collocations are its names of two words.
A place of the bundled speeches is *bound* if its word and a neighbour form one. It is *open* if they do not, but would
with some other word there: then exchanging the word would change the number of units, which shows if each unit has an
output of one word.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from benchmarks.reading import speeches
from wordveil.text import tokenise

__all__ = ["main", "places"]


def collocations(lines: Iterable[str]) -> set[tuple[str, str]]:
    """Return the names of two words in a file of WordNet."""
    found = set()
    for line in lines:
        for name in line.split()[4:] if line[:1].isdigit() else ():
            parts = name.lower().split("_")
            if len(parts) == 2 and all(map(str.isalpha, parts)):
                found.add((parts[0], parts[1]))
    return found


def places(words: list[str], listed: set[tuple[str, str]]) -> tuple[int, int, int]:
    """Return how many places of a text are bound, how many are open, and how many there are."""
    starts, ends = {first for first, _ in listed}, {last for _, last in listed}
    joined = {place + side for place, pair in enumerate(pairwise(words)) if pair in listed for side in (0, 1)}
    free = {
        place
        for place in range(len(words))
        if (place > 0 and words[place - 1] in starts) or (place + 1 < len(words) and words[place + 1] in ends)
    }
    return len(joined), len(free - joined), len(words)


def main() -> None:
    """Count the places of the bundled speeches and print their shares."""
    (path,) = sorted(Path(sys.argv[1]).glob("data.noun*"))[:1]
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        listed = collocations(lines)
    bound, unbound, among = (
        sum(column)
        for column in zip(*(places(list(tokenise(speech).keys), listed) for speech in speeches()), strict=True)
    )
    print(f"{len(listed):,} collocations, {among:,} places: {bound / among:.1%} bound, {unbound / among:.1%} open")


if __name__ == "__main__":
    main()
