"""``wordveil attack vectors``: which words noisy vectors stand for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from wordveil.cli.attack import shared
from wordveil.cli.attack.shared import Attacked, Plotted, as_number, show
from wordveil.cli.given import refuse_given
from wordveil.errors import InputError, OptionError, SpaceError

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism


def vectors(
    attacked: Attacked = Attacked(mechanism="laplace"),
    released: Annotated[
        Path | None, Option(help="Attack this file of noisy vectors, from `wordveil vectors`, not fresh ones.")
    ] = None,
    words: Annotated[int, Option(min=1, help="How many of the most frequent words to try.")] = 2000,
    neighbours: Annotated[int, Option(min=1, help="How many near words to look at.")] = 10,
    told: Plotted = Plotted(),
) -> None:
    """Find the words behind released noisy vectors, by the nearest word.

    Also shows the NADP paper's estimate of p(x|M(x)), the overlap between the words near the original and those near
    the noisy vector, and its skewness over the words.

    Examples:

      wordveil attack vectors --mechanism gaussian --epsilon 4 --epsilon 10

      wordveil attack vectors --released noisy.npz --figure overlap.svg
    """
    import numpy as np

    from wordveil.attacks import VectorAttack, attack_released, attack_vectors

    if released is not None and attacked.epsilon:
        raise OptionError("give --released or --epsilon, not both: what was released already has its noise.")
    if released is not None:
        refuse_given("has no effect on --released vectors", "mechanism", "option", "seed")
    rates = [float("nan")] if released else attacked.rates
    told.check(released, attacked.space)
    found: list[VectorAttack] = []
    described: Mechanism[Any] | None = None
    with told.bar() as progress:
        opened, make = attacked.maker()
        how: dict[str, Any] = {"neighbours": neighbours, "watch": progress.watch}
        if released is not None:
            ids, points = _released(released, opened)
            found.append(attack_released(opened, ids[:words], points[:words], **how))
        else:
            for rate in rates:
                described = make(rate)
                ids = np.arange(min(words, len(described.space)))
                found.append(attack_vectors(described, ids, entropy=told.entropy, **how))
    if told.figure is not None:
        from wordveil.attacks.figures import draw_overlaps
        from wordveil.extras import save

        save(draw_overlaps(rates, found, "released vectors" if released else attacked.mechanism), told.figure)
    if told.as_json:
        results = [one.to_dict() for one in found] if released else shared.by_rate(rates, found)
        shared.print_json("vectors", described, results)
        return
    show(
        "Words recovered from their vectors, one at a time",
        ("ε",),
        [(None if released else rate, one) for rate, one in zip(rates, found, strict=True)],
        {"nearest word": "nearest", f"among the {neighbours} nearest": "among", "overlap": ("overlap", as_number),
         "skewness": ("skewness", as_number)},
    )  # fmt: skip


def _released(path: Path, space: Any) -> tuple[Any, Any]:
    import numpy as np

    from wordveil.spaces import PointSpace
    from wordveil.spaces.files import read_vectors

    if not isinstance(space, PointSpace):
        raise SpaceError("released vectors can be attacked in a space of points only; choose another --space.")
    words, points = read_vectors(path)
    if points.shape[1] != space.dimension:
        raise InputError(f"{path.name} has {points.shape[1]} dimensions, but the space has {space.dimension}.")
    ids = np.array([space.vocabulary.ids.get(word, -1) for word in words])
    known = np.flatnonzero(ids >= 0)
    if not known.size:
        raise InputError(f"no word of {path.name} is in the space.")
    return ids[known], np.asarray(points, dtype=np.float32)[known]
