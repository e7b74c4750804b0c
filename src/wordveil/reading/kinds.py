"""The kinds of readers, which turn outputs into posteriors of the words behind them.

A `Reader` asks its kind for three things: to learn from a release, for the mean vector of the word behind each veiled
place, and for the likeliest words there. The kinds in this module look at one place at a time, with
``p(w|y) ∝ π(w)·Pr[M(w)=y]``; they differ in where the prior π comes from.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.laws import Law
from wordveil.errors import FileError, InputError, OptionError, SpaceError
from wordveil.files import cached_arrays, digest_of
from wordveil.files import found as found_in_cache
from wordveil.parallel import blocks
from wordveil.progress import Watch, ignore, within
from wordveil.reading.places import Places
from wordveil.spaces import PointSpace, Space
from wordveil.spaces.space import HopSpace

Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]
Ids = NDArray[np.int64]

_FEW_GUESSED = 4  # if at most one word in this many came out, guessing only for these is faster than for all
_ROUNDS = 15  # the most rounds of estimating word frequencies from a release
_PUBLIC_SHARE = 0.5  # the weight of the public prior in that of a population; the rest is the estimate
_CELLS = 1 << 25  # probabilities held at once: 256 MiB
_FEW = 16  # if at most one output in this many occurs, single vectors are faster than the whole table
_LOOKED_AT = 500  # outputs examined to see whether texts were veiled
_AT_ONCE = 100  # outputs examined at a time
_CLEAR = 4.0  # standard errors that make the answer clear
_VERSION = 2  # of cached tables; raise it whenever the same key would give different vectors


@dataclass(frozen=True)
class Basis:
    """What every kind of reader is made from."""

    law: Law
    prior: Floats  # the public probability of every word at a veiled place, summing to 1
    vectors: Vectors  # the vector of every word
    points: Vectors  # the vectors of the space, by which a network knows words; `vectors` if the space has none
    is_public: bool  # whether the prior depends on no text, so that tables made from it may be cached
    once: bool = True  # whether equal words of a text were drawn once, so that its equal outputs are one draw

    def looks_drawn(self, outputs: Ids) -> bool | None:
        """Guess whether outputs were drawn by the law: True, False, or None if it is unclear.

        The outputs of a release follow ``Σπ(w)·Pr[M(w)=y]``; the words of a text that was never veiled follow
        ``π(y)``. This compares the likelihood of a sample of outputs under the two.
        """
        shown = outputs[self.prior[outputs] > 0]
        shown = shown[:: max(1, len(shown) // _LOOKED_AT)]
        if len(shown) < _LOOKED_AT // 10:
            return None
        words = np.flatnonzero(self.prior)
        chances = self.prior[words]
        parts = max(1, round(len(shown) / _AT_ONCE))
        ratio = np.empty(0)
        for part in range(parts):  # each part spans all texts; usually the first is clear
            some = shown[part::parts]
            logs = self.law.log_columns(some, words, prior=chances) + np.log(chances)
            ratio = np.concatenate([ratio, np.log(self.prior[some]) - np.logaddexp.reduce(logs, axis=1)])
            mean, error = float(ratio.mean()), float(ratio.std() / math.sqrt(len(ratio)))
            if abs(mean) >= _CLEAR * error:
                return mean < 0
        return None


class Kind(ABC):
    """Reads veiled places."""

    name: ClassVar[str]
    #: Whether it needs the texts themselves, and not only ids.
    needs_text: ClassVar[bool] = False

    def __init__(self, basis: Basis) -> None:
        self.basis = basis

    @abstractmethod
    def fit(self, places: Places, watch: Watch = ignore) -> None:
        """Learn from the texts of a release."""

    @abstractmethod
    def means(self, places: Places, watch: Watch = ignore) -> Vectors:
        """Return the mean vector of the word behind each veiled place, of shape (veiled places, d)."""

    @abstractmethod
    def posterior(self, places: Places, top: int, watch: Watch = ignore) -> tuple[Ids, Floats]:
        """Return the likeliest words behind each veiled place, likeliest first, and their probabilities."""

    def best(self, places: Places, watch: Watch = ignore) -> Ids:
        """Return the likeliest word behind each veiled place."""
        return self.posterior(places, 1, watch)[0][:, 0]

    def read(self, places: Places, watch: Watch = ignore) -> tuple[Vectors, Ids]:
        """Return the results of `means` and `best`."""
        return self.means(places, within(watch, 0.0, 0.5)), self.best(places, within(watch, 0.5, 1.0))

    def without_context(self) -> Kind:
        """Return the kind that looks up each output by itself, with the same word frequencies."""
        return self

    def tune(self, steps: int | None, candidates: int | None, device: str | None, *, fresh: bool) -> None:  # noqa: ARG002
        """Change how the network learns; see `Reader.tune`."""
        raise OptionError("only a context reader has a network to tune.")

    def train(self, places: Places, watch: Watch = ignore) -> None:  # noqa: ARG002
        """Learn from clean public texts; see `Reader.pretrain`."""
        raise OptionError("only a context reader can be pretrained.")

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """Return what was learnt, as arrays to save."""

    @classmethod
    @abstractmethod
    def from_state(cls, basis: Basis, state: Mapping[str, NDArray[Any]]) -> Kind:
        """Restore a kind from its `state`; raise a FileError if the state does not fit."""


class Table(Kind):
    """Looks up each output by itself, under public word frequencies."""

    name = "table"

    @property
    def prior(self) -> Floats:
        """The probability of every word at a veiled place, summing to 1."""
        return self.basis.prior

    def fit(self, places: Places, watch: Watch = ignore) -> None:
        """Do nothing: the table depends on no text."""

    def means(self, places: Places, watch: Watch = ignore) -> Vectors:
        """Return the mean vector of the word behind each veiled place."""
        outputs = places.outputs
        if outputs.shape[1] == 1:
            return self._means.of(outputs[:, 0], watch)
        distinct, which = np.unique(outputs, axis=0, return_inverse=True)
        return self.given_means(distinct, self.basis.vectors, watch)[which.ravel()]

    def given_means(self, outputs: Ids, table: Vectors, watch: Watch = ignore) -> Vectors:
        """Return the mean vector, from any table, behind places that were drawn several times; one row per place."""
        found = np.empty((len(outputs), table.shape[1]), dtype=np.float32)
        vectors = table[self._possible]
        for part in self._parts(len(outputs)):
            found[part] = self._given(outputs[part]).astype(np.float32, copy=False) @ vectors
            watch("reading", part.stop / len(outputs))
        return found

    def posterior(self, places: Places, top: int, watch: Watch = ignore) -> tuple[Ids, Floats]:
        """Return the likeliest words behind each veiled place and their probabilities."""
        distinct, which = np.unique(places.outputs, axis=0, return_inverse=True)
        shown = min(top, len(self._possible))
        words, chances = np.zeros((len(distinct), top), dtype=np.int64), np.zeros((len(distinct), top))
        words[:, shown:] = np.flatnonzero(self.prior == 0)[: top - shown]  # padding with impossible words
        for part in self._parts(len(distinct)):
            given = self._given(distinct[part], watch)
            likeliest = np.argpartition(-given, shown - 1, axis=1)[:, :shown]
            values = np.take_along_axis(given, likeliest, axis=1)
            order = np.lexsort((likeliest, -values), axis=1)
            words[part, :shown] = self._possible[np.take_along_axis(likeliest, order, axis=1)]
            chances[part, :shown] = np.take_along_axis(values, order, axis=1)
            watch("reading", part.stop / len(distinct))
        return words[which.ravel()], chances[which.ravel()]

    def best(self, places: Places, watch: Watch = ignore) -> Ids:
        """Return the likeliest word behind each veiled place."""
        outputs = places.outputs
        if not self.basis.law.exact or outputs.shape[1] > 1:
            return super().best(places, watch)
        distinct, which = np.unique(outputs[:, 0], return_inverse=True)
        if self._guesses is not None or len(distinct) * _FEW_GUESSED > len(self.prior):
            return self._guessed(watch)[outputs[:, 0]]
        return self._guess_of(distinct, watch)[which]

    def _guess_of(self, outputs: Ids, watch: Watch) -> Ids:
        """Return the likeliest word behind each of a few outputs."""
        logs, found = np.log(self.prior[self._possible]), np.empty(len(outputs), dtype=np.int64)
        for part in self._parts(len(outputs)):
            columns = self.basis.law.log_columns(outputs[part], self._possible, prior=self.prior[self._possible])
            columns[np.isneginf(columns).all(axis=1)] = 0.0  # an output that no word gives says nothing
            found[part] = self._possible[(columns + logs).argmax(axis=1)]
            watch("guessing", part.stop / len(outputs))
        return found

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the vectors that were computed and may not be cached."""
        return {} if self.basis.is_public else self._means.state()

    @classmethod
    def from_state(cls, basis: Basis, state: Mapping[str, NDArray[Any]]) -> Table:
        """Restore a kind from its `state`."""
        kind = cls(basis)
        kind._means.restore(state)
        return kind

    def _guessed(self, watch: Watch) -> Ids:
        if self._guesses is None:
            self._guesses = self.basis.law.best_guess(self.prior, watch).words
        return self._guesses

    _guesses: Ids | None = None

    @cached_property
    def _means(self) -> Means:
        cached = self.basis.is_public and self.basis.law.mechanism.blocks_bundled
        return Means(self.basis, self.prior, cached=cached)

    @cached_property
    def _possible(self) -> Ids:
        return np.flatnonzero(self.prior)

    def _parts(self, count: int) -> list[slice]:
        return list(blocks(count, max(1, _CELLS // len(self._possible))))

    def _given(self, outputs: Ids, watch: Watch = ignore) -> NDArray[np.floating[Any]]:
        """Return the posterior of the possible words behind places with these outputs, one row per place.

        Draws of one word are independent given the word, so their log probabilities add up. If no word could have given
        all draws of a place, such as when a word outside the vocabulary was replaced twice, the result is the prior.
        """
        prior = self.prior[self._possible]
        distinct, which = np.unique(outputs, return_inverse=True)
        logs = self.basis.law.log_columns(distinct, self._possible, prior=prior, watch=watch)
        if not np.array_equal(outputs, distinct[:, None]):
            columns, which = logs, which.reshape(outputs.shape)
            logs = columns[which[:, 0]]
            for draw in range(1, outputs.shape[1]):
                logs += columns[which[:, draw]]
        logs += np.log(prior).astype(logs.dtype)
        logs[np.isneginf(logs.max(axis=1))] = np.log(prior)
        logs -= logs.max(axis=1, keepdims=True)
        np.exp(logs, out=logs)
        logs /= logs.sum(axis=1, keepdims=True)
        return logs


class Population(Table):
    """Looks up each output by itself, under word frequencies estimated from the release."""

    name = "population"

    _learnt: Floats | None = None

    @property
    def prior(self) -> Floats:
        """The probability of every word at a veiled place of this release, summing to 1."""
        if self._learnt is None:
            raise OptionError("a population reader must be fitted on veiled texts before it can read.")
        return self._learnt

    def fit(self, places: Places, watch: Watch = ignore) -> None:
        """Estimate word frequencies from all outputs by expectation maximisation, starting from the public prior.

        The outputs are split at random into halves, each half stops the estimation on the other one, and a word counts
        as frequent only as far as both say so. Otherwise the estimate would fit the noise of these draws, and readings
        would look surer than they are: an output that came once would explain itself.
        """
        drawn = places.outputs
        if self.basis.once:  # a draw counts once, however many places show it
            drawn = drawn[np.unique(places.draws, return_index=True)[1]]
        drawn = drawn.ravel()
        if not drawn.size:
            raise InputError("cannot fit the reader: no text has a veiled word.")
        counts = np.bincount(drawn, minlength=len(self.basis.prior))
        halves = np.random.default_rng(0).binomial(counts, 0.5)
        learnt = [
            self.basis.law.explain_counts(half, self.basis.prior, aside=rest, rounds=_ROUNDS, watch=part)
            for half, rest, part in (
                (halves, counts - halves, within(watch, 0.0, 0.5)),
                (counts - halves, halves, within(watch, 0.5, 1.0)),
            )
            if half.any() and rest.any()
        ]
        estimated = _agreed(*learnt) if learnt else self.basis.prior
        self._learn(_PUBLIC_SHARE * self.basis.prior + (1.0 - _PUBLIC_SHARE) * estimated)

    def _learn(self, prior: Floats) -> None:
        self._learnt, self._guesses = prior, None
        for made in ("_means", "_possible"):
            vars(self).pop(made, None)

    @cached_property
    def _means(self) -> Means:
        return Means(self.basis, self.prior, cached=False)  # nothing derived from a text is ever cached

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the frequencies, and the vectors computed under them."""
        return {} if self._learnt is None else {"learnt": self._learnt, **self._means.state()}

    @classmethod
    def from_state(cls, basis: Basis, state: Mapping[str, NDArray[Any]]) -> Population:
        """Restore a kind from its `state`."""
        kind = cls(basis)
        if "learnt" in state:
            learnt = state["learnt"]
            sound = learnt.shape == basis.prior.shape and learnt.dtype == np.float64
            if not sound or not (learnt >= 0).all() or not abs(float(learnt.sum()) - 1.0) < 1e-6:
                raise FileError("the saved word frequencies are damaged; fit and save the reader again.")
            kind._learn(learnt)
            kind._means.restore(state)
        return kind


def _agreed(one: Floats, other: Floats) -> Floats:
    """Return the harmonic mean of two distributions, as a distribution: little where either is little."""
    both = np.divide(one * other, one + other, out=np.zeros_like(one), where=one + other > 0.0)
    return np.asarray(both / both.sum())


class Means:
    """The mean vector of the word behind every output, computed when an output first occurs.

    Under a public prior, the whole table is computed and cached on disk once more than a few outputs have occurred.
    """

    def __init__(self, basis: Basis, prior: Floats, *, cached: bool) -> None:
        self._basis, self._prior, self._cached = basis, prior, cached
        self._known = np.zeros(len(prior), dtype=np.bool_)
        self._vectors: Vectors | None = None

    def of(self, outputs: Ids, watch: Watch) -> Vectors:
        """Return a vector for each output."""
        if self._vectors is None:
            self._vectors = np.zeros_like(self._basis.vectors)
        missing = np.unique(outputs[~self._known[outputs]])
        if missing.size and self._cached and self._takes_table(missing.size):
            self._vectors = _cached_means(self._basis, self._prior, self._key, watch)
            self._known[:] = True
        elif missing.size:
            self._vectors[missing] = self._basis.law.posterior_mean(
                self._basis.vectors, self._prior, missing, watch=watch
            )
            self._known[missing] = True
        return self._vectors[outputs]

    @cached_property
    def _key(self) -> str:
        return _key_of_means(self._basis, self._prior)

    def _takes_table(self, missing: int) -> bool:
        known = int(np.count_nonzero(self._known))
        return known + missing > len(self._known) / _FEW or found_in_cache(self._key) is not None

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the vectors computed so far, with their outputs."""
        if self._vectors is None:
            return {}
        return {"means": self._vectors[self._known], "outputs": np.flatnonzero(self._known)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore vectors that were computed before."""
        if "means" not in state or self._cached:
            return
        means, outputs = state["means"], state["outputs"]
        if (
            outputs.ndim != 1
            or outputs.dtype.kind != "i"
            or means.dtype != np.float32
            or means.shape != (len(outputs), self._basis.vectors.shape[1])
            or (outputs.size and not 0 <= int(outputs.min()) <= int(outputs.max()) < len(self._known))
        ):
            raise FileError("the saved vectors are damaged; fit and save the reader again.")
        self._vectors = np.zeros_like(self._basis.vectors)
        self._vectors[outputs], self._known[outputs] = means, True


def _key_of_means(basis: Basis, prior: Floats) -> str:
    law, mechanism = basis.law, basis.law.mechanism
    key = {
        "mechanism": mechanism.describe(),
        "blocked": mechanism.blocked_checksum,
        "effort": None if law.exact else law.effort.to_dict(),
        "prior": hashlib.sha256(prior.tobytes()).hexdigest(),
        "vectors": hashlib.sha256(f"{basis.vectors.shape}".encode() + basis.vectors.tobytes()).hexdigest(),
    }
    return f"reading-{_VERSION}-{digest_of(key)}"


def _cached_means(basis: Basis, prior: Floats, key: str, watch: Watch) -> Vectors:
    """Return the whole table of a public prior, from the cache if possible."""
    law = basis.law

    def fill(folder: Path) -> None:
        np.save(folder / "means.npy", law.posterior_mean(basis.vectors, prior, watch=watch))

    # Two mechanisms defined outside the package may share a name and options, so their tables are not cached.
    if not type(law.mechanism).__module__.startswith("wordveil."):
        return law.posterior_mean(basis.vectors, prior, watch=watch)
    means = cached_arrays(key, fill, "means")[0]
    if means.shape != basis.vectors.shape or means.dtype != np.float32:
        raise FileError("the cached table of a reader does not match its space; delete it from the cache.")
    return means


def vectors_of(space: Space, given: NDArray[np.floating[Any]] | None) -> tuple[Vectors, Vectors]:
    """Return the vectors to use and the points of the space; either stands in for the other if that is missing."""
    embedding = space.embedding if isinstance(space, HopSpace) else space
    points = None
    if isinstance(embedding, PointSpace):
        points = np.ascontiguousarray(embedding.points(np.arange(len(embedding))), dtype=np.float32)
    if given is None:
        if points is None:
            raise SpaceError("this space has no vectors; give one for every word as vectors.")
        return points, points
    table = np.asarray(given)
    if table.ndim != 2 or len(table) != len(space) or not table.shape[1] or table.dtype.kind not in "fiu":
        raise OptionError("vectors needs one row of numbers per word of the vocabulary.")
    table = np.ascontiguousarray(table, dtype=np.float32)
    if not np.isfinite(table).all():
        raise OptionError("vectors must be finite numbers.")
    return table, table if points is None else points
