"""The law of noise that is a direction times a length, estimated for all ε in one pass over shared directions.

The directions are uniform on the sphere (for `mahalanobis`, stretched by the covariance of the words). The length is a
word's scale times a length with one law for all words and all ε: Gamma(n) for Laplace noise, with scale 1/ε; the chi
law with n degrees of freedom for Gaussian noise, with the word's standard deviation as scale; and for `elastic` a
quotient of two Gamma variables, with the word's size as scale.

The probability of staying is averaged, not counted: along each direction, the probability that the noise ends before
the edge of the word's cell is known exactly. This has less variance than counting, and one set of edges serves every ε.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms.laws.counts import Counts, Halves
from wordveil._mechanisms.laws.figures import Effort, Figures, Guess, PerWord, Question
from wordveil._mechanisms.laws.law import Ids, Law, Memory
from wordveil._mechanisms.laws.rays import Landing, Rays
from wordveil._mechanisms.laws.sampled import AGAIN, SampledLaw, near_frequency, seed_of, worst_words
from wordveil._mechanisms.laws.store import forget, hash_of, keep, kept
from wordveil.noise import Entropy, log_gamma_draws
from wordveil.parallel import blocks, run
from wordveil.progress import Watch, ignore, run_watched, within
from wordveil.stats import Estimate

if TYPE_CHECKING:
    from wordveil._mechanisms.base import Mechanism, ScaledMechanism

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

# The purposes of directions; each purpose and each block of words has its own.
_FIGURES, _GUESSES, _WORST = range(3)
_MOST_TIMES = 20
_REMEMBERED = 64  # guesses kept, each at one ε
_MOST_WORDS = 1 << 16  # words whose edges are kept: about 100 MB
_DRAWN = 0.8  # the share of drawing in the time of learning to guess
_TABLE = 1 << 14
_TAIL = 1e-12


@dataclass(frozen=True)
class UnitLength:
    """The law of the noise's length at scale 1.

    It is a Gamma variable; or the root of twice one, which makes a chi law; or the quotient of one and a second one.
    """

    shape: float  # of the Gamma law
    is_root: bool = False  # whether the length is a root
    tail: float | None = None  # the shape of the Gamma law that it is divided by

    def draw(self, count: int, entropy: Entropy) -> Floats:
        """Draw `count` lengths."""
        drawn = entropy.generator.standard_gamma(self.shape, count)
        if self.tail is not None:  # by logarithms, because a divisor may underflow
            return np.asarray(np.exp(np.log(drawn) - log_gamma_draws(self.tail, count, entropy)))
        return np.sqrt(2.0 * drawn) if self.is_root else drawn

    def distribution(self, lengths: Floats) -> Floats:
        """Return the probability that the length is below each of these."""
        if self.tail is None:
            return np.asarray(scipy.special.gammainc(self.shape, 0.5 * lengths**2 if self.is_root else lengths))
        with np.errstate(invalid="ignore"):
            shares = lengths / (1.0 + lengths)
        shares[np.isposinf(lengths)] = 1.0
        return np.asarray(scipy.special.betainc(self.shape, self.tail, shares))

    @cached_property
    def _table(self) -> tuple[float, float, Floats]:
        """A table of `distribution`: where it begins, its entries per unit, and the entries."""
        ends = _TAIL, 1.0 - _TAIL
        if self.tail is None:
            low, high = (float(scipy.special.gammaincinv(self.shape, share)) for share in ends)
            chances = scipy.special.gammainc(self.shape, np.linspace(low, high, _TABLE))
        else:  # over logarithms, because its tail is long
            shares = scipy.special.betaincinv(self.shape, self.tail, ends[0])
            rest = scipy.special.betaincinv(self.tail, self.shape, _TAIL)  # 1 less the share, with all its digits
            low, high = float(np.log(shares / (1.0 - shares))), float(np.log1p(-rest) - np.log(rest))
            chances = self.distribution(np.exp(np.linspace(low, high, _TABLE)))
        return low, (_TABLE - 1) / (high - low), chances

    def below(self, lengths: Floats) -> Floats:
        """Return `distribution` to within 1e-6, faster for many lengths."""
        low, per_unit, chances = self._table
        if self.tail is not None:
            with np.errstate(divide="ignore"):
                lengths = np.log(lengths)
        places = np.clip(((0.5 * lengths**2 if self.is_root else lengths) - low) * per_unit, 0.0, _TABLE - 1.0)
        before = np.minimum(places.astype(np.int32), _TABLE - 2)
        found = chances[before]
        found += (places - before) * (chances[before + 1] - found)
        return found


class _Field:
    """Everything that does not depend on ε: the points, the directions, and how far cells reach along them."""

    def __init__(self, mechanism: ScaledMechanism[Any], effort: Effort, watch: Watch) -> None:
        self._mechanism, self.effort, self.watch = mechanism, effort, watch
        self.length = mechanism.unit_length
        self._known: tuple[NDArray[np.int64], NDArray[np.float32]] | None = None
        self._edges: dict[tuple[int, int, str], Floats] = {}
        #: The best guesses, by a digest of the question and ε.
        self.guessed: dict[tuple[str, float], list[Guess]] = {}

    @cached_property
    def rays(self) -> Rays:
        space = self._mechanism.space
        device, points = space.device, space.points(np.arange(len(space)))
        rays: Rays = Rays(points) if device is None else device.rays(points)
        return rays

    def follow(self, ids: NDArray[np.int64], scales: Floats, draws: int, purpose: int, number: int) -> Landing:
        """Follow the noise of some words, each at its own scales, along shared directions."""
        entropy = Entropy(seed_of(self.effort, purpose, number))
        directions = entropy.generator.standard_normal((draws, self._mechanism.space.dimension))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        stretch = self._mechanism.stretch
        if stretch is not None:
            directions = np.asarray(directions @ stretch, dtype=np.float64)
        lengths = self.length.draw(draws, entropy)
        if purpose != _GUESSES:
            return self.rays.follow(ids, directions, lengths, scales)
        # A search for an ε asks about the same words many times, and finding the edges takes most of the time.
        key = number, draws, hash_of(ids)
        landing = self.rays.follow(ids, directions, lengths, scales, self._edges.get(key))
        if len(self._edges) * self.rays.block < _MOST_WORDS:
            self._edges[key] = landing.edges
        return landing

    def edges(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return how far each word's cell reaches in each direction."""
        if self._known is not None and np.isin(ids, self._known[0]).all():
            known, edges = self._known
            order = np.argsort(known)
            return edges[order[np.searchsorted(known[order], ids)]]

        def work(job: tuple[int, slice]) -> NDArray[np.float32]:
            number, part = job
            nothing = np.empty((part.stop - part.start, 0))
            return self.follow(ids[part], nothing, self.effort.draws, _FIGURES, number).edges.astype(np.float32)

        self.watch("finding cells", 0.0)
        parts = list(enumerate(blocks(len(ids), self.rays.block)))
        self._known = ids, np.concatenate(run_watched(work, parts, "finding cells", self.watch))
        return self._known[1]

    def within(self, edges: NDArray[np.floating[Any]], scales: Floats) -> Floats:
        """Return, per word and direction, the probability that the noise ends inside the word's own cell."""
        with np.errstate(divide="ignore", invalid="ignore"):
            lengths = edges / scales[:, None]
        lengths[np.isnan(lengths)] = 0.0  # 0/0: a word without noise whose twin is returned instead
        return self.length.below(lengths)


class _Sweep:
    """One mechanism at several ε, followed along the same directions."""

    def __init__(self, mechanisms: Sequence[ScaledMechanism[Any]], field: _Field) -> None:
        self.mechanisms, self.field = mechanisms, field
        self.remembered = Memory()

    def scales(self, ids: NDArray[np.int64]) -> Floats:
        """Return the scale of each word's noise at each ε."""
        return np.stack([mechanism.scales(ids) for mechanism in self.mechanisms], axis=1)

    def each_block(
        self,
        ids: NDArray[np.int64],
        what: str,
        work: Callable[[int, slice], Arrays],
        key: dict[str, Any],
        watch: Watch,
        weights: Sequence[float] = (),
    ) -> list[Arrays]:
        """Do the work for every block of words on all cores, skipping blocks whose results are cached.

        `weights` are how much work each block is. Call `forget_blocks` once the results are no longer needed: they are
        large.
        """

        def one(job: tuple[int, slice]) -> Arrays:
            number, part = job
            named = {**self.identity, **key, "block": number}
            found = kept(named)
            if found is None:
                found = work(number, part)
                keep(named, found, for_now=True)
            return found

        watch(what, 0.0)
        return run_watched(one, list(enumerate(blocks(len(ids), self.field.rays.block))), what, watch, weights)

    def forget_blocks(self, count: int, key: dict[str, Any]) -> None:
        """Remove the blocks cached under this key."""
        for number in range(count):
            forget({**self.identity, **key, "block": number})

    @cached_property
    def identity(self) -> dict[str, Any]:
        described = self.mechanisms[0].describe()
        return {
            "law": "radial",
            "mechanism": described["mechanism"],
            "options": described["options"],
            "metric": described["space"]["checksum"],
            "epsilons": [mechanism.epsilon for mechanism in self.mechanisms],
            "effort": self.field.effort.to_dict(),
        }


class RadialLaw(SampledLaw):
    """The law of laplace, mahalanobis, elastic and the Gaussian mechanisms, from rays shared by words and ε."""

    how = "Estimated: the words of a block share their directions of noise, and all ε share both."
    measured_words = 5_000
    batch = 7

    mechanism: ScaledMechanism[Any]

    def __init__(
        self,
        mechanism: ScaledMechanism[Any],
        effort: Effort | None = None,
        watch: Watch = ignore,
        sweep: tuple[_Sweep, int] | None = None,
    ) -> None:
        super().__init__(mechanism, effort, watch)
        self._sweep, self._place = sweep or (_Sweep([mechanism], _Field(mechanism, self.effort, watch)), 0)
        self._field = self._sweep.field

    def at(self, mechanisms: Sequence[Mechanism[Any]]) -> list[Law]:
        """Return the laws of the same mechanism at other ε, which share the directions."""
        sweep = _Sweep(cast("Sequence[ScaledMechanism[Any]]", mechanisms), self._field)
        return [RadialLaw(one, self.effort, self.watch, (sweep, place)) for place, one in enumerate(sweep.mechanisms)]

    @property
    def block(self) -> int:
        """The number of consecutive words that share directions."""
        return self._field.rays.block

    suspected_words = Law.suspected_words  # words share draws, so `SampledLaw`'s lower limit is not needed

    def stays(self, ids: Ids) -> PerWord:
        """Return the probability that each word stays itself, averaged over directions."""
        chosen = np.asarray(ids, dtype=np.int64)
        edges, scales = self._field.edges(chosen), self.mechanism.scales(chosen)
        means, errors, block_errors = np.empty(len(chosen)), np.empty(len(chosen)), []
        for part in blocks(len(chosen), self.block):
            means[part], errors[part], block_error = _means(self._field.within(edges[part], scales[part]))
            block_errors.append(block_error * (part.stop - part.start))
        return PerWord(chosen, means, errors, float(np.linalg.norm(block_errors)) / len(chosen))

    def distinct(self, ids: Ids) -> PerWord:
        """Return how many distinct outputs each word had in `effort.draws` draws."""
        sweep, chosen = self._sweep, np.asarray(ids, dtype=np.int64)

        def count() -> list[Counts]:
            scales = sweep.scales(chosen)
            key = {"what": "distinct", "words": len(chosen), "told": hash_of(chosen)}

            def work(number: int, part: slice) -> Arrays:
                landing = self._field.follow(chosen[part], scales[part], self.effort.draws, _FIGURES, number)
                return _packed(Counts.of(chosen[part], landing.outputs[:, place], self.effort) for place in self._all)

            found = sweep.each_block(chosen, "counting outputs", work, key, self.watch)
            sweep.forget_blocks(len(found), key)
            return [_joined(found, Counts, place) for place in self._all]

        counts = sweep.remembered("distinct", (chosen,), count)
        return counts[self._place].distinct_of(chosen, self.effort.draws, self.block)

    @property
    def _all(self) -> range:
        return range(len(self._sweep.mechanisms))

    def guesses(self, inputs: Ids, priors: Sequence[Floats], watch: Watch = ignore) -> list[Guess]:
        """Return the best guess under each of several priors, learnt from draws; likely words are drawn more often."""
        words = np.asarray(inputs, dtype=np.int64)
        digest, known = hash_of(words, *priors), self._field.guessed
        epsilon = self.mechanism.epsilon
        if (digest, epsilon) not in known:
            self._guess(words, priors, digest, watch)
        return known[digest, epsilon]

    def _guess(self, words: NDArray[np.int64], priors: Sequence[Floats], digest: str, watch: Watch) -> None:
        """Learn the best guess at every ε of the sweep where it is unknown, all from the same directions."""
        known, asked = self._field.guessed, {"what": "guesses", "words": len(words), "told": digest}
        missing = []
        for one in self._sweep.mechanisms:
            found = kept({**_Sweep([one], self._field).identity, **asked})
            if found is not None:
                known[digest, one.epsilon] = [_unpacked_guess(found, place) for place in range(len(priors))]
            elif (digest, one.epsilon) not in known:
                missing.append(one)
        if not missing:
            return
        sweep = _Sweep(missing, self._field)
        scales, likely = sweep.scales(words), np.max(priors, axis=0) * len(words)
        parts = list(blocks(len(words), self.block))
        times = [int(np.clip(likely[part].mean(), 1, _MOST_TIMES)) for part in parts]

        def work(number: int, part: slice) -> Arrays:
            draws = times[number] * self.effort.adversary_draws
            landing = self._field.follow(words[part], scales[part], draws, _GUESSES, number)
            own = [self._field.within(landing.edges, column) for column in scales[part].T]
            halves = [[stays[:, : draws // 2].sum(axis=1), stays[:, draws // 2 :].sum(axis=1)] for stays in own]
            # they are many, and kept until all blocks are done
            return {"outputs": landing.outputs.astype(np.min_scalar_type(len(self) - 1)), "own": np.array(halves)}

        blocks_done = sweep.each_block(words, "learning to guess", work, asked, within(watch, 0.0, _DRAWN), times)
        for place, one in enumerate(missing):
            watch("judging guesses", _DRAWN + (1.0 - _DRAWN) * place / len(missing))

            def count(part: slice, place: int = place) -> Halves:
                arrays = blocks_done[part.start // self.block]
                return Halves.of(words[part], arrays["outputs"][:, place], arrays["own"][place].T)

            guesses = self._judged(words, Halves.joined(run(count, parts)), priors)
            known[digest, one.epsilon] = guesses
            while len(known) > _REMEMBERED:
                known.pop(next(iter(known)))
            keep({**_Sweep([one], self._field).identity, **asked}, _packed_guesses(guesses))
        sweep.forget_blocks(len(parts), asked)

    def measure(self, ask: Question, watch: Watch = ignore) -> Figures:
        """Compute all figures of a calibration, for all ε in one pass."""
        found = self._sweep.remembered("figures", (ask.ids, ask.near), lambda: self._look(ask, watch))
        (stays, counts, near), place = found, self._place
        guesses = self.guesses(ask.inputs, ask.priors, watch)
        # Until now they were kept, so that a calibration that was stopped while it learnt guesses has them.
        self._sweep.forget_blocks(-(-len(ask.ids) // self.block), _asked(ask))
        return self._figures(ask, stays[place], counts[place], near[place], guesses)

    def _look(self, ask: Question, watch: Watch) -> tuple[list[PerWord], list[Counts], list[Floats]]:
        sweep, ids = self._sweep, ask.ids
        scales = sweep.scales(ids)

        def work(number: int, part: slice) -> Arrays:
            landing = self._field.follow(ids[part], scales[part], self.effort.draws, _FIGURES, number)
            arrays = _packed(Counts.of(ids[part], landing.outputs[:, place], self.effort) for place in self._all)
            for place, column in enumerate(scales[part].T):
                means, errors, block_error = _means(self._field.within(landing.edges, column))
                arrays[f"{place}.stays"], arrays[f"{place}.errors"] = means, errors
                arrays[f"{place}.block_error"] = np.array([block_error * len(means)])
                arrays[f"{place}.near"] = near_frequency(ask.near, landing.outputs[:, place], part)
            return arrays

        found = sweep.each_block(ids, "following noise", work, _asked(ask), watch)
        names = ("stays", "errors", "block_error", "near")
        stays, near = [], []
        for place in self._all:
            means, errors, block_errors, own = (
                np.concatenate([part[f"{place}.{name}"] for part in found]) for name in names
            )
            stays.append(PerWord(ids, means, errors, float(np.linalg.norm(block_errors)) / len(ids)))
            near.append(own)
        again = self._again([worst_words(one) for one in stays], watch)
        stays = [replace(one, again=second) for one, second in zip(stays, again, strict=True)]
        return stays, [_joined(found, Counts, place) for place in self._all], near

    def _again(self, worst: list[NDArray[np.int64]], watch: Watch) -> list[PerWord]:
        """Measure how often the worst words at each ε stay again, on fresh directions."""
        sweep, ids = self._sweep, np.unique(np.concatenate(worst))
        watch("measuring the worst words again", 0.0)

        def work(number: int) -> Floats:
            return self._field.follow(ids, np.empty((len(ids), 0)), self.effort.draws, _WORST, number).edges

        edges = np.concatenate(run(work, range(AGAIN)), axis=1)
        found = []
        for scales, chosen in zip(sweep.scales(ids).T, worst, strict=True):
            rows = np.searchsorted(ids, chosen)
            means, errors, _ = _means(self._field.within(edges[rows], scales[rows]))
            found.append(PerWord(chosen, means, errors))
        return found


def _asked(ask: Question) -> dict[str, Any]:
    """Return the key of the figures about words."""
    return {"what": "figures", "words": len(ask.ids), "told": hash_of(ask.ids, ask.near)}


def _means(values: Floats) -> tuple[Floats, Floats, float]:
    """Return the mean of each row, its standard error, and the standard error of the mean over all rows."""
    draws = values.shape[1]
    spread = max(1, draws - 1) * draws
    means = values.mean(axis=1)
    errors = np.sqrt(np.square(values - means[:, None]).sum(axis=1) / spread)
    columns = values.mean(axis=0)
    return means, errors, float(np.sqrt(np.square(columns - columns.mean()).sum() / spread))


def _packed_guesses(guesses: Sequence[Guess]) -> Arrays:
    arrays: Arrays = {}
    for place, (words, success) in enumerate(guesses):
        arrays[f"{place}.words"], arrays[f"{place}.n"] = words.astype(np.int32), np.array(success.n)
        arrays[f"{place}.success"] = np.array([success.value, success.low, success.high])
    return arrays


def _unpacked_guess(arrays: Arrays, place: int) -> Guess:
    value, low, high = arrays[f"{place}.success"].tolist()
    return Guess(arrays[f"{place}.words"].astype(np.int64), Estimate(value, low, high, int(arrays[f"{place}.n"])))


def _packed(parts: Iterable[Any]) -> Arrays:
    return {f"{place}.{one.name}": getattr(part, one.name) for place, part in enumerate(parts) for one in fields(part)}


def _joined(found: list[Arrays], kind: Any, place: int) -> Any:
    """Join the results for one ε, removing them from the parts so that memory holds them once."""
    names = {one.name: f"{place}.{one.name}" for one in fields(kind)}
    return kind.joined([kind(**{name: arrays.pop(where) for name, where in names.items()}) for arrays in found])
