"""``wordveil attack authors``: who wrote a text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from wordveil.cli.attack import shared
from wordveil.cli.attack.shared import (
    as_share,
    check_figure,
    draw,
    epsilons_of,
    maker_of,
    print_json,
    print_table,
    read_corpus,
    veiling,
)
from wordveil.cli.calibrate import Quiet
from wordveil.cli.files import Overwrite
from wordveil.cli.options import Json, MechanismName, Normalise, Options, SpaceName
from wordveil.cli.progress import ProgressBar
from wordveil.errors import OptionError

if TYPE_CHECKING:
    from wordveil.stats import Estimate

__all__ = ["authors"]


def authors(
    table: Annotated[Path, Argument(help="A table with a column of texts and one of their authors.")],
    epsilon: shared.Epsilons = None,
    mechanism: MechanismName = "graph",
    space: SpaceName = "glove-50k",
    normalise: Normalise = False,
    option: Options = None,
    unknown: Annotated[Path | None, Option(help="The texts to attribute, if they are in a table of their own.")] = None,
    share: Annotated[float, Option(help="The share of each author's texts to set aside and attribute.")] = 0.25,
    method: Annotated[list[str] | None, Option(help="koppel or svm. Default: both.")] = None,
    threshold: Annotated[float, Option(min=0.0, max=1.0, help="Koppel: name an author only above this score.")] = 0.0,
    column: shared.TextColumn = "text",
    author_column: shared.AuthorColumn = "author",
    select: shared.Select = "content",
    seed: shared.Seed = None,
    figure: shared.Figure = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find out who wrote a text (authorship attribution).

    By the method of Koppel, Schler & Argamon and by a linear SVM on character n-grams: on clean texts; on veiled texts,
    by an attacker who knows clean texts of the authors (static); and by one who veils those first (adaptive).

    Examples:

      wordveil attack authors mail.csv --epsilon 4

      wordveil attack authors mail.csv --unknown leak.csv --author-column from -e 4 -e 6 --method svm --json
    """
    from wordveil.lab.attacks import attack_authors

    rates, methods = epsilons_of(epsilon), method or ["koppel", "svm"]
    check_figure(figure, table, unknown, space, overwrite=overwrite)
    attributors = [_attributor(name, threshold, seed or 0) for name in methods]
    found: list[dict[str, Any]] = []
    curves: dict[str, list[Estimate]] = {}
    with ProgressBar("attacking", quiet=quiet) as progress:
        _, make = maker_of(mechanism, space, normalise, option)
        known = read_corpus(table, column, author_column)
        known, asked = (
            known.split(share, seed or 0) if unknown is None else (known, read_corpus(unknown, column, author_column))
        )
        for rate in rates:
            veil = veiling(make(rate), select, seed)
            kinds = ("clean", "static", "adaptive") if rate == rates[0] else ("static", "adaptive")
            for attributor in attributors:
                attributed = attack_authors(attributor, known, asked, veil, kinds=kinds, watch=progress.watch)
                found += [{"epsilon": None if one.kind == "clean" else rate, **one.to_dict()} for one in attributed]
                for one in attributed:
                    times = len(rates) if one.kind == "clean" else 1  # the same whatever the ε
                    curves.setdefault(f"{one.method}, {one.kind}", []).extend([one.right] * times)
    draw(figure, rates, curves, f"Texts attributed to their authors, {mechanism}")
    if as_json:
        print_json("authors", make(rates[0]), None, found)
        return
    print_table(
        f"Texts attributed to their authors ({found[0]['authors']:,} authors, {len(known):,} known texts)",
        ("ε", "method", "attacker", "right", "right of those named", "reading nothing"),
        [
            [
                "-" if one["epsilon"] is None else f"{one['epsilon']:g}",
                one["method"],
                one["kind"],
                *(as_share(one[name]) for name in ("right", "precision", "blind")),
            ]
            for one in found
        ],
    )


def _attributor(name: str, threshold: float, seed: int) -> Any:
    from wordveil.lab.attacks import CharacterSvm, Koppel

    if name == "koppel":
        return Koppel(threshold=threshold, seed=seed)
    if name == "svm":
        return CharacterSvm(seed=seed)
    raise OptionError("--method must be koppel or svm.")
