"""``wordveil calibrate``: what an ε means, and which ε to choose."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from wordveil.cli.checks import Overwrite, check_writable, pictures_of, refuse_given
from wordveil.cli.options import (
    Json,
    Made,
    Quiet,
    ReadHeader,
    check_epsilon,
    parse_options,
    print_facts,
    print_table,
    stdout,
)
from wordveil.cli.progress import ProgressBar
from wordveil.errors import FileError, OptionError
from wordveil.extras import check_can_draw, needs

if TYPE_CHECKING:
    from collections.abc import Callable

    from wordveil._mechanisms import Mechanism
    from wordveil.calibration import Calibration
    from wordveil.calibration.figures import Curve
    from wordveil.stats import Estimate

_PICTURES = ("histograms", "averages", "panels")
_MOST_DIGITS = 18  # more words than any vocabulary has, and still within 64 bits


@dataclass(frozen=True)
class _Bounds:
    stays: Annotated[
        float | None, Option(metavar="P", help="Target: no word stays unchanged more often than this.")
    ] = None
    stays_mean: Annotated[float | None, Option(metavar="P", help="Target: the same, on average over words.")] = None
    alternatives: Annotated[
        float | None, Option(metavar="N", help="Target: every word has at least this many distinct outputs.")
    ] = None
    attacker: Annotated[
        float | None,
        Option(
            metavar="P",
            help="Target: the strongest known attacker guesses right at most this often: with context, and on your "
            "texts if you give any. This is the default, at 0.1.",
        ),
    ] = None
    adversary: Annotated[
        float | None,
        Option(
            metavar="P", help="Target: an attacker who looks at one word at a time guesses right at most this often."
        ),
    ] = None
    adversary_frequency: Annotated[
        float | None, Option(metavar="P", help="Target: the same, if the attacker knows word frequencies.")
    ] = None
    near_loss: Annotated[
        float | None,
        Option(metavar="X", help="Target: an output changes the odds between similar words by at most e^X."),
    ] = None


def calibrate(
    texts: Annotated[
        Path | None,
        Argument(
            help="A file or folder of your own texts, to attack with context at every ε given and at the recommended "
            "one.",
            show_default=False,
        ),
    ] = None,
    made: Made = Made(),
    epsilon: Annotated[
        list[float] | None,
        Option("--epsilon", "-e", help="An ε to measure; may be repeated. By default, a useful range."),
    ] = None,
    bounds: _Bounds = _Bounds(),
    column: Annotated[str | None, Option("--column", "-c", help="The column of your texts, in a table.")] = None,
    header: ReadHeader = "check",
    select: Annotated[
        str, Option(help="Which words of your texts are veiled: content (all but function words) or all.")
    ] = "content",
    reader: Annotated[
        str,
        Option(
            help="What the attacker on your texts has: context (a network fitted on the veiled texts; needs PyTorch), "
            "language (an English trigram model; needs the extra trigram), or, without context, population or table."
        ),
    ] = "context",
    share: Annotated[
        float, Option(help="The share of words that must meet --stays, --alternatives and --near-loss.")
    ] = 1.0,
    words: Annotated[
        str | None, Option(help="How many words to measure, or all; by default, as many as can be done quickly.")
    ] = None,
    draws: Annotated[int, Option(min=2, help="The number of draws in which distinct outputs are counted.")] = 1000,
    eta: Annotated[float, Option(help="The probability mass that the smallest set of outputs may leave out.")] = 0.05,
    gamma: Annotated[float, Option(help="Inputs within this factor of the likeliest count as plausible.")] = 2.0,
    adversary_words: Annotated[int, Option(min=1, help="The most words that the attacker chooses among.")] = 50_000,
    points: Annotated[int, Option(min=2, help="How many values of ε to measure if none is given.")] = 10,
    seed: Annotated[int, Option(min=0, help="Random seed for the words and draws.")] = 0,
    word: Annotated[
        list[str] | None, Option("--word", "-w", help="A word to show example replacements for; may be repeated.")
    ] = None,
    figures: Annotated[
        Path | None, Option(metavar="NAME", help="Write plots: NAME.png or NAME.svg gives NAME-histograms, …")
    ] = None,
    compare: Annotated[
        list[Path] | None, Option(metavar="FILE", help="An earlier --output to plot beside this one; may be repeated.")
    ] = None,
    html: Annotated[Path | None, Option(metavar="FILE", help="Write a self-contained HTML report.")] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="Write everything as JSON to this file.")
    ] = None,
    engine: Annotated[str, Option(help="local, or gpu (CUDA) for mechanisms that add noise.")] = "local",
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Explain what ε means, or find the largest ε that meets your targets.

    Results are cached, so a calibration that was interrupted continues where it stopped.

    Examples:

      wordveil calibrate

      wordveil calibrate --epsilon 2 --epsilon 4

      wordveil calibrate --attacker 0.15 --stays 0.5 --html report.html

      wordveil calibrate answers.csv --column text --epsilon 4

      wordveil calibrate --mechanism laplace --alternatives 300 --words 2000 --figures laplace.png
    """
    from wordveil import calibration
    from wordveil.engines import check_engine, check_runs, on_engine
    from wordveil.spaces import load_space

    check_engine(engine)
    chosen = [check_epsilon(one) for one in epsilon or []]
    asked = {name.replace("_", "-"): bound for name, bound in asdict(bounds).items() if bound is not None}
    targets = [calibration.Target(kind, bound, share) for kind, bound in asked.items()]
    settings = calibration.Effort(
        words=number_of_words(words), draws=draws, eta=eta, gamma=gamma, adversary_words=adversary_words, seed=seed
    )
    drawn = pictures_of(figures, *_PICTURES)
    check_writable(html, output, *drawn, inputs=(made.space, texts, *(compare or ())), overwrite=overwrite)
    if html is not None:
        check_can_draw()
        needs("jinja2", "plots", "an HTML report")
    others = [_curve(path) for path in compare or []]
    if not 0.0 < share <= 1.0:  # checked here, because without a target nothing else would refuse it
        raise OptionError("--share must lie above 0 and be at most 1.")
    if bounds.alternatives is not None and bounds.alternatives > draws:
        raise OptionError("there cannot be more distinct outputs than draws; raise --draws.")
    if texts is None:
        refuse_given("only applies to texts of your own, and no file is given", "column", "header", "select", "reader")
    if chosen:
        refuse_given("only applies where no ε is given", "points")
    if not {"stays", "alternatives", "near-loss"} & asked.keys():
        refuse_given("only applies with --stays, --alternatives or --near-loss", "share")
    if figures is None and html is None:
        refuse_given("only applies with --figures or --html", "compare")
    opened = on_engine(load_space(made.space, normalise=made.normalise), engine)
    make = calibration.maker(made.mechanism, opened, **parse_options(made.option))
    with ProgressBar("calibrating", quiet=quiet) as progress:
        meter = calibration.meter_for(make, opened, settings, progress.watch)
        check_runs(meter.probe, engine)
        if not meter.exact:  # takes a minute or more
            progress.tell_soon()
            progress.watch("looking at the mechanism", 0.0)
        attack = None if texts is None else _attack(texts, column, header, select, reader, seed, progress)
        found = calibration.calibrate(
            meter, chosen, targets, words=word or (), points=points, attack=attack,
            uses_context=reader not in ("table", "population"),
        )  # fmt: skip
        facts = found.to_dict()
    _write(found, facts, drawn, html, output, others)
    if as_json:
        print_facts(facts)
    else:
        _show(found, facts)


def _attack(
    path: Path, column: str | None, header: str, select: str, reader: str, seed: int, progress: ProgressBar
) -> Callable[[Mechanism[Any]], Estimate]:
    """Return a function that attacks the texts of a file with context."""
    from wordveil.attacks import attack_context
    from wordveil.cli.attack.shared import check_select, read_texts
    from wordveil.noise import Entropy

    check_select(select)
    texts = read_texts(path, column, header=header)

    def attack(mechanism: Mechanism[Any]) -> Estimate:
        found = attack_context(
            mechanism, texts, kind=reader, select=select, entropy=Entropy(seed), watch=progress.watch
        )
        return found.in_context

    return attack


def number_of_words(words: str | None) -> int | None:
    """Read a number of words, or the word all, which becomes 0."""
    if words is None:
        return None
    if words == "all":
        return 0
    if not words.isdecimal() or len(words) > _MOST_DIGITS or int(words) == 0:
        raise OptionError("--words must be a number above 0, or all.")
    return int(words)


def _curve(path: Path) -> Curve:
    from wordveil.calibration.figures import Curve

    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise FileError(f"cannot read {path} as JSON; --compare needs a file that --output wrote.") from None
    return Curve.from_dict(facts)


def _write(
    found: Calibration,
    facts: dict[str, Any],
    pictures: list[Path],
    html: Path | None,
    output: Path | None,
    others: list[Curve],
) -> None:
    from wordveil.files import write_whole

    if output is not None:
        write_whole(output, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    if html is not None:
        from wordveil.calibration.page import page

        write_whole(html, page(found, others))
    if pictures:
        from wordveil.calibration import figures as drawing

        curves = [drawing.Curve.from_dict(facts), *others]
        drawn = (
            drawing.histograms(found.measurements, found.meter.effort.draws),
            drawing.averages(curves),
            drawing.panels(curves),
        )
        for figure, path in zip(drawn, pictures, strict=True):
            drawing.save(figure, path)


def _show(found: Calibration, facts: dict[str, Any]) -> None:
    import numpy as np
    from rich.markup import escape

    from wordveil.calibration.wording import caption, near_loss, success
    from wordveil.rounding import percent

    has_own = any(one.own for one in found.measurements)
    headings = [
        "ε", "stays\nmean", "stays\nworst", "outputs\nfewest", "outputs\nmedian", "attacker\none word",
        "attacker\nin context", *(["attacker\nyour texts"] if has_own else []), "bits\ntold", "near\nloss",
        "near\nword", "other\nword",
    ]  # fmt: skip
    rows = []
    for one in found.measurements:
        shares = [one.context, *([one.own] if has_own else [])]
        cells = (
            f"{one.epsilon:g}", percent(one.stays.mean), percent(one.stays.worst), f"{one.distinct.worst:,.0f}",
            f"{np.median(one.distinct.values):,.0f}", success(one.frequency),
            *("-" if figure is None else percent(figure.value) for figure in shares),
            "-" if one.bits is None else f"{one.bits:.1f}",
            near_loss(one.near_loss), percent(one.near.value), percent(one.far.value),
        )  # fmt: skip
        rows.append([f"[bold yellow]{cell}[/]" for cell in cells] if one.epsilon == found.recommended else cells)
    print_table(
        f"{facts['mechanism']} on {escape(facts['on']['name'])}", headings, rows, left=0,
        caption=caption(found.measurements),
    )  # fmt: skip
    for sentence in (facts["how"], *(facts["advice"] or facts["measurements"][-1]["meaning"])):
        stdout().print(escape(sentence), soft_wrap=True)
