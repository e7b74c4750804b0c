"""Exact figures for mechanisms whose probabilities depend on a number of hops alone: graph and ring.

A word's law is known from how many words lie at each number of hops. The best guess of an input is found by a search
instead of a table of all pairs: ``max_w π(w)·e^{-rate·c(w,y)}/Z(w)`` is, in logarithms, the largest of ``a(w) -
rate·c(w,y)``, and a value at one word bounds those at its neighbours by ``a - rate``. Handing values on along the
edges until nothing changes gives the maximum for every output at once, were every hop to cost 1; the first one, which
may cost less, is handed on by itself at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms import Graph, Mechanism, Ring
from wordveil._mechanisms.base import LOG_FLOOR
from wordveil.calibration.columns import alike_inputs, resolving_inputs
from wordveil.calibration.meter import Maker, Meter
from wordveil.calibration.settings import Settings, Watch, ignore, sample
from wordveil.calibration.statistics import Adversary, Measurement, PerWord, Share
from wordveil.calibration.store import keep, kept
from wordveil.parallel import blocks
from wordveil.spaces import GraphSpace, RingSpace, Space

__all__ = ["ShellMeter"]

_OUTPUTS = 64
_PAIRS = 1024


class ShellMeter(Meter):
    """Measures `graph` and `ring` exactly, on all words unless told otherwise."""

    exact = True
    how = "Exact: from the number of words at each distance of every word."
    default_words = 0

    def __init__(
        self, make: Maker, probe: Mechanism[Any], space: Space, settings: Settings, watch: Watch = ignore
    ) -> None:
        super().__init__(make, probe, space, settings, watch)
        if not isinstance(probe, (Graph, Ring)):
            raise TypeError("only the mechanisms graph and ring are measured by shells")
        self.hops: GraphSpace | RingSpace = probe.space
        self._factor = 0.5 if isinstance(probe, Graph) else 1.0  # a ring needs no ½: see its proof
        self._first = probe.first if isinstance(probe, Graph) else 1.0

    @cached_property
    def _shells(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The distinct rows of shell sizes, and which of them each word has."""
        if isinstance(self.hops, RingSpace):
            sizes = np.full((1, len(self.hops) // 2 + 1), 2.0)
            sizes[0, 0] = 1.0
            if len(self.hops) % 2 == 0:
                sizes[0, -1] = 1.0
            return sizes, np.zeros(len(self.hops), dtype=np.int64)
        key = {"what": "shell sizes", "space": self.hops.checksum}
        found = kept(key)
        if found is None:
            self.watch("counting words by hops", 0.0)
            found = {"sizes": self.hops.shell_sizes(np.arange(len(self.hops))).astype(np.int32)}
            keep(key, found)
        return found["sizes"].astype(np.float64), np.arange(len(self.hops))

    @cached_property
    def _near_hops(self) -> NDArray[np.int64]:
        around = self.surroundings
        self.watch("counting hops to similar words", 0.0)
        return self.hops.distances_to(around.ids, around.near).astype(np.int64)

    @cached_property
    def _outputs(self) -> NDArray[np.int64]:
        return sample(len(self.space), self.settings.outputs, self.settings.seed)

    @cached_property
    def _output_hops(self) -> NDArray[np.int16]:
        parts = [self.hops.distances(self._outputs[part]) for part in blocks(len(self._outputs), 256)]
        rows = np.concatenate(parts)
        return rows.astype(np.int16 if rows.max() < 2**15 else np.int32)

    def _falls(self, epsilon: float) -> NDArray[np.float64]:
        hops = self._shells[0].shape[1]
        costs = self.probe.costs(hops) if isinstance(self.probe, Graph) else np.arange(hops)
        return np.maximum(-self._factor * epsilon * costs, LOG_FLOOR)

    def _log_sums(self, epsilon: float) -> NDArray[np.float64]:
        """Return the logarithm of every word's normaliser."""
        rows, row_of = self._shells
        return np.asarray(np.log(rows @ np.exp(self._falls(epsilon)))[row_of])

    def _chances(self, epsilon: float) -> NDArray[np.float64]:
        """Return the probability of one word at each number of hops, for each distinct row of shells."""
        rows, _ = self._shells
        weights = np.exp(self._falls(epsilon))
        return weights / (rows @ weights)[:, None]

    def _per_word(
        self, of_rows: NDArray[np.float64], ids: NDArray[np.int64] | None = None, *, worst_is_largest: bool
    ) -> PerWord:
        chosen = self.ids if ids is None else ids
        return PerWord(chosen, of_rows[self._shells[1][chosen]], worst_is_largest=worst_is_largest)

    def stays(self, epsilons: Sequence[float], ids: NDArray[np.int64] | None = None) -> list[PerWord]:
        """Return N_w at each ε."""
        return [self._per_word(self._chances(epsilon)[:, 0], ids, worst_is_largest=True) for epsilon in epsilons]

    def distinct(self, epsilons: Sequence[float], ids: NDArray[np.int64] | None = None) -> list[PerWord]:
        """Return the expected number of distinct outputs at each ε."""
        found = []
        for epsilon in epsilons:
            with np.errstate(divide="ignore"):  # a vocabulary of one word
                unseen = self.settings.draws * np.log1p(-np.minimum(self._chances(epsilon), 1.0))
            counted = (self._shells[0] * -np.expm1(unseen)).sum(axis=1)
            found.append(self._per_word(counted, ids, worst_is_largest=False))
        return found

    def _effective(self, epsilon: float) -> PerWord:
        rows, _ = self._shells
        chances = self._chances(epsilon)
        masses = np.cumsum(rows * chances, axis=1)
        wanted = 1.0 - self.settings.eta
        last = (masses < wanted).sum(axis=1).clip(max=rows.shape[1] - 1)
        place = np.arange(len(rows))
        before = np.where(last > 0, masses[place, last - 1], 0.0)
        whole = np.where(last > 0, np.cumsum(rows, axis=1)[place, last - 1], 0.0)
        part = np.ceil((wanted - before) / chances[place, last] * (1 - 1e-12))
        return self._per_word(whole + np.minimum(part, rows[place, last]), worst_is_largest=False)

    def near_loss(self, epsilons: Sequence[float]) -> list[PerWord]:
        """Return at each ε the largest log-ratio between a word and its most similar words.

        The weights of an output ``y`` from ``w`` and ``w'`` differ most at ``y = w``, by the triangle inequality, if
        every hop costs the same. If the first costs less, they differ more at a neighbour of ``w`` that is one hop
        farther from ``w'`` than ``w`` is, where there is one: from 1 hop to one more than between ``w`` and ``w'``.
        """
        around = self.surroundings
        near, hops = around.near[:, : self.settings.similar], self._near_hops[:, : self.settings.similar]
        onward, back = self._past
        found = []
        for epsilon in epsilons:
            falls, sums = self._falls(epsilon), self._log_sums(epsilon)
            between = sums[near] - sums[around.ids][:, None]
            plain, past = -falls[hops], falls[1:2] - falls[np.minimum(hops + 1, len(falls) - 1)]
            losses = np.maximum(np.where(onward, past, plain) + between, np.where(back, past, plain) - between)
            found.append(PerWord(around.ids, losses.max(axis=1, initial=0.0)))
        return found

    @cached_property
    def _past(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether a word has a neighbour farther from a similar word than it is itself, and whether that has one."""
        near, hops = self.surroundings.near[:, : self.settings.similar], self._near_hops[:, : self.settings.similar]
        ids = np.broadcast_to(self.surroundings.ids[:, None], near.shape)
        if self._first == 1.0:  # it makes no difference
            return np.zeros(near.shape, dtype=np.bool_), np.zeros(near.shape, dtype=np.bool_)
        return self._leads_away(ids, near, hops), self._leads_away(near, ids, hops)

    def _leads_away(
        self, ids: NDArray[np.int64], others: NDArray[np.int64], hops: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return whether each word has a neighbour farther from the other word than it is itself."""
        starts, neighbours = self._edges
        indptr = np.append(starts, len(neighbours))
        one, other, far = ids.ravel(), others.ravel(), hops.ravel()
        ones = np.ones(len(neighbours), dtype=np.int32)
        joined = scipy.sparse.csr_array((ones, neighbours, indptr), shape=(len(starts),) * 2)
        # of two neighbours: one that they do not share, beside the other itself
        found = np.asarray(np.diff(indptr)[one] > (joined[one] * joined[other]).sum(axis=1) + 1)
        apart = np.flatnonzero(far > 1)
        apart = apart[np.argsort(other[apart], kind="stable")]
        for part in blocks(len(apart), _PAIRS):
            distinct, row = np.unique(other[apart[part]], return_inverse=True)
            away = self.hops.distances(distinct)
            for pair, own in zip(apart[part].tolist(), row.tolist(), strict=True):
                around = neighbours[indptr[one[pair]] : indptr[one[pair] + 1]]
                found[pair] = (away[own, around] > far[pair]).any()
        return found.reshape(ids.shape)

    def adversary(self, epsilons: Sequence[float], prior: str) -> list[Adversary]:
        """Return at each ε how often the best guess is right."""
        found = []
        for epsilon in epsilons:
            best = np.full(len(self.space), -np.inf)
            best[self.suspects] = self.log_prior(prior, self.suspects) - self._log_sums(epsilon)[self.suspects]
            right = float(np.exp(self._best_guess(best, self._factor * epsilon)).sum())
            found.append(Adversary(right, right, words=len(self.suspects)))
        return found

    @cached_property
    def _edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where each word's neighbours begin, and the neighbours."""
        if not isinstance(self.hops, RingSpace):
            return self.hops.indptr[:-1].astype(np.int64), self.hops.indices.astype(np.int64)
        tour = self.hops.tour
        both = np.stack([np.roll(tour, 1), np.roll(tour, -1)], axis=1)
        return 2 * np.arange(len(tour)), both[self.hops.place].ravel()

    def _best_guess(self, own: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
        if len(own) == 1:
            return own
        starts, neighbours = self._edges
        best = own
        while True:
            handed = np.maximum(best, np.maximum.reduceat(best[neighbours], starts) - rate)
            if np.array_equal(handed, best):
                break
            best = handed
        # What comes back to where it started has cost more than a hop there, and does not outdo what was there.
        return np.maximum(own, np.maximum.reduceat(best[neighbours], starts) - self._first * rate)

    def _shares(self, epsilon: float) -> tuple[Share, Share, Share]:
        around = self.surroundings
        chances = self._chances(epsilon)
        rows = self._shells[1][around.ids]
        kept_ = float(chances[rows, 0].mean())
        near = float(chances[rows[:, None], self._near_hops[:, : self.settings.near]].sum(axis=1).mean())
        return Share(kept_), Share(near), Share(max(0.0, 1.0 - kept_ - near))

    def _deniability(self, epsilon: float) -> tuple[PerWord, PerWord]:
        falls, sums = self._falls(epsilon), self._log_sums(epsilon)
        inputs, alike = [], []
        for part in blocks(len(self._outputs), _OUTPUTS):
            logs = falls[self._output_hops[part]] - sums
            inputs.append(resolving_inputs(logs, self.settings.draws))
            alike.append(alike_inputs(logs, self.settings.gamma))
        return (
            PerWord(self._outputs, np.concatenate(inputs), worst_is_largest=False),
            PerWord(self._outputs, np.concatenate(alike), worst_is_largest=False),
        )

    def _measure(self, epsilons: Sequence[float]) -> Iterator[Measurement]:
        for number, epsilon in enumerate(epsilons):
            self.watch("measuring", number / len(epsilons))
            stays = self.stays([epsilon])[0]
            kept_, near, far = self._shares(epsilon)
            inputs, alike = self._deniability(epsilon)
            yield Measurement(
                epsilon=epsilon,
                exact=True,
                stays=stays,
                distinct=self.distinct([epsilon])[0],
                effective=self._effective(epsilon),
                # no output is likelier than the word itself
                min_entropy=PerWord(self.ids, -np.log2(stays.values), worst_is_largest=False),
                support=PerWord(self.ids, np.full(len(self.ids), np.log2(len(self.space))), worst_is_largest=False),
                inputs=inputs,
                alike=alike,
                near_loss=self.near_loss([epsilon])[0],
                kept=kept_,
                near=near,
                far=far,
                uniform=self.adversary([epsilon], "uniform")[0],
                frequency=self.adversary([epsilon], "frequency")[0],
            )
        self.watch("measuring", 1.0)
