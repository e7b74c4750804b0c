"""A real veil, and one that selects nothing, under which every input must come out as it went in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wordveil
from wordveil._mechanisms import Mechanism
from wordveil.io import Position, Reading, Veils, format_named
from wordveil.io.workers import Task
from wordveil.text import Veil


@pytest.fixture(scope="session")
def graph() -> Mechanism[Any]:
    return wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=1.0)


@pytest.fixture(scope="session")
def idle(graph: Mechanism[Any]) -> Veils:
    return Veils(lambda seed: Veil(graph, select="words", words=["qzwordqz"], identifiers="selected", seed=seed))


@pytest.fixture(scope="session")
def seeded(graph: Mechanism[Any]) -> Veils:
    return Veils(lambda seed: Veil(graph, select="all", seed=seed), seed=1)


Through = Callable[..., bytes]


@pytest.fixture(scope="session")
def through() -> Through:
    """Take a file through its reader and a veil, without a job; Parquet comes out as Arrow streams."""

    def run(veils: Veils, path: Path, format_name: str, start: Position | None = None, **how: Any) -> bytes:
        with format_named(format_name).open_reader(path, Reading(**how), start) as reader:
            out = b"" if start else reader.preamble
            for number, block in enumerate(reader.blocks()):
                out += veils.veil([Task(block, "", number)])[0].content
            return out

    return run
