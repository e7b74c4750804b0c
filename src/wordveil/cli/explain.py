"""``wordveil explain``: what one word may become."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Argument, Option

from wordveil.cli.options import Chosen, Json, print_facts, stdout

_BAR = 40
_LEFT_ALONE = (
    "This is a function word, which `wordveil privatize` releases as it is unless you add --select all: then these "
    "figures hold."
)


def explain(
    word: Annotated[str, Argument(help="A word of the space.")],
    chosen: Chosen = Chosen(),
    top: Annotated[int, Option(min=1, help="The number of outputs to show.")] = 15,
    as_json: Json = False,
) -> None:
    """Show what a word may become: its likeliest outputs, how often it stays, and how widely it is spread.

    Examples:

      wordveil explain harbour --epsilon 4

      wordveil explain harbour --epsilon 10 --mechanism laplace --top 5

      wordveil explain harbour --epsilon 4 --option k=5 --json
    """
    from wordveil._mechanisms.attackers import NOT_MEASURED, on_prose
    from wordveil.calibration.explain import outputs_of
    from wordveil.text import function_words
    from wordveil.text.languages import language_of_words
    from wordveil.text.lookup import Lookup
    from wordveil.text.tokens import lookup_key

    made = chosen.build()
    vocabulary, key = made.space.vocabulary, lookup_key(word)
    found = Lookup(vocabulary).id(word, key)
    facts = outputs_of(made, vocabulary.id(key) if found is None else found, top)
    prose, is_function_word = on_prose(made), key in function_words(language_of_words(vocabulary) or "en")
    if as_json:
        told = {"shortfall": made.shortfall, "function_word": is_function_word}
        print_facts({**facts, **told, "prose": None if prose is None else prose.to_dict()})
    else:
        _show(facts)
        if made.shortfall:
            stdout().print(f"{made.shortfall} {made.name} is unproven, and here for comparison only.", soft_wrap=True)
        if is_function_word:
            stdout().print(_LEFT_ALONE, soft_wrap=True)
        for sentence in [NOT_MEASURED] if prose is None else prose.sentences():
            stdout().print(sentence, soft_wrap=True)


def _show(facts: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    console = stdout()
    how = "exact probabilities" if facts["exact"] else f"estimated from {facts['draws']:,} draws"
    console.print(
        f"[bold]{escape(facts['word'])}[/] under {facts['mechanism']}, ε = {facts['epsilon']:g} ({how})", soft_wrap=True
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
    held = facts["words_for_95_percent"]
    likeliest = "likeliest output holds" if held == 1 else f"likeliest {held:,} outputs hold"
    console.print(f"The {likeliest} 95% of the probability.")
    console.print(facts["guarantee"]["sentence"], soft_wrap=True)
