"""A channel as a mechanism with its law, so that veils, readers and attackers treat it like any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.frontier_search.channels import Sampler, column_parts, success
from benchmarks.frontier_search.ground import Tensor
from wordveil._mechanisms import Mechanism
from wordveil._mechanisms.laws import Guess, Law, RowLaw
from wordveil._mechanisms.laws.law import SeenColumns, support
from wordveil.guarantee import Guarantee
from wordveil.noise import Entropy
from wordveil.progress import Watch, ignore
from wordveil.spaces import EuclideanSpace
from wordveil.stats import Estimate

__all__ = ["ChannelLaw", "ChannelMechanism"]

Ids = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]

_TINY = 1e-37  # the smallest probability that single precision distinguishes from 0


class ChannelLaw(RowLaw):
    """The law of a channel that is held as one matrix, on the device of the matrix."""

    how = "Exact: from a matrix of all probabilities."

    @property
    def _channel(self) -> Tensor:
        return self.mechanism.channel  # type: ignore[attr-defined]

    def _on_device(self, values: Any, kind: Any = None) -> Tensor:
        return torch.as_tensor(np.asarray(values), dtype=kind, device=self._channel.device)

    def rows(self, ids: Ids) -> Floats:
        """Return the probabilities of every output, a row for each of these words."""
        return np.asarray(self._channel[self._on_device(ids)].double().cpu().numpy())

    def _columns(self, outputs: Ids, inputs: Ids) -> Tensor:
        """Return the probabilities of some outputs, with a row per output and a column per input."""
        some = self._channel[:, self._on_device(outputs)]
        return some[self._on_device(inputs)].T

    def log_columns(
        self,
        outputs: Ids,
        inputs: Ids | None = None,
        *,
        prior: Floats | None = None,  # noqa: ARG002 - exact without it
        watch: Watch = ignore,  # noqa: ARG002 - at once
    ) -> Floats:
        """Return ``ln Pr[M(w)=y]``, with a row per output and a column per input."""
        words = np.arange(len(self)) if inputs is None else inputs
        return np.asarray(self._columns(outputs, words).clamp(min=_TINY).log().cpu().numpy(), dtype=np.float64)

    def posterior_mean(
        self,
        vectors: NDArray[np.floating[Any]],
        prior: Floats,
        outputs: Ids | None = None,
        watch: Watch = ignore,  # noqa: ARG002 - at once
    ) -> NDArray[np.float32]:
        """Return the mean vector of the word behind each output."""
        chosen = np.arange(len(self)) if outputs is None else outputs
        inputs = support(prior, len(self))
        table = np.concatenate([vectors[inputs], np.ones((len(inputs), 1))], axis=1)
        weighted = self._on_device(table * (prior[inputs] / prior[inputs].max())[:, None], torch.float32)
        found = np.empty((len(chosen), vectors.shape[1]), dtype=np.float32)
        for part in column_parts(self._channel, len(chosen)):
            sums = self._columns(chosen[part], inputs) @ weighted
            found[part] = (sums[:, :-1] / sums[:, -1:].clamp(min=_TINY)).cpu().numpy()
        return found

    def guesses(self, inputs: Ids, priors: Sequence[Floats], watch: Watch = ignore) -> list[Guess]:  # noqa: ARG002
        """Return the best guess under each prior."""
        found = []
        for prior in priors:
            whole = np.zeros(len(self))
            whole[inputs] = prior
            chances = self._on_device(whole, torch.float32)
            right, words = success(self._channel, chances), np.empty(len(self), dtype=np.int64)
            for part in column_parts(self._channel, len(self)):
                words[part] = (self._channel[:, part] * chances[:, None]).argmax(dim=0).cpu().numpy()
            found.append(Guess(words, Estimate.exactly(right, len(inputs))))
        return found

    def _seen(self, outputs: Ids, inputs: Ids, prior: Floats) -> SeenColumns:  # noqa: ARG002 - exact without it
        return _Seen(self._columns(outputs, inputs))


class _Seen:
    """The columns of the outputs that were seen, on the device."""

    def __init__(self, columns: Tensor) -> None:
        self._columns = columns

    def gain(self, prior: Floats, shares: Floats) -> Floats:
        """Return for every input how much likelier it makes the seen outputs than the prior as a whole does."""
        like = {"dtype": self._columns.dtype, "device": self._columns.device}
        mixed = self._columns @ torch.as_tensor(prior, **like)
        ratio = torch.as_tensor(shares, **like) / mixed.clamp(min=_TINY)
        return np.asarray((ratio @ self._columns).double().cpu().numpy())


class ChannelMechanism(Mechanism[EuclideanSpace]):
    """Draws from a channel."""

    name = "channel"
    family = "draws from exact probabilities"
    summary = "draws from a matrix of probabilities"
    in_brief = "what the matrix was made to promise"
    source = "the search for a better default"
    law_kind: ClassVar[type[Law]] = ChannelLaw

    def __init__(self, space: EuclideanSpace, channel: Tensor, epsilon: float) -> None:
        super().__init__(space, epsilon)
        self.channel = channel
        self._sampler: Sampler | None = None

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Draw an output for each word."""
        if self._sampler is None:
            self._sampler = Sampler(self.channel)
        seed = int((entropy or Entropy()).generator.integers(1 << 62))
        generator = torch.Generator(self.channel.device).manual_seed(seed)
        words = torch.as_tensor(np.asarray(ids, dtype=np.int64), device=self.channel.device)
        return np.asarray(self._sampler(words, generator).cpu().numpy())

    @property
    def guarantee(self) -> Guarantee:
        """What is guaranteed for one word, in the metric that the channel was made from."""
        return self.make_guarantee()
