"""Privatisers that an audit calls by their name, in processes that start fast: the standard library alone.

Run as a program, it filters lines.
"""

from __future__ import annotations

import os
import random
import sys
import time

WORDS = ["tea", "coffee", "milk", "water"]
_KEEP = 0.4  # the chance of the word itself; 0.2 for each other: a loss of ln 2
_secret, _copied, _seeded = random.SystemRandom(), random.Random(os.urandom(8)), random.Random(7)
_process = os.getpid()
_started = random.Random(int(time.time() / 3600))  # an hour, so that no test meets its end


def _draw(text: str, stream: random.Random) -> str:
    out = []
    for word in text.split():
        is_kept = word in WORDS and stream.random() < _KEEP
        out.append(word if is_kept else stream.choice([other for other in WORDS if other != word]))
    return " ".join(out)


def honest(text: str) -> str:
    return _draw(text, _secret)


def copied_by_a_fork(text: str) -> str:
    return _draw(text, _copied)


def seeded(text: str) -> str:
    return _draw(text, _seeded)


def seeded_at_its_start(text: str) -> str:
    return _draw(text, _started)


def fails_in_a_fork(text: str) -> str:
    if os.getpid() != _process:
        raise OSError
    return honest(text)


_late: list[random.Random] = []


def seeded_on_first_use(text: str) -> str:
    if not _late:
        _late.append(random.Random(os.urandom(8)))
    return _draw(text, _late[0])


def hangs(text: str) -> str:
    if text == "milk":
        time.sleep(60)
    return honest(text)


def dies(text: str) -> str:
    if text == "milk":
        os._exit(3)
    sys.stdout.write("what it prints is no answer\n")
    return honest(text)


def gives_numbers(text: str) -> object:
    return len(text)


not_callable = 3

if __name__ == "__main__":
    for line in sys.stdin:
        text = line.rstrip("\n")
        done = {
            "raw": text, "honest": honest(text), "twice": f"{text}\n{text}", "seeded": seeded_at_its_start(text)
        }[sys.argv[1]]  # fmt: skip
        sys.stdout.write(f"{done}\n")
