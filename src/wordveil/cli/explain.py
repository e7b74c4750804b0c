"""``wordveil explain``: what one word may become."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordveil.cli.options import (
    Epsilon,
    Json,
    MechanismName,
    Normalise,
    Options,
    SpaceName,
    build_mechanism,
    stdout,
)

if TYPE_CHECKING:
    from wordveil.mechanisms import Mechanism

__all__ = ["register"]

_DRAWS = 20_000
_BAR = 40


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    word: Annotated[str, typer.Argument(help="A word of the space.")],
    epsilon: Epsilon = None,
    mechanism: MechanismName = "graph",
    space: SpaceName = "glove-50k",
    normalise: Normalise = False,
    option: Options = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many outputs to show.")] = 15,
    as_json: Json = False,
) -> None:
    """Show what a word may become: the likeliest outputs, the chance of staying, and how many words carry 95% of it.

    Examples:

      wordveil explain harbour --epsilon 3

      wordveil explain harbour --epsilon 10 --mechanism laplace --top 5

      wordveil explain harbour --epsilon 3 --option k=5 --json
    """
    from wordveil.text.tokens import lookup_key

    made = build_mechanism(mechanism, epsilon, space, normalise, option)
    vocabulary = made.space.vocabulary
    facts = _facts(made, vocabulary.id(word if word in vocabulary else lookup_key(word)), top)
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        _show(facts)


def _facts(mechanism: Mechanism[Any], place: int, top: int) -> dict[str, Any]:
    import numpy as np

    from wordveil.mechanisms import ExponentialMechanism

    exact = isinstance(mechanism, ExponentialMechanism)
    if isinstance(mechanism, ExponentialMechanism):
        chances = mechanism.probabilities(place)
    else:
        drawn = mechanism.draw(np.full(_DRAWS, place))
        chances = np.bincount(drawn, minlength=len(mechanism.space)) / _DRAWS
    order = np.argsort(-chances, kind="stable")
    carried = np.cumsum(chances[order])
    return {
        "word": mechanism.space.vocabulary[place],
        **mechanism.describe(),
        "exact": exact,
        "draws": None if exact else _DRAWS,
        "stays": float(chances[place]),
        "words_for_95_percent": int(np.searchsorted(carried, 0.95) + 1),
        "outputs": [
            {"word": mechanism.space.vocabulary[i], "probability": float(chances[i])}
            for i in order[:top].tolist()
            if chances[i] > 0
        ],
        "guarantee": mechanism.guarantee.to_dict(),
    }


def _show(facts: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    console = stdout()
    how = "exact probabilities" if facts["exact"] else f"estimated from {facts['draws']:,} draws"
    console.print(
        f"[bold]{escape(facts['word'])}[/] under {facts['mechanism']}, ε = {facts['epsilon']:g} ({how})",
        soft_wrap=True,
    )
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column()
    largest = facts["outputs"][0]["probability"]
    for output in facts["outputs"]:
        own = output["word"] == facts["word"]
        length = output["probability"] / largest * _BAR
        bar = "█" * int(length) + ("▌" if length % 1 >= 0.5 else "") or "▏"
        table.add_row(
            Text(output["word"], style="bold" if own else ""),
            f"{100 * output['probability']:.2f}%",
            Text(bar, style="yellow" if own else "cyan"),
        )
    console.print(table)
    console.print(f"It stays with probability {100 * facts['stays']:.2f}%.")
    console.print(f"{facts['words_for_95_percent']:,} words carry 95% of the probability.")
    console.print(facts["guarantee"]["sentence"], soft_wrap=True)
