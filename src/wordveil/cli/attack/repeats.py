"""``wordveil attack repeats``: what a word gives away that is drawn several times."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordveil.cli.attack.shared import (
    Column,
    Draws,
    Epsilons,
    Figure,
    Format,
    LanguageModel,
    PriorName,
    ReaderName,
    Reference,
    Seed,
    Select,
    Suspects,
    as_share,
    check_figure,
    check_prior,
    describe_attacker,
    draw,
    epsilons_of,
    maker_of,
    print_json,
    print_table,
    prior_of,
    read_corpus,
    read_texts,
    reader_options,
)
from wordveil.cli.calibrate import Quiet
from wordveil.cli.files import Overwrite
from wordveil.cli.options import Json, MechanismName, Normalise, Options, SpaceName, stdout
from wordveil.cli.progress import ProgressBar
from wordveil.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wordveil.attacks import ContextAttack, RepeatAttack, Words
    from wordveil.spaces import Space

__all__ = ["repeats"]

_HEADINGS = ("ε", "draws", "guessed right", "at least 90% sure", "right when sure")


def repeats(
    text: Annotated[
        Path | None,
        typer.Argument(
            help="Texts to attack: a file or folder; each line, or row of a table, is a record. Without it, words "
            "are drawn as the attacker expects them.",
            show_default=False,
        ),
    ] = None,
    epsilon: Epsilons = None,
    times: Annotated[
        list[int] | None,
        typer.Option("--times", "-n", help="How often a word is drawn; may be repeated. By default 1, 2, 3, 5 and 10."),
    ] = None,
    releases: Annotated[
        list[int] | None,
        typer.Option(
            "--releases",
            min=1,
            help="Also read the text as a whole, released so many times, by --reader; may be repeated.",
        ),
    ] = None,
    reader: ReaderName = "population",
    language_model: LanguageModel = None,
    mechanism: MechanismName = "graph",
    space: SpaceName = "glove-50k",
    normalise: Normalise = False,
    option: Options = None,
    reference: Reference = None,
    prior: PriorName = None,
    column: Column = None,
    format_name: Format = None,
    author_column: Annotated[
        str | None,
        typer.Option(
            "--author-column", "-a", help="The column of the person; all texts of a person are then one record."
        ),
    ] = None,
    select: Select = "content",
    tokens: Annotated[int, typer.Option("--tokens", min=1, help="How many words to attack.")] = 1000,
    suspects: Suspects = 50_000,
    draws: Draws = 200_000,
    seed: Seed = None,
    figure: Figure = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Guess a word that is drawn several times: a name that recurs, or a text that is released again.

    Each draw is fresh evidence. The attacker knows the mechanism, how frequent words are and which draws belong to the
    same word; they multiply what each draw says, and ignore context. Words that recur in a record, like the name of a
    person, are looked at by themselves. Also printed is how many bits one draw reveals about its word.

    Examples:

      wordveil attack repeats --epsilon 4

      wordveil attack repeats letters.txt -e 2 -e 4 -e 6 --reference public.txt --figure repeats.svg

      wordveil attack repeats letters.txt -e 4 --releases 2 --releases 3

      wordveil attack repeats notes.csv --column text --author-column patient -e 4 --times 2 --times 4 --json
    """
    from wordveil.attacks import attack_context, attack_repeats
    from wordveil.attacks.repeats import TIMES
    from wordveil.noise import Entropy

    rates = epsilons_of(epsilon)
    check_figure(figure, text, reference, space, overwrite=overwrite)
    check_prior(prior, reference)
    if text is None and author_column is not None:
        raise OptionError("--author-column needs a text to attack: name its file.")
    if text is None and reference is None and column is not None:
        raise OptionError("--column needs a text to attack, or --reference: name its file.")
    if text is None and releases:
        raise OptionError("--releases needs a text to attack: name its file.")
    more = reader_options(reader, language_model, None, None)
    if author_column is not None and column is None:
        raise OptionError("--author-column needs --column, the column of the text.")
    with ProgressBar("attacking", quiet=quiet) as progress:
        opened, make = maker_of(mechanism, space, normalise, option)
        believed = prior_of(prior, reference, column, opened, suspects, select, format_name)
        words = None if text is None else _records(text, column, author_column, opened, select, format_name)
        found = [
            attack_repeats(make(rate), words, believed, times=times or TIMES, tokens=tokens, draws=draws,
                           entropy=Entropy(seed), watch=progress.watch)
            for rate in rates
        ]  # fmt: skip
        together: list[list[ContextAttack]] = []
        if text is not None and releases:
            texts = read_texts(text, column, format_name)
            together = [
                [
                    attack_context(make(rate), texts, kind=reader, select=select, tokens=tokens, releases=number,
                                   draws=draws, entropy=Entropy(seed), watch=progress.watch, **more)
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
    draw(figure, along, curves, f"Words guessed from several draws, {mechanism}", "draws of each word")
    if as_json:
        results = [one.to_dict() for one in found]
        for result, some in zip(results, together, strict=False):
            result["texts"] = [one.to_dict() for one in some]
        print_json("repeats", make(rates[0]), rates, results)
    else:
        _show(rates, found, together, is_text=text is not None)


def _records(
    path: Path, column: str | None, author_column: str | None, space: Space, select: str, format_name: str | None
) -> Words:
    import numpy as np

    from wordveil.attacks import words_of

    if column is None or author_column is None:
        return words_of(read_texts(path, column, format_name), space.vocabulary, select)
    corpus = read_corpus(path, column, author_column, format_name)
    owners = np.unique(np.array(corpus.authors, dtype=object), return_inverse=True)[1]
    return words_of(corpus.texts, space.vocabulary, select).grouped(owners)


def _show(
    rates: Sequence[float], found: Sequence[RepeatAttack], together: Sequence[Sequence[ContextAttack]], *, is_text: bool
) -> None:
    first = found[0]
    attacker = f"({first.prior} prior, {first.suspects:,} suspects)"
    about = "Words of a text that is released several times" if is_text else "Words drawn several times"
    tables = [(about, [one.words for one in found])]
    if first.names:
        tables.append(("Words that recur in a record, each drawn several times", [one.names for one in found]))
    for title, rows in tables:
        print_table(
            f"{title} {attacker}",
            _HEADINGS,
            [
                [f"{rate:g}", str(one.times), *map(as_share, (one.found, one.sure, one.right_when_sure))]
                for rate, repeated in zip(rates, rows, strict=True)
                for one in repeated
            ],
        )
    if together:
        print_table(
            f"Whole texts released several times, by the reader {together[0][0].reader}",
            ("ε", "releases", "found", "at least 90% sure", "right when sure", "rare words"),
            [
                [
                    f"{rate:g}",
                    str(one.releases),
                    *map(as_share, (one.in_context, one.sure, one.right_when_sure, one.rare)),
                ]
                for rate, some in zip(rates, together, strict=True)
                for one in some
            ],
        )
    for rate, one in zip(rates, found, strict=True):
        least = "" if one.exact else "at least "
        told = f"At ε = {rate:g} one draw reveals {least}{one.revealed.value:.1f} of {one.uncertainty:.1f} bits."
        if one.names:
            told += (
                f" A word that recurs stands at {one.places:.1f} places of its record on average; an attacker who "
                f"knows which these are, and looks at no more than {one.words[-1].times} of them, finds "
                f"{as_share(one.linked)} of such words in a single release."
            )
        stdout().print(told, soft_wrap=True)
    limits = (
        "They ignore context, which would help them further: `wordveil attack context`."
        if not together or together[0][0].reader in ("table", "population")
        else "In the tables of words they ignore context."
    )
    describe_attacker(first.exact, limits)
