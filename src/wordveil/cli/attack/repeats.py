"""``wordveil attack repeats``: what several draws of one word give away together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from wordveil.cli.attack import shared
from wordveil.cli.attack.shared import Attacked, Knowledge, Plotted, ReadBy, Source, as_share, show
from wordveil.cli.checks import refuse_given
from wordveil.cli.options import stdout
from wordveil.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wordveil.attacks import ContextAttack, RepeatAttack, Words
    from wordveil.spaces import Space

_GUESSES = {"guessed right": "found", "at least 90% sure": "sure", "right when sure": "right_when_sure"}


def repeats(
    text: Annotated[
        Path | None,
        Argument(
            help="Texts to attack: a file or folder; each line, or row of a table, is a record. Without it, words "
            "are drawn as the attacker expects them.",
            show_default=False,
        ),
    ] = None,
    attacked: Attacked = Attacked(),
    times: Annotated[
        list[int] | None,
        Option("--times", "-n", help="How often a word is drawn; may be repeated. By default 1, 2, 3, 5 and 10."),
    ] = None,
    releases: Annotated[
        list[int] | None,
        Option(min=1, help="Also attack whole texts released this many times, with --reader; may be repeated."),
    ] = None,
    reading: ReadBy = ReadBy(reader="population"),
    prior: shared.PriorName = None,
    knowledge: Knowledge = Knowledge(suspects=50_000),
    source: Source = Source(),
    author_column: Annotated[
        str | None,
        Option("--author-column", "-a", help="The column of the person; all texts of a person are then one record."),
    ] = None,
    tokens: Annotated[int, Option(min=1, help="How many words to attack.")] = 1000,
    told: Plotted = Plotted(),
) -> None:
    """Guess a word that is drawn several times: a name that recurs, or a text that is released again.

    Each draw is fresh evidence. The attacker knows the mechanism, how frequent words are and which draws belong to the
    same word. They multiply what each draw says, and ignore context. Words that recur in a record, like a person's
    name, are also measured separately. The command also prints how many bits one draw reveals about its word.

    Examples:

      wordveil attack repeats --epsilon 4

      wordveil attack repeats letters.txt -e 2 -e 4 -e 6 --reference public.txt --figure repeats.svg

      wordveil attack repeats letters.txt -e 4 --releases 2 --releases 3

      wordveil attack repeats notes.csv --column text --author-column patient -e 4 --times 2 --times 4 --json
    """
    from wordveil.attacks import attack_context, attack_repeats
    from wordveil.attacks.repeats import TIMES

    rates = attacked.rates
    told.check(text, knowledge.reference, attacked.space, reading.preamble, reading.language_model)
    knowledge.check(prior)
    if text is None and author_column is not None:
        raise OptionError("--author-column needs a text to attack: name its file.")
    if text is None and knowledge.reference is None and source.column is not None:
        raise OptionError("--column needs a text to attack, or --reference: name its file.")
    if text is None and releases:
        raise OptionError("--releases needs a text to attack: name its file.")
    if text is None and knowledge.reference is None:
        refuse_given("needs a text to attack, and none is given", "format_name", "header")
    if not releases:
        refuse_given("only applies with --releases", "reader", "language_model", "beam", "preamble")
    more = reading.options
    if author_column is not None and source.column is None:
        raise OptionError("--author-column needs --column, the column of the text.")
    with told.bar() as progress:
        opened, make = attacked.maker()
        believed = knowledge.of(prior, source, opened)
        words = None if text is None else _records(text, source, author_column, opened)
        found = [
            attack_repeats(make(rate), words, believed, times=times or TIMES, tokens=tokens, draws=knowledge.draws,
                           entropy=told.entropy, watch=progress.watch)
            for rate in rates
        ]  # fmt: skip
        together: list[list[ContextAttack]] = []
        if text is not None and releases:
            texts = shared.read_texts(text, source.column, source.format_name, source.header)
            together = [
                [
                    attack_context(make(rate), texts, kind=reading.reader, select=source.select, tokens=tokens,
                                   releases=number, draws=knowledge.draws, entropy=told.entropy,
                                   watch=progress.watch, **more)
                    for number in sorted(set(releases))
                ]
                for rate in rates
            ]  # fmt: skip
    along = [one.times for one in found[0].words]
    curves = {
        f"{what}, ε = {rate:g}": [one.found for one in rows]
        for rate, attack in zip(rates, found, strict=True)
        for what, rows in (("any word", attack.words), ("words that recur", attack.names))
        if rows
    }
    told.draw(along, curves, f"Words guessed from several draws, {attacked.mechanism}", "draws of each word")
    if told.as_json:
        results = shared.by_rate(rates, found)
        for result, some in zip(results, together, strict=False):
            result["texts"] = [one.to_dict() for one in some]
        shared.print_json("repeats", make(rates[0]), results)
    else:
        _show(rates, found, together, is_text=text is not None)


def _records(path: Path, source: Source, author_column: str | None, space: Space) -> Words:
    import numpy as np

    from wordveil.attacks import words_of

    if source.column is None or author_column is None:
        texts = shared.read_texts(path, source.column, source.format_name, source.header)
        return words_of(texts, space.vocabulary, source.select)
    corpus = shared.read_corpus(path, source.column, author_column, source.format_name, source.header)
    owners = np.unique(np.array(corpus.authors, dtype=object), return_inverse=True)[1]
    return words_of(corpus.texts, space.vocabulary, source.select).grouped(owners)


def _show(
    rates: Sequence[float], found: Sequence[RepeatAttack], together: Sequence[Sequence[ContextAttack]], *, is_text: bool
) -> None:
    first = found[0]
    attacker = f"({first.prior} prior, {first.suspects:,} suspects)"
    about = "Words of a text that is released several times" if is_text else "Words drawn several times"
    tables = [(about, [one.words for one in found])]
    if first.names:
        tables.append(("Words that recur in a record, each drawn several times", [one.names for one in found]))
    for title, several in tables:
        rows = [(rate, one.times, one) for rate, some in zip(rates, several, strict=True) for one in some]
        show(f"{title} {attacker}", ("ε", "draws"), rows, _GUESSES)
    if together:
        show(
            f"Whole texts released several times, by the reader {together[0][0].reader}",
            ("ε", "releases"),
            [(rate, one.releases, one) for rate, some in zip(rates, together, strict=True) for one in some],
            {"found": "in_context", "at least 90% sure": "sure", "right when sure": "right_when_sure",
             "rare words": "rare"},
        )  # fmt: skip
    for rate, one in zip(rates, found, strict=True):
        least = "" if one.exact else "at least "
        said = f"At ε = {rate:g}, one draw reveals {least}{one.revealed.value:.1f} of {one.uncertainty:.1f} bits."
        if one.names:
            said += (
                f" A word that recurs stands at {one.places:.1f} places of its record on average; an attacker who "
                f"knows which these are, and looks at no more than {one.words[-1].times} of them, finds "
                f"{as_share(one.linked)} of such words in a single release."
            )
        stdout().print(said, soft_wrap=True)
    limits = (
        "They ignore context, which would help them further: `wordveil attack context`."
        if not together or together[0][0].reader in ("table", "population")
        else "In the tables of words they ignore context."
    )
    shared.describe_attacker(first.exact, limits)
