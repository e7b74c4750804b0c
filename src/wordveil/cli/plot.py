"""``wordveil plot``: pictures of hyperbolic space and its noise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wordveil.cli.checks import Overwrite, check_writable, pictures_of, refuse_given
from wordveil.cli.help import App
from wordveil.cli.options import Seed, while_at_work
from wordveil.errors import SpaceError

app = App(help="Draw pictures of hyperbolic space and its noise, as PNG or SVG.")

Output = Annotated[Path, Option("--output", "-o", metavar="FILE", help="The picture to write: .png or .svg.")]


@app.command("disk")
def disk(
    words: Annotated[list[str] | None, Argument(help="Words to draw, with everything they are kinds of.")] = None,
    *,
    output: Output,
    space: Annotated[
        str, Option("--space", "-s", help="A Poincaré space; one of more than two dimensions is laid out in two.")
    ] = "wordnet-poincare",
    below: Annotated[str | None, Option(help="Also draw kinds of this word.")] = None,
    most: Annotated[int, Option(min=1, help="How many of those to draw at most.")] = 60,
    cloud: Annotated[str | None, Option(help="Also draw the noise around this word.")] = None,
    epsilon: Annotated[float, Option("--epsilon", "-e", help="The epsilon of that noise; above 1.")] = 2.0,
    draws: Annotated[int, Option(min=1, max=1_000_000, help="How many noisy points to draw.")] = 2000,
    seed: Seed = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw words in the Poincaré disk, joined to what they are kinds of, and the noise around one of them.

    Examples:

      wordveil plot disk dog wolf cat lion horse ship car -o disk.svg

      wordveil plot disk --below music --most 40 -o music.png

      wordveil plot disk ohio texas paris techno jazz --cloud ohio --epsilon 4 -o cloud.png
    """
    from wordveil.extras import save
    from wordveil.lab.plots import draw_disk, family, in_two_dimensions
    from wordveil.noise import Entropy
    from wordveil.spaces import PoincareSpace, load_space

    if below is None:
        refuse_given("only applies with --below", "most")
    if cloud is None:
        refuse_given("only applies with --cloud", "epsilon", "draws")
    check_writable(*pictures_of(output), inputs=(space,), overwrite=overwrite)
    opened = load_space(space)
    if not isinstance(opened, PoincareSpace):
        raise SpaceError("--space must be a Poincaré space, such as wordnet-poincare.")
    named = [*(words or []), *([cloud] if cloud else [])]
    ids = family(opened, named, below=below, most=most)
    with while_at_work(f"laying out {len(ids)} words…"):
        flat = in_two_dimensions(opened, ids)
        save(draw_disk(flat, cloud=cloud, epsilon=epsilon, draws=draws, entropy=Entropy(seed)), output)


@app.command("density")
def density(
    *,
    output: Output,
    epsilon: Annotated[
        list[float] | None, Option("--epsilon", "-e", help="A value of epsilon; may be repeated.")
    ] = None,
    law: Annotated[str, Option(help="icdm19 (the paper's noise) or hyperbolic (ours).")] = "icdm19",
    dimension: Annotated[int, Option(help="The dimension of the space.")] = 1,
    overwrite: Overwrite = False,
) -> None:
    """Draw the density of hyperbolic noise at several epsilons.

    Examples:

      wordveil plot density -o density.svg

      wordveil plot density --law hyperbolic --dimension 3 -e 3 -e 4 -e 6 -o ours.svg
    """
    from wordveil.extras import save
    from wordveil.lab.plots import draw_density

    check_writable(*pictures_of(output), overwrite=overwrite)
    usual = [0.125, 0.5, 1.0, 2.0, 8.0] if law == "icdm19" else [dimension - 1 + more for more in (0.5, 1, 2, 4)]
    save(draw_density(law, epsilon or usual, dimension), output)
