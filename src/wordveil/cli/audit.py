"""``wordveil audit``: what a mechanism promises, and what it is measured to lose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from wordveil.cli import options
from wordveil.cli.checks import Overwrite, check_writable, refuse_given
from wordveil.cli.options import (
    build_mechanism,
    check_epsilon,
    parse_options,
    print_facts,
    print_table,
    stderr,
    stdout,
    while_at_work,
)
from wordveil.cli.progress import ProgressBar
from wordveil.errors import OptionError

if TYPE_CHECKING:
    from wordveil.audit import Claim, Finding, Target, Verdict


#: Options that a replayed finding already contains or cannot use.
_IN_REPLAY = (
    "epsilon", "mechanism", "space", "normalise", "option", "words", "draws", "seed", "repeat", "local", "delta",
    "table", "known_only", "error", "skip", "output", "overwrite",
)  # fmt: skip


def audit(
    epsilon: options.Epsilon = None,
    mechanism: Annotated[
        str | None,
        Option(
            "--mechanism",
            "-m",
            help="The mechanism to audit; graph if not given. For a callable: the mechanism whose guarantee it claims.",
        ),
    ] = None,
    space: Annotated[
        str | None, Option("--space", "-s", help="A bundled space or the path of an embedding; glove-50k by default.")
    ] = None,
    normalise: options.Normalise = False,
    option: options.Options = None,
    everything: Annotated[
        bool,
        Option(
            "--all",
            help="Audit every mechanism that fits the space. Without --epsilon, each at 1 above the smallest ε it "
            "accepts; without --space, each on the first bundled space it fits.",
        ),
    ] = False,
    words: Annotated[
        int | None, Option(min=2, help="How many words to audit; 200 if not given, and 48 for a callable.")
    ] = None,
    draws: Annotated[
        int | None,
        Option(
            min=1000,
            help="How many draws to measure each event on; 60,000 if not given. For a callable, as many as time "
            "allows, and four times as many for the most promising pair.",
        ),
    ] = None,
    pairs: Annotated[int | None, Option(min=1, help="How many pairs of each kind to sample; 1 if not given.")] = None,
    seed: Annotated[int, Option(min=0, help="Random seed for the choice of words and pairs.")] = 0,
    repeat: Annotated[bool, Option("--repeat", help="Seed the draws too, to get the same figures every time.")] = False,
    call: Annotated[
        str | None,
        Option(metavar="MODULE:FUNCTION", help="Audit a Python function, str to str, in processes of its own."),
    ] = None,
    command: Annotated[
        str | None, Option(metavar="COMMAND", help="Audit a program that writes a line for each line it reads.")
    ] = None,
    url: Annotated[str | None, Option(metavar="URL", help="Audit an address that answers a POST of JSON.")] = None,
    takes: Annotated[
        str | None, Option(help="What one call takes and returns: word, text (if not given), words or texts (lists).")
    ] = None,
    python: Annotated[str | None, Option(metavar="PATH", help="The interpreter that has the module of --call.")] = None,
    body: Annotated[
        str | None, Option(metavar="JSON", help='What --url is sent; {"text": "$TEXT"} if not given.')
    ] = None,
    answer: Annotated[
        str | None,
        Option(metavar="PATH", help="Where the answer of --url has the text, such as texts.0; text if not given."),
    ] = None,
    header: Annotated[
        list[str] | None, Option(metavar="NAME:VALUE", help="A header to send to --url; may be repeated.")
    ] = None,
    local: Annotated[
        bool, Option("--local", help="The callable claims ε for every two words, however far apart they are.")
    ] = False,
    delta: Annotated[
        float | None, Option(min=0.0, max=1.0, help="The δ that the callable claims; 0 if not given.")
    ] = None,
    table: Annotated[
        Path | None, Option(metavar="FILE", help="Distances in a file: two words and their distance in each line.")
    ] = None,
    known_only: Annotated[
        bool, Option("--known-words-only", help="The callable claims nothing for words outside the space.")
    ] = False,
    seconds: Annotated[
        float | None, Option(help="How many seconds the audit of a callable may take; 60 if not given.")
    ] = None,
    timeout: Annotated[
        float | None, Option(help="How many seconds one call may take; 10 if not given, and 60 for a run of --command.")
    ] = None,
    error: Annotated[
        float | None, Option(help="The probability of finding an honest callable broken; 1e-6 if not given.")
    ] = None,
    skip: Annotated[list[str] | None, Option(metavar="CHECK", help="A check to leave out; may be repeated.")] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="Write the findings to this file, for --replay.")
    ] = None,
    overwrite: Overwrite = False,
    replay: Annotated[
        Path | None,
        Option(metavar="FILE", help="Measure the first finding in this file again, on the callable you name."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Measure how much a mechanism really reveals, and compare it with what the mechanism promises.

    "holds" means that the promise was checked exactly for all pairs of the audited words, where the probabilities are
    known, and that sampling did not refute it elsewhere. "broken" is wrong at most once in a million audits.

    With --call, --command or --url it audits anything that turns words or texts into others, whether from wordveil or
    not, against a claim that you state. It then exits with 0 only if nothing contradicts the claim, and with 3 if the
    claim is broken or the audit cannot tell.

    Examples:

      wordveil audit --mechanism graph --epsilon 4

      wordveil audit --all --json

      wordveil audit --mechanism laplace --epsilon 4 --words 50 --draws 200000

      wordveil audit --call package.module:function --takes word --epsilon 4

      wordveil audit --command 'python veil.py' --epsilon 1 --local -o found.json
    """
    foreign = {
        "takes": takes, "python": python, "body": body, "answer": answer, "header": header, "local": local,
        "delta": delta, "table": table, "known-words-only": known_only, "seconds": seconds, "timeout": timeout,
        "error": error, "skip": skip, "output": output, "overwrite": overwrite, "replay": replay,
    }  # fmt: skip
    if call is not None or command is not None or url is not None:
        if everything or pairs is not None:
            raise OptionError("--all and --pairs are for mechanisms of wordveil; leave them out.")
        asked = {"call": call, "command": command, "url": url}
        claimed = {"mechanism": mechanism, "space": space, "normalise": normalise, "option": option}
        how = {"draws": draws, "words": words, "seconds": seconds, "error": error, "skip": skip}
        how = {"seed": seed, "repeat": repeat, **{name: value for name, value in how.items() if value is not None}}
        _audit_callable(asked, epsilon, how, {**foreign, **claimed}, as_json)
        return
    if given := [name for name, value in foreign.items() if value not in (None, False)]:
        raise OptionError(f"--{given[0]} is for callables: add --call, --command or --url.")
    if everything:
        refuse_given("only applies to a single mechanism, not to --all", "mechanism", "option")
    from wordveil._mechanisms import DEFAULT, MECHANISMS
    from wordveil.audit import Auditor
    from wordveil.spaces import BUNDLED, load_space

    chosen = list(MECHANISMS) if everything else [mechanism or DEFAULT]
    rate = None if everything and epsilon is None else check_epsilon(epsilon)
    named = BUNDLED if everything and space is None and not normalise else (space or BUNDLED[0],)
    spaces = [load_space(name, normalise=normalise) for name in named]
    auditor = Auditor(words=words or 200, draws=draws or 60_000, each=pairs or 1, seed=seed, repeat=repeat)
    verdicts: list[Verdict] = []
    skipped: list[tuple[str, str]] = []
    with stderr().status("auditing…") as status:
        for name in chosen:
            status.update(f"auditing {name} ({len(verdicts) + len(skipped) + 1} of {len(chosen)})…")
            if not everything:
                verdicts.append(auditor.audit(name, spaces[0], epsilon=check_epsilon(epsilon), **parse_options(option)))
                continue
            for one in spaces:
                verdict, reason = _try(auditor, name, one, rate)
                if verdict is not None:
                    verdicts.append(verdict)
                    break
            else:
                skipped.append((name, reason))
    if as_json:
        facts = [verdict.to_dict() for verdict in verdicts]
        print_facts(facts)
    else:
        _show(verdicts, skipped)
    if any(verdict.verdict == "broken" for verdict in verdicts):
        raise typer.Exit(1)


def _try(auditor: Any, name: str, space: Any, epsilon: float | None) -> tuple[Verdict | None, str]:
    """Audit a mechanism, or return why it does not fit this space or this ε."""
    from wordveil._mechanisms import kind_named
    from wordveil.errors import WordveilError

    try:
        rate = 1.0 + kind_named(name).least_epsilon(space) if epsilon is None else epsilon
        return auditor.audit(name, space, epsilon=rate), ""
    except WordveilError as error:
        return None, str(error)


def _show(verdicts: list[Verdict], skipped: list[tuple[str, str]]) -> None:
    headings = ("mechanism", "promise", "verdict", "paper's claim", "allowed", "found", "by")
    colours = {"holds": "green", "broken": "red", "no promise": "yellow", "not refuted": "green", "": "white"}
    rows = []
    for verdict in verdicts:
        worst = verdict.worst
        sign = "=" if worst and worst.exact else "≥"
        rows.append(
            [
                f"{verdict.mechanism['mechanism']}, ε = {verdict.mechanism['epsilon']:g}",
                verdict.guarantee.formula(),
                f"[{colours[verdict.verdict]}]{verdict.verdict}[/]",
                f"[{colours[verdict.claim_verdict]}]{verdict.claim_verdict or '-'}[/]",
                f"{worst.quantity} ≤ {worst.allowed:.3g}" if worst else "-",
                f"{sign} {worst.measured:.3g}" if worst else "-",
                f"{worst.left} / {worst.right} → {worst.output or '-'} ({worst.about})" if worst else "-",
            ]
        )
    title = "Audit (an honest mechanism is found broken with probability at most 1e-6)"
    print_table(title, headings, rows, left=len(headings))
    for name, reason in skipped:
        stdout().print(f"{name}: skipped; {reason}")


def _target(call: str | None, command: str | None, url: str | None, given: dict[str, Any]) -> Target:
    """Return what to audit. Refuse options that it cannot use."""
    from wordveil.audit import Command, Endpoint, Program

    if sum(one is not None for one in (call, command, url)) > 1:
        raise OptionError("give one of --call, --command and --url.")
    if call is None and given["python"] is not None:
        raise OptionError("--python is for --call.")
    if url is None and (given["body"] or given["answer"] or given["header"]):
        raise OptionError("--body, --answer and --header are for --url.")
    how = {name: given[name] for name in ("takes", "timeout") if given[name] is not None}
    if call is not None:
        return Program(call, python=given["python"], **how)
    if command is not None:
        return Command(command, **how)
    headers = [one.partition(":") for one in given["header"] or []]
    if not all(middle and name.strip() for name, middle, _ in headers):
        raise OptionError("--header must look like NAME:VALUE.")
    more = {name: given[name] for name in ("body", "answer") if given[name] is not None}
    return Endpoint(url or "", headers={name.strip(): value.strip() for name, _, value in headers}, **how, **more)


def _claim(epsilon: float, given: dict[str, Any]) -> Claim:
    """Return the claim, with distances from a table, a mechanism or a space."""
    from wordveil.audit import Claim, TableSpace
    from wordveil.spaces import BUNDLED, Space, load_space

    mechanism, space, normalise = given["mechanism"], given["space"], given["normalise"]
    if mechanism is not None:
        if given["table"] or given["local"] or given["delta"]:
            raise OptionError("--mechanism already states the claim; leave out --table, --local and --delta.")
        made = build_mechanism(mechanism, epsilon, space or BUNDLED[0], normalise, given["option"])
        return Claim.of(made, known_only=given["known-words-only"])
    if given["option"]:
        raise OptionError("--option needs --mechanism.")
    if given["table"] and (space or normalise):
        raise OptionError("give distances with --table or with --space, not both.")
    with while_at_work("opening the space…"):
        words: Space = (
            TableSpace.read(given["table"]) if given["table"] else load_space(space or BUNDLED[0], normalise=normalise)
        )
    return Claim(words, epsilon, given["delta"] or 0.0, local=given["local"], known_only=given["known-words-only"])


def _audit_callable(
    asked: dict[str, str | None], epsilon: float | None, how: dict[str, Any], given: dict[str, Any], as_json: bool
) -> None:
    """Audit a callable, print and save the findings, and exit with 3 unless nothing contradicts the claim."""
    from wordveil.audit import audit_callable
    from wordveil.audit.report import HOLDS

    target, output = _target(**asked, given=given), given["output"]
    if given["replay"] is not None:
        refuse_given("comes from the replayed file", *_IN_REPLAY)
        _replay(target, given["replay"], given["seconds"], as_json)
        return
    check_writable(output, inputs=[given["table"], given["space"]], overwrite=given["overwrite"])
    claim = _claim(check_epsilon(epsilon), given)
    with ProgressBar("auditing", quiet=as_json) as bar:
        report = audit_callable(target, claim, watch=bar.watch, **how)
    if output is not None:
        report.save(output)
    if as_json:
        print_facts(report.to_dict())
    else:
        _show_findings(f"Audit of {report.target}: {claim.sentence()}", report.findings)
        for remark in report.remarks:
            stdout().print(f"Also: {remark}.", markup=False)
        for name, reason in report.unchecked.items():
            stdout().print(f"Not checked: {name} ({reason}).", markup=False)
        stdout().print(report.sentence(), markup=False)
    if report.verdict != HOLDS:
        raise typer.Exit(3)


def _replay(target: Target, path: Path, seconds: float | None, as_json: bool) -> None:
    """Measure a finding again, and exit with 3 if it still breaks the claim."""
    from wordveil.audit import replay

    with while_at_work("measuring again…"):
        then, now = replay(path, target, seconds=seconds or 600.0)
    if as_json:
        print_facts({"then": then.to_dict(), "now": now.to_dict()})
    else:
        _show_findings("Then, and now", [then, now])
    if now.breaks:
        raise typer.Exit(3)


def _show_findings(title: str, findings: list[Finding]) -> None:
    from rich.markup import escape

    if not findings:
        stdout().print(f"{title}.", markup=False)
        return
    rows = []
    for one in findings:
        colour = "red" if one.breaks else "green"
        seen = " and ".join(
            f"{hits:,} of {trials:,}" for hits, trials in zip(one.hits, one.trials, strict=True) if trials
        )
        both = f"{one.left} / {one.right}"
        looked = [one.about, both, f"{one.quantity} ≤ {one.allowed:.3g}", f"≥ {one.measured:.3g}", one.output, seen]
        rows.append([*map(escape, looked), f"[{colour}]{'broken' if one.breaks else 'not refuted'}[/]"])
    print_table(escape(title), ("looked at", "inputs", "claimed", "found", "if", "seen", ""), rows, left=7)
