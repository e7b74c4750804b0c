"""``wordveil plan``: look at a file before a release and recommend settings. ``privatize`` can run the same checks."""

from __future__ import annotations

import inspect
import math
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from wordveil.cli import options
from wordveil.cli.checks import Overwrite, check_writable
from wordveil.cli.jobs import warn
from wordveil.cli.options import EncodingErrors, Quiet, check_epsilon, print_facts, print_table, stdout
from wordveil.cli.progress import ProgressBar
from wordveil.errors import OptionError
from wordveil.extras import needs

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism
    from wordveil.io import Plan, Reading
    from wordveil.plan import Gate, ReleasePlan, Verdict
    from wordveil.spaces import Space
    from wordveil.stats import Estimate

#: The exit status if a requirement is not met.
NOT_MET = 3

_STREAM = "-"
_SCOPES = ("record", "person", "file", "none")  # listed here, because wordveil.text takes long to load

Require = Annotated[
    list[str] | None,
    Option(
        metavar="CONDITION",
        help="A condition that must hold, such as 'attacker<=0.2' or 'identifiers=0'; may be repeated. If one does "
        "not hold, nothing is written and the exit status is 3.",
    ),
]
Protect = Annotated[
    str | None,
    Option(
        metavar="HOW",
        help="Choose ε by level of protection: strong, balanced or light (on your own texts the strongest "
        "attacker guesses at most 10, 20 or 40% of the words, and gains at most 5, 10 or 20% from the draws).",
    ),
]
Once = Annotated[
    str,
    Option(
        metavar="SCOPE",
        help="Draw equal words once per record, person or file. With none, each is drawn anew, and repeated draws can "
        "be combined to recover a word. Drawing once shows which words are equal.",
    ),
]
Missing = Annotated[
    str,
    Option(
        metavar="HOW",
        help="JSON records without the key of a --column: refuse them, or pass them on unchanged (pass).",
    ),
]
Fast = Annotated[
    bool,
    Option(
        "--fast", help="Skip the attack by a network, which needs PyTorch and minutes; the rest takes about one minute."
    ),
]


def plan(
    source: Annotated[
        str | None, Argument(metavar="INPUT", help="A file, a folder of files, or - for standard input (the default).")
    ] = None,
    *,
    column: Annotated[
        list[str] | None,
        Option(
            "--column", "-c", help="A column to veil; may be repeated. By default, every column that seems to be text."
        ),
    ] = None,
    person: Annotated[
        str | None,
        Option(metavar="COLUMN", help="The column that says who each record belongs to: draws add up over a person."),
    ] = None,
    label: Annotated[
        str | None,
        Option(
            metavar="COLUMN",
            help="A column that analysts want to predict from the text, to measure how much of it survives.",
        ),
    ] = None,
    epsilon: Annotated[
        list[float] | None,
        Option("--epsilon", "-e", help="An ε to try; may be repeated. By default, a useful range."),
    ] = None,
    protect: Protect = None,
    mechanism: options.MechanismName = "graph",
    space: options.SpaceName = "glove-50k",
    normalise: options.Normalise = False,
    option: options.Options = None,
    select: Annotated[
        str, Option(help="Which words you would veil: content (all but function words) or all.")
    ] = "content",
    once: Once = "record",
    format_name: Annotated[
        str | None, Option("--format", "-f", help="The format of the input, if its extension does not say.")
    ] = None,
    encoding: Annotated[str, Option(help="The encoding of a text input, such as cp1252 (Excel) or utf-16.")] = "utf-8",
    encoding_errors: EncodingErrors = "strict",
    missing: Missing = "refuse",
    sheet: Annotated[str | None, Option(metavar="SHEET", help="Which sheet of a workbook to look at.")] = None,
    header: options.Header = "check",
    sample: Annotated[int, Option(min=40, help="How many records to try attacks on, chosen at random.")] = 2000,
    seed: Annotated[int, Option(min=0, help="Random seed for the sample and the attacks.")] = 0,
    fast: Fast = False,
    require: Require = None,
    html: Annotated[Path | None, Option(metavar="FILE", help="Write a self-contained HTML page.")] = None,
    overwrite: Overwrite = False,
    as_json: options.Json = False,
    quiet: Quiet = False,
) -> None:
    """Look before you release: what a file holds, what attackers would find in it, and what to do.

    Only findings are written: no text leaves the machine, and no word of a text is shown. Every record is read, and
    attacks are tried on a sample.

    Examples:

      wordveil plan tickets.csv --fast

      wordveil plan tickets.csv --column body --person customer --label category --html plan.html

      wordveil plan letters/ --protect strong

      wordveil plan tickets.csv --column body -e 4 --fast --require 'attacker<=0.2' --require 'identifiers=0' --json
    """
    from wordveil.io import Reading, check_encoding, check_fits, make_plan
    from wordveil.io.headers import check_headers
    from wordveil.plan import FIGURES
    from wordveil.plan.presets import bound_of

    if source is None and sys.stdin and sys.stdin.isatty():
        raise OptionError("give an input file, or pipe text into the command (- reads what you type).")
    chosen = [check_epsilon(one) for one in epsilon or []]
    gates = gates_of(require)
    scope = scope_of(once)
    if scope == "person" and person is None:
        raise OptionError("--once person needs --person COLUMN, which says who each record belongs to.")
    if protect is not None:
        bound_of(protect)
    check_writable(html, inputs=(None if source == _STREAM else source, space), overwrite=overwrite)
    if html is not None:
        needs("jinja2", "plots", "an HTML page")
    if label is not None:
        needs("sklearn", "tasks", "a score by label")
    pieces = make_plan(None if source in (None, _STREAM) else Path(str(source)), format_name)
    reading = Reading(
        tuple(dict.fromkeys(column or ())), encoding_errors=encoding_errors, encoding=check_encoding(encoding),
        missing=missing, sheet=sheet, header=header,
    )  # fmt: skip
    check_fits(pieces, reading)
    check_headers(pieces, reading, warn)
    if protect is not None and chosen:
        raise OptionError("give --epsilon or --protect, not both.")
    opened, make = options.Made(mechanism, space, normalise, option).maker()
    found = _planned(
        pieces, reading, make, opened, quiet=quiet, epsilons=chosen, protect=protect, select=select, person=person,
        label=label, sample=sample, seed=seed, fast=fast, once=scope,
    )  # fmt: skip
    verdicts = found.check(gates)
    command = None
    if found.recommendation.epsilon is not None:
        given: dict[str, Any] = {
            "--mechanism": mechanism,
            "--space": space,
            "--format": format_name,
            "--encoding": encoding,
            "--encoding-errors": encoding_errors,
            "--missing": missing,
            "--sheet": sheet,
            "--header": header,
        }
        given |= {"--select": select, "--normalise": normalise, "--option": option}
        command = command_for(found, source, given, person)
    if html is not None:
        from wordveil.files import write_whole
        from wordveil.plan.wording import page

        name = "standard input" if source in (None, _STREAM) else str(source)
        write_whole(html, page(found, name, command, verdicts), mode=0o600)  # its exact counts are for the owner only
    if as_json:
        facts = found.to_dict()
        facts["figures"] = {"about": FIGURES, "required": [one.to_dict() for one in verdicts]}
        print_facts({**facts, "command": command})
    else:
        _show(found, verdicts, command)
    if not all(one.is_met for one in verdicts):
        raise typer.Exit(NOT_MET)


def scope_of(once: str) -> str | None:
    """Return the scope in which equal words are drawn once, or None if each word is drawn anew."""
    if once not in _SCOPES:
        raise OptionError(f"unknown --once {once!r}; choose one of {', '.join(_SCOPES)}.")
    return None if once == "none" else once


def gates_of(require: Sequence[str] | None) -> list[Gate]:
    """Parse the requirements."""
    if not require:
        return []
    from wordveil.plan import Gate

    return [Gate.parse(one) for one in require]


def check_before(
    pieces: Plan,
    reading: Reading,
    made: Callable[[float], Mechanism[Any]],
    space: Space,
    *,
    epsilon: float | None,
    protect: str | None,
    gates: Sequence[Gate],
    quiet: bool,
    **how: Any,
) -> float:
    """Check a release before ``privatize`` writes: choose ε by protection, and exit if a requirement is not met.

    `epsilon` is None if `protect` chooses it. `gates` are the requirements. `how` takes further parameters of
    `wordveil.plan.plan_release`.

    Returns
    -------
    float
        The ε to release at.
    """
    if any(piece.is_stream for piece in pieces.pieces):
        raise OptionError("--protect and --require read the input twice; give a file, not a stream.")
    epsilons = () if epsilon is None else (epsilon,)
    found = _planned(pieces, reading, made, space, quiet=quiet, epsilons=epsilons, protect=protect, **how)
    verdicts = found.check(gates)
    for one in verdicts:
        if not one.is_met:
            typer.echo(f"wordveil: {one.sentence()}", err=True)
    if not all(one.is_met for one in verdicts):
        typer.echo("wordveil: nothing was written, because a requirement is not met.", err=True)
        raise typer.Exit(NOT_MET)
    if epsilon is not None:
        return epsilon
    if found.chosen is None:
        for advice in found.recommendation.of("stop"):
            typer.echo(f"wordveil: {advice.sentence}", err=True)
        typer.echo("wordveil: nothing was written; `wordveil plan` says more.", err=True)
        raise typer.Exit(NOT_MET)
    if not quiet:
        gain, right = found.chosen.gain, found.chosen.strongest.right
        typer.echo(
            f"wordveil: ε = {found.chosen.epsilon:g} for protection {protect!r}: the strongest attacker tried guesses "
            f"{100 * right.value:.1f}% of the words (at most {100 * found.chosen.most:.1f}%); of those that cannot be "
            f"guessed without the draws, these give away {100 * gain.value:.1f}% (at most {100 * gain.high:.1f}%).",
            err=True,
        )
    return found.chosen.epsilon


def _planned(pieces: Plan, reading: Reading, make: Any, space: Space, *, quiet: bool, **how: Any) -> ReleasePlan:
    from wordveil.plan import plan_release

    with ProgressBar("planning", quiet=quiet) as bar:
        return plan_release(pieces, reading, make, space, watch=bar.watch, **how)


def command_for(found: ReleasePlan, source: str | None, given: dict[str, Any], person: str | None) -> str:
    """Return the ``wordveil privatize`` command that a plan recommends, with whatever differs from the defaults."""
    usual = {name: parameter.default for name, parameter in inspect.signature(plan).parameters.items()}
    advice = found.recommendation
    parts = ["wordveil", "privatize"]
    if source not in (None, _STREAM):
        path = Path(str(source))
        stem, dot, rest = path.name.partition(".")
        parts += [str(source), "-o", str(path.with_name(f"{stem}-veiled{dot}{rest}"))]
    parts += ["--epsilon", f"{advice.epsilon:g}"]
    for name in advice.columns:
        parts += ["--column", name] if name else []
    for flag, value in given.items():
        if value is True:
            parts.append(flag)
        elif isinstance(value, list):
            parts += [part for one in value for part in (flag, one)]
        elif value and value != usual.get(flag.removeprefix("--").replace("-", "_")):
            parts += [flag, str(value)]
    if advice.once != "record":
        parts += [
            "--once",
            advice.once or "none",
            *(["--person", person] if advice.once == "person" and person else []),
        ]
    if source not in (None, _STREAM):
        parts += ["--report", "report.json"]
    return shlex.join(parts)


# ---------------------------------------------------------------------------------------------------------- printing


def _show(found: ReleasePlan, verdicts: Sequence[Verdict], command: str | None) -> None:
    from rich.markup import escape

    from wordveil.plan.wording import attackers, headline

    out, seen = stdout(), found.found
    headings = ("column", "seems to be", "would be", "language", "values", "distinct", "words\neach", "known\nwords",
                "templated", "not words")  # fmt: skip
    rows = []
    for one in seen.columns:
        is_text = one.kind == "text" or one.name in seen.chosen
        cells = (
            one.name or "(text)", one.kind, "veiled" if one.name in seen.chosen else "left as it is",
            one.language or "–", f"{one.values:,}", f"{one.distinct:,}", f"{one.words:.1f}",
            _percent(one.coverage) if is_text else "–", _percent(one.templated) if is_text else "–",
            f"{sum(one.identifiers.values()):,}" if one.identifiers else "–",
        )  # fmt: skip
        rows.append([escape(cell) for cell in cells])
    number = seen.records.records
    print_table(f"{number:,} record{'' if number == 1 else 's'}", headings, rows, left=4)
    if seen.identifiers:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in seen.identifiers.items())
        out.print(f"In the texts to veil, not words: {kinds}.", soft_wrap=True)
    if found.trials:
        _show_trials(found)
        out.print(attackers(found), soft_wrap=True)
    out.print(f"\n[bold]{escape(headline(found))}[/]", soft_wrap=True)
    for kind, title in (("stop", "Why not"), ("first", "First"), ("note", "Good to know")):
        said = found.recommendation.of(kind)
        if said:
            out.print(f"\n{title}:")
        for advice in said:
            out.print(f"- {escape(advice.sentence)}", soft_wrap=True)
    if command is not None:
        out.print(f"\nThen run:\n{escape(command)}", soft_wrap=True)
    if verdicts:
        out.print("\nRequirements:")
    for verdict in verdicts:
        out.print(f"- {escape(verdict.sentence())}", soft_wrap=True)


def _show_trials(found: ReleasePlan) -> None:
    from wordveil.plan.trial import ALONE, CONTEXT, RECORDS

    headings = ("ε", "kept", "one word\nat a time", "knowing\nrecords", "network", "gained from\nthe draws",
                "recurring\nwords", "utility", "label")  # fmt: skip
    rows = []
    for trial in found.trials:
        right = {attack.attacker: attack.right for attack in trial.attacks}
        figures = (
            right.get(ALONE), right.get(RECORDS), right.get(CONTEXT), trial.gain, trial.repeats, trial.utility,
            trial.score,
        )  # fmt: skip
        cells = [f"{trial.epsilon:g}", _percent(trial.kept.value), *(_figure(figure) for figure in figures)]
        is_chosen = found.chosen is not None and trial.epsilon == found.chosen.epsilon
        rows.append([f"[bold yellow]{cell}[/]" for cell in cells] if is_chosen else cells)
    floors = max(attack.floor for attack in found.trials[0].attacks)
    print_table(
        "Veiled words that attackers guess, and what is kept (with 95% intervals)", headings, rows, left=0,
        caption=f"Without the draws, from the words left alone, {floors:.1%} of the veiled words are guessed.",
    )  # fmt: skip


def _figure(figure: Estimate | None) -> str:
    if figure is None or math.isnan(figure.value):
        return "–"
    return f"{100 * figure.value:.0f}% ({100 * figure.low:.0f}–{100 * figure.high:.0f})"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
