"""Measures what repetition reveals about a word that is drawn several times.

Every draw of a word is fresh evidence about it. Suppose an attacker knows that several outputs stand for the same word,
such as a person's name in their record, or a place of a text that was released again. They multiply the evidence:
``Pr[w|y₁…yₙ] ∝ π(w)·Πᵢ Pr[M(w)=yᵢ]``. They ignore context.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms import Effort, Law, Mechanism
from wordveil.attacks.context import SURE
from wordveil.attacks.knowledge import Guesses, Prior
from wordveil.errors import OptionError
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.progress import Watch, ignore, run_watched, within
from wordveil.reading.places import Words
from wordveil.stats import Estimate, Facts

Floats = NDArray[np.float64]
Rows = NDArray[np.floating[Any]]
Ids = NDArray[np.int64]

#: The default numbers of draws.
TIMES = (1, 2, 3, 5, 10)

_MOST = 100  # draws of a word; at any useful ε, far fewer are enough to find it
_COLUMNS = 1 << 27  # entries of a table of outputs and suspects: 1 GiB
_CELLS = 1 << 21  # beliefs per thread and block


@dataclass(frozen=True)
class Repeat(Facts):
    """What an attacker finds after several draws of a word.

    Attributes
    ----------
    times : int
        The number of draws of each word.
    found : Estimate
        How often the likeliest word is right.
    sure : Estimate
        How often they give it a probability of at least 0.9.
    right_when_sure : Estimate
        How often it is right then; no value if they are never so sure.
    """

    times: int
    found: Estimate
    sure: Estimate
    right_when_sure: Estimate


@dataclass(frozen=True)
class RepeatAttack(Guesses):
    """How well words are guessed that are drawn several times; see also `Guesses`.

    Attributes
    ----------
    uncertainty : float
        How many bits there are to learn about a word: the entropy of the prior.
    revealed : Estimate
        How many of these bits one output reveals on average; a lower bound if the mechanism was learnt from draws.
    words : tuple of Repeat
        For each number of draws, how often words of the text (or of the prior, without a text) are found: what a text
        reveals if it is released that many times.
    names : tuple of Repeat
        The same for words that recur in a record, such as a person's name, each counted once per record; empty if there
        are none.
    linked : Estimate
        How often such a recurring word is found in a single release, if the attacker knows its places in the record.
        They use one draw per place, up to the largest number of draws.
    places : float
        The mean number of places of such a word in its record; NaN if there are none.
    """

    uncertainty: float
    revealed: Estimate
    words: tuple[Repeat, ...]
    names: tuple[Repeat, ...]
    linked: Estimate
    places: float


def attack_repeats(
    mechanism: Mechanism[Any],
    words: Words | None,
    prior: Prior,
    *,
    times: Sequence[int] = TIMES,
    tokens: int = 1000,
    draws: int = 200_000,
    law: Law | None = None,
    entropy: Entropy | None = None,
    watch: Watch = ignore,
) -> RepeatAttack:
    """Veil words several times and guess each of them from all its outputs together.

    `words` are those of records: single texts, or all texts of a person. With None, words are drawn from the prior.
    Besides `tokens` words, as many recurring words are attacked. See `wordveil.attacks` for the other parameters.

    Parameters
    ----------
    times : sequence of int
        The numbers of draws, from 1 to 100.
    law : Law, optional
        The law of the mechanism, if you already have it; `draws` is then ignored.

    Examples
    --------
    >>> import wordveil
    >>> space = wordveil.load_space("glove-50k").restrict(np.arange(500))
    >>> graph = wordveil.mechanism("graph", space, epsilon=4.0)
    >>> found = attack_repeats(graph, None, Prior.named("frequency", space), entropy=wordveil.Entropy(1))
    >>> [one.times for one in found.words], found.words[0].found.high < found.words[-1].found.low
    ([1, 2, 3, 5, 10], True)
    """
    steps = sorted({int(some) for some in times})
    if not steps or steps[0] < 1 or steps[-1] > _MOST:
        raise OptionError(f"times must be whole numbers from 1 to {_MOST}.")
    if tokens < 1:
        raise OptionError("tokens must be at least 1.")
    learning, veiling, choosing = (entropy or Entropy()).spawn(3)
    once = _Targets.of_prior(prior, tokens, choosing) if words is None else _Targets.of_text(words, tokens, choosing)
    again = _Targets.none() if words is None else _Targets.recurring(words, tokens, choosing)
    originals = np.concatenate([once.ids, again.ids])
    outputs = mechanism.draw(np.repeat(originals, steps[-1]), veiling).reshape(-1, steps[-1])
    if law is None:
        law = mechanism.law(Effort(column_draws=draws, seed=int(learning.generator.integers(1 << 62))), watch)
    known = np.zeros(len(mechanism.space))
    known[prior.ids] = np.exp(prior.logs)
    revealed = law.information(known, watch)
    prior = prior.including(np.unique(outputs))
    linked = np.minimum(again.places, steps[-1])
    asked = np.union1d(steps, linked)
    guesses, surest = _follow(law, prior, outputs, asked, watch)
    right, of_words, of_names = guesses == originals[:, None], slice(len(once.ids)), slice(len(once.ids), None)
    return RepeatAttack(
        prior=prior.name,
        exact=law.exact,
        suspects=len(prior.ids),
        beyond=Estimate.share_within(~np.isin(once.ids, prior.ids), once.record),
        blind=Estimate.share_within(once.ids == prior.likeliest, once.record),
        uncertainty=float(scipy.special.entr(known).sum() / np.log(2.0)),
        revealed=revealed,
        words=_repeats(right[of_words], surest[of_words], asked, steps, once.record),
        names=_repeats(right[of_names], surest[of_names], asked, steps, again.record),
        linked=Estimate.share_within(
            np.take_along_axis(right[of_names], np.searchsorted(asked, linked)[:, None], axis=1)[:, 0], again.record
        ),
        places=float(again.places.mean()) if len(again.ids) else math.nan,
    )


class _Targets(NamedTuple):
    """Words to draw several times: their ids, their records, and their numbers of places there."""

    ids: NDArray[np.int64]
    record: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def none(cls) -> _Targets:
        return cls(*(np.empty(0, dtype=np.int64) for _ in range(3)))

    @classmethod
    def of_prior(cls, prior: Prior, count: int, entropy: Entropy) -> _Targets:
        """Draw words from the prior, each a record of its own."""
        ids = entropy.generator.choice(prior.ids, count, p=np.exp(prior.logs))
        return cls(ids, np.arange(count), np.ones(count, dtype=np.int64))

    @classmethod
    def of_text(cls, words: Words, count: int, entropy: Entropy) -> _Targets:
        """Choose places of the records at random."""
        chosen = words.sample_targets(count, entropy)
        return cls(words.ids[chosen], words.text[chosen], np.ones(len(chosen), dtype=np.int64))

    @classmethod
    def recurring(cls, words: Words, count: int, entropy: Entropy) -> _Targets:
        """Choose among the words that have more than one place in a record."""
        pairs = np.stack([words.text[words.targets], words.ids[words.targets]])
        (record, ids), places = np.unique(pairs, axis=1, return_counts=True)
        chosen = np.sort(entropy.generator.permutation(np.flatnonzero(places > 1))[:count])
        return cls(ids[chosen], record[chosen], places[chosen])


def _follow(
    law: Law, prior: Prior, outputs: NDArray[np.int64], steps: NDArray[np.int64], watch: Watch
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best guess of each word after each number of draws, and its posterior probability.

    `outputs` has one row of draws per word, and `steps` are the numbers of draws in ascending order.
    """
    guesses, surest = np.empty((len(outputs), len(steps)), dtype=np.int64), np.empty((len(outputs), len(steps)))
    parts = list(blocks(len(outputs), max(1, _COLUMNS // (outputs.shape[1] * len(prior.ids)))))
    for number, part in enumerate(parts):
        part_watch = within(watch, number / len(parts), (number + 1) / len(parts))
        seen, row = np.unique(outputs[part], return_inverse=True)
        table = law.log_columns(seen, prior.ids, prior=np.exp(prior.logs), watch=within(part_watch, 0.0, 0.7))
        rows = row.reshape(-1, outputs.shape[1])

        def add_up(some: slice, start: int = part.start, table: Rows = table, rows: Ids = rows) -> None:
            belief, drawn = np.tile(prior.logs, (some.stop - some.start, 1)), 0
            here = slice(start + some.start, start + some.stop)
            for place, step in enumerate(steps.tolist()):
                for one in range(drawn, step):
                    belief += table[rows[some, one]]
                drawn = step
                best = belief.argmax(axis=1)
                top = np.take_along_axis(belief, best[:, None], axis=1)
                # No suspect could have given all these outputs, so the original is not among the suspects.
                lost = ~np.isfinite(top[:, 0])
                guesses[here, place] = prior.ids[np.where(lost, prior.logs.argmax(), best)]
                with np.errstate(invalid="ignore"):
                    sums = np.exp(belief - top).sum(axis=1)
                surest[here, place] = np.where(lost, 0.0, 1.0 / sums)

        mine = list(blocks(len(rows), max(1, _CELLS // len(prior.ids))))
        run_watched(add_up, mine, "adding up the evidence", within(part_watch, 0.7, 1.0))
    return guesses, surest


def _repeats(
    right: NDArray[np.bool_], surest: Floats, asked: NDArray[np.int64], times: list[int], record: NDArray[np.int64]
) -> tuple[Repeat, ...]:
    """Return the figures for each number of draws; empty if there were no words to find."""
    if not len(right):
        return ()
    found = []
    for number in times:
        place = int(np.searchsorted(asked, number))
        sure = surest[:, place] >= SURE
        hits = right[:, place]
        found.append(
            Repeat(
                number,
                Estimate.share_within(hits, record),
                Estimate.share_within(sure, record),
                Estimate.share_within(hits[sure], record[sure]),
            )
        )
    return tuple(found)
