"""The law of a mechanism: the probabilities Pr[M(w)=y].

With a prior π over the inputs, Bayes' rule gives the posterior of the word behind an output:
``p(w|y) ∝ π(w)·Pr[M(w)=y]``. The attacker's best guess, the analyst's mean vector and the word frequencies behind a
release all follow from these columns, so they are implemented once, here. A subclass provides the probabilities, and
overrides whatever it can compute faster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.laws.figures import Effort, Figures, Guess, PerWord, Question
from wordveil.errors import OptionError
from wordveil.parallel import blocks, run
from wordveil.progress import Watch, ignore, run_watched
from wordveil.stats import Estimate

if TYPE_CHECKING:
    from wordveil._mechanisms.base import Mechanism

Ids = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
Found = TypeVar("Found")

_CELLS = 1 << 21  # probabilities per thread and block
_KEPT_CELLS = 1 << 28  # the most kept between rounds: 1 GiB in single precision
_REMEMBERED = 8


class Memory:
    """A small cache keyed by arrays, shared by the laws of one mechanism at several ε."""

    def __init__(self) -> None:
        self._found: dict[Any, Any] = {}

    def __call__(self, name: Any, arrays: tuple[NDArray[Any], ...], compute: Callable[[], Found]) -> Found:
        """Return what was computed from these arrays under this name, computing it on the first call."""
        key = (name, *(hash(array.tobytes()) for array in arrays))
        found: Found | None = self._found.get(key)
        if found is None:
            while len(self._found) >= _REMEMBERED:
                self._found.pop(next(iter(self._found)), None)  # another thread may have been quicker
            found = self._found.setdefault(key, compute())
        return found


class Law(ABC):
    """The probabilities ``Pr[M(w)=y]`` of one mechanism at its ε.

    In all methods, words, inputs and outputs are arrays of ids; where they are optional, the default is all words. A
    `prior` gives the probability of every word of the vocabulary before an output is seen, up to a factor. A `watch`
    is called with the progress of long work.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism.
    effort : Effort, optional
        How much to draw if the probabilities must be estimated.

    Attributes
    ----------
    exact : bool
        Whether the probabilities are exact.
    how : str
        How the figures are computed, in a sentence.
    measured_words : int
        The default number of words to measure; 0 for all.
    batch, tolerance : int, float
        When searching for an ε: how many ε to evaluate together, and the relative precision at which to stop.
    loss_words : int or None
        The default number of words to compute `loss` for; None for any number.
    loss_is_bound : bool
        Whether `loss` returns the guaranteed bound instead of the true loss.

    Examples
    --------
    >>> import wordveil
    >>> space = wordveil.load_space("glove-50k")
    >>> law = wordveil.mechanism("graph", space, epsilon=4.0).law()
    >>> law.exact, round(float(law.rows(np.array([7])).sum()), 9)
    (True, 1.0)
    """

    exact: ClassVar[bool] = True
    how: ClassVar[str]
    measured_words: ClassVar[int] = 0
    batch: ClassVar[int] = 1
    tolerance: ClassVar[float] = 0.002
    loss_words: ClassVar[int | None] = None
    loss_is_bound: ClassVar[bool] = False

    def __init__(self, mechanism: Mechanism[Any], effort: Effort | None = None, watch: Watch = ignore) -> None:
        self.mechanism = mechanism
        self.effort = effort or Effort()
        self.watch = watch

    def at(self, mechanisms: Sequence[Mechanism[Any]]) -> list[Law]:
        """Return the laws of the same mechanism at other ε, which share everything that does not depend on ε."""
        return [type(self)(mechanism, self.effort, self.watch) for mechanism in mechanisms]

    def __len__(self) -> int:
        return len(self.mechanism.space)

    def __repr__(self) -> str:
        known = "exact" if self.exact else f"± {self.error:.2g}"
        return f"<{type(self).__name__} of {self.mechanism.name}, ε = {self.mechanism.epsilon:g}, {known}>"

    @property
    def draws(self) -> int | None:
        """The number of draws that a row is estimated from; None if it is exact."""
        return None if self.exact else self.effort.draws

    @property
    def error(self) -> float:
        """The largest standard error of a probability; 0 if they are exact."""
        return 0.0 if self.exact else 0.5 / float(np.sqrt(self.effort.draws))

    @property
    def suspected_words(self) -> int:
        """The most suspects for which an attacker can be measured in reasonable time."""
        return self.effort.adversary_words

    # ------------------------------------------------------------------------------------------ probabilities

    @abstractmethod
    def rows(self, ids: Ids) -> Floats:
        """Return the probabilities of every output, one row per word."""

    @abstractmethod
    def log_columns(
        self, outputs: Ids, inputs: Ids | None = None, *, prior: Floats | None = None, watch: Watch = ignore
    ) -> NDArray[np.floating[Any]]:
        """Return ``ln Pr[M(w)=y]``, one row per output and one column per input, in an array of its own.

        Here `prior` has one entry per input: a law that estimates from draws draws likely inputs more often, and
        returns single precision.
        """

    def stays(self, ids: Ids) -> PerWord:
        """Return the probability that each word stays itself."""
        words = np.asarray(ids, dtype=np.int64)
        return PerWord(words, self.chances(words, words[:, None])[:, 0])

    def chances(self, ids: Ids, outputs: NDArray[np.int64]) -> Floats:
        """Return ``Pr[M(w)=y]`` for each word and each output in its row of `outputs`."""
        found = np.empty(outputs.shape)

        def work(part: slice) -> None:
            found[part] = np.take_along_axis(self.rows(ids[part]), outputs[part], axis=1)

        run(work, self._parts(len(ids)))
        return found

    def loss(self, ids: Ids, others: NDArray[np.int64]) -> Floats:
        """Return the largest log-ratio, over all outputs, between each word and the words in its row of `others`.

        Parameters
        ----------
        others : array of shape (words, k)
            The words to compare each word with.
        """
        found = np.zeros(others.shape)

        def work(part: slice) -> None:
            for place in range(part.start, part.stop):
                rows = self.rows(np.concatenate([ids[place : place + 1], others[place]]))
                # An output that only one of two words can give has an infinite log-ratio; one that neither can, NaN.
                with np.errstate(divide="ignore", invalid="ignore"):
                    logs = np.log(rows[:, rows.any(axis=0)])
                    apart = np.abs(logs[1:] - logs[0])
                found[place] = np.where(np.isnan(apart), 0.0, apart).max(axis=1, initial=0.0)

        run(work, blocks(len(ids), 8))
        return found

    # --------------------------------------------------------------------------------------------- posterior

    def posterior(self, outputs: Ids, prior: Floats, watch: Watch = ignore) -> Floats:
        """Return the posterior probability of each word behind each output.

        Returns
        -------
        array of shape (outputs, vocabulary)
            Each row sums to 1.
        """
        inputs = support(prior, len(self))
        logs = self.log_columns(outputs, inputs, prior=prior[inputs], watch=watch) + np.log(prior[inputs])
        logs[np.isneginf(logs.max(axis=1))] = np.log(prior[inputs])  # an output that no word gives says nothing
        logs -= logs.max(axis=1, keepdims=True)
        np.exp(logs, out=logs)
        found = np.zeros((len(logs), len(self)))
        found[:, inputs] = logs / logs.sum(axis=1, keepdims=True)
        return found

    def posterior_mean(
        self, vectors: NDArray[np.floating[Any]], prior: Floats, outputs: Ids | None = None, watch: Watch = ignore
    ) -> NDArray[np.float32]:
        """Return the posterior mean vector of the word behind each output, which analysts use in place of its vector.

        Parameters
        ----------
        vectors : array of shape (vocabulary, d)
            Any table of vectors, one row per word.

        Returns
        -------
        array of shape (outputs, d)
        """
        inputs = support(prior, len(self))
        chosen = np.arange(len(self)) if outputs is None else np.asarray(outputs)
        # One product gives the weighted sums and, in the last column, the sum of the weights.
        table = np.concatenate([vectors[inputs], np.ones((len(inputs), 1))], axis=1) * prior[inputs, None]
        table = table.astype(np.float32)
        found = np.empty((len(chosen), vectors.shape[1]), dtype=np.float32)

        def work(part: slice) -> None:
            weights = self._weights(chosen[part], inputs, prior[inputs])
            sums = weights @ table
            sums[sums[:, -1] == 0.0] = table.sum(axis=0)  # an output that no word gives, such as a blocked word
            found[part] = sums[:, :-1] / sums[:, -1:]

        run_watched(work, list(self._parts(len(chosen), len(inputs))), "reading", watch)
        return found

    def explain_counts(
        self,
        counts: NDArray[Any],
        start: Floats | None = None,
        *,
        aside: NDArray[Any] | None = None,
        rounds: int = 15,
        tolerance: float = 0.0,
        watch: Watch = ignore,
    ) -> Floats:
        """Estimate the prior from how often each output came, by expectation maximisation.

        Each round multiplies the prior of a word by how much likelier it makes the observed outputs than the prior as a
        whole does. A round never makes them less likely (Dempster, Laird & Rubin 1977).

        Parameters
        ----------
        counts : array
            How often each word of the vocabulary came out.
        start : array of float, optional
            The prior to start from, up to a factor; a word with 0 there keeps it. Default: uniform.
        aside : array, optional
            Counts of held-out outputs. Estimation stops before a round that would make them less likely, so it does
            not fit the noise of a small release.
        rounds : int
            The largest number of rounds.
        tolerance : float
            Stop when a round moves less probability than this.

        Examples
        --------
        >>> import wordveil
        >>> space = wordveil.load_space("glove-50k").restrict(np.arange(50))
        >>> law = wordveil.mechanism("graph", space, epsilon=6.0).law()
        >>> seen = 1000 * law.rows(np.array([3]))[0]  # as if word 3 had been veiled a thousand times
        >>> int(law.explain_counts(seen, rounds=100).argmax())
        3
        """
        counts = np.asarray(counts, dtype=np.float64)
        prior = np.ones(len(self)) if start is None else np.asarray(start, dtype=np.float64).copy()
        if counts.shape != (len(self),) or prior.shape != counts.shape or (counts < 0).any() or not counts.any():
            raise OptionError("counts and start need one number per word of the vocabulary, some of them above 0.")
        if aside is not None and (np.shape(aside) != counts.shape or not np.any(aside)):
            raise OptionError("aside needs one number per word of the vocabulary, some of them above 0.")
        both = np.stack([counts] if aside is None else [counts, np.asarray(aside, dtype=np.float64)])
        outputs, inputs = np.flatnonzero(both.sum(axis=0)), support(prior, len(self))
        own, shares = prior[inputs] / prior[inputs].sum(), both[:, outputs] / both.sum(axis=1, keepdims=True)
        matrix = self._seen(outputs, inputs, own)
        for number in range(rounds):
            gain, *unseen = matrix.gain(own, shares)
            moved = own * gain
            # the slope of the held-out likelihood on the way from the old prior to the new one
            if unseen and float((moved - own) @ unseen[0]) <= 0.0:
                break
            change = float(np.abs(moved - own).sum())
            own = moved
            watch("estimating word frequencies", (number + 1) / rounds)
            if change <= tolerance:
                break
        prior[:] = 0.0
        prior[inputs] = own / own.sum()
        return prior

    def best_guess(self, prior: Floats, watch: Watch = ignore) -> Guess:
        """Return the best guess of the input behind every output, and how often it is right."""
        inputs = support(prior, len(self))
        return self.guesses(inputs, [prior[inputs] / prior[inputs].sum()], watch)[0]

    @abstractmethod
    def information(self, prior: Floats, watch: Watch = ignore) -> Estimate:
        """Return how many bits one output reveals about its word: their mutual information.

        It is at most the entropy of the prior. If the probabilities are known, the figure is exact. Otherwise it is
        what an attacker who learnt them from draws gains on fresh draws, a lower bound on average.

        Examples
        --------
        >>> import wordveil
        >>> space = wordveil.load_space("glove-50k").restrict(np.arange(64))
        >>> law = wordveil.mechanism("graph", space, epsilon=100.0).law()
        >>> round(law.information(np.ones(64)).value, 6)  # nothing is hidden: all of the 6 bits
        6.0
        """

    # ------------------------------------------------------------------------------------------------ figures

    @abstractmethod
    def distinct(self, ids: Ids) -> PerWord:
        """Return how many distinct outputs each word has in `effort.draws` draws."""

    @abstractmethod
    def guesses(self, inputs: Ids, priors: Sequence[Floats], watch: Watch = ignore) -> list[Guess]:
        """Return the best guess under each of several priors over the inputs; each prior sums to 1."""

    @abstractmethod
    def measure(self, ask: Question, watch: Watch = ignore) -> Figures:
        """Compute all figures of a calibration in as few passes as this kind of law allows."""

    def _seen(self, outputs: Ids, inputs: Ids, prior: Floats) -> SeenColumns:
        """Return the columns of the observed outputs, in a form that is fast for the rounds of `explain_counts`."""
        return _Columns(self, outputs, inputs, prior)

    def _parts(self, count: int, width: int | None = None) -> Sequence[slice]:
        return list(blocks(count, max(1, _CELLS // max(1, width or len(self)))))

    def _weights(self, outputs: Ids, inputs: Ids, prior: Floats) -> NDArray[np.float32]:
        """Return the columns, each output scaled so that sums over inputs neither under- nor overflow float32."""
        logs = self.log_columns(outputs, inputs, prior=prior)
        with np.errstate(divide="ignore"):
            largest = (logs + np.log(prior).astype(logs.dtype)).max(axis=1, keepdims=True)
        # an output that no word with prior mass gives keeps its zeros
        logs -= np.where(np.isfinite(largest), largest, 0.0)
        np.minimum(logs, 80.0, out=logs)
        return np.exp(logs, out=logs).astype(np.float32, copy=False)


class SeenColumns(Protocol):
    """The columns of the observed outputs."""

    def gain(self, prior: Floats, shares: Floats) -> Floats:
        """Return how much likelier each input makes the observed outputs than the prior as a whole does.

        `shares` has shape (k, outputs): k distributions of observed outputs, each summing to 1. The result has one row
        for each.
        """


class _Columns:
    """The columns of the observed outputs, kept if they fit in memory and otherwise recomputed in every round."""

    def __init__(self, law: Law, outputs: Ids, inputs: Ids, prior: Floats) -> None:
        self._law, self._outputs, self._inputs, self._prior = law, outputs, inputs, prior
        self._parts = law._parts(len(outputs), len(inputs))
        self._kept: list[NDArray[np.float32]] | None = None
        if len(outputs) * len(inputs) <= _KEPT_CELLS:
            self._kept = run(self._block, self._parts)

    def _block(self, part: slice) -> NDArray[np.float32]:
        # A factor common to all inputs of an output cancels, so each row may be scaled away from 0.
        return self._law._weights(self._outputs[part], self._inputs, self._prior)

    def gain(self, prior: Floats, shares: Floats) -> Floats:
        """Return how much likelier each input makes the observed outputs; see `SeenColumns`."""
        own = prior.astype(np.float32)

        def one(number: int) -> Floats:
            part = self._parts[number]
            block = self._block(part) if self._kept is None else self._kept[number]
            # An output whose probability under the prior vanishes in single precision must not divide by 0.
            expected = np.maximum(block @ own, np.finfo(np.float32).tiny).astype(np.float64)
            factors = np.minimum(shares[:, part] / expected, np.finfo(np.float32).max)
            return np.asarray(factors.astype(np.float32) @ block, dtype=np.float64)

        return np.sum(run(one, range(len(self._parts))), axis=0)


def support(prior: Floats, words: int) -> NDArray[np.int64]:
    """Return the words that the prior makes possible; raise an OptionError if it is not a prior."""
    if prior.shape != (words,) or not np.isfinite(prior).all() or (prior < 0).any() or not (prior > 0).any():
        raise OptionError("a prior needs one finite number ≥ 0 per word of the vocabulary, at least one above 0.")
    return np.flatnonzero(prior)
