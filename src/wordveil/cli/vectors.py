"""``wordveil vectors``: a perturbed embedding file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from wordveil.cli.files import Overwrite, check_writable
from wordveil.cli.options import (
    Epsilon,
    MechanismName,
    Normalise,
    Options,
    Seed,
    SpaceName,
    build_mechanism,
    stderr,
    while_at_work,
)
from wordveil.errors import WordveilError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("vectors")(vectors)


def vectors(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write; its ending sets the form (.npz, .txt, .bin, …).")
    ],
    epsilon: Epsilon = None,
    mechanism: MechanismName = "gaussian",
    space: SpaceName = "glove-50k",
    normalise: Normalise = False,
    option: Options = None,
    grid: Annotated[
        float, typer.Option("--grid", min=0.0, help="Round every coordinate to a multiple of this; 0 to leave it.")
    ] = 2.0**-10,
    seed: Seed = None,
    overwrite: Overwrite = False,
) -> None:
    """Write an embedding file with one noisy vector for every word: noise mechanisms only.

    The promise is about a vector that is released without its word, as when a text is released as a list of vectors; in
    the file itself every vector stands beside its word, so keep the file as you would keep the text.

    What floating point does to the promise: a noisy coordinate is a double that only some inputs can produce, so its
    last bits can betray the original exactly (Mironov 2012). Rounding to a grid far coarser than those bits, which is
    the default, removes what is known of that attack, but the promise itself is proved for real numbers. A word drawn
    by `privatize` does not have the problem, since a word and no number is released.

    Examples:

      wordveil vectors --mechanism gaussian --epsilon 2 -o noisy.npz

      wordveil vectors --mechanism nadp --epsilon 1 --option join=true -o noisy.txt
    """
    import numpy as np

    from wordveil._mechanisms import NoiseMechanism
    from wordveil._mechanisms.base import DRAWN_IN_FLOATS
    from wordveil.noise import Entropy
    from wordveil.parallel import blocks
    from wordveil.spaces.files import write_vectors

    check_writable(output, inputs=(space,), overwrite=overwrite)
    if not math.isfinite(grid):
        raise WordveilError("--grid must be a finite number from 0 on.")
    made = build_mechanism(mechanism, epsilon, space, normalise, option)
    if not isinstance(made, NoiseMechanism):
        raise WordveilError(
            f"the mechanism {mechanism} draws words and has no noisy vectors; choose laplace or gaussian."
        )
    entropy = Entropy(seed)
    noisy = np.empty((len(made.space), made.space.dimension), dtype=np.float32)
    with while_at_work("drawing noise…"):
        for part in blocks(len(noisy), 1 << 14):
            noisy[part] = made.perturb(np.arange(part.start, part.stop), entropy)
            if grid:
                noisy[part] = np.round(noisy[part] / grid) * grid
        write_vectors(output, made.space.vocabulary.words, noisy)
    promise = made.guarantee if entropy.secure else made.guarantee.void("A seed was given.")
    if not grid:
        promise = promise.void("The low bits of the numbers were kept, and they may tell the word.")
    stderr().print(f"{len(noisy):,} noisy vectors in {output}. {promise.sentence()}", markup=False, soft_wrap=True)
    stderr().print("It holds for a vector released without its word; in this file each stands beside its word.")
    stderr().print("It is proved for real numbers, of which these are roundings.")
    for caveat in promise.caveats:
        if caveat != DRAWN_IN_FLOATS:  # that is about words
            stderr().print(caveat, soft_wrap=True)
