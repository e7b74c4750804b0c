"""``wordveil audit``: what a mechanism promises, and what it is measured to lose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from wordveil.cli import options
from wordveil.cli.options import check_epsilon, parse_options, print_facts, print_table, stderr, stdout

if TYPE_CHECKING:
    from wordveil.audit import Verdict


def audit(
    epsilon: options.Epsilon = None,
    mechanism: options.MechanismName = "graph",
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
            "accepts; without --space, each on the first bundled space that fits it.",
        ),
    ] = False,
    words: Annotated[int, Option(min=2, help="How many words to audit.")] = 200,
    draws: Annotated[int, Option(min=1000, help="How many draws to measure each event on.")] = 60_000,
    pairs: Annotated[int, Option(min=1, help="How many pairs of each kind to sample.")] = 1,
    seed: Annotated[int, Option(min=0, help="Random seed for the choice of words and pairs.")] = 0,
    repeat: Annotated[bool, Option("--repeat", help="Seed the draws too, to get the same figures every time.")] = False,
    as_json: options.Json = False,
) -> None:
    """Measure how much a mechanism really reveals, and compare it with what the mechanism promises.

    "holds" means that the promise was checked exactly, for all pairs of the audited words, where the probabilities are
    known, and that sampling did not refute it elsewhere. "broken" is wrong at most once in a million audits.

    Examples:

      wordveil audit --mechanism graph --epsilon 4

      wordveil audit --all --json

      wordveil audit --mechanism laplace --epsilon 4 --words 50 --draws 200000
    """
    from wordveil._mechanisms import MECHANISMS
    from wordveil.audit import Auditor
    from wordveil.spaces import BUNDLED, load_space

    chosen = list(MECHANISMS) if everything else [mechanism]
    rate = None if everything and epsilon is None else check_epsilon(epsilon)
    named = BUNDLED if everything and space is None and not normalise else (space or BUNDLED[0],)
    spaces = [load_space(name, normalise=normalise) for name in named]
    auditor = Auditor(words=words, draws=draws, each=pairs, seed=seed, repeat=repeat)
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
    """Audit a mechanism, or say why it does not fit this space or this ε."""
    from wordveil._mechanisms import MECHANISMS
    from wordveil.errors import WordveilError

    try:
        rate = 1.0 + MECHANISMS[name].least_epsilon(space) if epsilon is None else epsilon
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
