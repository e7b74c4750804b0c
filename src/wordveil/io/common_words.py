"""The pass over a job's input that learns which words are common, before the pass that veils the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from wordveil.errors import WordveilError
from wordveil.io.failures import told
from wordveil.io.job import FileJob, StreamJob
from wordveil.noise import Entropy
from wordveil.text import NgramTree

__all__ = ["learn_common_words"]

_AGAIN = "give the same as before to go on, or --overwrite instead of --resume to start again"


def learn_common_words(
    job: FileJob | StreamJob, tree: NgramTree, entropy: Entropy, watch: Callable[[int], None] | None = None
) -> NgramTree:
    """Grow a tree on the records of a job, or return the one with which the job was begun.

    To grow a second tree on the same records would spend its ε again, and choose other words.

    Parameters
    ----------
    job : FileJob or StreamJob
        The job; it keeps the tree for a resume, and removes it when it is done.
    tree : NgramTree
        The tree to grow.
    entropy : Entropy
        Where the noise comes from.
    watch : callable, optional
        Told how many bytes of the input are done.
    """
    begun = job.learnt
    grown = tree.grow(job.records(watch), entropy) if begun is None else _begun_with(begun, tree)
    # Also what was loaded: a job that had come to nothing begins anew, and may be stopped again.
    job.keep_learnt(json.dumps(grown.to_dict()))
    return grown


def _begun_with(path: Path, wanted: NgramTree) -> NgramTree:
    if not path.exists():
        raise WordveilError(f"the job was begun with another choice of words, or {path} was removed; {_AGAIN}.")
    try:
        with told("read", path):
            tree = NgramTree.from_dict(json.loads(path.read_text("utf-8")), wanted.vocabulary)
    except (KeyError, TypeError, ValueError, RecursionError):
        tree = None
    if tree is None:
        raise WordveilError(f"{path} is not what this version of wordveil learns; start again with --overwrite.")
    if (tree.epsilon, tree.longest, tree.words) != (wanted.epsilon, wanted.longest, wanted.words):
        raise WordveilError(f"the job was begun with another budget, height or number of words of the tree; {_AGAIN}.")
    return tree
