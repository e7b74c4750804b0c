"""Every task is read from files of its form; a missing or broken file is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.lab.tasks.made_data import write
from wordveil.errors import FileError, InputError, OptionError, WordveilError
from wordveil.lab.tasks import CLASSES, TASKS, DataFolder, Task, load_task

EXAMPLES = {
    "mr": 80, "cr": 80, "mpqa": 80, "subj": 80, "sst2": 60, "sst5": 120, "trec6": 240, "snips": 175,
    "insuranceqa": 160, "imdb": 80, "pang-lee": 120, "sick-e": 180, "mrpc": 180, "stsb": 30, "odd-man-out": 10,
    "men": 59, "simlex": 59, "simverb": 59, "ws353": 59, "words": 177, **{f"sts{year}": 60 for year in range(12, 17)},
}  # fmt: skip


def test_every_task_has_an_expected_size() -> None:
    assert set(EXAMPLES) == set(TASKS)


@pytest.mark.parametrize("name", TASKS)
def test_reads_all_examples(name: str, data: Path) -> None:
    task = load_task(name, data)
    assert len(task) == EXAMPLES[name]
    assert all(text for column in task.columns for text in column)
    for train, test in task.splits():
        assert not set(train.tolist()) & set(test.tolist())
    if task.kind == CLASSES:
        tested = np.concatenate([test for _, test in task.splits()])
        assert np.array_equal(np.sort(tested), task.tested)
        assert len(np.unique(task.gold)) >= 2


def test_line_breaks_and_markup_are_not_part_of_a_text(data: Path) -> None:
    assert not any("<br" in text for text in load_task("imdb", data).columns[0])
    assert "\r" not in "".join(load_task("men", data).columns[1])


def test_the_odd_one_is_where_the_task_says(data: Path) -> None:
    task = load_task("odd-man-out", data)
    odd = [task.columns[int(place)][number] for number, place in enumerate(task.gold)]
    raw = [line.split("\t")[1] for line in (data / "odd-man-out/crowdsourced_filtered.tsv").read_text().splitlines()]
    assert odd == raw[:10]
    assert len(np.unique(task.gold)) > 1


def test_old_encodings_are_read(tmp_path: Path) -> None:
    (tmp_path / "cp.txt").write_bytes("caf\xe9 \x93quoted\x94".encode("latin-1"))
    assert DataFolder(tmp_path).lines("cp.txt") == ["café “quoted”"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"TREC\.train"):
        load_task("trec6", tmp_path)
    with pytest.raises(FileError):
        load_task("trec6", tmp_path / "nowhere")
    with pytest.raises(OptionError):
        load_task("trek", tmp_path)
    with pytest.raises(FileError):
        load_task("sts12", tmp_path)


def test_errors_tell_nothing_of_the_texts(tmp_path: Path) -> None:
    write(tmp_path, "word-similarity/EN-WS-353-ALL.txt", "secretone\tsecrettwo\tsecretnumber\n")
    write(
        tmp_path, "insuranceqa/insuranceqa_v2_questions.tsv", "split\tdomain\tquestion\nsecretsplit\tsecret\tsecret\n"
    )
    write(tmp_path, "odd-man-out/crowdsourced_filtered.tsv", "secret\n")
    for name in ("ws353", "insuranceqa", "odd-man-out"):
        with pytest.raises(WordveilError) as caught:
            load_task(name, tmp_path)
        assert "secret" not in str(caught.value)


def test_a_limited_task_keeps_texts_and_answers_together(data: Path) -> None:
    task = load_task("trec6", data)
    small = task.limited(50)
    assert len(small) == 50
    answers = dict(zip(task.columns[0], task.gold, strict=True))
    assert all(answers[text] == gold for text, gold in zip(small.columns[0], small.gold, strict=True))
    assert task.limited(10_000) is task


def test_a_task_without_examples_is_refused() -> None:
    with pytest.raises(InputError):
        Task("empty", CLASSES, ([],), np.array([]))
