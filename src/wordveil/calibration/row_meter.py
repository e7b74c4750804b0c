"""Exact figures for any mechanism that states its probabilities, from its rows.

A pass over the rows of all suspects finds the adversary's best guess for every output: the largest of prior times
probability, kept as a running maximum, so that no table of all pairs is ever held. Each word's probability of staying
falls out of the same pass; what needs a row sorted is measured on some of the words.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import ExponentialMechanism, Mechanism
from wordveil.calibration.columns import alike_inputs, resolving_inputs
from wordveil.calibration.hierarchy import depths
from wordveil.calibration.meter import Maker, Meter
from wordveil.calibration.settings import Settings, Watch, ignore, sample
from wordveil.calibration.statistics import Adversary, Measurement, PerWord, Share
from wordveil.parallel import blocks, run
from wordveil.spaces import Space

__all__ = ["RowMeter", "expected_distinct"]

_CELLS = 1 << 21
_NEAR_WORDS = 200
_PRIORS = ("uniform", "frequency")


@dataclass(frozen=True)
class _Pass:
    """What the pass over the suspects' rows found."""

    own: NDArray[np.float64]
    right: dict[str, float]
    columns: NDArray[np.float64]


class RowMeter(Meter):
    """Measures any mechanism of the exponential family exactly.

    The probability of staying and the adversary are measured on all words (up to `Settings.adversary_words`), the
    number of outputs on 2,000 words unless told otherwise, and the near loss on at most 200.
    """

    exact = True
    how = "Exact: from the mechanism's own probabilities, row by row."
    default_words = 2000

    def __init__(
        self, make: Maker, probe: Mechanism[Any], space: Space, settings: Settings, watch: Watch = ignore
    ) -> None:
        super().__init__(make, probe, space, settings, watch)
        self._depths = depths(probe.space)

    def _mechanism(self, epsilon: float) -> ExponentialMechanism[Any]:
        made = self.make(epsilon)
        if not isinstance(made, ExponentialMechanism):
            raise TypeError("only mechanisms that state their probabilities are measured by rows")
        return made

    @cached_property
    def _outputs(self) -> NDArray[np.int64]:
        return sample(len(self.space), self.settings.outputs, self.settings.seed)

    def _over(
        self, ids: NDArray[np.int64], what: str, work: Callable[[slice], None], start: float = 0.0, end: float = 1.0
    ) -> None:
        """Do the work for blocks of these words on all cores, and tell how far it is."""
        parts = list(blocks(len(ids), max(1, _CELLS // len(self.space))))
        finished = 0

        def done() -> None:
            nonlocal finished
            finished += 1
            self.watch(what, start + (end - start) * finished / len(parts))

        run(work, parts, done)

    def stays(self, epsilons: Sequence[float], ids: NDArray[np.int64] | None = None) -> list[PerWord]:
        """Return N_w at each ε."""
        chosen = self.suspects if ids is None else ids
        return [PerWord(chosen, self._own(self._mechanism(epsilon), chosen)) for epsilon in epsilons]

    def _own(self, mechanism: ExponentialMechanism[Any], ids: NDArray[np.int64]) -> NDArray[np.float64]:
        own = np.empty(len(ids))

        def work(part: slice) -> None:
            rows = mechanism.probability_rows(ids[part])
            own[part] = rows[np.arange(len(rows)), ids[part]]

        self._over(ids, "reading probabilities", work)
        return own

    def distinct(self, epsilons: Sequence[float], ids: NDArray[np.int64] | None = None) -> list[PerWord]:
        """Return the expected number of distinct outputs at each ε."""
        chosen = self.ids if ids is None else ids
        found = []
        for epsilon in epsilons:
            mechanism = self._mechanism(epsilon)
            values = np.empty(len(chosen))

            def work(
                part: slice, values: NDArray[np.float64] = values, made: ExponentialMechanism[Any] = mechanism
            ) -> None:
                values[part] = expected_distinct(made.probability_rows(chosen[part]), self.settings.draws)

            self._over(chosen, "counting outputs", work)
            found.append(PerWord(chosen, values, worst_is_largest=False))
        return found

    def near_loss(self, epsilons: Sequence[float]) -> list[PerWord]:
        """Return at each ε the largest log-ratio between a word and its most similar words."""
        around = self.surroundings
        ids, near = around.ids[:_NEAR_WORDS], around.near[:_NEAR_WORDS, : self.settings.similar]
        found = []
        for epsilon in epsilons:
            mechanism = self._mechanism(epsilon)
            losses = np.zeros(len(ids))

            def work(
                part: slice, losses: NDArray[np.float64] = losses, made: ExponentialMechanism[Any] = mechanism
            ) -> None:
                for place in range(part.start, part.stop):
                    logs = np.log(made.probability_rows(np.concatenate([ids[place : place + 1], near[place]])))
                    losses[place] = np.abs(logs[1:] - logs[0]).max(initial=0.0)

            run(work, blocks(len(ids), 8))
            found.append(PerWord(ids, losses))
        return found

    def adversary(self, epsilons: Sequence[float], prior: str) -> list[Adversary]:
        """Return at each ε how often the best guess is right."""
        found = [self._pass(self._mechanism(epsilon), (prior,)).right[prior] for epsilon in epsilons]
        return [Adversary(right, right, words=len(self.suspects)) for right in found]

    def _pass(
        self, mechanism: ExponentialMechanism[Any], priors: Sequence[str], start: float = 0.0, end: float = 1.0
    ) -> _Pass:
        weights = {prior: np.exp(self.log_prior(prior, self.suspects)) for prior in priors}
        best = {prior: np.zeros(len(self.space)) for prior in priors}
        own = np.empty(len(self.suspects))
        columns = np.empty((len(self._outputs), len(self.suspects)))
        lock = threading.Lock()

        def work(part: slice) -> None:
            ids = self.suspects[part]
            rows = mechanism.probability_rows(ids)
            own[part] = rows[np.arange(len(rows)), ids]
            columns[:, part] = rows[:, self._outputs].T
            for prior in priors:
                most = (rows * weights[prior][part, None]).max(axis=0)
                with lock:
                    np.maximum(best[prior], most, out=best[prior])

        self._over(self.suspects, "measuring", work, start, end)
        return _Pass(own, {prior: float(best[prior].sum()) for prior in priors}, columns)

    def _measure(self, epsilons: Sequence[float]) -> Iterator[Measurement]:
        for number, epsilon in enumerate(epsilons):
            mechanism = self._mechanism(epsilon)
            found = self._pass(mechanism, _PRIORS, number / len(epsilons), (number + 1) / len(epsilons))
            yield self._assemble(epsilon, mechanism, found)

    def _assemble(self, epsilon: float, mechanism: ExponentialMechanism[Any], found: _Pass) -> Measurement:
        ids, around = self.ids, self.surroundings
        distinct, effective, top = np.empty(len(ids)), np.empty(len(ids)), np.empty(len(ids))
        own, near = np.empty(len(around.ids)), np.zeros(len(around.ids))

        def work(part: slice) -> None:
            rows = mechanism.probability_rows(ids[part])
            distinct[part] = expected_distinct(rows, self.settings.draws)
            top[part] = rows.max(axis=1)
            inside = slice(part.start, min(part.stop, len(around.ids)))  # the surroundings are of the first words
            count = max(0, inside.stop - inside.start)
            if count:
                close = around.near[inside, : self.settings.near]
                near[inside] = np.take_along_axis(rows[:count], close, axis=1).sum(axis=1)
                own[inside] = rows[np.arange(count), ids[inside]]
            effective[part] = _effective(rows, self.settings.eta)

        run(work, blocks(len(ids), max(1, _CELLS // len(self.space))))
        logs = np.log(found.columns)
        kept, replaced = float(own.mean()), float(near.mean())
        return Measurement(
            epsilon=epsilon,
            exact=True,
            stays=PerWord(self.suspects, found.own),
            distinct=PerWord(ids, distinct, worst_is_largest=False),
            effective=PerWord(ids, effective, worst_is_largest=False),
            min_entropy=PerWord(ids, -np.log2(top), worst_is_largest=False),
            support=PerWord(ids, np.full(len(ids), np.log2(len(self.space))), worst_is_largest=False),
            inputs=PerWord(self._outputs, resolving_inputs(logs, self.settings.draws), worst_is_largest=False),
            below=self._below(logs),
            alike=PerWord(self._outputs, alike_inputs(logs, self.settings.gamma), worst_is_largest=False),
            near_loss=self.near_loss([epsilon])[0],
            kept=Share(kept),
            near=Share(replaced),
            far=Share(max(0.0, 1.0 - kept - replaced)),
            uniform=Adversary(found.right["uniform"], found.right["uniform"], words=len(self.suspects)),
            frequency=Adversary(found.right["frequency"], found.right["frequency"], words=len(self.suspects)),
        )

    def _below(self, logs: NDArray[np.float64]) -> PerWord | None:
        if self._depths is None:
            return None
        lower = self._depths[self.suspects] > self._depths[self._outputs][:, None]
        counted = resolving_inputs(np.where(lower, logs, -np.inf), self.settings.draws)
        return PerWord(self._outputs, counted, worst_is_largest=False)


def expected_distinct(rows: NDArray[np.float64], draws: int) -> NDArray[np.float64]:
    """Return how many distinct outputs so many draws give on average, for each row of probabilities."""
    with np.errstate(divide="ignore"):  # an output that always comes
        return np.asarray(-np.expm1(draws * np.log1p(-np.minimum(rows, 1.0))).sum(axis=1))


def _effective(rows: NDArray[np.float64], eta: float) -> NDArray[np.float64]:
    """Return how many of the likeliest outputs hold all but eta; sorts the rows in place."""
    rows.sort(axis=1)
    held = np.cumsum(rows[:, ::-1], axis=1)
    return np.asarray((held < (1.0 - eta) * (1 - 1e-12)).sum(axis=1) + 1.0)
