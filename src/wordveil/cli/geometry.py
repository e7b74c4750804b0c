"""``wordveil geometry``: the shape of a space, and what it means for ε."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from wordveil.cli.calibrate import number_of_words
from wordveil.cli.checks import Overwrite, check_writable, pictures_of
from wordveil.cli.options import Json, Normalise, Quiet, print_facts, print_table, stdout
from wordveil.cli.progress import ProgressBar

if TYPE_CHECKING:
    from wordveil.lab.geometry import Geometry


def geometry(
    space: Annotated[str, Argument(help="A bundled space or the path of an embedding file.")] = "glove-50k",
    normalise: Normalise = False,
    words: Annotated[str, Option(help="How many random words to measure distances on, or all.")] = "5000",
    k: Annotated[
        list[int] | None,
        Option(
            min=0, help="The k of a neighbour graph to measure (0: the spanning tree); may be repeated. Default: 10."
        ),
    ] = None,
    seed: Annotated[int, Option(min=0, help="Random seed for the choice of words.")] = 0,
    figure: Annotated[
        Path | None, Option(metavar="NAME", help="Draw NAME.png or NAME.svg, and NAME-growth beside it.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure the shape of a space: why the same ε means different things in different spaces.

    Prints how far words are from their neighbours, which words are hubs, and how fast balls grow.

    Examples:

      wordveil geometry glove-50k

      wordveil geometry vectors.txt.gz --normalise --figure geometry.png

      wordveil geometry glove-50k --k 3 --k 10 --json
    """
    from wordveil.lab.geometry import geometry_of
    from wordveil.spaces import load_space

    count = number_of_words(words) or 0
    drawn = pictures_of(figure, "", "growth")
    check_writable(*drawn, inputs=(space,), overwrite=overwrite)
    opened = load_space(space, normalise=normalise)
    with ProgressBar("measuring the space", quiet=quiet) as progress:
        found = geometry_of(opened, words=count, graphs=tuple(k or (10,)), seed=seed, watch=progress.watch)
    facts = found.to_dict(opened.vocabulary)
    if drawn:
        from wordveil.extras import save
        from wordveil.lab.geometry import draw_distances, draw_growth

        save(draw_distances(found), drawn[0])
        save(draw_growth(found), drawn[1])
    if as_json:
        print_facts(facts)
    else:
        _show(found)


def _show(found: Geometry) -> None:
    from rich.markup import escape

    from wordveil.lab.geometry import PERCENTILES

    title = f"{escape(found.space['name'])}: distance to the k-th nearest word, {found.words:,} words"
    rows = [
        [f"{k:,}", *(f"{value:.3g}" for value in row)] for k, row in zip(found.neighbours, found.distances, strict=True)
    ]
    print_table(title, ("k", *(f"{percentile}th percentile" for percentile in PERCENTILES)), rows, left=0)
    for sentence in found.sentences():
        stdout().print(escape(sentence), soft_wrap=True)
