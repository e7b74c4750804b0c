"""What is common in the records of a job, learnt in a pass before it, and kept for a resume."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from wordveil.errors import FileError, OptionError
from wordveil.files import file_errors
from wordveil.io.job import AS_BEFORE, FileJob, StreamJob
from wordveil.noise import Entropy
from wordveil.text import NgramTree

__all__ = ["learn_common_words"]


def learn_common_words(
    job: FileJob | StreamJob, tree: NgramTree, entropy: Entropy, watch: Callable[[int], None] | None = None
) -> NgramTree:
    """Grow a tree on the records of a job, or return the one with which the job was begun.

    To grow a second tree on the same records would spend its ε again, and choose other words. The job keeps the tree
    for a resume, and removes it when it is done.
    """
    begun = job.learnt
    grown = tree.grow(job.records(watch), entropy) if begun is None else _begun_with(begun, tree)
    # Also what was loaded: a job that had come to nothing begins anew, and may be stopped again.
    job.keep_learnt(json.dumps(grown.to_dict()))
    return grown


def _begun_with(path: Path, wanted: NgramTree) -> NgramTree:
    if not path.exists():
        raise OptionError(f"the job was begun with another choice of words, or {path} was removed; {AS_BEFORE}.")
    try:
        with file_errors("read", path):
            tree = NgramTree.from_dict(json.loads(path.read_text("utf-8")), wanted.vocabulary)
    except (KeyError, TypeError, ValueError, RecursionError):
        tree = None
    if tree is None:
        raise FileError(f"{path} was not written by this version of wordveil; start again with `overwrite`.")
    if (tree.epsilon, tree.longest, tree.words) != (wanted.epsilon, wanted.longest, wanted.words):
        raise OptionError(f"the job was begun with another ε, height or number of words of the tree; {AS_BEFORE}.")
    return tree
