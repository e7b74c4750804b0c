"""Jobs: what is there when they end, and when they do not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wordveil._mechanisms import Mechanism
from wordveil.errors import FileError, InputError, OptionError
from wordveil.io import Destination, FileJob, Reading, Tally, Veils, make_plan
from wordveil.text import Veil

LINES = [f"the river carried timber {n} past the mill" for n in range(120)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


def job_for(source: Path, out: Path, *, resume: bool = False, overwrite: bool = False, words: int = 40) -> FileJob:
    plan = make_plan(source)
    again = {"resume": resume, "overwrite": overwrite}
    job = FileJob(plan, Reading(batch_words=words), Destination.of(out, plan), unveiled=True, **again)
    job.check()
    return job


class StoppedError(Exception):
    pass


def stop_after(blocks: int) -> Any:
    left = [blocks]

    def watch(tally: Tally, done: int) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise StoppedError

    return watch


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_nothing_is_under_the_final_name_until_it_is_whole(source: Path, tmp_path: Path, idle: Veils) -> None:
    out = tmp_path / "out.txt"
    seen = []

    def watch(tally: Tally, done: int) -> None:
        seen.append(done)
        assert names(tmp_path) == ["in.txt", "out.txt.part", "out.txt.part.json"]

    job = job_for(source, out)
    tally = job.run(idle, watch)
    job.forget()
    assert seen[-1] == source.stat().st_size
    assert seen == sorted(set(seen))
    assert names(tmp_path) == ["in.txt", "out.txt"]
    assert out.read_bytes() == source.read_bytes()
    assert (tally.records, tally.files, tally.runs) == (120, 1, 1)
    assert tally.counts.words == 120 * 8


@pytest.mark.parametrize("stops", [[1], [3, 1, 5], [1] * 12])
def test_a_seeded_job_comes_out_the_same_however_often_it_is_stopped(
    source: Path, tmp_path: Path, seeded: Veils, stops: list[int]
) -> None:
    whole = job_for(source, tmp_path / "whole.txt").run(seeded)
    out = tmp_path / "out.txt"
    for blocks in stops:
        with pytest.raises(StoppedError):
            job_for(source, out, resume=True).run(seeded, stop_after(blocks))
        assert not out.exists()
    tally = job_for(source, out, resume=True).run(seeded)
    assert out.read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert out.read_bytes() != source.read_bytes()
    assert tally.runs == len(stops) + 1
    assert (tally.counts, tally.records, tally.worst_words) == (whole.counts, whole.records, whole.worst_words)


def test_an_unseeded_job_never_draws_the_same_again(source: Path, tmp_path: Path, graph: Any) -> None:
    out = tmp_path / "out.txt"
    parts = []
    for _ in range(2):
        veils = Veils(lambda seed: Veil(graph, select="all", seed=seed))
        with pytest.raises(StoppedError):
            job_for(source, out, overwrite=True).run(veils, stop_after(9))
        parts.append(out.with_name("out.txt.part").read_bytes())
    assert parts[0] != parts[1]


def test_what_was_written_after_the_checkpoint_is_cut_off(source: Path, tmp_path: Path, idle: Veils) -> None:
    out = tmp_path / "out.txt"
    with pytest.raises(StoppedError):
        job_for(source, out).run(idle, stop_after(4))
    with out.with_name("out.txt.part").open("ab") as part:
        part.write(b"half a rec")
    job_for(source, out, resume=True).run(idle)
    assert out.read_bytes() == source.read_bytes()


def test_a_part_that_is_too_short_is_refused(source: Path, tmp_path: Path, idle: Veils) -> None:
    out = tmp_path / "out.txt"
    with pytest.raises(StoppedError):
        job_for(source, out).run(idle, stop_after(4))
    os.truncate(out.with_name("out.txt.part"), 10)
    with pytest.raises(FileError):
        job_for(source, out, resume=True).run(idle)
    assert not out.exists()


def test_a_job_that_only_lacks_its_name_gets_it(source: Path, tmp_path: Path, idle: Veils) -> None:
    out = tmp_path / "out.txt"

    def block_the_name(tally: Tally, done: int) -> None:
        out.mkdir(exist_ok=True)

    with pytest.raises(FileError) as caught:
        job_for(source, out).run(idle, block_the_name)
    assert "`resume`" in str(caught.value)
    out.rmdir()
    job_for(source, out, resume=True).run(idle)
    assert out.read_bytes() == source.read_bytes()


def test_a_job_that_only_lacks_its_report_is_done(source: Path, tmp_path: Path, seeded: Veils) -> None:
    out = tmp_path / "out.txt"
    first = job_for(source, out).run(seeded)
    content = out.read_bytes()
    job = job_for(source, out, resume=True)  # the job was not told to forget: as if it had died right here
    again = job.run(seeded)
    job.forget()
    assert (again.counts, again.records, out.read_bytes()) == (first.counts, first.records, content)
    assert names(tmp_path) == ["in.txt", "out.txt"]


def test_an_input_may_be_put_right_behind_what_was_read(source: Path, tmp_path: Path, idle: Veils) -> None:
    out = tmp_path / "out.txt"
    content = source.read_bytes()
    source.write_bytes(content + b"ca\xffnary\n")
    with pytest.raises(InputError) as caught:
        job_for(source, out).run(idle)
    assert all(part in str(caught.value) for part in ("line 121 ", "out.txt.part", "`resume`"))
    source.write_bytes(content + b"fine\n")
    job_for(source, out, resume=True).run(idle)
    assert out.read_bytes() == content + b"fine\n"


def test_an_error_before_the_first_checkpoint_leaves_nothing(source: Path, tmp_path: Path, idle: Veils) -> None:
    source.write_bytes(b"ca\xffnary\n" + source.read_bytes())
    with pytest.raises(InputError) as caught:
        job_for(source, tmp_path / "out.txt").run(idle)
    assert "line 1 " in str(caught.value)
    assert "resume" not in str(caught.value)
    assert names(tmp_path) == ["in.txt"]


def test_a_job_goes_on_only_as_it_was_begun(source: Path, tmp_path: Path, idle: Veils, seeded: Veils) -> None:
    out = tmp_path / "out.txt"
    with pytest.raises(StoppedError):
        job_for(source, out).run(idle, stop_after(4))
    with pytest.raises(OptionError):
        job_for(source, out, resume=True).run(seeded)
    with pytest.raises(OptionError) as caught:
        job_for(source, out, resume=True, words=41).run(idle)
    assert "batch_words" in str(caught.value)
    content = source.read_bytes()
    source.write_bytes(content.replace(b"timber 1 ", b"timber 8 "))
    with pytest.raises(InputError):
        job_for(source, out, resume=True).run(idle)
    checkpoint = out.with_name("out.txt.part.json")
    kept = checkpoint.read_bytes()
    checkpoint.write_bytes(b"{}")
    with pytest.raises(FileError):
        job_for(source, out, resume=True).run(idle)
    checkpoint.write_bytes(kept)
    source.write_bytes(content)
    job_for(source, out, resume=True).run(idle)
    assert out.read_bytes() == content


def test_two_jobs_cannot_write_the_same(source: Path, tmp_path: Path, idle: Veils) -> None:
    out = tmp_path / "out.txt"

    def start_another(tally: Tally, done: int) -> None:
        for how in ({"resume": True}, {"overwrite": True}):
            with pytest.raises(FileError):
                job_for(source, out, **how).run(idle)

    job_for(source, out).run(idle, start_another)
    assert out.read_bytes() == source.read_bytes()


def test_checkpoints_hold_no_text_and_are_for_the_owner_only(source: Path, tmp_path: Path, idle: Veils) -> None:
    out = tmp_path / "out.txt"
    with pytest.raises(StoppedError):
        job_for(source, out).run(idle, stop_after(4))
    checkpoint = out.with_name("out.txt.part.json")
    assert checkpoint.stat().st_mode & 0o777 == 0o600
    content = checkpoint.read_text()
    assert json.loads(content)["position"]["record"] > 0
    assert not any(word in content for word in ("river", "timber", "mill"))


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
@pytest.mark.parametrize("is_folder", [False, True])
def test_an_unfinished_output_is_for_the_owner_only(source: Path, tmp_path: Path, idle: Veils, is_folder: bool) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    source.rename(folder / "a.txt")
    given, out = (folder, tmp_path / "out") if is_folder else (folder / "a.txt", tmp_path / "out.txt")
    with pytest.raises(StoppedError):
        job_for(given, out).run(idle, stop_after(4))
    assert out.with_name(f"{out.name}.part").stat().st_mode & 0o077 == 0
    job_for(given, out, resume=True).run(idle)
    usual = tmp_path / "usual"
    usual.mkdir() if is_folder else usual.touch()
    assert out.stat().st_mode == usual.stat().st_mode


def folder_of(path: Path) -> Path:
    (path / "sub" / "deep").mkdir(parents=True)
    (path / "b.txt").write_text("\n".join(LINES[:40]))
    (path / "a.csv").write_text("id,text\n" + "".join(f"{n},{line}\n" for n, line in enumerate(LINES[:40])))
    (path / "sub" / "c.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in LINES[:40]))
    (path / "sub" / "deep" / "d.tsv").write_text("text\tn\n" + "".join(f"{line}\t1\n" for line in LINES))
    (path / "notes.bin").write_bytes(b"\0\1\2")
    (path / "sub" / "empty.txt").write_bytes(b"")
    return path


def folder_job(source: Path, out: Path, **again: bool) -> FileJob:
    plan = make_plan(source)
    job = FileJob(plan, Reading(columns=("text",), batch_words=40), Destination.of(out, plan), unveiled=True, **again)
    job.check()
    return job


FILES = ["a.csv", "b.txt", "sub", "sub/c.jsonl", "sub/deep", "sub/deep/d.tsv"]


def test_a_folder_is_mirrored(tmp_path: Path, idle: Veils) -> None:
    source, out = folder_of(tmp_path / "in"), tmp_path / "out"
    plan = make_plan(source)
    assert plan.skipped == ("notes.bin", "sub/empty.txt")
    assert [piece.name for piece in plan.pieces] == ["a.csv", "b.txt", "sub/c.jsonl", "sub/deep/d.tsv"]
    assert [piece.name for piece in make_plan(source, "csv").pieces] == ["a.csv"]
    job = folder_job(source, out)
    tally = job.run(idle)
    job.forget()
    assert names(out) == FILES
    for name in FILES:
        if (source / name).is_file():
            assert (out / name).read_bytes() == (source / name).read_bytes()
    assert (tally.files, tally.records) == (4, 240)
    assert names(tmp_path) == sorted(["in", "out", *(f"in/{n}" for n in names(source)), *(f"out/{n}" for n in FILES)])


def test_a_folder_goes_on_where_it_stopped(tmp_path: Path, seeded: Veils) -> None:
    source, out, whole = folder_of(tmp_path / "in"), tmp_path / "out", tmp_path / "whole"
    reference = folder_job(source, whole).run(seeded)
    for blocks in (1, 7, 3, 9, 5):
        with pytest.raises(StoppedError):
            folder_job(source, out, resume=True).run(seeded, stop_after(blocks))
        assert not out.exists()
    tally = folder_job(source, out, resume=True).run(seeded)
    assert names(out) == FILES
    assert all((out / n).read_bytes() == (whole / n).read_bytes() for n in FILES if (out / n).is_file())
    assert (tally.counts, tally.files, tally.records) == (reference.counts, reference.files, reference.records)
    # Two files with the same lines get different draws.
    assert (out / "b.txt").read_text().split("\n") != [
        json.loads(line)["text"] for line in (out / "sub" / "c.jsonl").read_text().splitlines()
    ]


@pytest.mark.parametrize("workers", [1, 2])
def test_small_files_are_veiled_together_and_go_on_where_they_stopped(
    tmp_path: Path, graph: Mechanism[Any], monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    (source / "sub").mkdir(parents=True)
    for number, line in enumerate(LINES[:24]):
        (source / f"{number:02}.txt").write_text(f"{line}\r\n{line}")
        (source / "sub" / f"{number:02}.csv").write_text(f"text,id\n\n{line},{number}\n")
    plan = make_plan(source)

    def job() -> FileJob:
        return FileJob(plan, Reading(columns=("text",)), Destination.of(out, plan), resume=True)

    monkeypatch.setattr("wordveil.io.small._MOST", 10)
    veils = Veils(lambda seed: Veil(graph, seed=seed))
    with pytest.raises(StoppedError):
        job().run(veils, stop_after(2), workers)
    assert not out.exists()
    kept = {path.name: path.read_bytes() for path in (tmp_path / "out.part").glob("*.txt")}
    assert len(kept) >= 20  # two loads, and perhaps some that were under way
    tally = job().run(veils, workers=workers)
    assert (tally.files, tally.records, tally.runs) == (48, 72, 2)
    assert tally.counts.words == 72 * 8  # the river carried timber 7 past the mill
    assert names(out) == names(source)
    for name in sorted(kept)[:20]:
        assert (out / name).read_bytes() == kept[name]
    for number in range(24):
        first, second = (out / f"{number:02}.txt").read_bytes().split(b"\r\n")
        assert first.endswith(b" the " + first.rsplit(b" ", 1)[1])
        assert second.startswith(b"the ")
        assert b"<NUMBER>" in first
        head, blank, row, _ = (out / "sub" / f"{number:02}.csv").read_text().split("\n")
        assert (head, blank, row.rsplit(",")[-1]) == ("text,id", "", str(number))


def test_a_finished_file_that_changed_stops_a_resume(tmp_path: Path, idle: Veils) -> None:
    source, out = folder_of(tmp_path / "in"), tmp_path / "out"
    with pytest.raises(StoppedError):
        folder_job(source, out).run(idle, stop_after(12))
    (source / "a.csv").write_text("id,text\n1,other\n")
    with pytest.raises(InputError):
        folder_job(source, out, resume=True).run(idle)


@pytest.mark.parametrize("where", [".", "inside", "../in", ".."])
def test_a_folder_is_not_written_into_itself(tmp_path: Path, where: str) -> None:
    source = folder_of(tmp_path / "in")
    with pytest.raises(FileError):
        folder_job(source, source / where)


def test_no_folder_with_something_in_it_is_replaced(tmp_path: Path, idle: Veils) -> None:
    source, out = folder_of(tmp_path / "in"), tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("precious")
    with pytest.raises(FileError):
        folder_job(source, out, overwrite=True)
    (out / "mine").unlink()
    folder_job(source, out).run(idle)
    assert names(out) == FILES
    part = tmp_path / "new.part"
    part.mkdir()
    (part / "mine").write_text("precious")
    with pytest.raises(FileError):
        folder_job(source, tmp_path / "new", overwrite=True).run(idle)
    assert (part / "mine").read_text() == "precious"


def test_a_full_disk_is_told_and_survived(tmp_path: Path) -> None:
    """A process whose files may not grow past a limit, as on a full disk, then one without the limit."""
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(LINES * 40))
    code = f"""
import resource, signal, sys
import wordveil
from pathlib import Path
from wordveil.io import *
from wordveil.text import Veil
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
graph = wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=1.0)
veils = Veils(lambda seed: Veil(graph, select="words", words=["qzwordqz"], seed=seed))
plan = make_plan(Path({str(source)!r}))
for limit in (100_000, resource.RLIM_INFINITY):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    job = FileJob(plan, Reading(batch_words=2000), Destination.of(Path({str(out)!r}), plan), resume=True, unveiled=True)
    job.check()
    try:
        job.run(veils)
        job.forget()
    except wordveil.WordveilError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "File too large" in done.stdout
    assert "`resume`" in done.stdout
    assert done.stderr == ""
    assert out.read_bytes() == source.read_bytes()
    assert names(tmp_path) == ["in.txt", "out.txt"]


PEOPLE = [
    {"who": who, "text": "zyxxy river timber river 4711"} for who in ("ann", "bob", "ann", "", "") for _ in range(4)
]


def people_file(folder: Path, kind: str) -> Path:
    path = folder / f"in.{kind}"
    if kind == "csv":
        path.write_text("who,text\n" + "".join(f"{row['who']},{row['text']}\n" for row in PEOPLE))
    elif kind == "jsonl":
        path.write_text("".join(json.dumps({**row, "who": row["who"] or None}) + "\n" for row in PEOPLE))
    elif kind == "json":
        path.write_text(json.dumps([{**row, "who": row["who"] or None} for row in PEOPLE]))
    elif kind == "xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for cells in [["who", "text"], *([row["who"] or None, row["text"]] for row in PEOPLE)]:
            book.active.append(cells)
        book.save(path)
    else:
        table = pa.table({"who": [row["who"] or None for row in PEOPLE], "text": [row["text"] for row in PEOPLE]})
        pq.write_table(table, path)
    return path


def texts_in(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        return [str(text) for text in pq.read_table(path)["text"].to_pylist()]
    if path.suffix == ".json":
        return [row["text"] for row in json.loads(path.read_text())]
    if path.suffix == ".xlsx":
        rows = pytest.importorskip("openpyxl").load_workbook(path).active.iter_rows(min_row=2)
        return [str(row[1].value) for row in rows]
    if path.suffix == ".csv":
        return [line.split(",")[1] for line in path.read_text().splitlines()[1:]]
    return [json.loads(line)["text"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "parquet", "xlsx"])
@pytest.mark.parametrize("workers", [1, 2])
def test_words_of_a_person_are_drawn_once_whoever_draws_and_after_a_crash(
    tmp_path: Path, graph: Mechanism[Any], kind: str, workers: int
) -> None:
    path, out = people_file(tmp_path, kind), tmp_path / f"out.{kind}"
    plan = make_plan(path)

    def job(**again: bool) -> FileJob:
        made = FileJob(plan, Reading(("text",), person="who", batch_words=8), Destination.of(out, plan), **again)
        made.check()
        return made

    def veils() -> Veils:  # of another process each time
        return Veils(lambda seed: Veil(graph, once="person", select="all", seed=seed))

    with pytest.raises(StoppedError):
        job().run(veils(), stop_after(2))
    checkpoint = tmp_path / f"out.{kind}.part.json"
    assert checkpoint.stat().st_mode & 0o077 == 0
    assert "ann" not in checkpoint.read_text()
    last = job(resume=True)
    tally = last.run(veils(), workers=workers)
    last.forget()
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([path.name, out.name])
    veiled = texts_in(out)
    ann, bob, nobody = veiled[0:4] + veiled[8:12], veiled[4:8], veiled[12:]
    assert len(set(ann)) == len(set(bob)) == 1
    assert ann[0] != bob[0]
    assert len(set(nobody)) > 4
    for text in veiled:
        words = text.lower().split()
        assert words[1] == words[3]
    assert tally.worst_words == 4


@pytest.mark.parametrize("scope", ["person", "file"])
def test_identifiers_keep_their_numbers_after_a_crash(tmp_path: Path, graph: Mechanism[Any], scope: str) -> None:
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    rows = [f"{who},x@over.com or {who}@over.com" for who in ["ann", "bob"] * 6]
    path.write_text("\n".join(["who,text", *rows]) + "\n")
    plan = make_plan(path)
    reading = Reading(("text",), person="who" if scope == "person" else None, batch_words=4)
    for number, stop in enumerate([stop_after(2), stop_after(1), None]):  # another process each time
        veils = Veils(lambda seed: Veil(graph, numbered=True, once=scope, seed=seed))
        job = FileJob(plan, reading, Destination.of(out, plan), resume=number > 0)
        if stop is None:
            job.run(veils)
            job.forget()
        else:
            with pytest.raises(StoppedError):
                job.run(veils, stop)
    veiled = [re.findall(r"<EMAIL_(\d+)>", text) for text in texts_in(out)]
    ann, bob = veiled[0::2], veiled[1::2]
    assert ann == ann[:1] * 6
    assert bob == bob[:1] * 6
    assert ann[0][1] != bob[0][1]
    assert (ann[0][0] == bob[0][0]) == (scope == "file")
    assert len({*ann[0], *bob[0]}) == (3 if scope == "file" else 4)


@pytest.mark.parametrize("scope", ["record", "file"])
def test_a_scope_is_a_record_with_all_its_columns_or_a_file(tmp_path: Path, graph: Mechanism[Any], scope: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a.csv", "b.csv"):
        (folder / name).write_text("left,right\n" + "river timber,timber river\n" * 6)
    plan = make_plan(folder)
    job = FileJob(plan, Reading(("left", "right"), batch_words=3), Destination.of(tmp_path / "out", plan))
    job.check()
    job.run(Veils(lambda seed: Veil(graph, once=scope, case="lower", seed=seed)))
    job.forget()
    rows = [
        [tuple(row.split(",")) for row in (tmp_path / "out" / name).read_text().splitlines()[1:]]
        for name in ("a.csv", "b.csv")
    ]
    for left, right in [*rows[0], *rows[1]]:
        assert left.split() == right.split()[::-1]
    kinds = [len(set(one)) for one in rows]
    assert kinds == [1, 1] if scope == "file" else min(kinds) > 1
    assert set(rows[0]) != set(rows[1])


@pytest.mark.parametrize("scope", ["record", "file"])
def test_small_files_without_a_text_lie_between_others_without_joining_them(
    tmp_path: Path, graph: Mechanism[Any], scope: str
) -> None:
    folder, text = tmp_path / "in", "river timber senator winter engine bishop"
    folder.mkdir()
    for name, record in {"a": {"text": text}, "b": {"text": None}, "c": {"text": text}}.items():
        (folder / f"{name}.jsonl").write_text(json.dumps(record))
    (folder / "e.jsonl").write_text(json.dumps({"text": text}) + "\n" + json.dumps({"note": "x"}))
    plan = make_plan(folder)
    job = FileJob(plan, Reading(("text",), missing="pass"), Destination.of(tmp_path / "out", plan), unveiled=True)
    tally = job.run(Veils(lambda seed: Veil(graph, once=scope, seed=seed)))
    job.forget()
    veiled = [
        json.loads((tmp_path / "out" / f"{name}.jsonl").read_text().splitlines()[0])["text"].lower().split()
        for name in ("a", "c", "e")
    ]
    for one, other in ((0, 1), (1, 2), (0, 2)):  # of ε = 1: one word or two may be drawn alike by chance
        assert sum(map(str.__eq__, veiled[one], veiled[other])) < 4
    assert (tally.records, tally.passed, tally.counts.repeated) == (5, 1, 0)


def test_seeded_jobs_draw_once_the_same_however_often_they_are_stopped(tmp_path: Path, graph: Mechanism[Any]) -> None:
    path, veiled = people_file(tmp_path, "csv"), []
    plan = make_plan(path)
    for number, stops in enumerate([[], [1], [2, 1]]):
        out = tmp_path / f"out-{number}.csv"
        for blocks in [*stops, 0]:
            veils = Veils(lambda seed: Veil(graph, once="person", seed=seed), seed=5)
            reading = Reading(("text",), person="who", batch_words=8)
            job = FileJob(plan, reading, Destination.of(out, plan), resume=True)
            if blocks:
                with pytest.raises(StoppedError):
                    job.run(veils, stop_after(blocks))
            else:
                job.run(veils)
                job.forget()
        veiled.append(out.read_bytes())
    assert veiled[0] == veiled[1] == veiled[2]


def test_whose_a_record_is_must_be_known(tmp_path: Path, graph: Mechanism[Any], source: Path) -> None:
    path = people_file(tmp_path, "csv")
    once = Veils(lambda seed: Veil(graph, once="person", seed=seed))
    each = Veils(lambda seed: Veil(graph, once="record", seed=seed))
    for veils, reading in ((once, Reading(("text",))), (each, Reading(("text",), person="who"))):
        plan = make_plan(path)
        with pytest.raises(OptionError):
            FileJob(plan, reading, Destination.of(tmp_path / "out.csv", plan)).run(veils)
    for given, reading in ((path, Reading(("text",), person="nobody")), (source, Reading(person="who"))):
        plan = make_plan(given)
        with pytest.raises((InputError, OptionError)):
            FileJob(plan, reading, Destination.of(tmp_path / f"out{given.suffix}", plan)).check()
