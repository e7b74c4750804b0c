"""Downstream tasks: what a text is still good for after it has been veiled."""

from wordveil.lab.tasks.datasets import TASKS, DataFolder, load_task, read_labelled
from wordveil.lab.tasks.evaluation import WHEN, RandomWords, Rewriter, evaluate, random_words, remembered, veiled
from wordveil.lab.tasks.models import AveragedVectors, BiLstm, Model
from wordveil.lab.tasks.releases import (
    AS_IT_STANDS,
    NETWORKS,
    READERS,
    Read,
    Reading,
    TaskTexts,
    read_back,
    readers_up_to,
)
from wordveil.lab.tasks.task import (
    CLASSES,
    ODD,
    SIMILARITY,
    Outcome,
    Task,
    lead,
    mean_of,
    share_of_the_way,
    share_over_veilings,
)

__all__ = [
    "AS_IT_STANDS", "CLASSES", "NETWORKS", "ODD", "READERS", "SIMILARITY", "TASKS", "WHEN", "AveragedVectors", "BiLstm",
    "DataFolder", "Model", "Outcome", "RandomWords", "Read", "Reading", "Rewriter", "Task", "TaskTexts",
    "evaluate", "lead", "load_task", "mean_of", "random_words", "read_back", "read_labelled", "readers_up_to",
    "remembered", "share_of_the_way", "share_over_veilings", "veiled",
]  # fmt: skip
