"""Coverage-guided fuzzing of everything that reads user input: ``python tools/fuzz.py --runs 1000000``.

Each target of tests/fuzz/targets.py runs in its own process under atheris, starting from the inputs in
tests/fuzz/corpus. It must finish all runs without an exception, a hang (10 s of CPU for one input) or growing memory. A
crash saves its input and names the file in the table. Once the bug is fixed, add the input, minimised, to the corpus.

With ``--keep FOLDER`` the work can be split: the folder holds the inputs found and counts the executions of each
target, and the same command continues until ``--runs`` is reached. A crash resets the count of its target.

The instrumented process grows by itself, because atheris never frees what it remembers of comparisons. So with
``--replay N``, the kept inputs and slightly damaged copies run N times without atheris, to show the memory of that.
"""

from __future__ import annotations

import argparse
import importlib
import mmap
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_CORPUS = _ROOT / "tests" / "fuzz" / "corpus"
_LONGEST = 4096  # bytes of an input; code that takes longer inputs has its own tests
_SLOWEST = 10.0  # seconds of CPU for one input; clock time would depend on other processes
_MEMORY_MB = 1500
_INTERRUPTED = (-signal.SIGTERM, -signal.SIGINT, 72)  # the last is libFuzzer's own
_HEAD = 4  # bytes before an input that say how long it is
_NEVER = 1_000_000  # seconds: turns off libFuzzer's own limit, which uses the clock
_TOLD_EVERY = 1000  # executions
# Modules that are imported on first use. They must be imported early to be instrumented.
_LATE = ("lines", "tables", "json_lines", "json_arrays", "parquet")


def main() -> None:
    """Fuzz the requested targets and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", help="the targets to run, in this order; all if none is named")
    parser.add_argument("--runs", type=int, default=1_000_000, help="total executions of each target")
    parser.add_argument("--seconds", type=int, default=0, help="stop each target after this many seconds")
    parser.add_argument("--longest", type=int, default=_LONGEST, help="the maximum length of an input, in bytes")
    parser.add_argument("--jobs", type=int, default=1, help="how many targets to run at once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder for inputs and counts, to continue from later")
    parser.add_argument(
        "--replay", type=int, default=0, help="only run the kept inputs, this many times, without atheris"
    )
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sys.path.insert(0, str(_ROOT))
    if arguments.inside:
        name, tally, place, *rest = arguments.targets
        if arguments.replay:
            _replay(name, Path(tally), Path(place), arguments.replay)
        else:
            _fuzz(name, Path(tally), Path(place), rest)
        return
    from tests.fuzz.targets import TARGETS  # noqa: PLC0415 - not before the path is set

    unknown = set(arguments.targets) - set(TARGETS)
    if unknown:
        parser.error(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    print(f"{'target':<16} {'executions':>11} {'per CPU s':>9} {'inputs':>7} {'memory MB':>16}  result", flush=True)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        fine = list(pool.map(lambda name: _run(name, arguments), arguments.targets or TARGETS))
    sys.exit(0 if all(fine) else 1)


def _run(name: str, arguments: argparse.Namespace) -> bool:
    memory_disk = "/dev/shm"  # noqa: S108 - if there is one, since a file for every input strains a disk
    with tempfile.TemporaryDirectory(dir=memory_disk if os.access(memory_disk, os.W_OK) else None) as scratch:
        kept = arguments.keep or Path(scratch, "kept")
        found, tally = kept / name, kept / f"{name}.tally"
        found.mkdir(parents=True, exist_ok=True)
        if arguments.replay:
            tally = Path(scratch, "replayed")
            ended = _inside(["--replay", str(arguments.replay), name, str(tally), str(found)], Path(scratch)).stderr
        else:
            ended = _go_on(name, arguments, found, tally, Path(scratch)) if _Tally(tally).runs < arguments.runs else ""
        told = _Tally(tally)
        print(
            f"{name:<16} {told.runs:>11,} {told.rate:>9,.0f} {len(list(found.iterdir())):>7,} {told.memory:>16}  "
            f"{ended or 'no crash'}",
            flush=True,
        )
        return not ended


def _go_on(name: str, arguments: argparse.Namespace, found: Path, tally: Path, scratch: Path) -> str:
    """Run the missing executions, and return what went wrong."""
    before, current = _Tally(tally).runs, scratch / "current"
    command = [
        name, str(tally), str(current), "--", str(found),
        *([str(_CORPUS / name)] if (_CORPUS / name).is_dir() else []),
        f"-runs={arguments.runs - before}", f"-seed={arguments.seed + before}", f"-max_len={arguments.longest}",
        f"-timeout={_NEVER}", f"-rss_limit_mb={_MEMORY_MB}", f"-artifact_prefix={found}-", "-print_final_stats=1",
        *([f"-max_total_time={arguments.seconds}"] if arguments.seconds else []),
    ]  # fmt: skip
    done = _inside(command, scratch)
    if done.returncode in _INTERRUPTED:
        return "interrupted"
    if done.returncode:
        tally.unlink(missing_ok=True)
        crash = Path(f"crash-{name}")
        crash.write_bytes(_shown(current))
        return f"CRASH {done.returncode}: the input is kept in {crash}\n{_reason(done.stdout + done.stderr)}"
    runs = int(dict(re.findall(r"stat::(\w+):\s+(\d+)", done.stderr))["number_of_executed_units"])
    told = _Tally(tally)
    told.add_rest(runs - (told.runs - before))
    return ""


def _inside(arguments: list[str], scratch: Path) -> subprocess.CompletedProcess[str]:
    """Run this file in another process, with its files in the scratch folder."""
    places = {"TMPDIR": str(scratch), "WORDVEIL_CACHE": str(scratch / "cache"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--inside", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, errors="replace", env=os.environ | places
    )


class _Tally:
    """The executions of a target so far: a line for every thousand, with memory and time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        text = path.read_text(encoding="ascii") if path.exists() else ""
        self._lines = [line.split() for line in text.splitlines()]
        self.runs = sum(int(runs) for runs, _, _ in self._lines)
        timed = [(int(runs), float(seconds)) for runs, _, seconds in self._lines if seconds != "-"]
        #: Executions per second of CPU.
        self.rate = sum(runs for runs, _ in timed) / max(sum(seconds for _, seconds in timed), 1e-9)

    @property
    def memory(self) -> str:
        """The memory of the process at the beginning and at the end."""
        held = [memory for _, memory, _ in self._lines if memory != "-"]
        return f"{held[0]} to {held[-1]}" if held else "?"

    def add_rest(self, runs: int) -> None:
        """Count the executions after the last full line."""
        if runs > 0:
            _tell(self._path, f"{runs} - -")


def _tell(path: Path, line: str) -> None:
    with path.open("a", encoding="ascii") as file:
        file.write(line + "\n")


def _shown(current: Path) -> bytes:
    """Return the input that a process was working on when it ended."""
    content = current.read_bytes() if current.exists() else b""
    return content[_HEAD : _HEAD + int.from_bytes(content[:_HEAD], "big")]


def _reason(told: str) -> str:
    start = told.find("=== Uncaught Python exception")
    return told[start : start + 3000].partition("INFO:")[0] if start >= 0 else told[-3000:]


def _fuzz(name: str, tally: Path, current: Path, arguments: list[str]) -> None:
    import atheris  # noqa: PLC0415 - needed only here

    with atheris.instrument_imports(include=["wordveil"]):
        from tests.fuzz.targets import TARGETS  # noqa: PLC0415 - instrumented while it is imported

        for module in _LATE:
            importlib.import_module(f"wordveil.io.{module}")
    target, done = TARGETS[name], _counter(tally)
    longest = next(int(one.partition("=")[2]) for one in arguments if one.startswith("-max_len="))
    # However this process ends, the input that did it is in a file.
    current.write_bytes(bytes(_HEAD + longest))
    with current.open("r+b") as file:
        window = mmap.mmap(file.fileno(), _HEAD + longest)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # a hang ends the process, even in a loop that runs no Python

    def one(data: bytes) -> None:
        window[: _HEAD + len(data)] = len(data).to_bytes(_HEAD, "big") + data
        signal.setitimer(signal.ITIMER_PROF, _SLOWEST)
        target(data)
        done()

    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()


def _replay(name: str, tally: Path, found: Path, wanted: int) -> None:
    from tests.fuzz.damage import damaged  # noqa: PLC0415 - not before the path is set
    from tests.fuzz.targets import TARGETS  # noqa: PLC0415

    kept = [*found.iterdir(), *(_CORPUS / name).iterdir()]
    endless = (content for turn in count() for path in kept for content in damaged(path.read_bytes(), f"{turn}", 2))
    done = _counter(tally)
    for content in islice(endless, wanted):
        TARGETS[name](content)
        done()


def _counter(tally: Path) -> Callable[[], None]:
    """Return a function to call after each execution."""
    runs, spent = 0, _seconds()

    def done() -> None:
        nonlocal runs, spent
        runs += 1
        if runs % _TOLD_EVERY == 0:
            now = _seconds()
            _tell(tally, f"{_TOLD_EVERY} {_memory()} {now - spent:.2f}")
            spent = now

    return done


def _seconds() -> float:
    """Return the CPU time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _memory() -> int:
    """Return the memory that this process holds now, in megabytes."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * 4096 >> 20


if __name__ == "__main__":
    main()
