"""``wordveil attack context``: what a reader of the whole release finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordveil.cli.attack.shared import (
    Beam,
    Column,
    Draws,
    Epsilons,
    Figure,
    Format,
    LanguageModel,
    Preamble,
    ReaderName,
    Seed,
    as_number,
    as_share,
    check_figure,
    check_select,
    describe_attacker,
    epsilons_of,
    maker_of,
    print_json,
    print_table,
    read_texts,
    reader_options,
    rows_of,
)
from wordveil.cli.calibrate import Quiet
from wordveil.cli.files import Overwrite
from wordveil.cli.options import Json, Normalise, Options
from wordveil.cli.progress import ProgressBar
from wordveil.errors import OptionError

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism
    from wordveil.attacks import ContextAttack

__all__ = ["context"]

_GIVEN = "is in the report already: leave it out, or leave out --report."


def context(
    text: Annotated[
        Path, typer.Argument(metavar="FILE", help="The originals: a file or folder; each line or row is a text.")
    ],
    epsilon: Epsilons = None,
    veiled: Annotated[
        Path | None,
        typer.Option(
            "--veiled", metavar="FILE", help="What was released of them; without it they are veiled here, for trial."
        ),
    ] = None,
    reader: ReaderName = "context",
    language_model: LanguageModel = None,
    beam: Beam = None,
    preamble: Preamble = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="The report of the release, which says how it was veiled."),
    ] = None,
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", "-m", help="How words are replaced; graph if there is no report.")
    ] = None,
    space: Annotated[
        str | None,
        typer.Option("--space", "-s", help="The words; glove-50k if there is no report that names another."),
    ] = None,
    normalise: Normalise = False,
    option: Options = None,
    prior: Annotated[
        str,
        typer.Option(
            "--prior",
            help="How frequent words are by public knowledge: space (by rank), uniform, or a file: public text, or "
            "lines of a word and its count.",
        ),
    ] = "space",
    column: Column = None,
    format_name: Format = None,
    select: Annotated[
        str | None,
        typer.Option("--select", help="Which words are veiled: content (all but function words; the default) or all."),
    ] = None,
    tokens: Annotated[int, typer.Option("--tokens", min=1, help="About how many veiled words to look for.")] = 5000,
    frequent: Annotated[
        int, typer.Option("--frequent", min=0, help="How many of the most frequent words do not count as rare.")
    ] = 5000,
    releases: Annotated[
        int, typer.Option("--releases", min=1, max=100, help="How often each text is released, without --veiled.")
    ] = 1,
    once: Annotated[
        bool,
        typer.Option(
            "--once/--each-time",
            help="Equal words of a text are drawn once, as privatize does, or each time; a --report says it by itself.",
        ),
    ] = True,
    draws: Draws = 200_000,
    seed: Seed = None,
    figure: Figure = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read a whole release as a well-equipped attacker would, and see how many of its words they find.

    The attacker knows the mechanism and how frequent words are. They fit a reader on the veiled texts alone, or take a
    public language model, and guess the likeliest word at every place. The originals serve only to count what is
    right: how often, for rare words, where the reader is sure, and whether its probabilities are to be believed.

    Examples:

      wordveil attack context answers.csv --column text --epsilon 4

      wordveil attack context answers.csv --veiled veiled.csv --column text --report report.json --json

      wordveil attack context letters.txt -e 2 -e 4 -e 6 --reader population --figure context.svg

      wordveil attack context letters.txt -e 4 --reader language --language-model smollm2 --beam 4 --tokens 300
    """
    from wordveil.attacks import attack_context
    from wordveil.noise import Entropy

    check_figure(figure, text, veiled, report, space, prior, preamble, language_model, overwrite=overwrite)
    more = reader_options(reader, language_model, beam, preamble)
    if veiled is not None and releases > 1:
        raise OptionError("--releases is for texts that are veiled here: leave out --veiled.")
    if report is None:
        rates = epsilons_of(epsilon)
        if veiled is not None and len(rates) > 1:
            raise OptionError("--veiled was veiled with one epsilon: give that one, or --report.")
        check_select(select or "content")
    with ProgressBar("attacking", quiet=quiet) as progress:
        if report is None:
            make = maker_of(mechanism or "graph", space or "glove-50k", normalise, option)[1]
            chosen = select or "content"
        else:
            rates, chosen, once, make = _told(report, epsilon, mechanism, option, space, normalise, select)
        originals = read_texts(text, column, format_name)
        released = None if veiled is None else read_texts(veiled, column, format_name)
        found = [
            attack_context(
                make(rate),
                originals,
                released,
                kind=reader,
                select=chosen,
                prior=prior,
                tokens=tokens,
                frequent=frequent,
                releases=releases,
                draws=draws,
                once=once,
                entropy=Entropy(seed),
                watch=progress.watch,
                **more,
            )
            for rate in rates
        ]
    if figure is not None:
        from wordveil.attacks.figures import draw_context
        from wordveil.extras import save

        save(draw_context(rates, found, f"Words found by a reader, {make(rates[0]).name}"), figure)
    if as_json:
        print_json("context", make(rates[0]), rates, [one.to_dict() for one in found])
    else:
        _show(rates, found)


def _told(
    report: Path,
    epsilon: list[float] | None,
    mechanism: str | None,
    option: list[str] | None,
    space: str | None,
    normalise: bool,
    select: str | None,
) -> tuple[list[float], str, bool, Callable[[float], Mechanism[Any]]]:
    """Return the ε, the selection, whether words were drawn once, and the mechanism of a release from its report."""
    from wordveil.errors import InputError
    from wordveil.reading.released import mechanism_of, read_report
    from wordveil.spaces import load_space

    for name, value in (("--epsilon", epsilon), ("--mechanism", mechanism), ("--option", option)):
        if value:
            raise OptionError(f"{name} {_GIVEN}")
    facts = read_report(report)
    chosen = select or facts.get("select")
    if not isinstance(chosen, str):
        raise InputError("the settings of the release are unknown: its report does not say which words it veiled.")
    made = mechanism_of(facts, None if space is None else load_space(space, normalise=normalise))
    check_select(chosen)
    return [made.epsilon], chosen, facts.get("once") is not None, lambda _: made


def _show(rates: Sequence[float], found: Sequence[ContextAttack]) -> None:
    first = found[0]
    times = "" if first.releases == 1 else f", released {first.releases} times"
    print_table(
        f"Words found by the reader {first.reader} ({first.texts:,} texts{times}, fitted on {first.fitted:,})",
        ("ε", "output itself", "one word at a time", "reader", "among its 5 likeliest", "rare words"),
        rows_of(rates, found, ("kept", "alone", "in_context", "top_five", "rare"), as_share),
    )
    print_table(
        "What the reader knows of its guesses",
        ("ε", "at least 90% sure", "right when sure", "tells what stayed (AUC)", "passed for left alone"),
        [
            [
                f"{rate:g}",
                *map(as_share, (one.sure, one.right_when_sure)),
                as_number(one.stayed),
                as_share(one.missed),
            ]
            for rate, one in zip(rates, found, strict=True)
        ],
    )
    print_table(
        "Right by what the reader states",
        ("ε", "stated between", "stated on average", "right", "places"),
        [
            [
                f"{rate:g}",
                f"{100 * part.low:.0f}–{100 * part.high:.0f}%",
                f"{100 * part.stated:.1f}%",
                as_share(part.right),
                f"{part.right.n:,}",
            ]
            for rate, one in zip(rates, found, strict=True)
            for part in one.reliability
            if part.right.n
        ],
    )
    limits = (
        f"Rare are words beyond the {first.frequent:,} most frequent of the space. A drawn function word passes for "
        f"one left alone and counts as not found; {100 * first.outside.value:.1f}% of the selected words are outside "
        "the vocabulary and not counted. A larger model, or public text of the same kind, would help the attacker "
        "further."
    )
    if first.left_out:
        limits += f" {first.left_out:,} texts were left out: their words do not stand at the same places."
    describe_attacker(first.exact, limits)
