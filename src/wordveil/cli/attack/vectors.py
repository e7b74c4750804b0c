"""``wordveil attack vectors``: which words noisy vectors stand for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordveil.cli.attack.shared import (
    Epsilons,
    Figure,
    Seed,
    as_number,
    as_share,
    check_figure,
    epsilons_of,
    maker_of,
    print_json,
    print_table,
)
from wordveil.cli.calibrate import Quiet
from wordveil.cli.files import Overwrite
from wordveil.cli.options import Json, MechanismName, Normalise, Options, SpaceName
from wordveil.cli.progress import ProgressBar
from wordveil.errors import WordveilError

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism

__all__ = ["vectors"]


def vectors(
    epsilon: Epsilons = None,
    mechanism: MechanismName = "laplace",
    space: SpaceName = "glove-50k",
    normalise: Normalise = False,
    option: Options = None,
    released: Annotated[
        Path | None,
        typer.Option("--released", help="A file of noisy vectors, as `wordveil vectors` writes, instead of new ones."),
    ] = None,
    words: Annotated[int, typer.Option("--words", min=1, help="How many words, the most frequent ones.")] = 2000,
    neighbours: Annotated[int, typer.Option("--neighbours", min=1, help="How many near words to look at.")] = 10,
    seed: Seed = None,
    figure: Figure = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the words that released noisy vectors stand for, by the nearest word.

    Also the NADP paper's estimate of p(x|M(x)), the overlap of the words near the original and near the noisy vector,
    and its skewness over the words.

    Examples:

      wordveil attack vectors --mechanism gaussian --epsilon 1 --epsilon 4

      wordveil attack vectors --released noisy.npz --figure overlap.svg
    """
    import numpy as np

    from wordveil._mechanisms import NoiseMechanism
    from wordveil.attacks import VectorAttack, attack_released, attack_vectors
    from wordveil.noise import Entropy

    if released is not None and epsilon:
        raise WordveilError("--released and --epsilon exclude each other: what was released has its noise already.")
    rates = [float("nan")] if released else epsilons_of(epsilon)
    check_figure(figure, released, space, overwrite=overwrite)
    found: list[VectorAttack] = []
    described: Mechanism[Any] | None = None
    with ProgressBar("attacking", quiet=quiet) as progress:
        opened, make = maker_of(mechanism, space, normalise, option)
        if released is not None:
            ids, points = _released(released, opened)
            found.append(attack_released(opened, ids[:words], points[:words], neighbours=neighbours,
                                         watch=progress.watch))  # fmt: skip
        else:
            for rate in rates:
                described = make(rate)
                if not isinstance(described, NoiseMechanism):
                    raise WordveilError(f"the mechanism {mechanism} draws words and releases no vectors.")
                ids = np.arange(min(words, len(described.space)))
                found.append(attack_vectors(described, ids, neighbours=neighbours, entropy=Entropy(seed),
                                            watch=progress.watch))  # fmt: skip
    if figure is not None:
        from wordveil.attacks.figures import draw_overlaps
        from wordveil.extras import save

        save(draw_overlaps(rates, found, "released vectors" if released else mechanism), figure)
    if as_json:
        print_json("vectors", described, None if released else rates, [one.to_dict() for one in found])
        return
    print_table(
        "Words found from their vectors",
        ("ε", "nearest word", f"among the {neighbours} nearest", "overlap", "skewness"),
        [
            [
                "-" if released else f"{rate:g}",
                as_share(one.nearest),
                as_share(one.among),
                as_number(one.overlap),
                as_number(one.skewness),
            ]
            for rate, one in zip(rates, found, strict=True)
        ],
    )


def _released(path: Path, space: Any) -> tuple[Any, Any]:
    import numpy as np

    from wordveil.spaces import PointSpace
    from wordveil.spaces.files import read_vectors

    if not isinstance(space, PointSpace):
        raise WordveilError("released vectors are attacked in a space of points.")
    words, points = read_vectors(path)
    if points.shape[1] != space.dimension:
        raise WordveilError(f"{path.name} has {points.shape[1]} dimensions, but the space has {space.dimension}.")
    ids = [space.vocabulary.ids.get(word, -1) for word in words]
    known = [place for place, found in enumerate(ids) if found >= 0]
    if not known:
        raise WordveilError(f"no word of {path.name} is in the space.")
    return np.array(ids)[known], np.asarray(points, dtype=np.float32)[known]
