"""``wordveil attack bayes`` and ``wordveil attack sentence``: which words stood in the text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordveil.cli.attack.shared import (
    Column,
    Draws,
    Epsilons,
    Figure,
    Format,
    PriorName,
    Reference,
    Seed,
    Select,
    Suspects,
    as_number,
    as_share,
    check_figure,
    check_prior,
    check_select,
    describe_attacker,
    epsilons_of,
    maker_of,
    print_table,
    prior_of,
    read_sentences,
    rows_of,
    sentences_at,
    tell,
    words_at,
)
from wordveil.cli.calibrate import Quiet
from wordveil.cli.files import Overwrite
from wordveil.cli.options import Json, MechanismName, Normalise, Options, SpaceName
from wordveil.cli.progress import ProgressBar

__all__ = ["bayes", "sentence"]

Text = Annotated[Path, typer.Argument(help="The text to attack: a file or folder.")]


def bayes(
    text: Text,
    epsilon: Epsilons = None,
    mechanism: MechanismName = "graph",
    space: SpaceName = "glove-50k",
    normalise: Normalise = False,
    option: Options = None,
    reference: Reference = None,
    prior: PriorName = None,
    column: Column = None,
    format_name: Format = None,
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
    """Guess every word from its replacement, one at a time (optimal Bayesian inference).

    The attacker knows the mechanism and how frequent words are, and ignores context. They make two guesses: the
    likeliest original, and the word of least expected distance from it.

    Examples:

      wordveil attack bayes letters.txt --epsilon 4

      wordveil attack bayes letters.txt -e 2 -e 4 -e 6 --reference public.txt --figure success.svg

      wordveil attack bayes reviews.csv --column text -m laplace -e 10 --prior uniform --json
    """
    from wordveil.attacks import attack_words
    from wordveil.noise import Entropy

    rates = epsilons_of(epsilon)
    check_figure(figure, text, reference, space, overwrite=overwrite)
    check_prior(prior, reference)
    with ProgressBar("attacking", quiet=quiet) as progress:
        opened, make = maker_of(mechanism, space, normalise, option)
        words = words_at(text, column, opened, select, format_name)
        believed = prior_of(prior, reference, column, opened, suspects, select, format_name)
        found = [
            attack_words(make(rate), words, believed, tokens=tokens, draws=draws, entropy=Entropy(seed),
                         watch=progress.watch)
            for rate in rates
        ]  # fmt: skip
    curves = {"the output itself": "kept", "likeliest word": "best", "word of least expected distance": "central"}
    title = f"Words guessed one at a time, {mechanism}"
    if not tell("bayes", make, rates, found, curves=curves, title=title, figure=figure, as_json=as_json):
        return
    print_table(
        f"Words recovered, one at a time ({found[0].prior} prior, {found[0].suspects:,} suspects)",
        ("ε", "output itself", "likeliest word", "least distance", "seeing nothing", "not a suspect"),
        rows_of(rates, found, ("kept", "best", "central", "blind", "beyond"), as_share),
    )
    print_table(
        f"Mean distance from the original ({found[0].unit} = 1)",
        ("ε", "output itself", "likeliest word", "least distance"),
        rows_of(rates, found, ("kept_distance", "best_distance", "central_distance"), as_number),
    )
    describe_attacker(
        found[0].exact,
        "They look at one word at a time; context and repetition help an attacker. `wordveil attack context` "
        "measures what context adds, `wordveil attack repeats` what repetition does.",
    )


def sentence(
    text: Text,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            help="A public text like the attacked one, to learn the language from. Without it: the English trigrams of "
            "pocketsphinx, if the extra trigram is installed.",
        ),
    ] = None,
    epsilon: Epsilons = None,
    mechanism: MechanismName = "graph",
    space: SpaceName = "glove-50k",
    normalise: Normalise = False,
    option: Options = None,
    order: Annotated[int, typer.Option("--order", min=2, max=3, help="2 for a bigram model, 3 for trigrams.")] = 3,
    candidates: Annotated[
        int, typer.Option("--candidates", min=1, help="How many words to consider for each place, with trigrams.")
    ] = 16,
    column: Column = None,
    format_name: Format = None,
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

    The model is learnt from a reference text, or is one that anybody can download. Bigrams are decoded exactly over all
    suspects. With trigrams, each place keeps the words that are likeliest under bigrams, and the table shows what share
    of the bigram posterior they hold.

    Examples:

      wordveil attack sentence letters.txt --epsilon 4

      wordveil attack sentence letters.txt --reference public.txt --epsilon 4

      wordveil attack sentence reviews.csv --reference old.csv --column text -e 2 -e 4 -e 6 --figure context.svg
    """
    import numpy as np

    from wordveil._mechanisms.priors import log_prior
    from wordveil.attacks import NgramModel, Prior, attack_sentences
    from wordveil.extras import needs
    from wordveil.noise import Entropy
    from wordveil.reading.language import Lexicon, public_trigrams

    rates = epsilons_of(epsilon)
    check_select(select)
    if reference is None:
        needs("pocketsphinx", "trigram", "without --reference, the attack")
    check_figure(figure, text, reference, space, overwrite=overwrite)
    with ProgressBar("attacking", quiet=quiet) as progress:
        opened, make = maker_of(mechanism, space, normalise, option)
        lexicon = Lexicon(opened.vocabulary)
        sentences, records = sentences_at(text, column, format_name)
        words = lexicon.words_of(sentences, opened.vocabulary, select).in_records(records)
        if reference is None:
            believed = Prior.named("frequency", opened, suspects, select=select)
            model = public_trigrams(lexicon, np.exp(log_prior(opened, "frequency")))
        else:
            known = lexicon.words_of(read_sentences(reference, column, format_name), opened.vocabulary, select)
            model, believed = NgramModel(known, len(lexicon)), Prior.of(known, opened, suspects)
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
        f"Words recovered in context ({'bigrams' if order == 2 else 'trigrams'}, {found[0].suspects:,} suspects)",
        ("ε", "output itself", "alone", "in context", "likeliest sentence", "whole sentences", "posterior held"),
        rows_of(rates, found, ("kept", "alone", "in_context", "as_a_whole", "whole_stretches", "held"), as_share),
    )
    describe_attacker(
        found[0].exact,
        "They know which words follow which; a larger language model, and repetition, would help them further: "
        "`wordveil attack context --reader language`, `wordveil attack repeats`.",
    )
