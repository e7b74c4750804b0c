"""Try to make a real job lose, repeat or reveal records: ``python -m benchmarks.faults [--kills 200] [FAULT …]``.

Every record of the input has the same text and its own number. The mechanism draws almost uniformly, so two records
with the same new text of 24 words were drawn with the same random numbers. A word outside the vocabulary, which no draw
can give, shows what came out raw. After each fault the job is resumed, and the final output is compared with the input,
record by record. A new fault is one function and one line in `FAULTS`.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.stopping import stop_under_load
from wordveil.spaces.files import write_vectors

__all__ = ["CANARY", "FAULTS", "Found", "Job", "kills", "main", "stopped_service"]

CANARY = "zqxvcanary"
_WORDS = [f"w{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(300)]
_TEXT = " ".join([*_WORDS[:24], CANARY])
_SENTENCE_ENDS = 1  # lines on the error stream


@dataclass
class Found:
    """What was counted over all trials of one fault."""

    trials: int = 0
    records: int = 0
    lost: int = 0
    repeated: int = 0
    misplaced: int = 0
    raw: int = 0
    reused: int = 0
    unclear: int = 0
    redone: int = 0
    left_behind: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether nothing went wrong in any trial, and there was at least one."""
        wrong = self.lost, self.repeated, self.misplaced, self.raw, self.reused, self.unclear
        return self.trials > 0 and not any(wrong) and not self.left_behind


def on_a_disk_of(limit: int, command: Sequence[str]) -> list[str]:
    """Return a command whose files cannot grow beyond this many bytes, as on a full disk."""
    limited = (
        "import os, resource, sys; most = int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)); "
    )
    return [sys.executable, "-c", f"{limited}os.execv(sys.argv[2], sys.argv[2:])", str(limit), *command]


class Job:
    """A real ``wordveil privatize`` on a file of identical records."""

    def __init__(self, folder: Path, form: str, records: int, workers: int = 1) -> None:
        self.folder, self.form, self.records = folder, form, records
        self.source, self.out = folder / f"in.{form}", folder / f"out.{form}"
        space = _space(folder)
        _write(self.source, form, records)
        self.command = [
            sys.executable, "-m", "wordveil", "privatize", str(self.source), "-o", str(self.out), "--column", "text",
            "--space", str(space), "--mechanism", "exponential", "--epsilon", "0.001", "--select", "all",
            "--batch-words", "1500", "--quiet", *(["--workers", str(workers)] if workers > 1 else []),
        ]  # fmt: skip
        self.drawn: dict[str, int] = {}

    @property
    def part(self) -> Path:
        """The unfinished output."""
        return self.out.with_name(self.out.name + ".part")

    @property
    def checkpoint(self) -> Path:
        """The checkpoint, which says how far the job is."""
        return self.out.with_name(self.out.name + ".part.json")

    def start(self, *more: str, limit: int | None = None) -> subprocess.Popen[str]:
        """Start the command. With a limit, its files cannot grow beyond this many bytes, as on a full disk."""
        command = self.command if limit is None else on_a_disk_of(limit, self.command)
        return subprocess.Popen(
            [*command, *more], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
            start_new_session=True, env={**os.environ, "WORDVEIL_CACHE": str(self.folder / "cache")},
        )  # fmt: skip

    def resume(self) -> subprocess.Popen[str]:
        """Continue the job."""
        return self.start("--resume")

    def wait_for_progress(self, running: subprocess.Popen[str], share: float = 0.2) -> None:
        """Wait until this share of the records is done."""
        while running.poll() is None:
            try:
                position = json.loads(self.checkpoint.read_text(encoding="utf-8"))["position"]
                if position and position["record"] >= share * self.records:
                    return
            except (OSError, ValueError):
                pass
            time.sleep(0.01)

    def note(self, found: Found) -> None:
        """Look at the unfinished output: its draws are never released, but must not come again."""
        if self.part.exists():
            for number, text in _records(self.part, self.form, whole=False):
                self._see(number, text, found)

    def _see(self, number: int, text: str, found: Found) -> None:
        found.raw += CANARY in text or text.startswith(_TEXT[:40])
        before = self.drawn.setdefault(text, number)
        found.reused += before != number

    def check(self, running: subprocess.Popen[str], found: Found) -> None:
        """Compare the final output with the input."""
        told = running.communicate(timeout=120)[1]
        found.trials += 1
        is_done = running.returncode == 2 and "nothing left to resume" in told  # it was killed on its way out
        if not is_done and (running.returncode != 0 or told):
            found.unclear += 1
            print(f"    the last run ended with {running.returncode}: {told.strip()[-300:]}", file=sys.stderr)
            return
        numbers = []
        for number, text in _records(self.out, self.form, whole=True):
            numbers.append(number)
            self._see(number, text, found)
        found.records += len(numbers)
        found.lost += len(set(range(self.records)) - set(numbers))
        found.repeated += len(numbers) - len(set(numbers))
        found.misplaced += sum(left > right for left, right in pairwise(numbers))
        # A text seen in progress and released for the same number was kept. If there are more texts than records, some
        # records were drawn anew.
        found.redone += len(self.drawn) - len(set(numbers))
        expected = {self.source.name, self.out.name, "space.npz", "cache"}
        found.left_behind += sorted({path.name for path in self.folder.iterdir()} - expected)

    def refused(self, running: subprocess.Popen[str], found: Found) -> None:
        """Check that a run ended with one sentence that gives nothing away, and released nothing."""
        told = running.communicate(timeout=120)[1]
        is_clear = running.returncode == 2 and told.startswith("wordveil: ") and told.count("\n") == _SENTENCE_ENDS
        is_silent = CANARY not in told and _WORDS[0] + " " not in told
        if not (is_clear and is_silent) or self.out.exists():
            found.unclear += 1
            print(f"    ended with {running.returncode}: {told.strip()[-300:]}", file=sys.stderr)


def _space(folder: Path) -> Path:
    space = folder / "space.npz"
    if not space.exists():
        write_vectors(space, _WORDS, np.random.default_rng(0).normal(size=(len(_WORDS), 4)))
    return space


def _write(path: Path, form: str, records: int) -> None:
    if form == "parquet":
        table = pa.table({"id": range(records), "text": [_TEXT] * records})
        pq.write_table(table, path, row_group_size=max(1, records // 7))
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if form == "csv":
            writer = csv.writer(file)
            writer.writerows([["id", "text"], *([number, _TEXT] for number in range(records))])
        else:
            file.writelines(json.dumps({"id": number, "text": _TEXT}) + "\n" for number in range(records))


def _records(path: Path, form: str, *, whole: bool) -> Iterator[tuple[int, str]]:
    """Yield the records of an output. Of an unfinished one, yield as many as can be read."""
    if form == "parquet":
        yield from _arrow_records(path, whole=whole)
        return
    with path.open(encoding="utf-8", newline="") as file:
        lines = [line for line in file if line.endswith("\n")]  # the last line may be half written
    if form == "csv":
        for number, text in list(csv.reader(lines))[1:]:
            yield int(number), text
    else:
        for line in lines:
            record = json.loads(line)
            yield record["id"], record["text"]


def _arrow_records(path: Path, *, whole: bool) -> Iterator[tuple[int, str]]:
    if whole or path.read_bytes()[:4] == b"PAR1":
        tables = [pq.read_table(path)]
    else:
        tables = []
        with path.open("rb") as streams:
            while streams.tell() < path.stat().st_size:
                try:
                    with pa.ipc.open_stream(streams) as stream:
                        tables.append(stream.read_all())
                except (pa.ArrowException, OSError):  # noqa: PERF203 - half a stream
                    break
    for table in tables:
        yield from zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True)


def kills(form: str, workers: int, count: int, records: int, seed: int, folder: Path) -> Found:
    """Kill a job, and each resume of it, at random moments. Begin another when one gets through."""
    chance = random.Random(seed)  # noqa: S311 - chooses moments, not draws
    found, done, number = Found(), 0, 0
    longest = math.inf
    while done < count:
        number += 1
        place = folder / f"job-{number}"
        place.mkdir()
        job = Job(place, form, records, workers)
        started = time.perf_counter()
        running, resumed = job.start(), False
        while done < count:
            try:
                running.wait(None if math.isinf(longest) else chance.uniform(0.3, 1.0) * longest)
                if not resumed:  # if the machine has become quieter, the next one must be killed sooner
                    longest = min(longest, time.perf_counter() - started)
                break  # it got through
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGKILL)
                running.communicate()
                done += 1
                job.note(found)
                running, resumed = job.resume(), True
        else:
            running.wait()
        job.check(running, found)
    found.trials = done
    return found


def full_disk(form: str, folder: Path, records: int) -> Found:
    """Let the output hit a limit, several times at different sizes, then lift the limit."""
    found = Found()
    size = _size(form, folder, records)
    for number, share in enumerate((0.1, 0.5, 0.9)):
        place = folder / f"full-{number}"
        place.mkdir()
        job = Job(place, form, records)
        stopped = job.start(limit=int(share * size))
        job.refused(stopped, found)
        job.note(found)
        job.check(job.resume() if job.part.exists() else job.start(), found)
    return found


def full_checkpoint(form: str, folder: Path, records: int) -> Found:
    """Leave no room even for the first checkpoint, then lift the limit."""
    found = Found()
    job = Job(folder, form, records)
    job.refused(job.start(limit=100), found)
    job.check(job.resume() if job.part.exists() else job.start(), found)
    return found


def full_report(form: str, folder: Path, records: int) -> Found:
    """Leave no room for the report. The job must say so, and a resume must write it without drawing anew."""
    found = Found()
    job = Job(folder, form, records)
    told = job.start("--report", "/dev/full").communicate()[1]
    found.unclear += not (told.startswith("wordveil: cannot write /dev/full") and told.count("\n") == _SENTENCE_ENDS)
    drawn = job.out.read_bytes()
    report = folder / "report.json"
    job.check(job.start("--resume", "--report", str(report)), found)
    found.lost += drawn != job.out.read_bytes()
    found.raw += CANARY in report.read_text(encoding="utf-8")
    found.unclear += json.loads(report.read_text(encoding="utf-8"))["job"]["records"] != records
    found.left_behind.remove(report.name)
    return found


def _size(form: str, folder: Path, records: int) -> int:
    """Return the size of the output in bytes when nothing goes wrong."""
    place = folder / "measured"
    place.mkdir()
    job = Job(place, form, records)
    job.start().communicate()
    return job.out.stat().st_size


def full_file_system(form: str, folder: Path, records: int) -> Found:
    """Write to a file system that is too small, then enlarge it. Needs root."""
    found = Found()
    place = folder / "small"
    place.mkdir()
    room = f"size={_size(form, folder, records) // 2048}k"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", room, "none", str(place)], check=False, capture_output=True)
    if mounted.returncode:
        print("    no file system could be mounted, so this fault was not tried", file=sys.stderr)
        return found
    try:
        outside = folder / "outside"
        outside.mkdir()
        job = Job(outside, form, records)
        job.out = place / job.out.name
        job.command[job.command.index("-o") + 1] = str(job.out)
        job.refused(job.start(), found)
        job.note(found)
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        job.refused(job.resume(), found)
        subprocess.run(["mount", "-o", "remount,rw,size=100m", str(place)], check=True)
        job.check(job.resume() if job.part.exists() else job.start(), found)
        found.left_behind += sorted({path.name for path in place.iterdir()} - {job.out.name})
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False)  # Arrow may still hold it open
    return found


def cut_input(form: str, folder: Path, records: int) -> Found:
    """Cut the input short in the middle of a record while it is being read, then restore it."""
    found = Found()
    job = Job(folder, form, records)
    content, times = job.source.read_bytes(), job.source.stat()
    running = job.start()
    job.wait_for_progress(running)
    os.truncate(job.source, len(content) * 3 // 4 + 5)
    job.refused(running, found)
    job.note(found)
    job.source.write_bytes(content)
    os.utime(job.source, ns=(times.st_atime_ns, times.st_mtime_ns))
    job.check(job.resume(), found)
    return found


def changed_input(form: str, folder: Path, records: int) -> Found:
    """Change a byte of the input that was read already. The job must stop, not resume, and be able to start again."""
    found = Found()
    job = Job(folder, form, records)
    running = job.start()
    job.wait_for_progress(running)
    content = bytearray(job.source.read_bytes())
    place = content.index(CANARY.encode()) if form != "parquet" else len(content) - 100
    content[place] ^= 1
    with job.source.open("r+b") as file:
        file.write(content)
    job.refused(running, found)
    job.refused(job.resume(), found)
    job.note(found)
    _write(job.source, form, records)
    job.check(job.start("--overwrite"), found)
    return found


def dead_worker(form: str, folder: Path, records: int) -> Found:
    """Kill one of two workers."""
    found = Found()
    job = Job(folder, form, records, workers=2)
    running = job.start()
    job.wait_for_progress(running)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text(encoding="ascii").split()
    os.kill(int(children[0]), signal.SIGKILL)
    job.refused(running, found)
    job.note(found)
    job.check(job.resume(), found)
    return found


def terminated(form: str, folder: Path, records: int) -> Found:
    """Send the signals that a supervisor, a closed terminal and a user would send."""
    found = Found()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        place = folder / number.name
        place.mkdir()
        job = Job(place, form, records)
        running = job.start()
        job.wait_for_progress(running)
        running.send_signal(number)
        running.communicate()
        job.note(found)
        job.check(job.resume(), found)
    return found


def stopped_service(workers: int, folder: Path, rounds: int = 5) -> Found:
    """Send SIGTERM to a service under load, after one second, two, and so on."""
    found = Found()
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        end = stop_under_load(place, _space(folder), _TEXT, _TEXT.count(" "), workers, number + 1.0)
        others = [about for about in end.outcomes if not about.startswith(_FAIR)]
        print(f"    {end.charged:,} charged, {len(end.answers):,} answered, ended in {end.seconds:.1f} s with "
              f"{end.code}; {dict(end.outcomes)}", file=sys.stderr)  # fmt: skip
        found.trials += 1
        found.records += len(end.answers)
        found.lost += abs(end.charged - len(end.answers))
        found.raw += sum(CANARY in text for text in end.answers) + (CANARY in end.told)
        found.reused += len(end.answers) - len(set(end.answers))
        found.unclear += len(others) + (end.code != 0) + ("Traceback" in end.told)
    return found


# The fair ends of a request that is not answered: it got a refusal, or was never read, which the ledger shows.
_FAIR = ("503 ", "not listening any more", "connection closed before an answer")

Fault = Callable[[str, Path, int], Found]

FAULTS: dict[str, Fault] = {
    "full disk (limit)": full_disk,
    "full disk (checkpoint)": full_checkpoint,
    "full disk (report)": full_report,
    "full, then read-only file system": full_file_system,
    "input cut in mid-job": cut_input,
    "input changed in mid-job": changed_input,
    "dead worker": dead_worker,
    "SIGTERM, SIGHUP, SIGINT": terminated,
}


def main() -> None:
    """Try every fault on every format, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "faults", nargs="*", help="which faults: kill, service, or a part of a name below; all if none is named"
    )
    parser.add_argument("--kills", type=int, default=200, help="kill -9 in all")
    parser.add_argument("--records", type=int, default=6000, help="records of each input")
    parser.add_argument("--forms", nargs="+", default=["csv", "jsonl", "parquet"])
    parser.add_argument("--seed", type=int, default=0, help="for the moments of the kills")
    arguments = parser.parse_args()
    wanted = [name.lower() for name in arguments.faults]
    chosen = {name: fault for name, fault in FAULTS.items() if not wanted or any(one in name.lower() for one in wanted)}
    print(f"{'fault':<34} {'format':<8} {'times':>5} {'records':>8} {'drawn anew':>10} {'lost':>5} {'twice':>5} "
          f"{'moved':>5} {'raw':>4} {'reused':>6} {'unclear':>7} {'left':>4}")  # fmt: skip
    is_good = True
    with tempfile.TemporaryDirectory(prefix="wordveil-faults-") as name:
        if not wanted or "kill" in wanted:
            ways = [(form, workers) for form in arguments.forms for workers in (1, 2)]
            for number, (form, workers) in enumerate(ways):
                count = arguments.kills * (number + 1) // len(ways) - arguments.kills * number // len(ways)
                place = Path(name) / f"kill-{number}"
                place.mkdir()
                found = kills(form, workers, count, arguments.records, arguments.seed + number, place)
                is_good &= _show(f"kill -9, {workers} process{'es' * (workers > 1)}", form, found)
        for number, (fault, act) in enumerate(chosen.items()):
            for form in arguments.forms:
                place = Path(name) / f"{number}-{form}"
                place.mkdir()
                is_good &= _show(fault, form, act(form, place, arguments.records))
        if not wanted or "service" in wanted:
            for workers in (1, 2):
                place = Path(name) / f"service-{workers}"
                place.mkdir()
                found = stopped_service(workers, place)
                is_good &= _show("SIGTERM to the service under load", f"{workers} proc.", found)
    sys.exit(0 if is_good else 1)


def _show(fault: str, form: str, found: Found) -> bool:
    print(f"{fault:<34} {form:<8} {found.trials:>5} {found.records:>8,} {found.redone:>10,} {found.lost:>5} "
          f"{found.repeated:>5} {found.misplaced:>5} {found.raw:>4} {found.reused:>6} {found.unclear:>7} "
          f"{len(found.left_behind):>4}", flush=True)  # fmt: skip
    if found.left_behind:
        print(f"    left behind: {', '.join(sorted(set(found.left_behind)))}", file=sys.stderr)
    return found.is_good or found.trials == 0


if __name__ == "__main__":
    main()
