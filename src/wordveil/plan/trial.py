"""Measures what attackers find and readers keep of a sample at an ε. No text leaves the machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.attacks import (
    NgramModel,
    Prior,
    SentenceAttack,
    Words,
    attack_context,
    attack_repeats,
    attack_sentences,
    words_of,
)
from wordveil.calibration import Maker
from wordveil.calibration.search import smallest_accepted
from wordveil.errors import InputError
from wordveil.extras import needs
from wordveil.noise import Entropy
from wordveil.plan.survey import Survey
from wordveil.progress import Watch, ignore, within
from wordveil.reading import Reader
from wordveil.spaces import PointSpace, Space
from wordveil.stats import CONFIDENCE, Estimate, plain, resampled_shares, upper_bound
from wordveil.text import Veil

__all__ = ["ALONE", "CONTEXT", "LEAST", "RECORDS", "Attack", "Bench", "Trial"]

Counts = NDArray[np.int64]

#: The attackers, as described to people.
ALONE = "one word at a time, knowing how frequent words are in such texts"
RECORDS = "trigrams, knowing other records of this kind in clear"
CONTEXT = "a network fitted on the release alone"

_TARGETS = 2000  # veiled words to guess, in whole records
_AGAIN = 200  # recurring words to guess
_TIMES = (1, 10)
_SUSPECTS = 10_000
_READ, _LONGEST = 9000, 200  # words of the records read to measure utility, and the most characters of each
_NETWORK, _NETWORK_WORDS = 600, 50_000  # the most texts that the network is fitted on, and about how many words
_FAINT = 1e-3  # the ε of a release that reveals practically nothing
_FOLDS = 3
_LEAST_GAIN = 0.05  # the least gain in predicted labels from no words to clean text; with less, the score says nothing
#: The fewest records that attacks need.
LEAST = 40


@dataclass(frozen=True)
class Attack:
    """What one attacker finds.

    Attributes
    ----------
    attacker : str
        Who the attacker is, in words.
    right : Estimate
        The share of the veiled words that they guess.
    floor : float
        The share that they guess without the draws: from the words left alone, and from what they know.
    gain : Estimate
        Of the words that they cannot guess without the draws, the share that the draws reveal.
    """

    attacker: str
    right: Estimate
    floor: float
    gain: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return plain(vars(self))


def gain_over(right: Estimate, floor: float) -> Estimate:
    """Return the gain over a known floor."""
    rest = max(1e-9, 1.0 - floor)
    return _moved(right, lambda end: min(1.0, max(0.0, (end - floor) / rest)))


def gain_within(hits: Counts, floor: Counts, trials: Counts) -> Estimate:
    """Return the gain over a floor that was measured on the same records; both are resampled together."""
    gained, possible = hits - floor, trials - floor
    value = float(max(0, gained.sum()) / max(1, possible.sum()))
    low, high = resampled_shares(gained, possible)
    # If nothing was gained, a bootstrap sees no spread.
    most = upper_bound(round(value * len(hits)), len(hits), (1.0 - CONFIDENCE) / 2.0)
    return Estimate(value, low, high if high > value else float(most), int(trials.sum()))


@dataclass(frozen=True)
class Trial:
    """What attackers find and readers keep at one ε.

    Attributes
    ----------
    epsilon : float
        The ε.
    kept : Estimate
        The share of the veiled words that stay.
    attacks : tuple of Attack
        What each attacker finds.
    repeats : Estimate or None
        The share of the words recurring in a record, or for a person, that an attacker finds who knows their places and
        combines up to ten of their draws; None if there are none.
    utility : Estimate or None
        How close the vectors of the texts as read are to those of the clean texts, on a scale from 0, as if no word had
        been released, to 1, clean text; None if the space has no vectors.
    score : Estimate or None
        How well the label can be predicted from the texts as read, on the same scale; 0 if the veiled words only
        confuse, since an analyst may leave them out. None without a label.
    """

    epsilon: float
    kept: Estimate
    attacks: tuple[Attack, ...]
    repeats: Estimate | None
    utility: Estimate | None
    score: Estimate | None

    @property
    def strongest(self) -> Attack:
        """The attacker who guesses most."""
        return max(self.attacks, key=lambda attack: attack.right.value)

    @property
    def most(self) -> float:
        """The largest upper end of the attackers' intervals: the share of the words that some attacker may guess."""
        return max(attack.right.high for attack in self.attacks)

    @property
    def gain(self) -> Estimate:
        """The largest gain of an attacker."""
        return max((attack.gain for attack in self.attacks), key=lambda gain: gain.high)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        facts = plain(vars(self))
        facts["attacks"] = [attack.to_dict() for attack in self.attacks]
        return {**facts, "strongest": self.strongest.to_dict(), "gain": self.gain.to_dict()}


class Bench:
    """Tries a mechanism at any ε on the sample of a survey.

    Half of the sampled records are what an attacker may know in clear, such as a leak or the macros of a help desk; the
    other half is veiled and attacked. `is_fast` leaves out the network, which needs PyTorch and minutes. See
    `plan_release` for the other parameters.
    """

    def __init__(
        self,
        found: Survey,
        make: Maker,
        space: Space,
        *,
        select: str = "content",
        is_fast: bool = False,
        once: str | None = "record",
        seed: int = 0,
    ) -> None:
        if not is_fast:
            needs("torch", "gpu", "the network that attacks texts in context (leave it out with `fast`)")
        self._make, self._space, self._select, self._seed = make, space, select, seed
        self.is_fast, self._once = is_fast, once
        records = [record for record in found.sample if record.texts]
        half = len(records) // 2
        if len(records) < LEAST:
            raise InputError(
                f"the sample has only {len(records)} records with text, too few to try attacks; {LEAST} are needed."
            )
        self.known, self.attacked = half, len(records) - half
        self._known = self._words([text for record in records[:half] for text in record.texts])
        self._records = records[half:]
        self._texts = ["\n".join(record.texts) for record in self._records]  # a record is veiled as one text
        self._by_person = found.by_person
        self._hidden = self._words(self._texts)
        self._trials: dict[float, Trial] = {}
        self._deepened: set[float] = set()

    def _words(self, texts: Sequence[str]) -> Words:
        return words_of(texts, self._space.vocabulary, self._select)

    def trial(self, epsilon: float, watch: Watch = ignore) -> Trial:
        """Return the trial at an ε, running it at most once."""
        found = self._trials.get(epsilon)
        if found is None:
            found = self._trials[epsilon] = self._try(epsilon, watch)
        return found

    @property
    def trials(self) -> list[Trial]:
        """All trials, by ε."""
        return [self._trials[epsilon] for epsilon in sorted(self._trials)]

    def deepened(self, epsilon: float, watch: Watch = ignore) -> Trial:
        """Return the trial at an ε with the network, which is fitted for this ε."""
        found = self.trial(epsilon)
        if self.is_fast or epsilon in self._deepened:
            return found
        what = f"attacking in depth at ε = {epsilon:g}"
        network = self._network(self._make(epsilon), lambda _, share: watch(what, share))
        self._trials[epsilon] = replace(found, attacks=(*found.attacks, network))
        self._deepened.add(epsilon)
        return self._trials[epsilon]

    def _try(self, epsilon: float, watch: Watch) -> Trial:
        made = self._make(epsilon)
        what = f"attacking at ε = {epsilon:g}"

        def part(start: float, end: float) -> Watch:
            return within(lambda _, share: watch(what, share), start, end)

        sentences = self._sentences(made, part(0.0, 0.4))
        repeats = self._repeats(made, part(0.4, 0.5))
        utility, score = self._reading(made, part(0.5, 1.0))
        floor, found = self._floor.records, sentences.records
        attacks = [
            Attack(name, right, before.value, gain_within(found[:, place], floor[:, place], found[:, 0]))
            for name, right, before, place in (
                (ALONE, sentences.alone, self._floor.alone, 1),
                (RECORDS, sentences.in_context, self._floor.in_context, 2),
            )
        ]
        watch(what, 1.0)
        return Trial(epsilon, sentences.kept, tuple(attacks), repeats, utility, score)

    def _entropy(self) -> Entropy:
        return Entropy(self._seed)

    @cached_property
    def _prior(self) -> Prior:
        return Prior.of(self._known, self._space, _SUSPECTS)

    @cached_property
    def _model(self) -> NgramModel:
        return NgramModel(self._known, len(self._space))

    def _sentences(self, made: Mechanism[Any], watch: Watch) -> SentenceAttack:
        return attack_sentences(
            made, self._hidden, self._model, self._prior, tokens=_TARGETS, once=self._once is not None,
            entropy=self._entropy(), watch=watch,
        )  # fmt: skip

    @cached_property
    def faintest(self) -> float:
        """The ε of a release that reveals practically nothing."""
        return max(_FAINT, smallest_accepted(self._make, 1.0 if _accepts(self._make, 1.0) else 100.0))

    @cached_property
    def _floor(self) -> SentenceAttack:
        """The attack without the draws: at an ε that reveals practically nothing."""
        return self._sentences(self._make(self.faintest), ignore)

    @property
    def floor(self) -> float:
        """The share of the veiled words that attackers guess without the draws."""
        return max(self._floor.alone.value, self._floor.in_context.value)

    def _repeats(self, made: Mechanism[Any], watch: Watch) -> Estimate | None:
        people = self._by_person
        groups = people or [[text] for text in self._texts]
        words = self._words([text for group in groups for text in group])
        if people and self._once == "record":  # a person's word is drawn once in every record that has it
            words = words.distinct()
        words = words.grouped(np.repeat(np.arange(len(groups)), [len(group) for group in groups]))
        if not len(words.targets):
            return None
        found = attack_repeats(
            made, words, self._prior, times=_TIMES, tokens=_AGAIN, entropy=self._entropy(), watch=watch
        )
        if not found.names:
            return None
        has_one_draw = self._once is not None and not (people and self._once == "record")
        return found.names[0].found if has_one_draw else found.linked

    # ------------------------------------------------------------------------------------------------ in context

    @cached_property
    def _to_attack(self) -> int:
        """The number of records that the network is fitted on and attacks."""
        return max(LEAST // 2, min(_NETWORK, _how_many(self._texts, _NETWORK_WORDS)))

    def _network(self, made: Mechanism[Any], watch: Watch) -> Attack:
        found = attack_context(
            made, self._texts[: self._to_attack], select=self._select, tokens=_TARGETS, once=self._once is not None,
            entropy=self._entropy(), watch=watch,
        )  # fmt: skip
        # What it would guess without the draws is unknown, but at least what is guessed without context.
        floor = self._floor.alone.value
        return Attack(CONTEXT, found.in_context, floor, gain_over(found.in_context, floor))

    # ------------------------------------------------------------------------------------------------ what is kept

    @cached_property
    def _to_read(self) -> int:
        """The number of records that are read."""
        return max(LEAST // 2, _how_many(self._documents, _READ))

    @cached_property
    def _documents(self) -> list[str]:
        """The start of each record; many short texts say more than a few long ones."""
        return [text[:_LONGEST] for text in self._texts]

    def _reading(self, made: Mechanism[Any], watch: Watch) -> tuple[Estimate | None, Estimate | None]:
        if not isinstance(self._space, PointSpace):
            return None, None
        read, nothing, clean = self._read(made, watch), self._nothing, self._clean
        utility = _share_of_way(_likeness(read, clean), _likeness(nothing, clean))
        labels = [record.label for record in self._records[: self._to_read]]
        if None in labels or not 2 <= len(set(labels)) <= len(labels) / 2:  # a name, or a number, of each record
            return utility, None
        scores = [_scores(vectors, [str(label) for label in labels]) for vectors in (read, nothing, clean)]
        return utility, _share_of_scores(*scores)

    def _read(self, made: Mechanism[Any], watch: Watch = ignore) -> NDArray[np.float64]:
        """Return the vectors of the records after they were veiled and read."""
        once = None if self._once is None else "record"
        veil = Veil(made, select=self._select, once=once, seed=self._seed, unproven=True)
        veiled = [release.text for release in veil.many(self._documents[: self._to_read])]
        reader = Reader(made, kind="population", select=self._select, once=once is not None)
        return reader.fit_transform(veiled, watch=watch).astype(np.float64)

    @cached_property
    def _nothing(self) -> NDArray[np.float64]:
        return self._read(self._make(self.faintest))

    @cached_property
    def _clean(self) -> NDArray[np.float64]:
        """Return the mean vector of the words of each record."""
        space = self._space
        assert isinstance(space, PointSpace)  # noqa: S101 - checked by the caller
        words = self._words(self._documents[: self._to_read])
        known = words.ids >= 0
        ones = np.ones(int(known.sum()))
        counted = scipy.sparse.csr_array(
            (ones, (words.text[known], words.ids[known])), shape=(self._to_read, len(space))
        )
        used = np.flatnonzero(np.bincount(words.ids[known], minlength=len(space)))
        sums = counted[:, used] @ space.points(used).astype(np.float64)
        return np.asarray(sums / np.maximum(1.0, counted.sum(axis=1))[:, None])


def _how_many(texts: Sequence[str], words: int) -> int:
    """Return how many texts, from the first on, have about this many words in total."""
    return int(np.searchsorted(np.cumsum([len(text) / 6 for text in texts]), words))


def _accepts(make: Callable[[float], Any], epsilon: float) -> bool:
    try:
        make(epsilon)
    except ValueError:
        return False
    return True


def _likeness(read: NDArray[np.float64], clean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine between the vector of each text as read and its clean vector, both centred."""
    ours, theirs = read - read.mean(axis=0), clean - clean.mean(axis=0)
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return np.asarray((ours * theirs).sum(axis=1) / np.maximum(lengths, 1e-12))


def _share_of_way(found: NDArray[np.float64], nothing: NDArray[np.float64]) -> Estimate:
    """Return the mean similarity on a scale from 0, without the draws, to 1, clean text."""
    start = float(nothing.mean())
    return _moved(Estimate.mean(found), lambda end: (end - start) / max(1e-9, 1.0 - start))


def _moved(figure: Estimate, scale: Callable[[float], float]) -> Estimate:
    """Return an estimate on another scale."""
    return Estimate(scale(figure.value), scale(figure.low), scale(figure.high), figure.n)


def _scores(vectors: NDArray[np.float64], labels: Sequence[str]) -> NDArray[np.bool_]:
    """Return, for each text, whether a model fitted on other texts predicts its label."""
    needs("sklearn", "tasks", "a score by label")
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - an extra
    from sklearn.model_selection import KFold, cross_val_predict  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
    folds = KFold(_FOLDS, shuffle=True, random_state=0)
    predicted = cross_val_predict(model, vectors, np.array(labels, dtype=object).astype(str), cv=folds)
    return np.asarray(predicted == np.array(labels))


def _share_of_scores(read: NDArray[np.bool_], nothing: NDArray[np.bool_], clean: NDArray[np.bool_]) -> Estimate | None:
    """Return the score on a scale from 0, without the draws, to 1, clean text; None if clean text predicts nothing."""
    start, end = float(nothing.mean()), float(clean.mean())
    if end - start < max(_LEAST_GAIN, 2.0 * math.sqrt(2.0 * end * (1.0 - end) / len(clean))):
        return None
    return _moved(Estimate.share(int(read.sum()), len(read)), lambda value: max(0.0, (value - start) / (end - start)))
