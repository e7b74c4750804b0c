"""Exact laws: everything that follows from known probabilities, and the law of mechanisms that give them by rows.

One pass over the rows of all inputs finds the best guess for every output: the input with the largest prior times
probability. It is kept as a running maximum, so the table of all pairs is never held in memory.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms.laws.columns import Columns
from wordveil._mechanisms.laws.figures import (
    Figures,
    Guess,
    Outputs,
    PerWord,
    Question,
    Spread,
    expected_distinct,
    likeliest_sets,
)
from wordveil._mechanisms.laws.law import Ids, Law, Memory, support
from wordveil.parallel import blocks, run
from wordveil.progress import Watch, ignore, run_watched
from wordveil.stats import Estimate

if TYPE_CHECKING:
    from wordveil._mechanisms.base import ExponentialMechanism

Floats = NDArray[np.float64]

_AT_ONCE = 32  # blocks of rows whose sums are held at once
_FEW = 64  # if at most one word in this many is asked about, reading their columns is faster than reading all rows
_ALIKE = 1e-9  # a tolerance on log-ratios, so that rounding does not make equal probabilities differ


class Survey(NamedTuple):
    """The results of one pass over the inputs."""

    stays: PerWord  # the probability that each input stays itself
    columns: Floats  # (outputs, inputs): ``ln Pr[M(w)=y]`` for the requested outputs
    guesses: list[Guess]  # the best guess under each prior


class ExactLaw(Law):
    """A law whose probabilities are known exactly, and with them every figure."""

    @abstractmethod
    def survey(self, inputs: Ids, priors: Sequence[Floats], outputs: Ids, watch: Watch = ignore) -> Survey:
        """Survey some inputs in one pass; the priors are over these inputs, each summing to 1."""

    def log_columns(
        self,
        outputs: Ids,
        inputs: Ids | None = None,
        *,
        prior: Floats | None = None,  # noqa: ARG002 - exact without it
        watch: Watch = ignore,
    ) -> Floats:
        """Return ``ln Pr[M(w)=y]``, one row per output and one column per input."""
        words = np.arange(len(self)) if inputs is None else np.asarray(inputs)
        return self._log_columns(np.asarray(outputs), words, watch)

    @abstractmethod
    def _log_columns(self, outputs: Ids, words: Ids, watch: Watch) -> Floats:
        """Return the columns for these inputs."""

    def profile(self, ids: Ids) -> tuple[Floats, Floats]:
        """Return the distinct probabilities of each word's outputs, and how many outputs have each."""
        return self.rows(ids), np.ones((1, 1))

    def guesses(self, inputs: Ids, priors: Sequence[Floats], watch: Watch = ignore) -> list[Guess]:
        """Return the best guess under each of several priors."""
        return self.survey(inputs, priors, np.empty(0, dtype=np.int64), watch).guesses

    def information(self, prior: Floats, watch: Watch = ignore) -> Estimate:
        """Return how many bits one output reveals about its word: H(output) - H(output | word)."""
        inputs = support(prior, len(self))
        own = prior[inputs] / prior[inputs].sum()
        mixed, known = np.zeros(len(self)), 0.0
        parts = self._parts(len(inputs))
        for some in blocks(len(parts), _AT_ONCE):  # always summed in the same order, for reproducible figures
            for mixture, nats in run(lambda part: self._outcomes(inputs[part], own[part]), parts[some]):
                mixed += mixture
                known += nats
            watch("weighing outputs", some.stop / len(parts))
        revealed = float(scipy.special.entr(mixed).sum()) - known
        return Estimate.exactly(max(0.0, revealed / float(np.log(2.0))), len(inputs))

    def _outcomes(self, ids: Ids, weights: Floats) -> tuple[Floats, float]:
        """Return the weighted sum of these words' rows, and the weighted sum of the rows' entropies."""
        rows = self.rows(ids)
        return weights @ rows, float(weights @ scipy.special.entr(rows).sum(axis=1))

    def distinct(self, ids: Ids) -> PerWord:
        """Return the expected number of distinct outputs of each word in `effort.draws` draws."""
        return self._spread(ids).distinct

    def measure(self, ask: Question, watch: Watch = ignore) -> Figures:
        """Compute all figures of a calibration."""
        survey = self.survey(ask.inputs, ask.priors, ask.outputs, watch)
        some = ask.ids[: len(ask.near)]
        kept = float(self.stays(some).values.mean())
        near = float(self.chances(some, ask.near).sum(axis=1).mean())
        shares = [Estimate.exactly(share, len(some)) for share in (kept, near, max(0.0, 1.0 - kept - near))]
        return Figures(
            survey.stays, self._spread(ask.ids), self._behind(ask, survey), shares[0], shares[1], shares[2],
            survey.guesses,
        )  # fmt: skip

    def _spread(self, ids: Ids) -> Spread:
        words = np.asarray(ids, dtype=np.int64)
        distinct, effective, top = (np.empty(len(words)) for _ in range(3))

        def work(part: slice) -> None:
            chances, sizes = self.profile(words[part])
            distinct[part] = expected_distinct(chances, sizes, self.effort.draws)
            effective[part] = likeliest_sets(chances, sizes, self.effort.eta)
            top[part] = chances.max(axis=1)

        run(work, self._parts(len(ids)))
        support = np.full(len(ids), np.log2(len(self)))
        found = (distinct, effective, -np.log2(top), support)
        return Spread(*(PerWord(words, values, worst_is_largest=False) for values in found))

    def _behind(self, ask: Question, survey: Survey) -> Outputs:
        logs = survey.columns
        with np.errstate(divide="ignore"):  # log1p(-1), for an input that always gives this output
            seen = -np.expm1(self.effort.draws * np.log1p(-np.minimum(np.exp(logs), 1.0)))
        least = logs.max(axis=1, keepdims=True) - np.log(self.effort.gamma) - _ALIKE
        below = None
        if ask.depths is not None:
            lower = ask.depths[ask.inputs] > ask.depths[ask.outputs][:, None]
            below = PerWord(ask.outputs, (seen * lower).sum(axis=1), worst_is_largest=False)
        return Outputs(
            PerWord(ask.outputs, seen.sum(axis=1), worst_is_largest=False),
            PerWord(ask.outputs, (logs >= least).sum(axis=1).astype(np.float64), worst_is_largest=False),
            below,
        )


class RowLaw(ExactLaw):
    """The exact law of any `ExponentialMechanism`."""

    how = "Exact: from the mechanism's own probabilities, row by row."
    measured_words = 2000
    loss_words = 200

    mechanism: ExponentialMechanism[Any]

    def rows(self, ids: Ids) -> Floats:
        """Return the probabilities of every output, one row per word."""
        return self.mechanism.probability_rows(ids)

    def _log_columns(self, outputs: Ids, words: Ids, watch: Watch) -> Floats:
        columns = self._remembered("columns", (words,), Columns)
        return columns(outputs, lambda missing: self.mechanism.log_columns(missing, words, watch))

    @cached_property
    def _remembered(self) -> Memory:
        return Memory()

    def posterior_mean(
        self, vectors: NDArray[np.floating[Any]], prior: Floats, outputs: Ids | None = None, watch: Watch = ignore
    ) -> NDArray[np.float32]:
        """Return the posterior mean vector of the word behind each output; for many outputs in one pass over rows."""
        if outputs is not None and len(outputs) * _FEW <= len(self):
            return super().posterior_mean(vectors, prior, outputs, watch)
        inputs = support(prior, len(self))
        chosen = slice(None) if outputs is None else np.asarray(outputs)
        table = np.concatenate([vectors[inputs], np.ones((len(inputs), 1))], axis=1) * prior[inputs, None]
        sums = np.zeros((len(self) if outputs is None else len(outputs), table.shape[1]))
        lock = threading.Lock()

        def work(part: slice) -> None:
            some = self.rows(inputs[part])[:, chosen].T @ table[part]
            with lock:
                np.add(sums, some, out=sums)

        run_watched(work, self._parts(len(inputs)), "reading", watch)
        nobody = sums[:, -1] == 0.0
        sums[nobody] = table.sum(axis=0)  # an output that no word gives says nothing
        return (sums[:, :-1] / sums[:, -1:]).astype(np.float32)

    def survey(self, inputs: Ids, priors: Sequence[Floats], outputs: Ids, watch: Watch = ignore) -> Survey:
        """Survey some inputs in one pass over their rows."""
        words = np.asarray(inputs, dtype=np.int64)
        best = [np.full(len(self), -1.0) for _ in priors]
        guessed = [np.zeros(len(self), dtype=np.int64) for _ in priors]
        own, columns = np.empty(len(words)), np.empty((len(outputs), len(words)))
        lock = threading.Lock()

        def work(part: slice) -> None:
            some = words[part]
            rows = self.rows(some)
            own[part] = rows[np.arange(len(rows)), some]
            columns[:, part] = rows[:, outputs].T
            for number, prior in enumerate(priors):
                values = rows * prior[part, None]
                place = values.argmax(axis=0)
                most = values[place, np.arange(len(self))]
                with lock:
                    wins = most > best[number]
                    best[number][wins] = most[wins]
                    guessed[number][wins] = some[place[wins]]

        run_watched(work, self._parts(len(words)), "measuring", watch)
        guesses = [
            Guess(words_, Estimate.exactly(float(most.sum()), len(words)))
            for words_, most in zip(guessed, best, strict=True)
        ]
        with np.errstate(divide="ignore"):
            return Survey(PerWord(words, own), np.log(columns), guesses)
