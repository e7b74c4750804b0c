"""The kept inputs of the fuzzer, and small damage to each, through every target: only `WordveilError` may come out."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
_VARIANTS = 25


def damaged(content: bytes, seed: str) -> Iterator[bytes]:
    """Give the input and copies of it: cut short, with bytes changed, taken out, doubled."""
    yield content
    chance = random.Random(seed)
    for _ in range(_VARIANTS):
        new = bytearray(content)
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(new) + 1)
            match chance.randrange(4):
                case 0:
                    del new[place:]
                case 1:
                    new[place : place + 1] = bytes([chance.randrange(256)])
                case 2:
                    del new[place : place + chance.randint(1, 8)]
                case _:
                    new[place:place] = new[max(0, place - 8) : place]
        yield bytes(new)


@pytest.mark.parametrize("name", TARGETS)
def test_no_kept_input_and_no_damage_to_it_falls_through(name: str) -> None:
    kept = sorted((CORPUS / name).iterdir())
    assert kept, "every target begins with an input that is read to its end"
    for path in kept:
        for content in damaged(path.read_bytes(), path.name):
            TARGETS[name](content)
