"""``wordveil attack bayes``, ``sentence`` and ``vectors``: guess the words of the text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from wordveil.cli.attack import shared
from wordveil.cli.attack.shared import Attacked, Knowledge, Plotted, Source, as_number, describe_attacker, show
from wordveil.cli.checks import refuse_given
from wordveil.errors import InputError, OptionError, SpaceError

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism

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
    likeliest original, and the word with the least expected distance from it.

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
    suspects. With trigrams, each place keeps the likeliest words under bigrams, and the table shows how much of the
    bigram posterior they hold.

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
            known = lexicon.words_of(source.of_reference(reference).sentences(reference)[0], opened.vocabulary, select)
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


def vectors(
    attacked: Attacked = Attacked(mechanism="laplace"),
    released: Annotated[
        Path | None, Option(help="Attack this file of noisy vectors, from `wordveil vectors`, not fresh ones.")
    ] = None,
    words: Annotated[int, Option(min=1, help="How many of the most frequent words to try.")] = 2000,
    neighbours: Annotated[int, Option(min=1, help="How many near words to look at.")] = 10,
    told: Plotted = Plotted(),
) -> None:
    """Find the words behind released noisy vectors, by the nearest word.

    Also shows the NADP paper's estimate of p(x|M(x)), the overlap between the words near the original and those near
    the noisy vector, and its skewness over the words.

    Examples:

      wordveil attack vectors --mechanism gaussian --epsilon 4 --epsilon 10

      wordveil attack vectors --released noisy.npz --figure overlap.svg
    """
    import numpy as np

    from wordveil.attacks import VectorAttack, attack_released, attack_vectors

    if released is not None and attacked.epsilon:
        raise OptionError("give --released or --epsilon, not both: what was released already has its noise.")
    if released is not None:
        refuse_given("has no effect on --released vectors", "mechanism", "option", "seed")
    rates = [float("nan")] if released else attacked.rates
    told.check(released, attacked.space)
    found: list[VectorAttack] = []
    described: Mechanism[Any] | None = None
    with told.bar() as progress:
        opened, make = attacked.maker()
        how: dict[str, Any] = {"neighbours": neighbours, "watch": progress.watch}
        if released is not None:
            ids, points = _released(released, opened)
            found.append(attack_released(opened, ids[:words], points[:words], **how))
        else:
            for rate in rates:
                described = make(rate)
                ids = np.arange(min(words, len(described.space)))
                found.append(attack_vectors(described, ids, entropy=told.entropy, **how))
    if told.figure is not None:
        from wordveil.attacks.figures import draw_overlaps
        from wordveil.extras import save

        save(draw_overlaps(rates, found, "released vectors" if released else attacked.mechanism), told.figure)
    if told.as_json:
        results = [one.to_dict() for one in found] if released else shared.by_rate(rates, found)
        shared.print_json("vectors", described, results)
        return
    show(
        "Words recovered from their vectors, one at a time",
        ("ε",),
        [(None if released else rate, one) for rate, one in zip(rates, found, strict=True)],
        {"nearest word": "nearest", f"among the {neighbours} nearest": "among", "overlap": ("overlap", as_number),
         "skewness": ("skewness", as_number)},
    )  # fmt: skip


def _released(path: Path, space: Any) -> tuple[Any, Any]:
    import numpy as np

    from wordveil.spaces import PointSpace
    from wordveil.spaces.files import read_vectors

    if not isinstance(space, PointSpace):
        raise SpaceError("released vectors can be attacked in a space of points only; choose another --space.")
    words, points = read_vectors(path)
    if points.shape[1] != space.dimension:
        raise InputError(f"{path.name} has {points.shape[1]} dimensions, but the space has {space.dimension}.")
    ids = np.array([space.vocabulary.ids.get(word, -1) for word in words])
    known = np.flatnonzero(ids >= 0)
    if not known.size:
        raise InputError(f"no word of {path.name} is in the space.")
    return ids[known], np.asarray(points, dtype=np.float32)[known]
