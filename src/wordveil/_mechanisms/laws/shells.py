"""The law of mechanisms whose probabilities depend on a number of hops alone: graph and ring.

A word's law is known from how many words lie at each number of hops, and hops are the same in both directions, so that
a column costs no more than a row. The best guess of an input is found by a search instead of a table of all pairs:
``max_w π(w)·e^{-rate·c(w,y)}/Z(w)`` is, in logarithms, the largest of ``a(w) - rate·c(w,y)``, and a value at one word
bounds those at its neighbours by ``a - rate``. Handing values on along the edges until nothing changes gives the
maximum for every output at once, were every hop to cost 1; the first one, which may cost less, is handed on by itself
at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms.laws.exact import ExactLaw, Survey
from wordveil._mechanisms.laws.figures import Effort, Guess, PerWord
from wordveil._mechanisms.laws.law import Ids, Law, Memory, SeenColumns
from wordveil._mechanisms.laws.store import keep, kept
from wordveil._mechanisms.rows import LOG_FLOOR
from wordveil.parallel import blocks, run
from wordveil.progress import Watch, ignore, run_watched
from wordveil.spaces.hops import SOURCES
from wordveil.spaces.space import HopSpace
from wordveil.stats import Estimate

if TYPE_CHECKING:
    from wordveil._mechanisms.base import Mechanism

Floats = NDArray[np.float64]

_PAIRS = 1024
_FEW_HOPS = 16  # that four bits can count
_SAFE_LOG = -60.0  # of a weight: sums of these do not vanish in single precision
_PACKED_CELLS = 1 << 32  # that are kept between rounds: 2 GiB
_ROWS = 16  # outputs whose weights stay in the processor's cache


@dataclass(frozen=True)
class HopFall:
    """How the weight of an output falls with its hops: by `rate` each, the first costing `first` of that."""

    rate: float  # by how much the logarithm of a weight falls with a hop
    first: float = 1.0  # what the first hop costs where every further one costs 1

    def costs(self, hops: int) -> Floats:
        """Return what 0, 1, 2, … hops cost, `hops` numbers; each costs at most 1 more than the one before."""
        costs = np.arange(hops, dtype=np.float64)
        costs[1:] -= 1.0 - self.first
        return costs

    def logs(self, hops: int) -> Floats:
        """Return the logarithms of the weights of one word at 0, 1, 2, … hops, `hops` numbers."""
        return np.maximum(-self.rate * self.costs(hops), LOG_FLOOR)


class _Hops:
    """What does not depend on ε: shells, edges, and the hops between words that were asked about."""

    def __init__(self, space: HopSpace, watch: Watch) -> None:
        self.space, self._watch = space, watch
        self._remembered = Memory()

    @cached_property
    def sizes(self) -> Floats:
        """How many words lie at each number of hops: a row for each word, or one row where all are alike."""
        if self.space.shells_are_alike:
            return self.space.shell_sizes(np.array([0])).astype(np.float64)
        key = {"what": "shell sizes", "space": self.space.checksum}
        found = kept(key)
        if found is None:
            self._watch("counting words by hops", 0.0)
            found = {"sizes": self.space.shell_sizes(np.arange(len(self.space))).astype(np.int32)}
            keep(key, found)
        return found["sizes"].astype(np.float64)

    def row_of(self, ids: Ids) -> NDArray[np.integer[Any]]:
        """Return which row of `sizes` is each word's."""
        return np.zeros(len(ids), dtype=np.int64) if len(self.sizes) == 1 else ids

    def between(self, ids: Ids, others: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the hops from each word to words of its own."""

        def count() -> NDArray[np.int64]:
            self._watch("counting hops", 0.0)
            return self.space.distances_to(ids, others).astype(np.int64)

        return self._remembered("between", (ids, others), count)

    def from_all(self, outputs: Ids) -> NDArray[np.integer[Any]]:
        """Return the hops from every word to some outputs, a row for each output."""
        return self._remembered("from all", (outputs,), lambda: self.space.hops(outputs))

    def past(self, ids: Ids, others: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Say whether a word has a neighbour farther from the other word than itself, and whether the other has one."""

        def look() -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
            hops, own = self.between(ids, others), np.broadcast_to(ids[:, None], others.shape)
            return self._leads_away(own, others, hops), self._leads_away(others, own, hops)

        return self._remembered("past", (ids, others), look)

    def _leads_away(self, ids: Ids, others: Ids, hops: NDArray[np.int64]) -> NDArray[np.bool_]:
        indptr, neighbours = self.space.indptr.astype(np.int64), self.space.indices
        one, other, far = ids.ravel(), others.ravel(), hops.ravel()
        ones = np.ones(len(neighbours), dtype=np.int32)
        joined = scipy.sparse.csr_array((ones, neighbours, indptr), shape=(len(indptr) - 1,) * 2)
        # of two neighbours: one that they do not share, beside the other itself
        found = np.asarray(np.diff(indptr)[one] > (joined[one] * joined[other]).sum(axis=1) + 1)
        apart = np.flatnonzero(far > 1)
        apart = apart[np.argsort(other[apart], kind="stable")]
        for part in blocks(len(apart), _PAIRS):
            distinct, row = np.unique(other[apart[part]], return_inverse=True)
            away = self.space.hops(distinct)
            for pair, own in zip(apart[part].tolist(), row.tolist(), strict=True):
                around = neighbours[indptr[one[pair]] : indptr[one[pair] + 1]]
                found[pair] = (away[own, around] > far[pair]).any()
        return found.reshape(ids.shape)


class ShellLaw(ExactLaw):
    """The exact law of a mechanism on hops, given by a `HopFall`."""

    how = "Exact: from the number of words at each distance of every word."

    def __init__(
        self, mechanism: Mechanism[Any], effort: Effort | None = None, watch: Watch = ignore, hops: _Hops | None = None
    ) -> None:
        super().__init__(mechanism, effort, watch)
        self._hops = hops or _Hops(mechanism.space, watch)
        self.fall: HopFall = cast("Any", mechanism).fall  # whatever names this law has one

    def at(self, mechanisms: Sequence[Mechanism[Any]]) -> list[Law]:
        """Return the laws of the same mechanism at other ε, which share their shells and hops."""
        return [ShellLaw(mechanism, self.effort, self.watch, self._hops) for mechanism in mechanisms]

    @cached_property
    def _blocked(self) -> NDArray[np.int64]:
        """The words that are never drawn."""
        return self.mechanism.blocked

    @cached_property
    def _is_blocked(self) -> NDArray[np.bool_]:
        found = np.zeros(len(self), dtype=np.bool_)
        found[self._blocked] = True
        return found

    @cached_property
    def _sizes(self) -> Floats:
        """How many words that may be drawn lie at each number of hops."""
        sizes = self._hops.sizes
        if not len(self._blocked):
            return sizes
        return np.asarray(sizes - cast("Any", self.mechanism).blocked_sizes[:, : sizes.shape[1]])

    @cached_property
    def _logs(self) -> Floats:
        return self.fall.logs(self._hops.sizes.shape[1])

    @cached_property
    def _log_sums(self) -> Floats:
        """The logarithm of the normaliser: of every word, or one for all."""
        return np.asarray(np.log(self._sizes @ np.exp(self._logs)))

    def _sums_of(self, ids: Ids) -> Floats:
        return np.asarray(self._log_sums[self._hops.row_of(ids)])

    def rows(self, ids: Ids) -> Floats:
        """Return the probabilities of every output, a row for each of these words."""
        hops = self._hops.space.hops(np.asarray(ids))
        weights = np.exp(self.fall.logs(int(hops.max(initial=0)) + 1))[hops]  # without counting all shells
        weights[:, self._blocked] = 0.0
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def _log_columns(self, outputs: Ids, words: Ids, watch: Watch) -> Floats:
        found, sums = np.empty((len(outputs), len(words))), self._sums_of(words)
        is_whole = len(words) == len(self) and np.array_equal(words, np.arange(len(self)))

        def read(part: slice) -> None:
            hops = self._hops.space.hops(outputs[part])
            np.subtract(self._logs[hops if is_whole else hops[:, words]], sums, out=found[part])
            found[part][self._is_blocked[outputs[part]]] = -np.inf

        run_watched(read, self._parts(len(outputs)), "reading probabilities", watch)
        return found

    def _outcomes(self, ids: Ids, weights: Floats) -> tuple[Floats, float]:
        # Entropies are known from the shells. Single precision loses nothing that counts: no weight is above 1.
        chances, sizes = self.profile(ids)
        own = (weights * np.exp(-self._sums_of(ids))).astype(np.float32)
        mixture = own @ np.exp(self._logs).astype(np.float32)[self._hops.space.hops(np.asarray(ids))]
        mixture[self._blocked] = 0.0
        return mixture.astype(np.float64), float(weights @ (sizes * scipy.special.entr(chances)).sum(axis=1))

    def _weights(self, outputs: Ids, inputs: Ids, prior: Floats) -> NDArray[np.float32]:  # noqa: ARG002 - see `Law`
        # Looked up instead of exponentiated. Scaled by each output's nearest input, so that nothing vanishes where all
        # inputs are far.
        hops = np.take(self._hops.space.hops(np.asarray(outputs)), inputs, axis=1)
        if len(self._logs) <= 1 << 8:
            hops = hops.astype(np.uint8)  # to be looked up in half the time
        sums = self._sums_of(inputs)
        common = np.exp(sums.min() - sums).astype(np.float32)
        weights = np.empty(hops.shape, dtype=np.float32)
        nearest = hops.min(axis=1)
        for number in np.unique(nearest).tolist():
            rows = np.flatnonzero(nearest == number)
            table = np.exp(np.minimum(self._logs - self._logs[number], 0.0)).astype(np.float32)
            weights[rows] = np.take(table, hops if len(rows) == len(hops) else hops[rows])
        weights *= common
        return weights

    def _seen(self, outputs: Ids, inputs: Ids, prior: Floats) -> SeenColumns:
        cells = len(outputs) * len(inputs)
        fits = len(self._logs) <= _FEW_HOPS and self._logs.min() > _SAFE_LOG and cells <= _PACKED_CELLS
        return _PackedColumns(self, outputs, inputs) if fits else super()._seen(outputs, inputs, prior)

    def _parts(self, count: int, width: int | None = None) -> Sequence[slice]:  # noqa: ARG002 - see `Law`
        return list(blocks(count, SOURCES))  # so many searches cost no more than one

    def chances(self, ids: Ids, outputs: NDArray[np.int64]) -> Floats:
        """Return the probability of some outputs of each word's own."""
        hops = self._hops.between(np.asarray(ids), outputs)
        return np.where(self._is_blocked[outputs], 0.0, np.exp(self._logs[hops] - self._sums_of(ids)[:, None]))

    def stays(self, ids: Ids) -> PerWord:
        """Return the chance of each of these words to stay itself."""
        words = np.asarray(ids, dtype=np.int64)
        return PerWord(words, np.where(self._is_blocked[words], 0.0, np.exp(-self._sums_of(words))))

    def loss(self, ids: Ids, others: NDArray[np.int64]) -> Floats:
        """Return the largest log-ratio, over all outputs, between each word and some words of its own.

        The weights of an output ``y`` from ``w`` and ``w'`` differ most at ``y = w``, by the triangle inequality, if
        every hop costs the same. If the first costs less, they differ more at a neighbour of ``w`` that is one hop
        farther from ``w'`` than ``w`` is, where there is one: from 1 hop to one more than between ``w`` and ``w'``.
        Where that output is never drawn, what is returned is an upper bound.
        """
        if not others.shape[1]:
            return np.zeros(others.shape)
        hops, logs = self._hops.between(ids, others), self._logs
        nowhere = np.zeros(others.shape, dtype=np.bool_)
        onward, back = (nowhere, nowhere) if self.fall.first == 1.0 else self._hops.past(ids, others)
        between = self._sums_of(others.ravel()).reshape(others.shape) - self._sums_of(ids)[:, None]
        plain, past = -logs[hops], logs[1:2] - logs[np.minimum(hops + 1, len(logs) - 1)]
        return np.maximum(np.where(onward, past, plain) + between, np.where(back, past, plain) - between)

    def survey(self, inputs: Ids, priors: Sequence[Floats], outputs: Ids, watch: Watch = ignore) -> Survey:
        """Find all that is to be known of some inputs, without a pass over them."""
        words = np.asarray(inputs, dtype=np.int64)
        sums = self._sums_of(words)
        guesses = []
        for number, prior in enumerate(priors):
            watch("measuring", number / len(priors))
            with np.errstate(divide="ignore"):
                guesses.append(self._guess(words, np.log(prior) - sums))
        hops = self._hops.from_all(np.asarray(outputs, dtype=np.int64))
        columns = self._logs[hops[:, words]] - sums
        columns[self._is_blocked[np.asarray(outputs, dtype=np.int64)]] = -np.inf
        return Survey(self.stays(words), columns, guesses)

    def _guess(self, inputs: NDArray[np.int64], own: Floats) -> Guess:
        """Return the best guess, given ``ln π(w)/Z(w)`` of the inputs."""
        space, rate = self._hops.space, self.fall.rate
        before = np.full(len(space), -np.inf)
        before[inputs] = own
        guessed = np.arange(len(space))
        if len(space) > 1:
            starts, neighbours = space.indptr[:-1].astype(np.int64), space.indices
            best, whose = before, guessed.copy()
            while True:
                offered = np.maximum.reduceat(best[neighbours], starts)
                better = offered - rate > best
                if not better.any():
                    break
                whose = np.where(better, self._giver(best, whose, offered), whose)
                best = np.where(better, offered - rate, best)
            # What comes back to where it started has cost more than a hop there, and does not outdo what was there.
            better = offered - self.fall.first * rate > before
            guessed = np.where(better, self._giver(best, whose, offered), guessed)
            before = np.where(better, offered - self.fall.first * rate, before)
        before = np.where(self._is_blocked, -np.inf, before)
        return Guess(guessed, Estimate.exactly(float(np.exp(before).sum()), len(inputs)))

    def _giver(self, best: Floats, whose: NDArray[np.int64], offered: Floats) -> NDArray[np.int64]:
        """Return for every word whose value its best neighbour hands on."""
        starts, neighbours = self._hops.space.indptr[:-1].astype(np.int64), self._hops.space.indices
        degrees = np.diff(self._hops.space.indptr)
        is_best = best[neighbours] >= np.repeat(offered, degrees)
        return np.asarray(np.maximum.reduceat(np.where(is_best, whose[neighbours], -1), starts))

    def profile(self, ids: Ids) -> tuple[Floats, Floats]:
        """Return for each word the probabilities that an output of it can have, and how many outputs have each."""
        row = self._hops.row_of(ids)
        chances = np.exp(self._logs - self._log_sums[row][:, None])
        sizes = self._sizes[row]
        return (np.where(sizes > 0, chances, 0.0) if len(self._blocked) else chances), sizes


class _PackedColumns:
    """The columns of many outputs, kept for every round in half a byte each: four numbers of hops to 16 bits.

    One lookup turns these into four weights. The inputs are cut into quarters, and four hops that are packed together
    are one from each, so that packing works on whole arrays; the weights then come in the order of `_order`.
    """

    def __init__(self, law: ShellLaw, outputs: Ids, inputs: Ids) -> None:
        self._inputs = len(inputs)
        quarter = -(-len(inputs) // 4)
        places = np.arange(4 * quarter).reshape(4, quarter).T.ravel()
        self._order = np.minimum(places, len(inputs) - 1)
        self._is_input = places < len(inputs)
        weights = np.zeros(_FEW_HOPS, dtype=np.float32)
        weights[: len(law._logs)] = np.exp(law._logs)
        four = np.arange(1 << 16)
        # an item of 16 bytes holds the four weights
        self._four = np.stack([weights[four >> shift & 15] for shift in (0, 4, 8, 12)], axis=1).view(np.complex128)
        self._shares = np.exp(-law._sums_of(inputs))
        self._packed = np.empty((len(outputs), quarter), dtype=np.uint16)

        def pack(part: slice) -> None:
            hops = np.zeros((part.stop - part.start, 4 * quarter), dtype=np.uint16)
            hops[:, : len(inputs)] = np.take(law._hops.space.hops(np.asarray(outputs)[part]), inputs, axis=1)
            packed = hops[:, :quarter]
            for number in (1, 2, 3):
                packed |= hops[:, number * quarter : (number + 1) * quarter] << np.uint16(4 * number)
            self._packed[part] = packed

        run(pack, blocks(len(outputs), SOURCES))

    def gain(self, prior: Floats, shares: Floats) -> Floats:
        """Return for every input how much likelier it makes what was seen than the prior as a whole does."""
        own = np.where(self._is_input, (prior * self._shares)[self._order], 0.0).astype(np.float32)

        def some(part: slice) -> Floats:
            found = np.zeros((len(shares), len(own)))
            for rows in blocks(part.stop - part.start, _ROWS):
                chosen = slice(part.start + rows.start, part.start + rows.stop)
                weights = np.take(self._four, self._packed[chosen]).view(np.float32)
                found += (shares[:, chosen] / (weights @ own)).astype(np.float32) @ weights
            return found

        found = np.sum(run(some, blocks(len(self._packed), SOURCES)), axis=0)
        gained = np.empty((len(shares), self._inputs))
        gained[:, self._order[self._is_input]] = found[:, self._is_input]
        return gained * self._shares
