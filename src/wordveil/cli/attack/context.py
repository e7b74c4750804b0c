"""``wordveil attack context``: what a reader of a whole release finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from wordveil.cli import options
from wordveil.cli.attack import shared
from wordveil.cli.attack.shared import Plotted, ReadBy, as_number, as_share, show
from wordveil.cli.checks import refuse_given
from wordveil.cli.options import Made, print_table
from wordveil.errors import OptionError

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism
    from wordveil.attacks import ContextAttack


def context(
    text: Annotated[
        Path, Argument(metavar="FILE", help="The originals: a file or folder; each line or row is a text.")
    ],
    epsilon: shared.Epsilons = None,
    veiled: Annotated[
        Path | None,
        Option(metavar="FILE", help="The released version of FILE; without it, FILE is veiled here as a trial."),
    ] = None,
    reading: ReadBy = ReadBy(),
    report: options.ReportFile = None,
    mechanism: options.ReportedMechanism = None,
    space: Annotated[
        str | None, Option("--space", "-s", help="The space; glove-50k unless the report names another.")
    ] = None,
    normalise: options.Normalise = False,
    option: options.Options = None,
    block: options.Block = None,
    prior: options.PublicPrior = "space",
    column: options.Column = None,
    format_name: options.Format = None,
    header: options.ReadHeader = "check",
    select: Annotated[
        str | None, Option(help="Which words are veiled: content (all but function words; the default) or all.")
    ] = None,
    tokens: Annotated[int, Option(min=1, help="About how many veiled words to attack.")] = 5000,
    frequent: Annotated[int, Option(min=0, help="Words beyond this many of the most frequent count as rare.")] = 5000,
    releases: Annotated[int, Option(min=1, max=100, help="How often each text is released, without --veiled.")] = 1,
    once: Annotated[
        bool,
        Option(
            "--once/--each-time",
            help="Draw equal words of a text once, as privatize does, or each time; a --report says which.",
        ),
    ] = True,
    draws: shared.Draws = 200_000,
    told: Plotted = Plotted(),
) -> None:
    """Read a whole release as a well-equipped attacker would, and see how many of its words they find.

    The attacker knows the mechanism and how frequent words are. They fit a reader on the veiled texts alone, or take a
    public language model, and guess the likeliest word at every place. The originals serve only to count what is
    right: how often, for rare words, where the reader is sure, and whether its probabilities can be believed.

    Examples:

      wordveil attack context answers.csv --column text --epsilon 4

      wordveil attack context answers.csv --veiled veiled.csv --column text --report report.json --json

      wordveil attack context letters.txt -e 2 -e 4 -e 6 --reader population --figure context.svg

      wordveil attack context letters.txt -e 4 --reader language --language-model smollm2 --beam 4 --tokens 300
    """
    from wordveil.attacks import attack_context

    told.check(text, veiled, report, space, prior, reading.preamble, reading.language_model, block)
    blocked = options.words_in(block)
    more = reading.options
    if veiled is not None and releases > 1:
        raise OptionError("--releases is for texts that are veiled here: leave out --veiled.")
    if report is not None:
        refuse_given("is already in the report", "once")
        if space is None:
            refuse_given("is already in the report, unless you give a --space", "normalise")
    chosen, doubt = select or "content", ""
    if report is None:
        rates = shared.epsilons_of(epsilon)
        if veiled is not None and len(rates) > 1:
            raise OptionError("--veiled was made with a single epsilon: give that one, or --report.")
        shared.check_select(chosen)
    with told.bar() as progress:
        if report is None:
            make = _at_any(Made(mechanism or "graph", space or "glove-50k", normalise, option), blocked)
        else:
            rates, chosen, once, make = _of_report(
                report, epsilon, mechanism, option, space, normalise, select, blocked
            )
            doubt = _doubt(report, veiled)
        originals = shared.read_texts(text, column, format_name, header)
        released = None if veiled is None else shared.read_texts(veiled, column, format_name, header)
        found = [
            attack_context(make(rate), originals, released, kind=reading.reader, select=chosen, prior=prior,
                           tokens=tokens, frequent=frequent, releases=releases, draws=draws, once=once,
                           entropy=told.entropy, watch=progress.watch, **more)
            for rate in rates
        ]  # fmt: skip
    if told.figure is not None:
        from wordveil.attacks.figures import draw_context
        from wordveil.extras import save

        save(draw_context(rates, found, f"Words found by a reader, {make(rates[0]).name}"), told.figure)
    if doubt:
        typer.echo(f"wordveil: warning: {doubt}", err=True)
    if told.as_json:
        shared.print_json("context", make(rates[0]), shared.by_rate(rates, found))
    else:
        _show(rates, found)


def _at_any(asked: Made, block: list[str] | None) -> Callable[[float], Mechanism[Any]]:
    """Return a function that makes the mechanism for any ε like privatize, without the words it never draws."""
    make = asked.maker()[1]
    return lambda rate: options.never_drawing(make(rate), block)


def _of_report(
    report: Path,
    epsilon: list[float] | None,
    mechanism: str | None,
    option: list[str] | None,
    space: str | None,
    normalise: bool,
    select: str | None,
    block: list[str] | None,
) -> tuple[list[float], str, bool, Callable[[float], Mechanism[Any]]]:
    """Return the ε, the selection, whether words were drawn once, and the mechanism of a release from its report."""
    from wordveil.errors import InputError
    from wordveil.reading.released import mechanism_of, read_report
    from wordveil.spaces import load_space

    options.check_not_in_report(epsilon=epsilon, mechanism=mechanism, option=option)
    options.check_select_in_report(report, select)
    facts = read_report(report)
    chosen = select or facts.get("select")
    if not isinstance(chosen, str):
        raise InputError("the settings of the release are unknown: its report does not say which words it veiled.")
    made = mechanism_of(facts, None if space is None else load_space(space, normalise=normalise), block)
    shared.check_select(chosen)
    return [made.epsilon], chosen, facts.get("once") is not None, lambda _: made


def _doubt(report: Path, veiled: Path | None) -> str:
    """Return what to say of a release that may not be the report's; "" of one that is."""
    from wordveil.reading.released import doubt_of, read_report

    doubt = "" if veiled is None else doubt_of(read_report(report), veiled)
    return doubt and f"{veiled} {doubt}"


def _show(rates: Sequence[float], found: Sequence[ContextAttack]) -> None:
    first, rows = found[0], list(zip(rates, found, strict=True))
    times = "" if first.releases == 1 else f", released {first.releases} times"
    texts = f"{first.texts:,} text{'' if first.texts == 1 else 's'}"
    show(
        f"Words found by the reader {first.reader} ({texts}{times}, fitted on {first.fitted:,})",
        ("ε",),
        rows,
        {"output itself": "kept", "one word at a time": "alone", "reader": "in_context",
         "among its 5 likeliest": "top_five", "rare words": "rare"},
    )  # fmt: skip
    show(
        "What the reader knows of its guesses",
        ("ε",),
        rows,
        {"at least 90% sure": "sure", "right when sure": "right_when_sure",
         "tells what stayed (AUC)": ("stayed", as_number), "taken for left alone": "missed"},
    )  # fmt: skip
    parts = [(rate, part) for rate, one in rows for part in one.reliability if part.right.n]
    print_table(
        "Right by what the reader states",
        ("ε", "stated between", "stated on average", "right", "places"),
        [
            [f"{rate:g}", f"{100 * part.low:.0f}–{100 * part.high:.0f}%", f"{100 * part.stated:.1f}%",
             as_share(part.right), f"{part.right.n:,}"]
            for rate, part in parts
        ],
        left=0,
    )  # fmt: skip
    limits = (
        f"Rare are words beyond the {first.frequent:,} most frequent of the space. A drawn function word passes for "
        f"one left alone and counts as not found; {100 * first.outside.value:.1f}% of the selected words are outside "
        "the vocabulary and not counted. A larger model, or public text of the same kind, would help the attacker "
        "further."
    )
    if first.left_out:
        limits += f" {first.left_out:,} texts were left out, because their words do not line up with the originals."
    shared.describe_attacker(first.exact, limits)
