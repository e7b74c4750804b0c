"""``wordveil privatize --select rare``: which words are common is learnt from the input first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from wordveil.cli.progress import ProgressBar
from wordveil.errors import OptionError

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism
    from wordveil.io import FileJob, Plan, StreamJob
    from wordveil.text import RareWords


class Common(NamedTuple):
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
    common = Common(1.0 if epsilon is None else epsilon, height or 3, words or 20, 0.01 if below is None else below)
    if not (common.epsilon > 0.0 and math.isfinite(common.epsilon)):
        raise OptionError("--tree-epsilon must be a finite number above 0.")
    if not 0.0 < common.below <= 1.0:
        raise OptionError("--rare-below must be above 0 and at most 1.")
    return common


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
    tree = NgramTree(made.space.vocabulary, epsilon=common.epsilon, longest=common.longest, words=common.words)
    with ProgressBar("learning", plan.size, quiet=quiet) as bar:
        return RareWords(learn_common_words(job, tree, Entropy(seed), bar.move), below=common.below)
