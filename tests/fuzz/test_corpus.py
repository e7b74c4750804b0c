"""The kept inputs of the fuzzer, and small damage to each, through every target: only `WordveilError` may come out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.damage import damaged
from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
_VARIANTS = 25


@pytest.mark.parametrize("name", TARGETS)
def test_no_kept_input_and_no_damage_to_it_falls_through(name: str) -> None:
    kept = sorted((CORPUS / name).iterdir())
    assert kept, "every target begins with an input that is read to its end"
    for path in kept:
        for content in damaged(path.read_bytes(), path.name, _VARIANTS):
            TARGETS[name](content)
