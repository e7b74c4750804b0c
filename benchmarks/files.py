"""From file to file, in CPU seconds: this version, another one, and a program in C that only splits and writes back.

``python -m benchmarks.files --against FOLDER`` compares with the sources in a folder, such as a work tree of an earlier
commit. All figures come from one run; the start of the command is measured by a sentence and taken off the rates.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.speeches import million_words
from wordveil.text import tokenise

_SPLIT = r"""
#include <ctype.h>
#include <stdio.h>
int main(void)
{
    static char in[1 << 16], word[1 << 16];
    size_t got, length = 0;
    while ((got = fread(in, 1, sizeof in, stdin)) > 0)
        for (size_t at = 0; at < got; at++) {
            word[length++] = in[at];
            if (isspace((unsigned char)in[at]) || length == sizeof word) {
                fwrite(word, 1, length, stdout);
                length = 0;
            }
        }
    fwrite(word, 1, length, stdout);
    return 0;
}
"""
_FILES = 10_000


def _spent(command: Sequence[str], source: Path | None = None, **environment: str) -> float:
    """Run a command and return the CPU seconds that it and its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Path(os.devnull if source is None else source).open("rb") as given:
        subprocess.run(command, check=True, stdin=given, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class _Version:
    """A version of wordveil, by the folder of its sources."""

    def __init__(self, sources: Path, folder: Path) -> None:
        self._sources, self._folder = sources, folder

    def veil(self, source: Path, *options: str, times: int = 2) -> float:
        """Return what it takes to veil a file or folder, at best."""
        spent = []
        for number in range(times):
            target = self._folder / f"{self._sources.parent.name}-{number}-{source.name}"
            command = [sys.executable, "-m", "wordveil", "privatize", str(source), "-o", str(target), "--epsilon", "6"]
            spent.append(_spent([*command, "--quiet", *options], PYTHONPATH=str(self._sources)))
        return min(spent)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="the sources (src) of another version")
    parser.add_argument("--copies", type=int, default=3, help="how many million words to veil")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        million = million_words().read_text(encoding="utf-8")
        words = chosen.copies * sum(len(tokenise(line).keys) for line in million.splitlines())
        text, table, sentence, many, split = (folder / name for name in ("in.txt", "in.csv", "1.txt", "many", "split"))
        text.write_text(million * chosen.copies, encoding="utf-8")
        sentence.write_text("The ship left the harbour.\n", encoding="utf-8")
        with table.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["id", "text"])
            rows.writerows(enumerate((million * chosen.copies).splitlines()))
        many.mkdir()
        lines = million.splitlines()[: 2 * _FILES]
        for number in range(_FILES):
            (many / f"{number}.txt").write_text("\n".join(lines[2 * number : 2 * number + 2]) + "\n", encoding="utf-8")
        together = folder / "together.txt"
        together.write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "split.c").write_text(_SPLIT, encoding="utf-8")
        subprocess.run(["cc", "-O2", "-o", str(split), str(folder / "split.c")], check=True)
        ours = _Version(Path(__file__).parent.parent / "src", folder / "ours")
        versions = {"this version": ours}
        if chosen.against:
            versions["the other"] = _Version(chosen.against.resolve(), folder / "other")
        for name in ("ours", "other"):
            (folder / name).mkdir()
        floor = min(_spent([str(split)], text) for _ in range(3))
        print(f"| job ({words:,} words at ε = 6) | {' | '.join(versions)} | ratio |\n|---|{'---|' * len(versions)}---|")
        start = {name: version.veil(sentence, times=5) for name, version in versions.items()}
        _print("one sentence, CPU s", start, is_rate=False)
        for job, source, options in (("text", text, ()), ("CSV", table, ("--column", "text"))):
            spent = {name: version.veil(source, *options) for name, version in versions.items()}
            _print(f"{job}, whole command, words per CPU s", {name: words / one for name, one in spent.items()})
            rates = {name: words / (one - start[name]) for name, one in spent.items()}
            _print(f"{job}, without the start, words per CPU s", rates)
        apart = {name: version.veil(many, times=1) for name, version in versions.items()}
        _print(f"{_FILES:,} files, CPU s", apart, is_rate=False)
        _print(
            "the same words in one file, CPU s", {n: one.veil(together) for n, one in versions.items()}, is_rate=False
        )
        print(f"| splitting and writing back in C, words per CPU s | {words / floor:,.0f} |{' |' * len(versions)}")


def _print(job: str, figures: dict[str, float], *, is_rate: bool = True) -> None:
    told = [f"{figure:,.0f}" if figure > 1000 else f"{figure:.2f}" for figure in figures.values()]
    one, other = [*figures.values(), *figures.values()][:2]
    ratio = "" if len(figures) == 1 else f"{(one / other if is_rate else other / one):.1f}×"
    print(f"| {job} | {' | '.join(told)} | {ratio} |")


if __name__ == "__main__":
    main()
