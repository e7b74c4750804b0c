"""Rebuild the bundled list of words that are never drawn from the npm package that carries it, fetched by name.

    python tools/build_blocked.py    # needs npm

Writes the single words of the English list, one per line. Phrases are never drawn anyway.
"""

from __future__ import annotations

import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "naughty-words@1.2.0"
TARGET = Path(__file__).parent.parent / "src/wordveil/data/blocked-english"


def build() -> None:
    """Fetch the package and write the list."""
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=scratch, check=True, capture_output=True)
        with tarfile.open(next(Path(scratch).glob("*.tgz"))) as archive:
            member = archive.extractfile("package/en.json")
            assert member is not None
            listed = json.load(member)
    words = sorted({word.lower() for word in listed if word.isalpha()})
    (TARGET / "words.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    print(f"words.txt: {len(words)} words")


if __name__ == "__main__":
    build()
