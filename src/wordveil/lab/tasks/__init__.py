"""Downstream tasks: what text is still good for after it was veiled."""

from wordveil.lab.tasks.catalogue import TASKS, load_task
from wordveil.lab.tasks.evaluation import WHEN, evaluate
from wordveil.lab.tasks.folder import DataFolder
from wordveil.lab.tasks.models import AveragedVectors, BiLstm, Model
from wordveil.lab.tasks.outcome import Interval, Outcome, lead, mean_of, share_of_the_way
from wordveil.lab.tasks.rewriting import RandomWords, Rewriter, random_words, veiled
from wordveil.lab.tasks.task import CLASSES, ODD, SIMILARITY, Task
from wordveil.lab.tasks.vectors import Reader

__all__ = [
    "CLASSES",
    "ODD",
    "SIMILARITY",
    "TASKS",
    "WHEN",
    "AveragedVectors",
    "BiLstm",
    "DataFolder",
    "Interval",
    "Model",
    "Outcome",
    "RandomWords",
    "Reader",
    "Rewriter",
    "Task",
    "evaluate",
    "lead",
    "load_task",
    "mean_of",
    "random_words",
    "share_of_the_way",
    "veiled",
]
