"""Texts and labels of one's own: what is read, what is left out, and intervals over veilings and authors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wordveil.errors import InputError
from wordveil.lab.tasks import CLASSES, Outcome, Task, read_labelled, share_over_veilings


def test_other_formats_and_a_sample(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    rows = [{"text": f"text {number}", "label": number % 2, "who": f"{number % 7}"} for number in range(300)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    task, told = read_labelled(path, "text", "label", "who", rows=100)
    assert told == {"records": 300, "empty": 0, "rare_labels": 0, "texts": 100, "labels": 2, "authors": 7}
    for text, gold in zip(task.texts, task.gold.tolist(), strict=True):
        assert int(text.split()[1]) % 2 == gold
    assert read_labelled(path, "text", "label", rows=100, seed=1)[0].texts != task.texts


def test_plain_text_has_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("a text\n" * 100)
    with pytest.raises(InputError):
        read_labelled(path, "text", "label")


def test_nobody_is_learnt_from_and_tested_on() -> None:
    authors = np.arange(60) % 9
    task = Task("own", CLASSES, (["text"] * 60,), np.arange(60.0) % 2, authors=authors)
    tested = []
    for train, test in task.splits():
        assert not set(authors[train]) & set(authors[test])
        tested += test.tolist()
    assert sorted(tested) == list(range(60))
    assert task.only(np.arange(5)).authors is not None


def test_intervals_over_veilings_and_over_authors() -> None:
    generator = np.random.default_rng(0)
    task = Task("own", CLASSES, (["text"] * 200,), np.zeros(200))
    by_author = Task("own", CLASSES, (["text"] * 200,), np.zeros(200), authors=np.arange(200) % 8)

    def share(one: Task) -> tuple[float, int]:
        found = share_over_veilings(*(Outcome(one, rows) for rows in (answers, random, clean)))
        assert found.low < found.value < found.high
        return found.value, found.n

    answers, random = ((generator.random((5, 200)) < chance).astype(float) for chance in (0.6, 0.4))
    clean = (generator.random((1, 200)) < 0.8).astype(float)
    value, count = share(task)
    assert count == 5
    assert value == pytest.approx((answers.mean() - random.mean()) / (clean.mean() - random.mean()))
    mean, authors = share(by_author)
    assert authors == 8
    assert mean == pytest.approx(value)  # as many texts each
    answers[:, ::8] = 1.0  # one author is always right: that tells nothing new of veilings, but much of authors
    assert share(by_author)[1] == 8
