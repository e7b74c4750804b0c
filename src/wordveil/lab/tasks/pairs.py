"""Readers of the tasks about two texts or words: entailment, paraphrase, similarity."""

from __future__ import annotations

import numpy as np

from wordveil.errors import WordveilError
from wordveil.lab.tasks.folder import DataFolder
from wordveil.lab.tasks.task import CLASSES, SIMILARITY, Task

__all__ = ["mrpc", "sick_e", "sts", "stsb", "word_pairs"]


def sick_e(data: DataFolder) -> Task:
    """Read SICK's judgements: entailment, contradiction or neither."""
    return _told_apart(
        "SICK-E",
        [row for part in ("train", "trial") for row in _sick(data, f"senteval/SICK/SICK_{part}.txt")],
        _sick(data, "senteval/SICK/SICK_test_annotated.txt"),
    )


def mrpc(data: DataFolder) -> Task:
    """Read Microsoft's paraphrase pairs."""

    def rows(part: str) -> list[tuple[str, str, str]]:
        lines = data.columns(f"senteval/MRPC/msr-para-{part}.tsv", 5)[1:]
        return [(quality, first, second) for quality, _, _, first, second, *_ in lines]

    return _told_apart("MRPC", rows("train") + rows("val"), rows("test"))


def sts(data: DataFolder, year: int) -> Task:
    """Read a year of SemEval's textual similarity; its score is the mean over the year's sets."""
    rows: list[tuple[str, str, str]] = []
    parts: list[int] = []
    for number, name in enumerate(data.files(f"sts/semeval-sts/{year}", ".test.tsv")):
        scored = [(row[1], row[2], row[0]) for row in data.columns(name, 3) if row[0].strip()]
        rows += scored
        parts += [number] * len(scored)
    return _rated(f"STS{year % 100}", rows, "pearson", np.array(parts))


def stsb(data: DataFolder) -> Task:
    """Read the test part of the STS benchmark."""
    rows = data.table("sts/stsb/stsb-en-test.csv")
    return _rated("STS-B", [(row[0], row[1], row[2]) for row in rows if len(row) >= 3], "pearson")


def word_pairs(data: DataFolder, name: str, *files: str) -> Task:
    """Read lists of word pairs with ratings.

    Parameters
    ----------
    data : DataFolder
        Where the lists lie.
    name : str
        What the task is called.
    *files : str
        The lists; ratings of each are brought to the range from 0 to 1.
    """
    rows: list[tuple[str, str, str]] = []
    for file in files:
        pairs = data.columns(f"word-similarity/{file}", 3)
        ratings = _numbers(name, [row[2] for row in pairs])
        ratings = (ratings - ratings.min()) / (np.ptp(ratings) or 1.0)
        rows += [(row[0], row[1], repr(float(rating))) for row, rating in zip(pairs, ratings, strict=True)]
    return _rated(name, rows, "spearman")


def _sick(data: DataFolder, name: str) -> list[tuple[str, str, str]]:
    return [(row[4].strip(), row[1], row[2]) for row in data.columns(name, 5)[1:]]


def _told_apart(name: str, train: list[tuple[str, str, str]], test: list[tuple[str, str, str]]) -> Task:
    both = train + test
    numbers = {label: number for number, label in enumerate(sorted({label for label, _, _ in both}))}
    return Task(
        name,
        CLASSES,
        ([first for _, first, _ in both], [second for _, _, second in both]),
        np.array([numbers[label] for label, _, _ in both], dtype=np.float64),
        np.arange(len(both)) >= len(train),
    )


def _rated(name: str, rows: list[tuple[str, str, str]], measure: str, parts: np.ndarray | None = None) -> Task:
    gold = _numbers(name, [rating for _, _, rating in rows])
    columns = ([first for first, _, _ in rows], [second for _, second, _ in rows])
    return Task(name, SIMILARITY, columns, gold, parts=parts, measure=measure)


def _numbers(name: str, written: list[str]) -> np.ndarray:
    try:
        return np.array([float(number) for number in written])
    except ValueError:
        raise WordveilError(f"a rating of {name} is not a number.") from None
