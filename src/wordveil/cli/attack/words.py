"""``wordveil attack bayes`` and ``wordveil attack sentence``: which words stood in the text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordveil.cli.attack.shared import (
    Column,
    Draws,
    Epsilons,
    Figure,
    Reference,
    Seed,
    Select,
    Suspects,
    as_number,
    as_share,
    check_figure,
    epsilons_of,
    maker_of,
    print_table,
    rows_of,
    tell,
)
from wordveil.cli.attack.texts import read_sentences
from wordveil.cli.calibrate import Quiet
from wordveil.cli.files import Overwrite
from wordveil.cli.options import Json, MechanismName, Normalise, Options, SpaceName, stdout
from wordveil.cli.progress import ProgressBar
from wordveil.errors import WordveilError

if TYPE_CHECKING:
    from wordveil.attacks import Prior, Words
    from wordveil.spaces import Space

__all__ = ["bayes", "sentence"]


def bayes(
    text: Annotated[Path, typer.Argument(help="The text to attack: a file or folder.")],
    epsilon: Epsilons = None,
    mechanism: MechanismName = "graph",
    space: SpaceName = "glove-50k",
    normalise: Normalise = False,
    option: Options = None,
    reference: Reference = None,
    prior: Annotated[
        str | None,
        typer.Option("--prior", help="uniform, or frequency (by the vocabulary's order); or give --reference."),
    ] = None,
    column: Column = None,
    select: Select = "content",
    tokens: Annotated[int, typer.Option("--tokens", min=1, help="How many words of the text to attack.")] = 2000,
    suspects: Suspects = 10_000,
    draws: Draws = 200_000,
    seed: Seed = None,
    figure: Figure = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Guess every word from its replacement, as well as can be done (optimal Bayesian inference).

    The adversary knows the mechanism and how frequent words are. One guess is the likeliest original, another the word
    of least expected distance from it.

    Examples:

      wordveil attack bayes letters.txt --epsilon 6

      wordveil attack bayes letters.txt -e 2 -e 3 -e 4 --reference public.txt --figure success.svg

      wordveil attack bayes reviews.csv --column text -m laplace -e 10 --prior uniform --json
    """
    from wordveil.attacks import attack_words
    from wordveil.noise import Entropy

    rates = epsilons_of(epsilon)
    check_figure(figure, text, reference, space, overwrite=overwrite)
    if reference is not None and prior is not None:
        raise WordveilError("--prior and --reference exclude each other: the prior comes from the one or the other.")
    with ProgressBar("attacking", quiet=quiet) as progress:
        opened, make = maker_of(mechanism, space, normalise, option)
        words = _words(text, column, opened, select)
        believed = _prior(opened, reference, column, select, prior, suspects)
        found = [
            attack_words(make(rate), words, believed, tokens=tokens, draws=draws, entropy=Entropy(seed),
                         watch=progress.watch)
            for rate in rates
        ]  # fmt: skip
    curves = {"the output itself": "kept", "likeliest word": "best", "word of least expected distance": "central"}
    title = f"Words guessed one by one, {mechanism}"
    if not tell("bayes", make, rates, found, curves=curves, title=title, figure=figure, as_json=as_json):
        return
    print_table(
        f"Words of the text found again ({found[0].prior} prior, {found[0].suspects:,} suspects)",
        ("ε", "output itself", "likeliest word", "least distance", "seeing nothing", "no suspect"),
        rows_of(rates, found, ("kept", "best", "central", "blind", "beyond"), as_share),
    )
    print_table(
        f"Mean distance from the original, in units: {found[0].unit}",
        ("ε", "output itself", "likeliest word", "least distance"),
        rows_of(rates, found, ("kept_distance", "best_distance", "central_distance"), as_number),
    )
    _say_how(found[0].exact)


def sentence(
    text: Annotated[Path, typer.Argument(help="The text to attack: a file or folder.")],
    reference: Annotated[
        Path,
        typer.Option("--reference", help="A public text like the attacked one, from which the language is learnt."),
    ],
    epsilon: Epsilons = None,
    mechanism: MechanismName = "graph",
    space: SpaceName = "glove-50k",
    normalise: Normalise = False,
    option: Options = None,
    order: Annotated[int, typer.Option("--order", min=2, max=3, help="2 for a bigram model, 3 for trigrams.")] = 3,
    candidates: Annotated[
        int, typer.Option("--candidates", min=1, help="How many words a place may be, with trigrams.")
    ] = 16,
    column: Column = None,
    select: Select = "content",
    tokens: Annotated[int, typer.Option("--tokens", min=1, help="About how many veiled words to attack.")] = 1000,
    suspects: Suspects = 10_000,
    draws: Draws = 200_000,
    seed: Seed = None,
    figure: Figure = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Guess the words of a sentence together, with the words around each as context (n-gram language model).

    Bigrams are decoded exactly over all suspects. With trigrams every place keeps the words that are likeliest by
    bigrams, and the share of the bigram posterior that they hold is told.

    Examples:

      wordveil attack sentence letters.txt --reference public.txt --epsilon 6

      wordveil attack sentence reviews.csv --reference old.csv --column text -e 2 -e 3 -e 4 --figure context.svg
    """
    from wordveil.attacks import NgramModel, attack_sentences
    from wordveil.noise import Entropy

    rates = epsilons_of(epsilon)
    check_figure(figure, text, reference, space, overwrite=overwrite)
    with ProgressBar("attacking", quiet=quiet) as progress:
        opened, make = maker_of(mechanism, space, normalise, option)
        words, known = _words(text, column, opened, select), _words(reference, column, opened, select)
        model, believed = NgramModel(known, len(opened)), _prior_of(known, opened, suspects)
        found = [
            attack_sentences(make(rate), words, model, believed, order=order, candidates=candidates, tokens=tokens,
                             draws=draws, entropy=Entropy(seed), watch=progress.watch)
            for rate in rates
        ]  # fmt: skip
    curves = {"the output itself": "kept", "likeliest word alone": "alone", "likeliest word in context": "in_context"}
    title = f"Words guessed in context, {mechanism}"
    if not tell("sentence", make, rates, found, curves=curves, title=title, figure=figure, as_json=as_json):
        return
    print_table(
        f"Words of the text found again ({'bigrams' if order == 2 else 'trigrams'}, {found[0].suspects:,} suspects)",
        ("ε", "output itself", "alone", "in context", "likeliest sentence", "whole sentences", "posterior held"),
        rows_of(rates, found, ("kept", "alone", "in_context", "as_a_whole", "whole_stretches", "held"), as_share),
    )
    _say_how(found[0].exact)


def _words(path: Path, column: str | None, space: Space, select: str) -> Words:
    from wordveil.attacks import words_of

    if select not in ("content", "all"):
        raise WordveilError("--select must be content or all.")
    return words_of(read_sentences(path, column), space.vocabulary, select)


def _prior(
    space: Space, reference: Path | None, column: str | None, select: str, name: str | None, suspects: int
) -> Prior:
    from wordveil.attacks import Prior

    if reference is None:
        return Prior.named(name or "frequency", space, suspects, select=select)
    return _prior_of(_words(reference, column, space, select), space, suspects)


def _prior_of(reference: Words, space: Space, suspects: int) -> Prior:
    from wordveil.attacks import Prior

    return Prior.of(reference, space, suspects)


def _say_how(exact: bool) -> None:
    stdout().print(
        "The adversary knew the mechanism's probabilities exactly, since it states them."
        if exact
        else "The adversary learnt the mechanism by running it and was tested on fresh draws: others may do better.",
        soft_wrap=True,
    )
