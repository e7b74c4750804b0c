"""Write the most frequent words of a Navec embedding (Russian) as one that wordveil can open.

python examples/vectors_of_navec.py unpacked russian.vec
"""

from __future__ import annotations

import sys
from pathlib import Path

from navec import Navec

WORDS = 20_000


def main(folder: str, target: str) -> None:
    """Write the vectors found in this folder or below it in word2vec's text form, frequent words first."""
    packed = next(iter(sorted(Path(folder).rglob("navec*.tar"))), None)
    if packed is None:
        sys.exit(f"{folder} holds no embedding of Navec: unpack the package natasha there.")
    navec = Navec.load(str(packed))
    chosen = [word for word in navec.vocab.top() if word.isalpha()][:WORDS]  # without <unk> and <pad>
    with Path(target).open("x", encoding="utf-8") as file:
        file.write(f"{len(chosen)} {navec.pq.dim}\n")
        for word in chosen:
            file.write(f"{word} {' '.join(f'{value:.5f}' for value in navec[word])}\n")
    print(f"{len(chosen):,} words with {navec.pq.dim} dimensions are in {target}.")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python examples/vectors_of_navec.py FOLDER TARGET")
    main(*sys.argv[1:])
