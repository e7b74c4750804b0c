"""The base classes of all mechanisms, and of the two families."""

from __future__ import annotations

import hashlib
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.laws import Effort, Law, RadialLaw, RowLaw, SampledLaw, UnitLength
from wordveil._mechanisms.rows import LOG_FLOOR, LazyTable, RowDraws, RowSource, WholeRows, rate_of, weights_of
from wordveil.errors import OptionError, SpaceError
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import Entropy, KeyedEntropy, directions
from wordveil.parallel import ahead, blocks
from wordveil.progress import Watch, ignore, run_watched
from wordveil.rounding import round_up
from wordveil.spaces import EuclideanSpace, PointSpace, Space
from wordveil.spaces.space import Ids, Points, Rows

RadiusLaw: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
# Outside these, the noise and the weights overflow or underflow 32-bit floats.
_SMALLEST_EPSILON, _LARGEST_EPSILON = 1e-9, 1e9
_CELLS = 1 << 21  # probabilities per thread and block
# Words sent to a device at once. Smaller blocks would leave it waiting between kernels; the first is smaller so that
# it can start before much noise is drawn.
_FIRST_DEVICE_BLOCK, _DEVICE_BLOCK = 1 << 15, 1 << 17

SpaceT = TypeVar("SpaceT", bound=Space)
PointSpaceT = TypeVar("PointSpaceT", bound=PointSpace)

#: The caveat of mechanisms that draw their noise in floating point.
DRAWN_IN_FLOATS = "The noise is drawn in floating point; what is released is a word, never the noisy vector."


def drawn_finely(error: float) -> str:
    """Return the caveat of a mechanism that draws with 128 random bits, the rarest outputs first."""
    factor = f"{round_up(2.0 * error, 1):.0e}".replace("e-0", "e-")
    return (
        f"Drawn with 128 random bits: the promise holds up to a factor of 1 + {factor} and an additive 2^-75, and "
        "rarer outputs do not occur."
    )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


class Mechanism(ABC, Generic[SpaceT]):
    """A random map from words to words.

    Attributes
    ----------
    name : str
        The name in the registry.
    family : str
        How the mechanism works, in a few words.
    summary : str
        What the mechanism does, in one sentence.
    in_brief : str
        The guarantee in a few words; `guarantee` has it in full.
    source : str
        Who proposed or claimed it.
    space : Space
        The words and their distance.
    epsilon : float
        The privacy parameter, per unit of the distance.
    """

    name: ClassVar[str]
    family: ClassVar[str]
    summary: ClassVar[str]
    in_brief: ClassVar[str]
    source: ClassVar[str]
    #: The class of its law. The default estimates probabilities from draws, which works for any mechanism.
    law_kind: ClassVar[type[Law]] = SampledLaw
    #: Ids of the words that are never drawn; see `wordveil._mechanisms.blocking`.
    blocked: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    #: Whether `blocked` is the bundled list. A user's own list may be private, so nothing derived from it is cached.
    blocks_bundled: bool = True
    #: Whether a draw searches for the words around a noisy point, which an engine can speed up.
    searches_points: ClassVar[bool] = False
    #: Whether that search is for the single nearest word, which an index can answer.
    takes_nearest: ClassVar[bool] = False
    #: Whether drawing scales over threads as well as over processes.
    draws_in_threads: bool = False
    #: Whether the mechanism is built from the most similar words of every word, which an engine can look up.
    joins_words: ClassVar[bool] = False

    def __init__(self, space: SpaceT, epsilon: float) -> None:
        if not _is_number(epsilon) or not 0.0 < epsilon < math.inf:
            raise OptionError("epsilon must be a finite number above 0.")
        if not _SMALLEST_EPSILON <= epsilon <= _LARGEST_EPSILON:
            raise OptionError(f"epsilon must lie between {_SMALLEST_EPSILON:g} and {_LARGEST_EPSILON:g}.")
        self.space = space
        self.epsilon = float(epsilon)

    @classmethod
    def least_epsilon(cls, space: Space) -> float:  # noqa: ARG003 - for those that depend on the space
        """Return the bound that epsilon must exceed on this space."""
        return 0.0

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The guarantee for one word."""

    def make_guarantee(self, notion: Notion = Notion.METRIC, **details: Any) -> Guarantee:
        """Make a guarantee of this notion, with this mechanism's ε and metric."""
        details["caveats"] = (*details.get("caveats", ()), *self.space.remarks)
        if notion is Notion.NONE:
            return Guarantee(notion, math.inf, self.space.metric, self.space.unit, delta=1.0, **details)
        return Guarantee(notion, self.epsilon, self.space.metric, self.space.unit, **details)

    @abstractmethod
    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by a random word.

        Parameters
        ----------
        ids : array of int
            The words, as ids of the space's vocabulary.
        entropy : Entropy, optional
            The source of randomness. Default: a fresh cryptographic stream.
        """

    def draw_each(self, ids: Ids, seeds: Sequence[bytes]) -> NDArray[np.int64]:
        """Replace each word by a word that depends only on the word and its seed.

        Over random seeds the outputs have the same law as those of `draw`. Words are drawn one at a time, so this is
        far slower than `draw`.

        Parameters
        ----------
        ids : array of int
            The words, as ids of the space's vocabulary.
        seeds : sequence of bytes
            64 bytes per word, indistinguishable from random to anyone who must not know the draw.
        """
        drawn = [self.draw(ids[place : place + 1], KeyedEntropy(seed))[0] for place, seed in enumerate(seeds)]
        return np.array(drawn, dtype=np.int64)

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:  # noqa: ARG002 - for those that add noise to a point
        """Return a noisy point for each word.

        Raises
        ------
        OptionError
            If the mechanism draws words without adding noise to a point.
        """
        raise OptionError(
            f"the mechanism {self.name} has no noisy vectors; choose one that adds noise, such as laplace."
        )

    def allowed_loss(self, left: Ids, right: Ids) -> NDArray[np.float64]:
        """Return the largest log-ratio that the guarantee allows for each pair; infinite where it allows any."""
        words, row = np.unique(left, return_inverse=True)
        distances = self.space.distances(words)[row, right]
        promise = self.guarantee
        return np.array([promise.loss(distance) for distance in distances.tolist()])

    @property
    def largest_distance(self) -> float:
        """The distance between the two words farthest apart, at which the loss is largest."""
        return float(self.space.diameter)

    @property
    def largest_loss(self) -> float:
        """The proved bound on the log-ratio between any two words for any output; infinite if there is none.

        n draws lose at most n times this, which is what a budget is charged.
        """
        promise = self.guarantee
        return promise.loss(self.largest_distance) if promise.notion is Notion.METRIC else math.inf

    # Statements beyond the guarantee, which the audit tests.

    def radius_law(self, word: int) -> RadiusLaw | None:  # noqa: ARG002 - the law of some depends on the word
        """Return the CDF of the distance between a word and its noisy point, or None if it is unknown."""
        return None

    def projection_law(self, word: int) -> RadiusLaw | None:  # noqa: ARG002 - the law of some depends on the word
        """Return the CDF of the noise along a direction, or None if it is unknown or differs by direction."""
        return None

    def covered_pairs(self, ids: Ids) -> NDArray[np.int64]:
        """Return pairs of words that the guarantee covers, one per row: by default each word and its nearest word."""
        return nearest_pairs(self.space, ids)

    def true_delta(self, left: int, right: int) -> float | None:  # noqa: ARG002 - known for Gaussian noise
        """Return the smallest δ that holds between two words at this ε, or None if it is not known exactly."""
        return None

    def delta_at_reach(self) -> tuple[float, float] | None:
        """Return the largest distance that an (ε, δ) guarantee covers and the exact δ there, or None if unknown."""
        return None

    @property
    def shortfall(self) -> str:
        """What a release under this mechanism lacks, in a sentence; empty if every word is protected."""
        return "" if self.guarantee.notion is not Notion.NONE else f"The mechanism {self.name} promises no privacy."

    @property
    def claim(self) -> Guarantee | None:
        """What the paper claims, if that is more than the guarantee; the audit tests it."""
        return None

    def law(self, effort: Effort | None = None, watch: Watch = ignore) -> Law:
        """Return the law of the mechanism: the probabilities ``Pr[M(w)=y]``, exact or estimated.

        Parameters
        ----------
        effort : Effort, optional
            How much to draw if the probabilities must be estimated.
        watch : callable, optional
            Called with the progress of long work.
        """
        return self.law_kind(self, effort, watch)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options().items())
        return f"<{type(self).__name__} on {self.space.name!r}: epsilon={self.epsilon:g}{options}>"

    def options(self) -> dict[str, Any]:
        """Return the options besides epsilon that this mechanism was made with."""
        # An option is an attribute of the same name, or with a leading underscore if the name holds something derived.
        names = [(option, kept) for option in option_names(type(self)) for kept in (option, f"_{option}")]
        return {option: vars(self)[kept] for option, kept in names if kept in vars(self)}

    @property
    def blocked_checksum(self) -> str:
        """A digest of the blocked words, so that a reader can check that it has the same ones; "" if there are none."""
        blocked = "\n".join(self.space.vocabulary.take(self.blocked))
        return hashlib.sha256(blocked.encode("utf-8", "surrogatepass")).hexdigest() if len(self.blocked) else ""

    def describe(self) -> dict[str, Any]:
        """Describe the mechanism in plain values."""
        return {
            "mechanism": self.name,
            "epsilon": self.epsilon,
            "options": self.options(),
            "blocked_words": len(self.blocked),
            "space": self.space.describe(),
        }


class NoiseMechanism(Mechanism[PointSpaceT]):
    """Adds noise to the word's point and takes the word nearest to the noisy point.

    The search for the nearest word sees only the noisy point, so it is post-processing and costs no privacy.
    """

    family = "noise, then the nearest word"
    searches_points = True
    takes_nearest = True

    @abstractmethod
    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        """Return a noisy point for each word."""

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by the word nearest to its noisy point."""
        entropy = entropy or Entropy()
        drawn = np.empty(len(ids), dtype=np.int64)
        if self.space.device is None:
            for part in blocks(len(ids), 1 << 16):
                drawn[part] = self.choose(self.perturb(ids[part], entropy), entropy)
            return drawn
        # While the device searches one block, the noise of the next is drawn. Each block has its own stream.
        parts = list(_growing(len(ids)))
        sources = entropy.spawn(len(parts))
        noisy = ahead(lambda job: self.perturb(ids[job[0]], job[1]), zip(parts, sources, strict=True))
        for part, source, points in zip(parts, sources, noisy, strict=True):
            drawn[part] = self.choose(points, source)
        return drawn

    def choose(self, points: Points, entropy: Entropy) -> NDArray[np.int64]:  # noqa: ARG002 - others draw here
        """Return the word nearest to each noisy point."""
        return self.space.nearest(points)


class RadialMechanism(NoiseMechanism[PointSpaceT]):
    """Adds noise that is a uniform direction times a random length, optionally stretched by a matrix.

    If the space is on another device, the directions are made there, from a key drawn on the CPU.
    """

    @abstractmethod
    def lengths(self, ids: Ids, entropy: Entropy) -> NDArray[np.float64]:
        """Draw the length of the noise of each word."""

    @property
    def stretch(self) -> NDArray[np.float32] | None:
        """The matrix that the noise is multiplied by, from the right; None if the noise is isotropic."""
        return None

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:
        """Return a noisy point for each word."""
        device, stretch = self.space.device, self.stretch
        if device is not None:
            return device.throw(ids, self.lengths(ids, entropy), stretch, entropy.key())
        noise: Points = directions(len(ids), self.space.dimension, entropy)
        noise *= self.lengths(ids, entropy)[:, None].astype(np.float32)
        if stretch is not None:
            noise = noise @ stretch
        return np.add(noise, self.space.points(ids), out=noise)


class ScaledMechanism(RadialMechanism[PointSpaceT]):
    """Adds noise whose length is a scale times a random length, which has one law for all words and all ε."""

    law_kind: ClassVar[type[Law]] = RadialLaw

    @property
    def unit_length(self) -> UnitLength:
        """The law of the length at scale 1. Default: Gamma(n), as for Laplace noise."""
        return UnitLength(self.space.dimension)

    def scales(self, ids: Ids) -> NDArray[np.float64]:
        """Return the scale of each word's noise. Default: 1/ε, as for Laplace noise."""
        return np.full(len(ids), 1.0 / self.epsilon)

    def lengths(self, ids: Ids, entropy: Entropy) -> NDArray[np.float64]:
        """Draw the length of the noise of each word, before stretching."""
        return self.unit_length.draw(len(ids), entropy) * self.scales(ids)

    def radius_law(self, word: int) -> RadiusLaw | None:
        """Return the CDF of the distance between a word and its noisy point, or None if the word gets no noise."""
        scale = float(self.scales(np.array([word]))[0])
        return (lambda radii: self.unit_length.distribution(radii / scale)) if scale else None


class ExponentialMechanism(Mechanism[SpaceT]):
    """Draws the word directly, from exact probabilities that fall with the distance."""

    family = "draws from exact probabilities"
    law_kind: ClassVar[type[Law]] = RowLaw

    @abstractmethod
    def log_weights(self, ids: Ids) -> Rows:
        """Return the logarithms of the unnormalised probabilities of every output, one row per word."""

    def probabilities(self, word: str | int) -> NDArray[np.float64]:
        """Return the exact probability of every output for one word."""
        place = self.space.vocabulary.id(word) if isinstance(word, str) else word
        return np.asarray(self.probability_rows(np.array([place]))[0])

    def probability_rows(self, ids: Ids) -> NDArray[np.float64]:
        """Return the exact probabilities of every output, one row per word."""
        weights = weights_of(self.log_weights(ids))
        weights[:, self.blocked] = 0.0
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def log_columns(self, outputs: Ids, inputs: Ids, watch: Watch = ignore) -> NDArray[np.float64]:
        """Return the logarithms of the exact probabilities of some outputs: one row per output, one column per input.

        If the mechanism implements `log_weight_columns`, a row costs only its own entries once the normalisers are
        known. Otherwise this takes a pass over the rows of all inputs.
        """
        outputs, inputs = np.asarray(outputs), np.asarray(inputs)
        found = np.empty((len(outputs), len(inputs)))
        if not found.size:
            return found
        weigh = self.log_weight_columns
        knows = weigh(outputs[:1], inputs[:1]) is not None
        largest, sums = self._normalisers(inputs).T if knows else np.empty((2, 0))

        def read_rows(part: slice) -> None:
            with np.errstate(divide="ignore"):
                found[:, part] = np.log(self.probability_rows(inputs[part])[:, outputs]).T

        def read(part: slice) -> None:
            np.subtract(cast("Rows", weigh(outputs[part], inputs)), largest, out=found[part])
            np.maximum(found[part], LOG_FLOOR, out=found[part])  # as in `weights_of`
            found[part] -= sums

        work, parts = (read, self._parts(len(outputs))) if knows else (read_rows, self._parts(len(inputs)))
        run_watched(work, parts, "reading probabilities", watch)
        found[np.isin(outputs, self.blocked)] = -np.inf
        return found

    def log_weight_columns(self, outputs: Ids, inputs: Ids) -> Rows | None:  # noqa: ARG002 - for those who know
        """Return the values of `log_weights` by output, one row per output, or None if only rows by input are known."""
        return None

    @cached_property
    def _normalisers(self) -> LazyTable:
        """For each word, its largest log weight, and the logarithm of the sum of its weights scaled by that."""
        return LazyTable(len(self.space), self._normalise)

    def _normalise(self, ids: Ids) -> NDArray[np.float64]:
        logs = self.log_weights(ids)
        weights = weights_of(logs)
        weights[:, self.blocked] = 0.0
        return np.stack([logs.max(axis=1).astype(np.float64), np.log(weights.sum(axis=1))], axis=1)

    def _parts(self, count: int) -> list[slice]:
        return list(blocks(count, max(1, _CELLS // len(self.space))))

    def row_source(self) -> RowSource:
        """Return the rows to draw from. Override it if there is a faster way to draw from the same law."""
        return WholeRows(len(self.space), self.log_weights, rate_of(self.epsilon) * self.space.precision)

    @cached_property
    def rows(self) -> RowDraws:
        """Draws from the rows and caches some of them."""
        return RowDraws(self.row_source())

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by a random word. The row of a word that occurs several times is computed once."""
        return self.rows.draw(ids, entropy or Entropy())


def _growing(total: int) -> Iterator[slice]:
    """Yield the blocks that are sent to a device; each is twice as large as the one before, up to a maximum."""
    start, size = 0, _FIRST_DEVICE_BLOCK
    while start < total:
        yield slice(start, min(start + size, total))
        start, size = start + size, min(2 * size, _DEVICE_BLOCK)


def option_parameters(kind: type[Mechanism[Any]]) -> list[inspect.Parameter]:
    """Return the options of a mechanism besides epsilon: the keyword-only parameters of its class."""
    parameters = inspect.signature(kind.__init__).parameters.values()
    return [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


def option_names(kind: type[Mechanism[Any]]) -> list[str]:
    """Return the names of a mechanism's options besides epsilon."""
    return [parameter.name for parameter in option_parameters(kind)]


def nearest_pairs(space: Space, ids: Ids) -> NDArray[np.int64]:
    """Return each word with its nearest word, one pair per row; empty if the space has only one word."""
    near = space.neighbours(ids, 1)[0]
    return np.stack([ids[: near.size], near.ravel()], axis=1).astype(np.int64)


def needs_vectors(name: str, space: Space) -> EuclideanSpace:
    """Return the space if it is Euclidean; raise a SpaceError that names the mechanism if it is not."""
    if not isinstance(space, EuclideanSpace):
        raise SpaceError(f"the mechanism {name} needs a Euclidean space of vectors.")
    return space
