"""IS-A pairs: files, filters, closure."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordveil.errors import FileError, InputError, OptionError
from wordveil.lab.training import Pairs, read_pairs, write_pairs


def named(pairs: Pairs) -> set[tuple[str, str]]:
    return {(pairs.names[c], pairs.names[p]) for c, p in zip(pairs.child, pairs.parent, strict=True)}


FILE = (
    "dog\tanimal\t12\ncat\tanimal\t30\r\n\nthe\tthing\t500\npoodle\tdog\t9\nanimal\tthing\ndog\tanimal\t3\nx\tx\t50\n"
)


def test_reading_counts_and_filters(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text(FILE, encoding="utf-8")
    (tmp_path / "pairs.tsv.gz").write_bytes(gzip.compress(FILE.encode()))
    pairs = read_pairs(tmp_path / "pairs.tsv")
    assert pairs.checksum == read_pairs(tmp_path / "pairs.tsv.gz").checksum
    counts = dict(zip(zip(pairs.child.tolist(), pairs.parent.tolist(), strict=True), pairs.counts, strict=True))
    assert counts[pairs.names.index("dog"), pairs.names.index("animal")] == 15
    assert named(pairs.filtered()) == named(pairs) - {("x", "x")}
    assert named(pairs.filtered(min_count=10)) == {("dog", "animal"), ("cat", "animal"), ("the", "thing")}
    assert named(pairs.filtered(min_count=10, leave_out=["the"])) == {("dog", "animal"), ("cat", "animal")}
    kept = pairs.filtered(vocabulary=["dog", "animal", "thing"])
    assert named(kept) == {("dog", "animal"), ("animal", "thing")}
    assert kept.names == ["dog", "animal", "thing"]
    # without words in fewer than two pairs nothing of a tree is left, and of a triangle everything
    assert len(pairs.filtered(min_links=2)) == 0
    triangle = Pairs.of([("a", "b"), ("b", "c"), ("a", "c"), ("d", "a")])
    assert named(triangle.filtered(min_links=2)) == {("a", "b"), ("b", "c"), ("a", "c")}


def test_writing_and_reading_again(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(FILE, encoding="utf-8")
    pairs = read_pairs(tmp_path / "a.tsv")
    write_pairs(tmp_path / "b.tsv", pairs)
    assert read_pairs(tmp_path / "b.tsv").checksum == pairs.checksum


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a\tb\nlonely\n", 2),
        ("a\tb\tc\td\n", 1),
        ("a\t\n", 1),
        ("a\tb\tmany\n", 1),
        ("a\tb\t0\n", 1),
        ("a\tb\tnan\n", 1),
    ],
)
def test_bad_lines_are_told_by_number(content: str, line: int, tmp_path: Path) -> None:
    (tmp_path / "bad.tsv").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=rf"line {line}"):
        read_pairs(tmp_path / "bad.tsv")


def test_unreadable_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(FileError):
        read_pairs(tmp_path / "none.tsv")
    (tmp_path / "latin.tsv").write_bytes(b"caf\xe9\tplace\n")
    with pytest.raises(InputError):
        read_pairs(tmp_path / "latin.tsv")


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)).filter(lambda p: p[0] < p[1]), min_size=1))
def test_closure_and_reduction_of_any_hierarchy(edges: list[tuple[int, int]]) -> None:
    pairs = Pairs.of(sorted({(str(a), str(b)) for a, b in edges}))
    reach = {name: {name} for name in pairs.names}
    for _ in pairs.names:
        for child, parent in named(pairs):
            reach[child] |= reach[parent]
    closed = pairs.closed()
    assert named(closed) == {(a, b) for a, above in reach.items() for b in above if a != b}
    steps = closed.reduced()
    assert named(steps.closed()) == named(closed)
    for child, parent in named(steps):  # no step can be left out
        assert not any((child, via) in named(closed) and (via, parent) in named(closed) for via in pairs.names)


def test_synonyms_survive_the_reduction() -> None:
    pairs = Pairs.of([("car", "auto"), ("auto", "car"), ("car", "thing"), ("auto", "thing"), ("taxi", "car")]).closed()
    assert {("car", "auto"), ("auto", "car"), ("car", "thing"), ("auto", "thing")} <= named(pairs.reduced())
    assert ("taxi", "thing") not in named(pairs.reduced())


def test_counts_survive_the_closure() -> None:
    pairs = Pairs(["a", "b", "c"], np.array([0, 1], np.int32), np.array([1, 2], np.int32), np.array([7.0, 5.0]))
    closed = pairs.closed()
    assert sorted(closed.counts.tolist()) == [1.0, 5.0, 7.0]


def test_hidden_nodes_and_subtrees() -> None:
    pairs = Pairs.of([("dog", "(pet)"), ("(pet)", "animal"), ("dog", "animal"), ("oak", "tree")], hidden=0)
    pairs = Pairs.of([("dog", "(pet)"), ("(pet)", "animal"), ("dog", "animal")], ["dog", "animal", "(pet)"], hidden=1)
    assert named(pairs.visible()) == {("dog", "animal")}
    assert pairs.visible().names == ["dog", "animal"]
    below = pairs.below("(pet)")
    assert named(below) == {("dog", "(pet)")}
    assert below.hidden == 1
    with pytest.raises(OptionError):
        pairs.below("plant")
