"""``wordveil attack bayes`` and ``wordveil attack sentence``: which words stood in the text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wordveil.cli.attack import shared
from wordveil.cli.attack.shared import Attacked, Knowledge, Plotted, Source, as_number, describe_attacker, show
from wordveil.cli.given import refuse_given

Text = Annotated[Path, Argument(help="The text to attack: a file or folder.")]


def bayes(
    text: Text,
    attacked: Attacked = Attacked(),
    prior: shared.PriorName = None,
    knowledge: Knowledge = Knowledge(),
    source: Source = Source(),
    tokens: Annotated[int, Option(min=1, help="How many words of the text to attack.")] = 2000,
    told: Plotted = Plotted(),
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

    rates = attacked.rates
    told.check(text, knowledge.reference, attacked.space)
    knowledge.check(prior)
    with told.bar() as progress:
        opened, make = attacked.maker()
        words, believed = source.words(text, opened), knowledge.of(prior, source, opened)
        found = [
            attack_words(make(rate), words, believed, tokens=tokens, draws=knowledge.draws, entropy=told.entropy,
                         watch=progress.watch)
            for rate in rates
        ]  # fmt: skip
    curves = {"the output itself": "kept", "likeliest word": "best", "word of least expected distance": "central"}
    told.curves(found, curves, rates, f"Words guessed one at a time, {attacked.mechanism}")
    if told.as_json:
        shared.print_json("bayes", make(rates[0]), shared.by_rate(rates, found))
        return
    rows = list(zip(rates, found, strict=True))
    guesses = {"output itself": "kept", "likeliest word": "best", "least distance": "central"}
    show(
        f"Words recovered, one at a time ({found[0].prior} prior, {found[0].suspects:,} suspects)",
        ("ε",),
        rows,
        {**guesses, "seeing nothing": "blind", "not a suspect": "beyond"},
    )
    away = {heading: (f"{name}_distance", as_number) for heading, name in guesses.items()}
    show(f"Mean distance from the original ({found[0].unit} = 1)", ("ε",), rows, away)
    describe_attacker(
        found[0].exact,
        "They look at one word at a time; context and repetition help an attacker. `wordveil attack context` "
        "measures what context adds, `wordveil attack repeats` what repetition does.",
    )


@dataclass(frozen=True)
class _Language(Knowledge):
    reference: Annotated[
        Path | None,
        Option(
            help="A public text like the attacked one, to learn the language from. Without it: the English trigrams of "
            "pocketsphinx, if the extra trigram is installed.",
        ),
    ] = None


def sentence(
    text: Text,
    attacked: Attacked = Attacked(),
    order: Annotated[int, Option(min=2, max=3, help="2 for a bigram model, 3 for trigrams.")] = 3,
    candidates: Annotated[int, Option(min=1, help="How many words to consider for each place, with trigrams.")] = 16,
    knowledge: _Language = _Language(),
    source: Source = Source(),
    tokens: Annotated[int, Option(min=1, help="About how many veiled words to attack.")] = 1000,
    told: Plotted = Plotted(),
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
    from wordveil.reading.language import Lexicon, public_trigrams

    if order == 2:
        refuse_given("is for trigrams, with --order 3", "candidates")
    rates, select, reference = attacked.rates, source.select, knowledge.reference
    shared.check_select(select)
    if reference is None:
        needs("pocketsphinx", "trigram", "without --reference, the attack")
    told.check(text, reference, attacked.space)
    with told.bar() as progress:
        opened, make = attacked.maker()
        lexicon = Lexicon(opened.vocabulary)
        sentences, records = source.sentences(text)
        words = lexicon.words_of(sentences, opened.vocabulary, select).in_records(records)
        if reference is None:
            believed = Prior.named("frequency", opened, knowledge.suspects, select=select)
            model = public_trigrams(lexicon, np.exp(log_prior(opened, "frequency")))
        else:
            known = lexicon.words_of(source.sentences(reference)[0], opened.vocabulary, select)
            model, believed = NgramModel(known, len(lexicon)), Prior.of(known, opened, knowledge.suspects)
        found = [
            attack_sentences(make(rate), words, model, believed, order=order, candidates=candidates, tokens=tokens,
                             draws=knowledge.draws, entropy=told.entropy, watch=progress.watch)
            for rate in rates
        ]  # fmt: skip
    curves = {"the output itself": "kept", "likeliest word alone": "alone", "likeliest word in context": "in_context"}
    told.curves(found, curves, rates, f"Words guessed in context, {attacked.mechanism}")
    if told.as_json:
        shared.print_json("sentence", make(rates[0]), shared.by_rate(rates, found))
        return
    show(
        f"Words recovered in context ({'bigrams' if order == 2 else 'trigrams'}, {found[0].suspects:,} suspects)",
        ("ε",),
        zip(rates, found, strict=True),
        {"output itself": "kept", "alone": "alone", "in context": "in_context", "likeliest sentence": "as_a_whole",
         "whole sentences": "whole_stretches", "posterior held": "held"},
    )  # fmt: skip
    describe_attacker(
        found[0].exact,
        "They know which words follow which; a larger language model, and repetition, would help them further: "
        "`wordveil attack context --reader language`, `wordveil attack repeats`.",
    )
