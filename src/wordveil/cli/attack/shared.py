"""What the attacks share: options, making a mechanism, and how figures are printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordveil.cli.files import check_writable, pictures_of
from wordveil.cli.options import check_epsilon, parse_options, stdout
from wordveil.errors import WordveilError

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism
    from wordveil.attacks import Mean, Rate

__all__ = [
    "AuthorColumn",
    "Column",
    "Draws",
    "Epsilons",
    "Figure",
    "Reference",
    "Seed",
    "Select",
    "Suspects",
    "TextColumn",
    "as_number",
    "as_share",
    "check_figure",
    "draw",
    "epsilons_of",
    "maker_of",
    "print_json",
    "print_table",
    "rows_of",
    "tell",
    "veiling",
]

Epsilons = Annotated[
    list[float] | None,
    typer.Option("--epsilon", "-e", help="The privacy loss per unit of the mechanism's distance; may be repeated."),
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, help="The same draws again; by default fresh ones every time.")
]
Select = Annotated[str, typer.Option("--select", help="Which words are veiled: content (all but function words), all.")]
Column = Annotated[str | None, typer.Option("--column", "-c", help="The column of the text, in a table.")]
TextColumn = Annotated[str, typer.Option("--column", "-c", help="The column of the text.")]
AuthorColumn = Annotated[str, typer.Option("--author-column", "-a", help="The column of who wrote it.")]
Reference = Annotated[
    Path | None,
    typer.Option("--reference", help="A public text like the attacked one, from which word frequencies are learnt."),
]
Suspects = Annotated[
    int, typer.Option("--suspects", min=1, help="Among how many of the likeliest words the originals are looked for.")
]
Draws = Annotated[
    int,
    typer.Option(
        "--draws", min=1, help="How many words the adversary veils himself, to learn a mechanism without stated law."
    ),
]
Figure = Annotated[Path | None, typer.Option("--figure", metavar="FILE", help="Also draw it; ends in .png or .svg.")]


def epsilons_of(given: list[float] | None) -> list[float]:
    """Return the ε that were asked for, or say how to choose one."""
    return [check_epsilon(epsilon) for epsilon in given] if given else [check_epsilon(None)]


def maker_of(
    name: str, space: str, normalise: bool, options: list[str] | None
) -> tuple[Any, Callable[[float], Mechanism[Any]]]:
    """Open the space and return it with what makes the mechanism on it for any ε."""
    from wordveil._mechanisms import MECHANISMS
    from wordveil.calibration import maker
    from wordveil.spaces import load_space

    if name not in MECHANISMS:
        raise WordveilError(f"there is no mechanism {name!r}; choose one of {', '.join(MECHANISMS)}.")
    opened = load_space(space, normalise=normalise)
    return opened, maker(name, opened, **parse_options(options))


def veiling(mechanism: Mechanism[Any], select: str, seed: int | None) -> Callable[[Sequence[str]], list[str]]:
    """Return what veils texts with a mechanism, from one stream of draws."""
    from wordveil.text import Veil

    veil = Veil(mechanism, select=select, seed=seed, unproven=True)
    return lambda texts: [release.text for release in veil.many(texts)]


def check_figure(figure: Path | None, *inputs: str | Path | None, overwrite: bool) -> None:
    """Refuse at the beginning a picture that cannot or must not be written at the end."""
    check_writable(*pictures_of(figure), inputs=inputs, overwrite=overwrite)


def draw(
    figure: Path | None, epsilons: Sequence[float], curves: Mapping[str, Sequence[Rate | Mean]], title: str
) -> None:
    """Draw success over ε, if a picture was asked for."""
    if figure is not None:
        from wordveil.attacks.figures import draw_rates
        from wordveil.canvas import save

        save(draw_rates(epsilons, curves, title), figure)


def tell(
    attack: str,
    make: Callable[[float], Mechanism[Any]],
    epsilons: Sequence[float],
    found: Sequence[Any],
    *,
    curves: Mapping[str, str],
    title: str,
    figure: Path | None,
    as_json: bool,
) -> bool:
    """Draw what an attack found at each ε, and print it as JSON or leave it to be printed as tables.

    Parameters
    ----------
    attack : str
        Its name.
    make : callable
        Makes the mechanism for any ε.
    epsilons, found : sequence
        The ε, and what was found at each.
    curves : mapping
        For each curve of the picture its label and which figure it is.
    title, figure, as_json
        What the picture is called, its file, and whether JSON is wanted.

    Returns
    -------
    bool
        Whether tables are to be printed.
    """
    draw(figure, epsilons, {label: [getattr(one, name) for one in found] for label, name in curves.items()}, title)
    if as_json:
        print_json(attack, make(epsilons[0]), epsilons, [one.to_dict() for one in found])
    return not as_json


def rows_of(
    epsilons: Sequence[float], found: Sequence[Any], names: Sequence[str], say: Callable[[Any], str]
) -> list[list[str]]:
    """Return a row for each ε, with some of the figures that were found at it."""
    return [
        [f"{epsilon:g}", *(say(getattr(one, name)) for name in names)]
        for epsilon, one in zip(epsilons, found, strict=True)
    ]


def print_json(
    attack: str,
    mechanism: Mechanism[Any] | None,
    epsilons: Sequence[float] | None,
    results: list[dict[str, Any]],
    scrambler: str | None = None,
) -> None:
    """Print what an attack found as JSON; with `epsilons`, one is put before each result."""
    described = {} if mechanism is None else {k: v for k, v in mechanism.describe().items() if k != "epsilon"}
    if epsilons is not None:
        results = [{"epsilon": epsilon, **one} for epsilon, one in zip(epsilons, results, strict=True)]
    facts: dict[str, Any] = {"attack": attack, "confidence": 0.95, **described}
    if scrambler:
        facts["scrambler"] = scrambler
    typer.echo(json.dumps({**facts, "results": results}, indent=2, ensure_ascii=False))


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows as a table."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("method", "adversary") else "right")
    for row in rows:
        table.add_row(*row)
    stdout().print(table)


def as_share(figure: Rate | Mean | Mapping[str, Any]) -> str:
    """Say a figure as a percentage with its interval."""
    facts = figure if isinstance(figure, Mapping) else figure.to_dict()
    if facts["value"] is None:
        return "none"
    return f"{100 * facts['value']:.1f}% ({100 * facts['low']:.1f}–{100 * facts['high']:.1f})"


def as_number(figure: Mean | Mapping[str, Any]) -> str:
    """Say a figure as a number with its interval."""
    facts = figure if isinstance(figure, Mapping) else figure.to_dict()
    if facts["value"] is None:
        return "none"
    return f"{facts['value']:.3g} ({facts['low']:.3g}–{facts['high']:.3g})"
