"""Write the word vectors of an unpacked spaCy model as an embedding that wordveil can open.

    python examples/vectors_of_spacy.py model francais.vec

Only the vocabulary is read, and none of the model's code is run. Models prune their vectors, so rare words share the
vector of a frequent one. Of the words that share a vector only the first, the most frequent, is written.
"""

from __future__ import annotations

import sys
from pathlib import Path

from spacy.vocab import Vocab


def main(model: str, target: str) -> None:
    """Write the vectors of the model in this folder to a file in word2vec's text form."""
    folder = next((path.parent for path in sorted(Path(model).rglob("key2row"))), None)
    if folder is None:
        sys.exit(f"{model} holds no vectors of spaCy: unpack a model whose name ends in _md or _lg there.")
    vocabulary = Vocab().from_disk(folder)
    vectors = vocabulary.vectors
    words: dict[int, str] = {}
    for key, row in vectors.key2row.items():
        words.setdefault(row, vocabulary.strings[key])
    listed = {word: row for row, word in words.items() if word.isalpha()}
    with Path(target).open("x", encoding="utf-8") as file:
        file.write(f"{len(listed)} {vectors.shape[1]}\n")
        for word, row in listed.items():
            file.write(f"{word} {' '.join(map(str, vectors.data[row].tolist()))}\n")
    print(f"{len(listed):,} words with {vectors.shape[1]} dimensions are in {target}.")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python examples/vectors_of_spacy.py MODEL TARGET")
    main(*sys.argv[1:])
