"""Estimates for noise that is a direction times a length, for all ε from one pass over shared directions.

The probability of staying is not counted but averaged: along each direction the word's cell ends somewhere, and the
probability that the noise is shorter is known exactly. That has less variance than counting, and gives every ε.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.calibration import estimates
from wordveil.calibration.counts import Counts
from wordveil.calibration.halves import Halves
from wordveil.calibration.meter import Maker, Meter
from wordveil.calibration.radial import RadialNoise
from wordveil.calibration.rays import Landing, Rays
from wordveil.calibration.settings import Settings, Watch, ignore
from wordveil.calibration.statistics import Adversary, Measurement, PerWord
from wordveil.calibration.store import keep, kept
from wordveil.noise import Entropy
from wordveil.parallel import blocks, run
from wordveil.spaces import Space

__all__ = ["RayMeter"]

Arrays = dict[str, NDArray[Any]]

_PRIORS = ("uniform", "frequency")
# What the directions are for: each purpose, and each block of words, has its own.
_FIGURES, _ADVERSARY, _WORST = range(3)
_MOST_TIMES = 20


class RayMeter(Meter):
    """Measures laplace, mahalanobis and the Gaussian mechanisms; 10,000 words unless told otherwise."""

    exact = False
    how = "Estimated: the words of a block share their directions of noise, and all ε share both."
    default_words = 10_000
    batch = 7
    tolerance = 0.01

    def __init__(
        self, make: Maker, probe: Mechanism[Any], space: Space, settings: Settings, watch: Watch = ignore
    ) -> None:
        super().__init__(make, probe, space, settings, watch)
        self._noise = RadialNoise(probe)

    @cached_property
    def _rays(self) -> Rays:
        device = self._noise.device
        rays: Rays = Rays(self._noise.matrix) if device is None else device.rays(self._noise.matrix)
        return rays

    def _follow(
        self, ids: NDArray[np.int64], scales: NDArray[np.float64], draws: int, purpose: int, number: int
    ) -> Landing:
        seed = np.random.SeedSequence([self.settings.seed, purpose, number]).generate_state(1, np.uint64)
        directions, lengths = self._noise.draw(draws, Entropy(int(seed[0])))
        return self._rays.follow(ids, directions, lengths, scales)

    def _scales(self, epsilons: Sequence[float], ids: NDArray[np.int64]) -> NDArray[np.float64]:
        columns = [self._noise.scales(self.make(epsilon), ids) for epsilon in epsilons]
        return np.stack(columns, axis=1) if columns else np.empty((len(ids), 0))

    def _within(self, edges: NDArray[np.floating[Any]], scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each word and direction the probability that its noise ends inside its own cell."""
        with np.errstate(divide="ignore", invalid="ignore"):
            lengths = edges / scales[:, None]
        lengths[np.isnan(lengths)] = 0.0  # no noise on a word whose twin comes out instead
        return self._noise.below(lengths)

    def _each_block(
        self, ids: NDArray[np.int64], what: str, work: Callable[[int, slice], Arrays], key: dict[str, Any] | None = None
    ) -> list[Arrays]:
        """Do the work for every block of words on all cores; with a key, what was done before is not done again."""
        parts = list(enumerate(blocks(len(ids), self._rays.block)))
        finished = 0

        def one(job: tuple[int, slice]) -> Arrays:
            number, part = job
            named = None if key is None else {**self.identity, **key, "block": number}
            found = None if named is None else kept(named)
            if found is None:
                found = work(number, part)
                if named is not None:
                    keep(named, found)
            return found

        def done() -> None:
            nonlocal finished
            finished += 1
            self.watch(what, finished / len(parts))

        self.watch(what, 0.0)
        return run(one, parts, done)

    @cached_property
    def _edges(self) -> NDArray[np.float32]:
        """How far the cell of each measured word reaches in each direction."""

        def work(number: int, part: slice) -> Arrays:
            nothing = np.empty((part.stop - part.start, 0))
            landing = self._follow(self.ids[part], nothing, self.settings.draws, _FIGURES, number)
            return {"edges": landing.edges.astype(np.float32)}

        return np.concatenate([found["edges"] for found in self._each_block(self.ids, "finding cells", work)])

    def stays(self, epsilons: Sequence[float], ids: NDArray[np.int64] | None = None) -> list[PerWord]:
        """Return N_w at each ε."""
        if ids is None:
            chosen, edges = self.ids, self._edges
        else:
            order = np.argsort(self.ids)
            chosen, edges = ids, self._edges[order[np.searchsorted(self.ids[order], ids)]]
        found = []
        for scales in self._scales(epsilons, chosen).T:
            means, errors, block_errors = np.empty(len(chosen)), np.empty(len(chosen)), []
            for part in blocks(len(chosen), self._rays.block):
                means[part], errors[part], block_error = _means(self._within(edges[part], scales[part]))
                block_errors.append(block_error * (part.stop - part.start))
            found.append(PerWord(chosen, means, errors, float(np.linalg.norm(block_errors)) / len(chosen)))
        return found

    def distinct(self, epsilons: Sequence[float], ids: NDArray[np.int64] | None = None) -> list[PerWord]:
        """Return the number of distinct outputs in the given number of draws at each ε."""
        chosen = self.ids if ids is None else ids
        scales = self._scales(epsilons, chosen)

        def work(number: int, part: slice) -> Arrays:
            landing = self._follow(chosen[part], scales[part], self.settings.draws, _FIGURES, number)
            return _packed(
                Counts.of(chosen[part], landing.outputs[:, place], self.settings) for place in range(len(epsilons))
            )

        found = self._each_block(chosen, "counting outputs", work)
        return [
            estimates.distinct_of(chosen, counts, self.settings.draws, self._rays.block)
            for counts in _joined(found, Counts, len(epsilons))
        ]

    def near_loss(self, epsilons: Sequence[float]) -> list[PerWord]:
        """Return at each ε what is promised between a word and its most similar words: an upper bound."""
        around = self.surroundings
        return [estimates.promised_loss(self.make(epsilon), around, self.settings.similar) for epsilon in epsilons]

    def adversary(self, epsilons: Sequence[float], prior: str) -> list[Adversary]:
        """Return at each ε how often the best guess is right."""
        return self._adversaries(epsilons, (prior,))[prior]

    def _adversaries(self, epsilons: Sequence[float], priors: Sequence[str]) -> dict[str, list[Adversary]]:
        ids = self.suspects
        scales = self._scales(epsilons, ids)
        weights = {prior: np.exp(self.log_prior(prior, ids)) for prior in priors}
        # The likelier words under any of the priors are drawn for more often, since an error there counts for more.
        likely = np.max(list(weights.values()), axis=0) * len(ids)

        def work(number: int, part: slice) -> Arrays:
            times = int(np.clip(likely[part].mean(), 1, _MOST_TIMES))
            landing = self._follow(ids[part], scales[part], times * self.settings.adversary_draws, _ADVERSARY, number)
            own = [self._within(landing.edges, column) for column in scales[part].T]
            return _packed(
                Halves.of(ids[part], landing.outputs[:, place], own[place]) for place in range(len(epsilons))
            )

        key = {"what": "guesses", "epsilons": list(epsilons), "priors": list(priors)}
        found = self._each_block(ids, "learning to guess", work, key)
        at_each = [
            halves.adversaries(self.probe.space, list(weights.values()))
            for halves in _joined(found, Halves, len(epsilons))
        ]
        return {prior: [at[place] for at in at_each] for place, prior in enumerate(priors)}

    def _measure(self, epsilons: Sequence[float]) -> Iterator[Measurement]:
        ids, around = self.ids, self.surroundings
        scales = self._scales(epsilons, ids)

        def work(number: int, part: slice) -> Arrays:
            landing = self._follow(ids[part], scales[part], self.settings.draws, _FIGURES, number)
            arrays = _packed(
                Counts.of(ids[part], landing.outputs[:, place], self.settings) for place in range(len(epsilons))
            )
            for place, column in enumerate(scales[part].T):
                means, errors, block_error = _means(self._within(landing.edges, column))
                arrays[f"{place}.stays"], arrays[f"{place}.errors"] = means, errors
                arrays[f"{place}.block_error"] = np.array([block_error * len(means)])
                inside = slice(part.start, max(part.start, min(part.stop, len(around.ids))))
                outputs = landing.outputs[: inside.stop - inside.start, place]
                arrays[f"{place}.near"] = estimates.near_frequency(around, self.settings.near, outputs, inside)
            return arrays

        key = {"what": "figures", "epsilons": list(epsilons)}
        found = self._each_block(ids, "following noise", work, key)
        adversaries = self._adversaries(epsilons, _PRIORS)
        all_counts = _joined(found, Counts, len(epsilons))
        all_stays = []
        for place in range(len(epsilons)):
            names = ("stays", "errors", "block_error")
            means, errors, block_errors = (
                np.concatenate([part[f"{place}.{name}"] for part in found]) for name in names
            )
            all_stays.append(PerWord(ids, means, errors, float(np.linalg.norm(block_errors)) / len(ids)))
        all_again = self._again(epsilons, [estimates.worst_words(stays) for stays in all_stays])
        for place, epsilon in enumerate(epsilons):
            yield estimates.estimated(
                epsilon,
                replace(all_stays[place], again=all_again[place]),
                all_counts[place],
                np.concatenate([part[f"{place}.near"] for part in found]),
                self.near_loss([epsilon])[0],
                (adversaries["uniform"][place], adversaries["frequency"][place]),
                self.settings,
                block=self._rays.block,
                has_hierarchy=False,
            )

    def _again(self, epsilons: Sequence[float], worst: list[NDArray[np.int64]]) -> list[PerWord]:
        """Measure once more how often the worst words at each ε stay, on other directions."""
        ids = np.unique(np.concatenate(worst))
        self.watch("measuring the worst words again", 0.0)

        def work(number: int) -> NDArray[np.float64]:
            return self._follow(ids, np.empty((len(ids), 0)), self.settings.draws, _WORST, number).edges

        edges = np.concatenate(run(work, range(estimates.AGAIN)), axis=1)
        found = []
        for scales, chosen in zip(self._scales(epsilons, ids).T, worst, strict=True):
            rows = np.searchsorted(ids, chosen)
            means, errors, _ = _means(self._within(edges[rows], scales[rows]))
            found.append(PerWord(chosen, means, errors))
        return found


def _means(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the mean of each row, its standard error, and the standard error of the mean over all rows."""
    draws = values.shape[1]
    spread = max(1, draws - 1) * draws
    means = values.mean(axis=1)
    errors = np.sqrt(np.square(values - means[:, None]).sum(axis=1) / spread)
    columns = values.mean(axis=0)
    return means, errors, float(np.sqrt(np.square(columns - columns.mean()).sum() / spread))


def _packed(parts: Iterator[Any]) -> Arrays:
    return {f"{place}.{one.name}": getattr(part, one.name) for place, part in enumerate(parts) for one in fields(part)}


def _joined(found: list[Arrays], kind: Any, count: int) -> list[Any]:
    return [
        kind.joined([kind(**{one.name: arrays[f"{place}.{one.name}"] for one in fields(kind)}) for arrays in found])
        for place in range(count)
    ]
