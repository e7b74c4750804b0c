"""Small damage to inputs, the same each time."""

from __future__ import annotations

import random
from collections.abc import Iterator

__all__ = ["damaged"]


def damaged(content: bytes, seed: str, copies: int) -> Iterator[bytes]:
    """Give the input and copies of it: cut short, with bytes changed, taken out, doubled."""
    yield content
    chance = random.Random(seed)
    for _ in range(copies):
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
