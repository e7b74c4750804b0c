"""``wordveil vectors``: write a noisy embedding file."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Option

from wordveil.cli.checks import Overwrite, check_writable
from wordveil.cli.options import Chosen, Seed, stderr, while_at_work
from wordveil.errors import OptionError
from wordveil.rounding import round_up

_GRID = 2.0**-10
_COARSER = 64  # a grid must be this many times the spacing of floats, so that rounding leaves none of their last bits


def vectors(
    output: Annotated[
        Path, Option("--output", "-o", help="The file to write; its suffix sets the format (.npz, .txt, .bin, …).")
    ],
    chosen: Chosen = Chosen(mechanism="gaussian"),
    grid: Annotated[
        float | None,
        Option(
            min=0.0,
            help="Round every coordinate to a multiple of this; 0 for no rounding. Default: 2^-10, or more if that is "
            "not far coarser than the last bits of the largest number.",
        ),
    ] = None,
    seed: Seed = None,
    overwrite: Overwrite = False,
) -> None:
    """Write an embedding file with one noisy vector for every word (noise mechanisms only).

    The promise covers a vector released without its word, as when a text is released as a list of vectors. In the file
    itself, every vector stands beside its word, so protect the file as you would the text.

    Floating point weakens the promise: only some inputs can produce a given noisy coordinate, so its last bits can give
    the original away (Mironov 2012). The default rounding, far coarser than those bits, stops the known attacks, but
    the proof is for real numbers. A grid that is not at least 64 times as coarse as those bits is refused.
    `privatize` is not affected, because it releases words, not numbers.

    Examples:

      wordveil vectors --mechanism gaussian --epsilon 4 -o noisy.npz

      wordveil vectors --mechanism nadp --epsilon 4 --option join=true -o noisy.txt
    """
    import numpy as np

    from wordveil._mechanisms.base import DRAWN_IN_FLOATS
    from wordveil.noise import Entropy
    from wordveil.parallel import blocks
    from wordveil.spaces.files import write_vectors

    check_writable(output, inputs=(chosen.space,), overwrite=overwrite)
    if grid is not None and not math.isfinite(grid):
        raise OptionError("--grid must be a finite number, 0 or above.")
    made = chosen.build()
    entropy = Entropy(seed)
    with while_at_work("drawing noise…"):
        parts = [np.arange(part.start, part.stop) for part in blocks(len(made.space), 1 << 14)]
        noisy = np.concatenate([made.perturb(ids, entropy).astype(np.float32) for ids in parts])
        finest = _COARSER * float(np.spacing(np.abs(noisy).max(initial=1.0)))
        if grid is None:
            grid = max(_GRID, finest)  # a power of two, as spacings are
        elif 0.0 < grid < finest:
            raise OptionError(
                f"--grid {grid:g} is too fine for 32-bit numbers as large as these, whose last bits could give the "
                f"words away: choose at least {round_up(finest, 3):g}."
            )
        if grid:
            noisy = (np.round(noisy / grid) * grid).astype(np.float32)
        write_vectors(output, made.space.vocabulary.words, noisy)
    promise = made.guarantee
    if made.shortfall:  # if some words are unprotected, nothing is guaranteed, as for a text
        others = tuple(caveat for caveat in promise.caveats if caveat != made.shortfall)
        promise = replace(promise, caveats=others).void(made.shortfall)
    if not entropy.secure:
        promise = promise.void("A seed was given.")
    if not grid:
        promise = promise.void("The low bits of the numbers were kept, and may give the word away.")
    stderr().print(
        f"Wrote {len(noisy):,} noisy vectors to {output}. {promise.sentence()}", markup=False, soft_wrap=True
    )
    stderr().print("This covers a vector released without its word; in the file, each stands beside its word.")
    stderr().print("It is proved for real numbers; these are rounded.")
    for caveat in promise.caveats:
        if caveat != DRAWN_IN_FLOATS:  # that caveat is about words
            stderr().print(caveat, soft_wrap=True)
