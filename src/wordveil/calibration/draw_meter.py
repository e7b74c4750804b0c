"""Estimates for any mechanism at all, by running it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.calibration import estimates
from wordveil.calibration.counts import Counts
from wordveil.calibration.halves import Halves
from wordveil.calibration.hierarchy import depths
from wordveil.calibration.meter import Maker, Meter
from wordveil.calibration.settings import Settings, Watch, ignore
from wordveil.calibration.statistics import Adversary, Measurement, PerWord
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.spaces import Space

__all__ = ["DrawMeter"]

_TOKENS = 1 << 17
_FIGURES, _WORST = range(2)


class DrawMeter(Meter):
    """Measures a mechanism by drawing; 1,000 words unless told otherwise, and the adversary among those alone."""

    exact = False
    how = "Estimated: from draws of the mechanism itself."
    default_words = 1000
    tolerance = 0.01

    def __init__(
        self, make: Maker, probe: Mechanism[Any], space: Space, settings: Settings, watch: Watch = ignore
    ) -> None:
        super().__init__(make, probe, space, settings, watch)
        self._depths = depths(probe.space)

    @cached_property
    def suspects(self) -> NDArray[np.int64]:
        """The words among which the adversary looks for the input: those that are drawn for."""
        return self.ids[: self.settings.adversary_words]

    def _draw(
        self, epsilon: float, ids: NDArray[np.int64], draws: int, purpose: int, start: float = 0.0, end: float = 1.0
    ) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """Draw for blocks of words; every draw is independent of every other."""
        mechanism = self.make(epsilon)
        seed = np.random.SeedSequence([self.settings.seed, purpose]).generate_state(1, np.uint64)
        entropy = Entropy(int(seed[0]))
        what = "drawing" if purpose == _FIGURES else "drawing for the worst words again"
        for part in blocks(len(ids), max(1, _TOKENS // draws)):
            self.watch(what, start + (end - start) * part.start / len(ids))
            outputs = mechanism.draw(np.repeat(ids[part], draws), entropy)
            yield part, outputs.reshape(-1, draws)
        self.watch(what, end)

    def stays(self, epsilons: Sequence[float], ids: NDArray[np.int64] | None = None) -> list[PerWord]:
        """Return N_w at each ε."""
        chosen = self.ids if ids is None else ids
        return [self._stays(epsilon, chosen, self.settings.draws, _FIGURES) for epsilon in epsilons]

    def _stays(
        self,
        epsilon: float,
        ids: NDArray[np.int64],
        draws: int,
        purpose: int,
        span: tuple[float, float] = (0.0, 1.0),
    ) -> PerWord:
        own = [
            (outputs == ids[part][:, None]).mean(axis=1)
            for part, outputs in self._draw(epsilon, ids, draws, purpose, *span)
        ]
        return _frequency(ids, np.concatenate(own), draws)

    def distinct(self, epsilons: Sequence[float], ids: NDArray[np.int64] | None = None) -> list[PerWord]:
        """Return the number of distinct outputs in the given number of draws at each ε."""
        chosen, draws = self.ids if ids is None else ids, self.settings.draws
        found = []
        for epsilon in epsilons:
            counts = Counts.joined(
                [
                    Counts.of(chosen[part], outputs, self.settings)
                    for part, outputs in self._draw(epsilon, chosen, draws, _FIGURES)
                ]
            )
            found.append(estimates.distinct_of(chosen, counts, draws, 1))
        return found

    def near_loss(self, epsilons: Sequence[float]) -> list[PerWord]:
        """Return at each ε what is promised between a word and its most similar words: an upper bound."""
        return [
            estimates.promised_loss(self.make(epsilon), self.surroundings, self.settings.similar)
            for epsilon in epsilons
        ]

    def adversary(self, epsilons: Sequence[float], prior: str) -> list[Adversary]:
        """Return at each ε how often the best guess is right."""
        weights = np.exp(self.log_prior(prior, self.suspects))
        found = []
        for epsilon in epsilons:
            draws = self._draw(epsilon, self.suspects, self.settings.draws, _FIGURES)
            halves = Halves.joined([Halves.of(self.suspects[part], outputs) for part, outputs in draws])
            found += halves.adversaries(self.probe.space, [weights])
        return found

    def _measure(self, epsilons: Sequence[float]) -> Iterator[Measurement]:
        for number, epsilon in enumerate(epsilons):
            yield self._at(epsilon, number / len(epsilons), (number + 1) / len(epsilons))

    def _at(self, epsilon: float, start: float, end: float) -> Measurement:
        ids, around, draws = self.ids, self.surroundings, self.settings.draws
        weights = [np.exp(self.log_prior(prior, self.suspects)) for prior in ("uniform", "frequency")]
        counts: list[Counts] = []
        near: list[NDArray[np.float64]] = []
        halves: list[Halves] = []
        for part, outputs in self._draw(epsilon, ids, draws, _FIGURES, start, end):
            counts.append(Counts.of(ids[part], outputs, self.settings, self._depths))
            inside = slice(part.start, max(part.start, min(part.stop, len(around.ids))))
            count = inside.stop - inside.start
            near.append(estimates.near_frequency(around, self.settings.near, outputs[:count], inside))
            asked = max(0, min(part.stop, len(self.suspects)) - part.start)
            if asked:
                halves.append(Halves.of(self.suspects[part], outputs[:asked]))
        whole = Counts.joined(counts)
        stays = _frequency(ids, whole.own, draws)
        worst = estimates.worst_words(stays)
        again = self._stays(epsilon, worst, estimates.AGAIN * draws, _WORST, (end, end))
        uniform, frequency = Halves.joined(halves).adversaries(self.probe.space, weights)
        return estimates.estimated(
            epsilon,
            replace(stays, again=again),
            whole,
            np.concatenate(near),
            self.near_loss([epsilon])[0],
            (uniform, frequency),
            self.settings,
            block=1,
            has_hierarchy=self._depths is not None,
        )


def _frequency(ids: NDArray[np.int64], shares: NDArray[np.float64], draws: int) -> PerWord:
    likely = (shares * draws + 0.5) / (draws + 1.0)  # a word that always or never stayed has an error too
    errors = np.sqrt(likely * (1.0 - likely) / draws)
    return PerWord(ids, shares, errors, estimates.mean_error(errors, 1))
