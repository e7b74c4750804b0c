"""``--select rare``: its options, and the pass over the input that learns which words are common."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from wordveil.cli.progress import ProgressBar
from wordveil.errors import OptionError

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism
    from wordveil.io import FileJob, Plan, StreamJob
    from wordveil.text import RareWords

__all__ = ["RareBelow", "TreeEpsilon", "TreeHeight", "TreeWords", "common_options", "learn_rare_words"]

RareBelow = Annotated[
    float | None,
    typer.Option(
        "--rare-below",
        help="For --select rare: veil words that are less likely than this in their context \\[default: 0.01].",
    ),
]
TreeEpsilon = Annotated[
    float | None,
    typer.Option(
        "--tree-epsilon",
        help="For --select rare: the ε spent on each record to learn what is likely \\[default: 1].",
    ),
]
TreeHeight = Annotated[
    int | None,
    typer.Option(
        "--tree-height", min=1, help="For --select rare: the longest phrase to learn, in words \\[default: 3]."
    ),
]
TreeWords = Annotated[
    int | None,
    typer.Option("--tree-words", min=1, help="For --select rare: words of each record to learn from \\[default: 20]."),
]


class Common(TypedDict):
    """How to learn which words are common, and below which likelihood a word is rare."""

    epsilon: float
    longest: int
    words: int
    below: float


def common_options(
    select: str, below: float | None, epsilon: float | None, height: int | None, words: int | None
) -> Common | None:
    """Return the options of ``--select rare``, or None for another selection, with which none of them may be given."""
    if select != "rare":
        given = {"--rare-below": below, "--tree-epsilon": epsilon, "--tree-height": height, "--tree-words": words}
        for name, value in given.items():
            if value is not None:
                raise OptionError(f"{name} can only be used with --select rare.")
        return None
    found = Common(
        epsilon=1.0 if epsilon is None else epsilon,
        longest=height or 3,
        words=words or 20,
        below=0.01 if below is None else below,
    )
    if not (found["epsilon"] > 0.0 and math.isfinite(found["epsilon"])):
        raise OptionError("--tree-epsilon must be a finite number above 0.")
    if not 0.0 < found["below"] <= 1.0:
        raise OptionError("--rare-below must be above 0 and at most 1.")
    return found


def learn_rare_words(
    job: FileJob | StreamJob, plan: Plan, made: Mechanism[Any], common: Common, seed: int | None, *, quiet: bool
) -> RareWords:
    """Learn from the whole input of a job which words are common, and return what finds the others."""
    from wordveil.io import learn_common_words
    from wordveil.noise import Entropy
    from wordveil.text import NgramTree, RareWords

    if any(piece.is_stream for piece in plan.pieces):
        raise OptionError(
            "--select rare reads its input twice, first to learn which words are common; give a file, not a stream."
        )
    vocabulary = made.space.vocabulary
    tree = NgramTree(vocabulary, epsilon=common["epsilon"], longest=common["longest"], words=common["words"])
    with ProgressBar("learning", plan.size, quiet=quiet) as bar:
        return RareWords(learn_common_words(job, tree, Entropy(seed), bar.move), below=common["below"])
