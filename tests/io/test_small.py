"""Many small files in one block: cut and written as each would be by itself."""

from __future__ import annotations

import gzip
import math
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordveil import Mechanism, Veil
from wordveil.errors import FileError, InputError
from wordveil.io import Destination, FileJob, Reading, Veils, make_plan
from wordveil.io.lines import TextReader
from wordveil.io.output import SyncedFiles
from wordveil.io.small import ReadAhead, SmallFiles, read_plain, seems_plain
from wordveil.text.flow import Texts


def own(data: bytes, path: Path) -> tuple[list[str], bytes]:
    """Return the lines of a file that is read alone, and the file as it is written with the same lines."""
    path.write_bytes(data)
    with TextReader(path, Reading()) as reader:
        blocks = list(reader.blocks())
        texts = [text for block in blocks for text in block.together()]
        return texts, b"".join(block.render_together(block.together()) for block in blocks)


@given(files=st.lists(st.text("a \r\né", min_size=1, max_size=12).map(str.encode), min_size=1, max_size=6))
def test_files_are_cut_as_each_alone(files: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("small") / "in.txt"
    alone = [own(data, path) for data in files]
    block = SmallFiles(files)
    assert list(block.together()) == [text for texts, _ in alone for text in texts]
    assert len(block.sizes) == block.end.record == sum(len(texts) for texts, _ in alone)
    assert [len(data) for data in files] == [len(written) for _, written in alone]
    assert block.cuts(block.together()) == [sum(map(len, files[: many + 1])) for many in range(len(files))]


@given(files=st.lists(st.text("ab\r\n", min_size=1, max_size=12).map(str.encode), min_size=1, max_size=6))
def test_files_are_taken_apart_where_their_lines_have_grown(files: list[bytes]) -> None:
    block = SmallFiles(files)
    texts = block.together()
    parts, at, starts, ends = [], 0, [], []
    for start, end in zip(texts.starts.tolist(), texts.ends.tolist(), strict=True):
        parts += [texts.data[at:start], b"new"]
        starts.append(sum(map(len, parts)) - 3)
        ends.append(starts[-1] + 3)
        at = end
    parts.append(texts.data[at:])
    grown = Texts(b"".join(parts), texts.starts * 0 + starts, texts.ends * 0 + ends)
    cuts = [0, *block.cuts(grown)]
    for data, start, end in zip(files, cuts[:-1], cuts[1:], strict=True):
        lines = SmallFiles([data]).together()
        left = bytearray(data)
        for one in range(len(lines) - 1, -1, -1):
            left[lines.starts[one] : lines.ends[one]] = b"new"
        assert grown.data[start:end] == bytes(left)


@pytest.mark.parametrize(
    "data", [b"", b"a\0b", b"\xff\xfea\0", b"\xef\xbb\xbfa", b"\xe9", b"\x1f\x8b\x08", b"PK\x03\x04", b"%PDF-1"]
)
def test_what_is_not_plain_is_left_to_its_reader(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(data)
    assert read_plain(path) is None
    assert read_plain(tmp_path / "missing") is None
    assert not seems_plain(tmp_path / "missing")
    assert not seems_plain(tmp_path)
    path.write_bytes(b"plain\n" + b"plain")
    assert seems_plain(path)
    found = read_plain(path)
    assert found is not None
    assert (found[0], found[1].st_size) == (b"plain\nplain", 11)


def test_small_files_are_read_when_they_are_looked_at_as_far_as_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / f"{name}.txt" for name in "abc"]
    for path in paths:
        path.write_bytes(b"the river\n")
    monkeypatch.setattr("wordveil.io.small._AHEAD", 2 * ((1 << 10) + 10))
    opened: list[str] = []
    read = os.open

    def watched(path: str | Path, *how: int) -> int:
        opened.append(str(path))
        return read(path, *how)

    monkeypatch.setattr("os.open", watched)
    ahead = ReadAhead()
    assert all(ahead.look(path, 10) for path in paths)
    assert not ahead.look(tmp_path / "missing", 10)
    opened.clear()
    paths[1].write_bytes(b"the mills of the river\n")
    found = [ahead.read(path) for path in paths]
    assert [one and one[0] for one in found] == [b"the river\n", b"the mills of the river\n", b"the river\n"]
    assert opened == [str(path) for path in paths[1:]]  # one changed, and for one there was no room
    opened.clear()
    assert ahead.read(paths[0]) is not None
    assert opened == [str(paths[0])]  # nothing is held twice


def test_a_small_file_that_changes_after_it_was_looked_at_stops_a_resume(
    tmp_path: Path, graph: Mechanism[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    for name in "ab":
        (source / f"{name}.txt").write_text("the river")
    plan = make_plan(source)
    veils = Veils(lambda seed: Veil(graph, seed=seed))
    monkeypatch.setattr("wordveil.io.small._MOST", 1)
    monkeypatch.setattr(Veils, "is_compiled_for", lambda *_: True)
    job = FileJob(plan, Reading(), Destination.of(out, plan))
    job.check()
    (source / "a.txt").write_text("the mill of the river")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.run(veils, stop)
    assert len((tmp_path / "out.part" / "a.txt").read_text().split()) == 5  # as it is when its turn comes
    (source / "a.txt").write_text("the river again")
    with pytest.raises(InputError):
        FileJob(plan, Reading(), Destination.of(out, plan), resume=True).run(veils)


def test_only_files_of_which_little_was_left_alone_are_looked_at(tmp_path: Path, graph: Mechanism[Any]) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    texts = {"a": "the mill of the river\nand the sea", "b": "der Fluss und das Meer", "c": "the river or the sea"}
    for name, text in texts.items():
        (source / f"{name}.txt").write_text(text)
    seen = list[list[str]]()
    plan = make_plan(source)
    for sure in (0.3, math.inf):
        job = FileJob(plan, Reading(), Destination.of(out, plan))
        job.sure, job.look = sure, lambda texts: seen.append(list(texts))
        job.run(Veils(lambda seed: Veil(graph, seed=seed)))
        shutil.rmtree(out)
    assert seen == [[texts["b"]], texts["a"].split("\n"), [texts["b"]], [texts["c"]]]

    def refuse(texts: Iterable[str]) -> None:
        raise InputError(f"{len(list(texts))} texts")

    job = FileJob(plan, Reading(), Destination.of(out, plan))
    job.sure, job.look = 0.3, refuse
    with pytest.raises(InputError):
        job.run(Veils(lambda seed: Veil(graph, seed=seed)))
    assert [path.name for path in tmp_path.iterdir()] == ["in"]  # nothing was written


def test_a_link_in_the_place_of_a_small_file_is_not_written_through(tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "out.part"
    victim.write_text("mine")
    folder.mkdir()
    (folder / "a.txt").symlink_to(victim)
    files = SyncedFiles(folder)
    with pytest.raises(FileError):
        files.write("a.txt", b"drawn")
    files.write("sub/b.txt.gz", b"drawn")
    files.sync()
    files.close()
    assert victim.read_text() == "mine"
    assert gzip.decompress((folder / "sub" / "b.txt.gz").read_bytes()) == b"drawn"


def test_a_folder_of_odd_files_comes_out_whole(tmp_path: Path, graph: Mechanism[Any]) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    odd = {
        "a": b"\n\nthe river",
        "b": b"the mill\r\n",
        "c": b"the\n",
        "d": b"\n",
        "e": "the höhe\n".encode(),
        "f": b"the",
    }
    for name, data in odd.items():
        (source / f"{name}.txt").write_bytes(data)
    plan = make_plan(source)
    tally = FileJob(plan, Reading(), Destination.of(out, plan)).run(Veils(lambda seed: Veil(graph, seed=seed)))
    written = {path.stem: path.read_bytes() for path in out.iterdir()}
    assert sorted(written) == sorted(odd)
    assert (tally.files, tally.records) == (6, 8)
    for name, data in odd.items():
        assert written[name].count(b"\n") == data.count(b"\n")
        assert written[name].endswith(data[-1:]) or not data.endswith(b"\n")
    assert (written["c"], written["d"], written["f"]) == (b"the\n", b"\n", b"the")
    assert written["a"].startswith(b"\n\nthe ")
    assert written["b"].endswith(b"\r\n")


def test_a_file_that_is_no_text_is_named_among_many(tmp_path: Path, graph: Mechanism[Any]) -> None:
    source = tmp_path / "in"
    source.mkdir()
    for name in ("a", "b", "c"):
        (source / f"{name}.txt").write_bytes(b"the river\n")
    (source / "b.txt").write_bytes(b"the river\xe9\n")
    plan = make_plan(source)
    job = FileJob(plan, Reading(), Destination.of(tmp_path / "out", plan))
    with pytest.raises(InputError, match=r"b\.txt"):
        job.run(Veils(lambda seed: Veil(graph, seed=seed)))
