"""What every mechanism can do, and the two families."""

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
from wordveil._mechanisms.rows import LOG_FLOOR, Lazily, RowDraws, RowSource, WholeRows, rate_of, weights_of
from wordveil.errors import OptionError, SpaceError
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import Entropy, KeyedEntropy, directions
from wordveil.parallel import ahead, blocks
from wordveil.progress import Watch, ignore, run_watched
from wordveil.rounding import round_up
from wordveil.spaces import EuclideanSpace, PointSpace, Space
from wordveil.spaces.space import Ids, Points, Rows

RadiusLaw: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
# Beyond these, 32-bit floats hold neither the noise nor the weights.
_SMALLEST_EPSILON, _LARGEST_EPSILON = 1e-9, 1e9
_CELLS = 1 << 21  # probabilities that one thread works on
# Words that a device takes at once: in smaller blocks it waits for its many small steps, and for the noise of a larger
# first one.
_FIRST_DEVICE_BLOCK, _DEVICE_BLOCK = 1 << 15, 1 << 17

SpaceT = TypeVar("SpaceT", bound=Space)
PointSpaceT = TypeVar("PointSpaceT", bound=PointSpace)

#: What floating-point noise means for a released word.
DRAWN_IN_FLOATS = "The noise is drawn in floating point; what is released is a word, never the noisy vector."


def drawn_finely(error: float) -> str:
    """Say what drawing with 128 random bits does to a mechanism whose rarest outputs are drawn first."""
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
        Its name in the registry.
    family : str
        How it works, in a few words.
    summary : str
        What it does, in one sentence.
    in_brief : str
        What it promises, in a few words; `guarantee` says it in full.
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
    #: How its probabilities are had; draws will do for any mechanism.
    law_kind: ClassVar[type[Law]] = SampledLaw
    #: The ids of words that are never drawn; see `wordveil._mechanisms.blocking`.
    blocked: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    #: Whether these are the bundled ones: a list of somebody's own may be private, so nothing from which it follows is
    #: cached.
    blocks_bundled: bool = True
    #: Whether a draw is noise and then a search for the words around the noisy point, which an engine can speed up.
    searches_points: ClassVar[bool] = False
    #: Whether that search is for the single nearest word, which an index can find.
    takes_nearest: ClassVar[bool] = False
    #: Whether threads that draw at the same time hold one another up as little as processes do.
    draws_in_threads: bool = False
    #: Whether it is made from the most similar words of every word, which an engine can look up.
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
        """Return what every epsilon must be above on this space."""
        return 0.0

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is promised for one word."""

    def make_guarantee(self, notion: Notion = Notion.METRIC, **details: Any) -> Guarantee:
        """Make a guarantee of this notion at this mechanism's ε and in its metric."""
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
            Where the randomness comes from; a fresh cryptographic stream if not given.
        """

    def draw_each(self, ids: Ids, seeds: Sequence[bytes]) -> NDArray[np.int64]:
        """Replace each word by one that follows from its seed: the same word and seed give the same, in any company.

        Over random seeds it has the law of `draw`. Words are drawn one by one, which is far slower than `draw`.

        Parameters
        ----------
        ids : array of int
            The words, as ids of the space's vocabulary.
        seeds : sequence of bytes
            For each word 64 bytes that look random to anyone who must not know the draw.
        """
        drawn = [self.draw(ids[place : place + 1], KeyedEntropy(seed))[0] for place, seed in enumerate(seeds)]
        return np.array(drawn, dtype=np.int64)

    def perturb(self, ids: Ids, entropy: Entropy) -> Points:  # noqa: ARG002 - for those that add noise to a point
        """Return a noisy point for each word; a mechanism that draws words without one refuses."""
        raise OptionError(
            f"the mechanism {self.name} has no noisy vectors; choose one that adds noise, such as laplace."
        )

    def allowed_loss(self, left: Ids, right: Ids) -> NDArray[np.float64]:
        """Return the largest log-ratio that is promised between the words of each pair; infinite where none is."""
        words, row = np.unique(left, return_inverse=True)
        distances = self.space.distances(words)[row, right]
        promise = self.guarantee
        return np.array([promise.loss(distance) for distance in distances.tolist()])

    @property
    def largest_distance(self) -> float:
        """The largest distance that a loss can grow with: that of the two words farthest apart."""
        return float(self.space.diameter)

    @property
    def largest_loss(self) -> float:
        """The largest log-ratio between any two words for any output, as far as it is proved; infinite if it is not.

        The losses of n draws add up to at most n times this, which is what a budget must be charged.
        """
        promise = self.guarantee
        return promise.loss(self.largest_distance) if promise.notion is Notion.METRIC else math.inf

    # What a mechanism states of itself beyond its guarantee, for the audit to test.

    def radius_law(self, word: int) -> RadiusLaw | None:  # noqa: ARG002 - the law of some depends on the word
        """Return the distribution function of the distance between a word and its noisy point, where it is known."""
        return None

    def projection_law(self, word: int) -> RadiusLaw | None:  # noqa: ARG002 - the law of some depends on the word
        """Return the distribution function of the noise along a direction, where it is known and the same for all."""
        return None

    def covered_pairs(self, ids: Ids) -> NDArray[np.int64]:
        """Return pairs of words that the guarantee covers, a row each, such as these words and their nearest words."""
        return nearest_pairs(self.space, ids)

    def true_delta(self, left: int, right: int) -> float | None:  # noqa: ARG002 - known for Gaussian noise
        """Return the smallest δ that holds between two words at this mechanism's ε, where it is known exactly."""
        return None

    def delta_at_reach(self) -> tuple[float, float] | None:
        """Return the largest distance that an (ε, δ) guarantee covers, and the exact δ there; None if unknown."""
        return None

    @property
    def shortfall(self) -> str:
        """What a release under this mechanism would lack, in a sentence; empty where every word is protected."""
        return "" if self.guarantee.notion is not Notion.NONE else f"The mechanism {self.name} promises no privacy."

    @property
    def claim(self) -> Guarantee | None:
        """What the paper claims, where that is more than what is promised here: for the audit to test."""
        return None

    def law(self, effort: Effort | None = None, watch: Watch = ignore) -> Law:
        """Return the probabilities ``Pr[M(w)=y]``, exact or estimated, and all that follows from them.

        Parameters
        ----------
        effort : Effort, optional
            How much to draw where the probabilities are not known.
        watch : callable, optional
            Told how far long work is.
        """
        return self.law_kind(self, effort, watch)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options().items())
        return f"<{type(self).__name__} on {self.space.name!r}: epsilon={self.epsilon:g}{options}>"

    def options(self) -> dict[str, Any]:
        """Return the options besides epsilon that this mechanism was made with.

        Each is kept under its own name, or behind an underscore where that name is for what follows from it.
        """
        names = [(option, kept) for option in option_names(type(self)) for kept in (option, f"_{option}")]
        return {option: vars(self)[kept] for option, kept in names if kept in vars(self)}

    @property
    def blocked_checksum(self) -> str:
        """A digest of the words that are never drawn, by which a reader knows them again; "" if there are none."""
        blocked = "\n".join(self.space.vocabulary.take(self.blocked))
        return hashlib.sha256(blocked.encode("utf-8", "surrogatepass")).hexdigest() if len(self.blocked) else ""

    def describe(self) -> dict[str, Any]:
        """Say what the mechanism is, in plain values."""
        return {
            "mechanism": self.name,
            "epsilon": self.epsilon,
            "options": self.options(),
            "blocked_words": len(self.blocked),
            "space": self.space.describe(),
        }


class NoiseMechanism(Mechanism[PointSpaceT]):
    """Adds noise to the word's point and takes the word nearest to where it lands.

    All privacy comes from the noisy point; finding the nearest word looks at nothing else, so it costs none.
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
        # While the device searches one block, the next one's noise is drawn; each block has a stream of its own.
        parts = list(_growing(len(ids)))
        sources = entropy.spawn(len(parts))
        noisy = ahead(lambda job: self.perturb(ids[job[0]], job[1]), zip(parts, sources, strict=True))
        for part, source, points in zip(parts, sources, noisy, strict=True):
            drawn[part] = self.choose(points, source)
        return drawn

    def choose(self, points: Points, entropy: Entropy) -> NDArray[np.int64]:  # noqa: ARG002 - others draw here
        """Return a word for each noisy point, from the point alone: the nearest."""
        return self.space.nearest(points)


class RadialMechanism(NoiseMechanism[PointSpaceT]):
    """Adds noise that is a direction, uniform on the sphere, times a length, times a matrix if there is one.

    Where the space lies on another device, the directions are made there, from a key that this processor draws.
    """

    @abstractmethod
    def lengths(self, ids: Ids, entropy: Entropy) -> NDArray[np.float64]:
        """Draw the length of the noise of each word."""

    @property
    def stretch(self) -> NDArray[np.float32] | None:
        """What the noise is multiplied by, from the right; None where it is round."""
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
    """Adds noise whose length is a scale of the word times a length that has one law for all words and all ε."""

    law_kind: ClassVar[type[Law]] = RadialLaw

    @property
    def unit_length(self) -> UnitLength:
        """The law of the length at scale 1: Gamma(n), that of Laplace noise, unless a mechanism has another."""
        return UnitLength(self.space.dimension)

    def scales(self, ids: Ids) -> NDArray[np.float64]:
        """Return by how much the noise of each word is longer than at scale 1: 1/ε for all, as for Laplace noise."""
        return np.full(len(ids), 1.0 / self.epsilon)

    def lengths(self, ids: Ids, entropy: Entropy) -> NDArray[np.float64]:
        """Draw the length of the noise of each word, before it is stretched."""
        return self.unit_length.draw(len(ids), entropy) * self.scales(ids)

    def radius_law(self, word: int) -> RadiusLaw | None:
        """Return the distribution function of the distance between a word and its noisy point; None without noise."""
        scale = float(self.scales(np.array([word]))[0])
        return (lambda radii: self.unit_length.distribution(radii / scale)) if scale else None


class ExponentialMechanism(Mechanism[SpaceT]):
    """Draws the word directly, with exact probabilities that fall with the distance."""

    family = "draws from exact probabilities"
    law_kind: ClassVar[type[Law]] = RowLaw

    @abstractmethod
    def log_weights(self, ids: Ids) -> Rows:
        """Return the logarithms of the unnormalised probabilities of every output, a row for each word."""

    def probabilities(self, word: str | int) -> NDArray[np.float64]:
        """Return the exact probability of every output for one word."""
        place = self.space.vocabulary.id(word) if isinstance(word, str) else word
        return np.asarray(self.probability_rows(np.array([place]))[0])

    def probability_rows(self, ids: Ids) -> NDArray[np.float64]:
        """Return the exact probabilities of every output, a row for each word."""
        weights = weights_of(self.log_weights(ids))
        weights[:, self.blocked] = 0.0
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def log_columns(self, outputs: Ids, inputs: Ids, watch: Watch = ignore) -> NDArray[np.float64]:
        """Return the logarithms of the exact probabilities of some outputs: a row for each, a column for each input.

        Where `log_weight_columns` knows the weights behind an output, each row costs no more than its own entries, once
        the sums of all inputs are known; elsewhere it takes a pass over the inputs' rows.
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
        """Return the logarithms that `log_weights` does, a row for each output; None where a row cannot be had so."""
        return None

    @cached_property
    def _normalisers(self) -> Lazily:
        """The largest logarithm of each word's weights, and the logarithm of the sum of its weights scaled by that."""
        return Lazily(len(self.space), self._add_up)

    def _add_up(self, ids: Ids) -> NDArray[np.float64]:
        logs = self.log_weights(ids)
        weights = weights_of(logs)
        weights[:, self.blocked] = 0.0
        return np.stack([logs.max(axis=1).astype(np.float64), np.log(weights.sum(axis=1))], axis=1)

    def _parts(self, count: int) -> list[slice]:
        return list(blocks(count, max(1, _CELLS // len(self.space))))

    def row_source(self) -> RowSource:
        """Return the rows to draw from: those of `log_weights`, unless there is a quicker way to the same law."""
        return WholeRows(len(self.space), self.log_weights, rate_of(self.epsilon) * self.space.precision)

    @cached_property
    def rows(self) -> RowDraws:
        """What draws from the rows, and keeps some of them for the next draws."""
        return RowDraws(self.row_source())

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by one drawn with its probabilities; a word's row is computed once for all its places."""
        return self.rows.draw(ids, entropy or Entropy())


def _growing(total: int) -> Iterator[slice]:
    """Cut so many words into the blocks that a device takes, each twice the one before up to the largest."""
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
    """Return each of these words with its nearest word, a row each; nothing where there is only one word."""
    near = space.neighbours(ids, 1)[0]
    return np.stack([ids[: near.size], near.ravel()], axis=1).astype(np.int64)


def needs_vectors(name: str, space: Space) -> EuclideanSpace:
    """Return the space if it is one of vectors, or refuse it in the name of a mechanism."""
    if not isinstance(space, EuclideanSpace):
        raise SpaceError(f"the mechanism {name} needs a Euclidean space of vectors.")
    return space
