"""Rebuild the bundled word frequencies of glove-50k from the PyPI package that carries them, fetched by name.

    python tools/build_frequencies.py    # needs pip and msgpack

wordfreq merges counts of many kinds of English text: encyclopaedia, subtitles, news, books, web pages, short messages.
It lists the words of each frequency, from 1 downwards in steps of a centibel. A word of the space that it does not list
is rarer than one in a hundred million, and counts as one in a thousand million.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import msgpack
import numpy as np

PACKAGE = "wordfreq==3.1.1"
LISTED = "wordfreq/data/large_en.msgpack.gz"
UNLISTED = 900
TARGET = Path(__file__).parent.parent / "src/wordveil/data/glove-50k"


def build() -> None:
    """Fetch the package and write the frequency of each word of the space, in centibels below 1."""
    with tempfile.TemporaryDirectory() as scratch:
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, PACKAGE]
        subprocess.run(fetch, check=True)
        with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as archive:
            listed = msgpack.unpackb(gzip.decompress(archive.read(LISTED)))[1:]
    level = {word: number for number, words in enumerate(listed) for word in words}
    words = (TARGET / "words.txt").read_text(encoding="utf-8").splitlines()
    levels = np.array([level.get(word, UNLISTED) for word in words], dtype=np.uint16)
    np.save(TARGET / "frequencies.npy", levels)
    print(f"frequencies.npy: {len(words)} words, {(levels == UNLISTED).sum()} of them not listed")


if __name__ == "__main__":
    build()
