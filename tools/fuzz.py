"""Coverage-guided fuzzing of everything that reads what people give: ``python tools/fuzz.py --runs 1000000``.

Each target of tests/fuzz/targets.py runs in a process of its own under atheris, begins with the inputs that are kept in
tests/fuzz/corpus, and must get through all runs without an exception, a hang (10 s for one input) or growing memory. A
crash leaves its input behind, named in the table; keep it, made small, in the corpus once the bug is fixed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_CORPUS = _ROOT / "tests" / "fuzz" / "corpus"
_LONGEST = 4096  # bytes of an input; what takes longer inputs has tests of its own
_SLOWEST = 10  # seconds for one input
_MEMORY_MB = 1500
# What is imported only when it is used must be imported early to be instrumented.
_LATE = ("text_lines", "tables", "json_lines", "parquet", "offsets", "json_places")


def main() -> None:
    """Fuzz the targets that were asked for, one after the other, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", help="which targets; all if none is named")
    parser.add_argument("--runs", type=int, default=1_000_000, help="executions of each target")
    parser.add_argument("--seconds", type=int, default=0, help="stop a target after so long, whatever it has done")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder for the inputs found, to go on with later")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sys.path.insert(0, str(_ROOT))
    if arguments.inside:
        _fuzz(arguments.targets[0], arguments.targets[1:])
        return
    from tests.fuzz.targets import TARGETS  # noqa: PLC0415 - not before the path is set

    unknown = set(arguments.targets) - set(TARGETS)
    if unknown:
        parser.error(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    print(f"{'target':<16} {'executions':>11} {'a second':>9} {'inputs':>7} {'slowest':>8} {'memory MB':>16}  result")
    failed = [name for name in arguments.targets or TARGETS if not _run(name, arguments)]
    sys.exit(1 if failed else 0)


def _run(name: str, arguments: argparse.Namespace) -> bool:
    memory_disk = "/dev/shm"  # noqa: S108 - only where there is one: a file for every input is much for a disk
    with tempfile.TemporaryDirectory(dir=memory_disk if os.access(memory_disk, os.W_OK) else None) as scratch:
        found = (arguments.keep or Path(scratch)) / name
        found.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable, __file__, "--inside", name, "--", str(found),
            *([str(_CORPUS / name)] if (_CORPUS / name).is_dir() else []),
            f"-runs={arguments.runs}", f"-seed={arguments.seed}", f"-max_len={_LONGEST}", f"-timeout={_SLOWEST}",
            f"-rss_limit_mb={_MEMORY_MB}", f"-artifact_prefix={found}-", "-print_final_stats=1",
            *([f"-max_total_time={arguments.seconds}"] if arguments.seconds else []),
        ]  # fmt: skip
        started = time.perf_counter()
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, errors="replace",
            env={**os.environ, "TMPDIR": scratch, "WORDVEIL_CACHE": str(Path(scratch, "cache"))},
        )  # fmt: skip
        spent = time.perf_counter() - started
        facts = dict(re.findall(r"stat::(\w+):\s+(\d+)", done.stderr))
        memory = re.search(r"wordveil-fuzz-memory (\d+) (\d+)", done.stderr)
        artefact = re.search(r"Test unit written to (\S+)", done.stderr)
        runs = int(facts.get("number_of_executed_units", 0))
        result = "no crash" if done.returncode == 0 else f"CRASH: {artefact[1] if artefact else ''}"
        held = " to ".join(memory.groups()) if memory else "?"
        print(
            f"{name:<16} {runs:>11,} {runs / spent:>9,.0f} {len(list(found.iterdir())):>7,} "
            f"{facts.get('slowest_unit_time_sec', '?') + ' s':>8} {held:>16}  "
            f"{result}",
            flush=True,
        )
        if done.returncode:
            print(_reason(done.stdout + done.stderr), flush=True)
            if artefact and Path(artefact[1]).exists():
                kept = Path.cwd() / f"crash-{name}"
                shutil.copyfile(artefact[1], kept)
                print(f"the input is kept in {kept}")
        return done.returncode == 0


def _reason(told: str) -> str:
    start = told.find("=== Uncaught Python exception")
    return told[start : start + 3000].partition("INFO:")[0] if start >= 0 else told[-3000:]


def _fuzz(name: str, arguments: list[str]) -> None:
    import atheris  # noqa: PLC0415 - needed for this alone

    with atheris.instrument_imports(include=["wordveil"]):
        from tests.fuzz.targets import TARGETS  # noqa: PLC0415 - instrumented while it is imported

        for module in _LATE:
            importlib.import_module(f"wordveil.io.{module}")
    target, runs = TARGETS[name], 0
    wanted = next(int(one.partition("=")[2]) for one in arguments if one.startswith("-runs="))
    early = 0

    def one(data: bytes) -> None:
        nonlocal runs, early
        runs += 1
        if runs == max(1, wanted // 10):
            early = _memory()
        if runs == wanted:
            sys.stderr.write(f"wordveil-fuzz-memory {early} {_memory()}\n")
        target(data)

    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()


def _memory() -> int:
    """Return how many megabytes this process holds now."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * 4096 >> 20


if __name__ == "__main__":
    main()
