"""Lines: compiled code and numpy find the same, and only in what Python takes for UTF-8."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wordveil.kernels.lines import breaks_of_text, find_lines
from wordveil.kernels.native import SWITCH, compiled

#: The first and last character of each length in UTF-8, beside what only looks like one.
ODD = [
    b"\x7f", b"\xc2\x80", b"\xdf\xbf", b"\xe0\xa0\x80", b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xef\xbf\xbf",
    b"\xf0\x90\x80\x80", b"\xf4\x8f\xbf\xbf", b"\x80", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xed\xa0\x80",
    b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff", b"\xc2", b"\xe2\x82", b"\xf0\x9f\x98",
    b"\xe2\x28\xa1", b"\0", b"\n", b"\r\n", b"\r", b"\n\n",
]  # fmt: skip
pieces = st.one_of(
    st.sampled_from(ODD), st.text(max_size=3).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.integers(0, 70).map(lambda count: b"x" * count), st.binary(max_size=3),
)  # fmt: skip
lines_of = st.lists(pieces, max_size=8).map(b"".join)


@settings(max_examples=300, deadline=None)
@given(data=lines_of)
@example(data=b"x" * 63 + b"\r\n\r\n")
@example(data=b"x" * 64 + "é".encode())
def test_breaks_are_those_of_a_text(data: bytes) -> None:
    try:
        expected = None if "\0" in data.decode("utf-8") else data.count(b"\n")
    except UnicodeDecodeError:
        expected = None
    assert breaks_of_text(data) == expected
    with mock.patch.dict(os.environ, {SWITCH: "off"}):
        assert breaks_of_text(data) == expected


@settings(max_examples=300, deadline=None)
@given(data=lines_of)
@example(data=b"")
def test_lines_are_without_what_ends_them(data: bytes) -> None:
    expected = data.split(b"\n")
    ended = [line.removesuffix(b"\r") for line in expected[:-1]]
    expected = [*ended, expected[-1]] if expected[-1] else ended
    for way in ({}, {SWITCH: "off"}):
        with mock.patch.dict(os.environ, way):
            starts, ends = find_lines(data)
        found = [data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        assert found == expected


ROOM = np.empty(1, dtype=np.int64)


@pytest.mark.skipif(compiled() is None, reason="nothing is compiled here")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("count_lines", (b"a", 2)),
        ("find_lines", (b"a\nb", 3, ROOM, ROOM.copy(), 1)),  # more lines than room
        ("find_lines", (b"a\n\n", 3, ROOM, ROOM.copy(), 1)),
        ("find_lines", (b"a", 1, ROOM, ROOM.copy(), 2)),
    ],
)
def test_compiled_code_refuses_what_does_not_fit_together(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=" "):
        getattr(compiled(), name)(*arguments)
