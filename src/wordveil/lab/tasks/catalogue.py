"""The list of tasks: one line each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from wordveil.errors import WordveilError
from wordveil.lab.tasks import pairs, sentences
from wordveil.lab.tasks.folder import DataFolder
from wordveil.lab.tasks.odd_man_out import odd_man_out
from wordveil.lab.tasks.task import Task

__all__ = ["TASKS", "load_task"]


def _polarity(name: str, **files: str) -> Callable[[DataFolder], Task]:
    return partial(sentences.polarity, name=name, files={label: f"senteval/{file}" for label, file in files.items()})


def _words(name: str, *files: str) -> Callable[[DataFolder], Task]:
    return lambda data: pairs.word_pairs(data, name, *files)


_WORD_LISTS = ("EN-MEN-TR-3k.txt", "EN-SIMLEX-999.txt", "EN-SimVerb-3500.txt")

#: What reads each task out of a data folder.
TASKS: dict[str, Callable[[DataFolder], Task]] = {
    "mr": _polarity("MR", negative="MR/rt-polarity.neg", positive="MR/rt-polarity.pos"),
    "cr": _polarity("CR", negative="CR/custrev.neg", positive="CR/custrev.pos"),
    "mpqa": _polarity("MPQA", negative="MPQA/mpqa.neg", positive="MPQA/mpqa.pos"),
    "subj": _polarity("SUBJ", objective="SUBJ/subj.objective", subjective="SUBJ/subj.subjective"),
    "sst2": partial(sentences.sst, name="SST-2", variant="binary"),
    "sst5": partial(sentences.sst, name="SST-5", variant="fine"),
    "trec6": sentences.trec6,
    "snips": sentences.snips,
    "insuranceqa": sentences.insuranceqa,
    "imdb": sentences.imdb,
    "sick-e": pairs.sick_e,
    "mrpc": pairs.mrpc,
    **{f"sts{year % 100}": partial(pairs.sts, year=year) for year in range(2012, 2017)},
    "stsb": pairs.stsb,
    "men": _words("MEN", _WORD_LISTS[0]),
    "simlex": _words("SimLex", _WORD_LISTS[1]),
    "simverb": _words("SimVerb", _WORD_LISTS[2]),
    "ws353": _words("WS353", "EN-WS-353-ALL.txt"),
    "words": _words("MEN, SimLex and SimVerb", *_WORD_LISTS),
    "odd-man-out": odd_man_out,
}


def load_task(name: str, data: DataFolder | str | Path) -> Task:
    """Read a task by its name.

    Parameters
    ----------
    name : str
        One of `TASKS`.
    data : DataFolder, str or Path
        The folder of data sets.
    """
    if name not in TASKS:
        raise WordveilError(f"there is no task {name!r}; choose some of {', '.join(TASKS)}.")
    return TASKS[name](data if isinstance(data, DataFolder) else DataFolder(data))
