"""Measures what a reader of the whole release finds, using each word's text, the other texts and the law.

The attacker has the veiled texts, the mechanism and public knowledge. They fit a `wordveil.Reader` on the release and
compute the posterior for every veiled place. This measures how often the likeliest word is the original, and whether
the probabilities are calibrated: of the guesses stated with 80 to 90%, about that share should be right.

An attacker with only the release misses two kinds of words, and both count as wrong here. A drawn function word looks
as if it had been left alone, so they do not look behind it. And a word outside the vocabulary is replaced by an
unrelated draw, which looks like any other, so they may be sure of a wrong word.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Effort, Law, Mechanism
from wordveil.attacks.pairs import Pair, Text, pair_texts, veil_texts
from wordveil.errors import InputError, OptionError
from wordveil.noise import Entropy
from wordveil.progress import Watch, ignore, within
from wordveil.reading import LEFT_ALONE, UNKNOWN, VEILED, Places, Reader
from wordveil.reading.priors import PriorLike
from wordveil.stats import Estimate, Facts
from wordveil.text import Document

#: The attacker counts as sure if their best guess has at least this probability.
SURE = 0.9

_BINS = 10  # bins of stated probabilities
_TOP = 25  # words whose probabilities are used; all others count as 0
_FEW = 5


@dataclass(frozen=True)
class Reliability(Facts):
    """How often a reader is right about guesses that it states with similar probabilities.

    Attributes
    ----------
    low, high : float
        The range of stated probabilities.
    stated : float
        The mean stated probability; NaN if there is no such guess.
    right : Estimate
        How often the guess is right.
    """

    low: float
    high: float
    stated: float
    right: Estimate


@dataclass(frozen=True)
class ContextAttack(Facts):
    """How well a reader of the whole release finds words.

    All but the last six figures are shares of the veiled words that are in the vocabulary. The words of a text are not
    independent trials, so intervals are computed over texts.

    Attributes
    ----------
    reader : str
        The kind of reader.
    exact : bool
        Whether the mechanism's exact probabilities were used.
    releases : int
        How often each text was released.
    texts : int
        The number of texts that the words come from.
    fitted : int
        The number of veiled texts that the reader was fitted on.
    left_out : int
        The number of texts left out because the words of original and veiled text do not align.
    frequent : int
        The number of most frequent words of the space that do not count as rare.
    kept : Estimate
        How often the output is the original.
    alone : Estimate
        How often the likeliest word is right without context, knowing the same word frequencies.
    in_context : Estimate
        How often the reader's likeliest word is right.
    top_five : Estimate
        How often the original is among the reader's five likeliest words.
    rare : Estimate
        How often the reader's likeliest word is right, among rare words.
    missed : Estimate
        How often the output is a function word, which the attacker takes for one left alone; these count as not found.
    outside : Estimate
        The share of the selected words that are outside the vocabulary. Nobody can find them; only the next three
        figures count them.
    sure : Estimate
        The share of the places to which the reader gives a probability of at least 0.9.
    right_when_sure : Estimate
        How often it is right about these.
    reliability : tuple of Reliability
        How often it is right, by the probability that it states.
    stayed : Estimate
        How well the reader distinguishes words that stayed from the others by the probability that it gives to the
        output itself: the area under the ROC curve.
    """

    reader: str
    exact: bool
    releases: int
    texts: int
    fitted: int
    left_out: int
    frequent: int
    kept: Estimate
    alone: Estimate
    in_context: Estimate
    top_five: Estimate
    rare: Estimate
    missed: Estimate
    outside: Estimate
    sure: Estimate
    right_when_sure: Estimate
    reliability: tuple[Reliability, ...]
    stayed: Estimate


def attack_context(
    mechanism: Mechanism[Any],
    texts: Sequence[Text],
    veiled: Sequence[Text] | None = None,
    *,
    kind: str = "context",
    select: str = "content",
    words: Collection[str] | None = None,
    prior: PriorLike = "space",
    tokens: int = 5000,
    frequent: int = 5000,
    releases: int = 1,
    fitted: bool = True,
    draws: int = 200_000,
    law: Law | None = None,
    once: bool = True,
    entropy: Entropy | None = None,
    watch: Watch = ignore,
    **options: Any,
) -> ContextAttack:
    """Read veiled texts as an attacker would, and compare the result with the originals.

    The reader is fitted on all veiled texts. `prior` and `words` (for ``select="words"``) are as in `Reader`; see
    `wordveil.attacks` for the other parameters.

    Parameters
    ----------
    texts : sequence of str or Document
        The originals. They only decide what is right; the attacker never sees them.
    veiled : sequence of str or Document, optional
        Their releases, in the same order. Default: the texts are veiled here.
    kind : {"context", "population", "table", "language"}
        The kind of `Reader`.
    select : {"content", "all", "spans", "words"}
        Which words are veiled.
    frequent : int
        The number of most frequent words of the space that do not count as rare.
    releases : int
        How often each text is released, if it is veiled here; the evidence adds up.
    fitted : bool
        Whether to fit the network of the kind ``context`` on the release. Without a fit it uses the pretrained weights,
        which is weaker but takes a fraction of the time.
    law : Law, optional
        The law of the mechanism, if you already have it; `draws` is then ignored.
    once : bool
        Whether equal words of a text are (or were) drawn once, the default of a `Veil`.
    **options
        Further options of the reader.

    Examples
    --------
    >>> import wordveil
    >>> space = wordveil.load_space("glove-50k").restrict(np.arange(500))
    >>> graph = wordveil.mechanism("graph", space, epsilon=4.0)
    >>> texts = ["Their government met the president.", "The company sold its oil.", "A team won the game."] * 20
    >>> found = attack_context(graph, texts, kind="population", entropy=wordveil.Entropy(1))
    >>> found.reader, found.texts, found.in_context.value >= found.kept.value
    ('population', 60, True)
    """
    if isinstance(texts, (str, Document)) or isinstance(veiled, (str, Document)):
        raise InputError("expected a list of texts; wrap a single text in a list.")
    if tokens < 1 or frequent < 0:
        raise OptionError("tokens must be at least 1, and frequent at least 0.")
    if veiled is not None and releases != 1:
        raise OptionError("releases only applies to texts that are veiled here; leave it out, or leave out veiled.")
    learning, veiling, choosing = (entropy or Entropy()).spawn(3)
    if law is None:
        law = mechanism.law(Effort(column_draws=draws, seed=int(learning.generator.integers(1 << 62))))
    how: dict[str, Any] = {"select": select, "words": words, "prior": prior, "law": law, "once": once}
    reader = Reader(mechanism, kind=kind, **how, **options)
    if not fitted:
        reader.tune(steps=0)
    originals = list(texts)
    pair = (
        veil_texts(mechanism, originals, select, veiling, words=words, releases=releases, once=once)
        if veiled is None
        else pair_texts(reader, originals, list(veiled))
    )
    if not len(pair):
        raise InputError("there is no text to attack.")
    reader.fit((text for release in pair.releases for text in release), watch=within(watch, 0.0, 0.6))
    chosen = pair.sample(tokens, choosing)
    places = reader.cut([pair.releases[0][text] for text in chosen], pair.others(chosen))
    read = reader.likeliest(places, _TOP, watch=within(watch, 0.6, 0.9))
    weaker = reader.without_context()
    alone = read[0] if weaker.kind == kind else weaker.likeliest(places, 1, watch=within(watch, 0.9, 1.0))[0]
    return _counted(pair, chosen, places, *read, alone[:, 0], frequent=frequent, reader=kind, exact=law.exact)


def _counted(
    pair: Pair,
    chosen: NDArray[np.int64],
    places: Places,
    words: NDArray[np.int64],
    chances: NDArray[np.float64],
    alone: NDArray[np.int64],
    **facts: Any,
) -> ContextAttack:
    """Compare the reading of the chosen texts with their originals."""
    where = np.isin(pair.originals.texts, chosen)
    clean, kinds = pair.originals.ids[where], pair.originals.kinds[where]
    text, read = places.texts, places.veiled
    is_word, is_read = kinds == VEILED, places.kinds == VEILED
    hits = {name: np.zeros(len(clean), dtype=np.bool_) for name in ("alone", "in_context", "top_five")}
    possible = is_word[read]
    hits["alone"][read] = (alone == clean[read]) & possible
    hits["in_context"][read] = (words[:, 0] == clean[read]) & possible
    hits["top_five"][read] = (words[:, :_FEW] == clean[read][:, None]).any(axis=1) & possible
    hits["kept"] = places.ids == clean

    def share(right: NDArray[np.bool_], of: NDArray[np.bool_]) -> Estimate:
        return Estimate.share_within(right[of], text[of])

    surest = np.zeros(len(clean))
    surest[read] = chances[:, 0]
    sure = is_read & (surest >= SURE)
    itself = np.zeros(len(clean))
    itself[read] = (chances * (words == places.ids[read][:, None])).sum(axis=1)
    judged = is_read & is_word
    frequent = int(facts["frequent"])
    return ContextAttack(
        **facts,
        releases=len(pair.releases),
        texts=len(places),
        fitted=len(pair) * len(pair.releases),
        left_out=pair.left_out,
        kept=share(hits["kept"], is_word),
        alone=share(hits["alone"], is_word),
        in_context=share(hits["in_context"], is_word),
        top_five=share(hits["top_five"], is_word),
        rare=share(hits["in_context"], is_word & (clean >= frequent)),
        missed=share(places.kinds == LEFT_ALONE, is_word),
        outside=share(kinds == UNKNOWN, kinds != LEFT_ALONE),
        sure=share(sure, is_read),
        right_when_sure=share(hits["in_context"], sure),
        reliability=_reliability(surest[is_read], hits["in_context"][is_read], text[is_read]),
        stayed=Estimate.area_within(itself[judged], hits["kept"][judged], text[judged]),
    )


def _reliability(
    stated: NDArray[np.float64], right: NDArray[np.bool_], text: NDArray[np.int64]
) -> tuple[Reliability, ...]:
    """Group places into bins of stated probability."""
    which = np.minimum((stated * _BINS).astype(np.int64), _BINS - 1)
    found = []
    for number in range(_BINS):
        here = which == number
        mean = float(stated[here].mean()) if here.any() else float("nan")
        found.append(
            Reliability(number / _BINS, (number + 1) / _BINS, mean, Estimate.share_within(right[here], text[here]))
        )
    return tuple(found)
