"""Loading a text file takes little more memory than its vectors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROWS, DIMENSION = 60_000, 100

LOAD = """
import sys
from pathlib import Path
from wordveil.spaces.files import read_vectors

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) << 10

read_vectors(sys.argv[1])
before = peak()
words, vectors = read_vectors(sys.argv[2])
print(peak() - before, len(words), vectors.nbytes)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the peak that Linux reports")
def test_peak_memory_of_a_text_file(tmp_path: Path) -> None:
    # A first, small file of the same kind loads the libraries and fills their pools.
    numbers = [f" {number / 999:.5f}" for number in range(600)]
    tails = ["".join(numbers[row : row + DIMENSION]) for row in range(500)]
    small, large = tmp_path / "small.txt", tmp_path / "large.txt"
    for path, rows in ((small, 3000), (large, ROWS)):
        with path.open("w") as handle:
            handle.writelines(f"word{row}{tails[row % 500]}\n" for row in range(rows))
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(small), str(large)], check=True, capture_output=True, text=True
    )
    grown, words, size = map(int, done.stdout.split())
    assert words == ROWS
    assert size == ROWS * DIMENSION * 4
    assert grown < 2 * size
