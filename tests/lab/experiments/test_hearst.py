"""The ball of Hearst's patterns: trained from the data folder once, with general words inside."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from wordveil.lab.experiments.icdm import HEARST_DIMENSION, hearst_ball
from wordveil.lab.experiments.run import Run

KINDS = {
    "animal": ["dog", "cat", "horse", "whale", "sheep", "goat"],
    "fruit": ["apple", "pear", "plum", "cherry", "grape", "lemon"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("data")
    pairs = [(word, kind, 9) for kind, words in KINDS.items() for word in words]
    pairs += [(word, "thing", 7) for words in KINDS.values() for word in words]
    pairs += [("animal", "thing", 8), ("fruit", "thing", 8), ("ship", "thing", 1), ("zyxxyplugh", "thing", 50)]
    lines = "".join(f"{child}\t{parent}\t{count}\n" for child, parent, count in pairs)
    (place / "hearst").mkdir()
    (place / "hearst/hearst_counts.txt.gz").write_bytes(gzip.compress(lines.encode()))
    return place


def test_what_is_rare_or_unknown_is_left_out_and_general_words_lie_inside(folder: Path) -> None:
    told: list[str] = []
    ball = hearst_ball(Run(folder, watch=lambda what, _: told.append(what)))
    assert ball.dimension == HEARST_DIMENSION
    assert set(ball.vocabulary) == {"thing", *KINDS, *(word for words in KINDS.values() for word in words)}
    inside = {word: ball.radii[ball.vocabulary.id(word)] for word in ball.vocabulary}
    assert inside["thing"] < min(inside[word] for words in KINDS.values() for word in words)
    assert told
    told.clear()
    again = hearst_ball(Run(folder, watch=lambda what, _: told.append(what)))
    assert again.vocabulary.words == ball.vocabulary.words
    assert not told
