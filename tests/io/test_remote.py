"""Inputs and outputs elsewhere, here in the memory of fsspec."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wordveil.errors import FileError, InputError, OptionError, WordveilError
from wordveil.io import Destination, FileJob, Reading, StreamJob, Veils, is_remote, make_plan, place, written_remotely

fsspec = pytest.importorskip("fsspec")
TABLE = b"id,text\r\n1,the old mill\r\n2,by the river\r\n"


@pytest.fixture
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    system.pipe("/in/table.csv.gz", gzip.compress(TABLE))
    yield system
    system.rm("/", recursive=True)


def test_a_remote_file_is_read_into_a_file_here_and_resumed(memory: Any, tmp_path: Path, seeded: Veils) -> None:
    plan = make_plan(place("memory://in/table.csv.gz"))

    def job(*, resume: bool) -> FileJob:
        made = FileJob(
            plan, Reading(("text",), batch_words=1), Destination.of(tmp_path / "out.csv", plan), resume=resume
        )
        made.check()
        return made

    def stop(*_: object) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        job(resume=False).run(seeded, stop)
    assert job(resume=True).run(seeded).records == 2
    assert (tmp_path / "out.csv").read_bytes().startswith(b"id,text\r\n1,")
    memory.pipe("/in/table.csv.gz", gzip.compress(TABLE + b"3,x\r\n"))


def test_a_change_elsewhere_is_noticed(memory: Any) -> None:
    piece = make_plan(place("memory://in/table.csv.gz")).pieces[0]
    with piece.format.open_reader(piece.source, Reading(("text",))) as reader:
        reader.check_unchanged()
        memory.pipe("/in/table.csv.gz", gzip.compress(TABLE * 9))
        with pytest.raises(InputError):
            reader.check_unchanged()


def test_a_remote_file_appears_when_it_is_whole(memory: Any, idle: Veils, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(TABLE)
    plan = make_plan(tmp_path / "in.csv")

    def stop(*_: object) -> None:
        raise KeyError

    with pytest.raises(KeyError), written_remotely("memory://out/a.csv", [], overwrite=False) as stream:
        StreamJob(plan, Reading(("text",)), stream, unveiled=True).run(idle, stop)
    assert not memory.exists("/out/a.csv")
    with written_remotely("memory://out/a.csv.gz", [], overwrite=False) as stream:
        StreamJob(plan, Reading(("text",)), stream, unveiled=True).run(idle)
        assert not memory.exists("/out/a.csv.gz")
    assert gzip.decompress(memory.cat("/out/a.csv.gz")) == TABLE


def test_neither_an_input_nor_another_file_is_replaced(memory: Any) -> None:
    source = place("memory://in/table.csv.gz")
    for inputs, overwrite in (([source], True), ([], False)):
        with pytest.raises(FileError), written_remotely("memory://in/table.csv.gz", inputs, overwrite=overwrite):
            pass
    assert gzip.decompress(memory.cat("/in/table.csv.gz")) == TABLE


@pytest.mark.parametrize(
    "name", ["memory://in/none.csv", "memory://in", "nosuch://in/a.csv", "file:///etc/hosts", "memory://in/a.parquet"]
)
def test_what_cannot_be_read_is_told_in_a_sentence(memory: Any, name: str) -> None:
    memory.pipe("/in/a.parquet", b"PAR1")
    with pytest.raises(WordveilError):
        make_plan(place(name))


def test_no_password_is_told() -> None:
    with pytest.raises((FileError, OptionError)) as caught:
        make_plan(place("nosuch://user:hunter2@host/a.csv"))
    assert "hunter2" not in str(caught.value)
    assert "host/a.csv" in str(caught.value)


def test_paths_are_no_addresses() -> None:
    assert not any(map(is_remote, ["a.csv", "/a/b.csv", "c:\\a.csv", "a:b//c", "-"]))
    assert isinstance(place("a.csv"), Path)
