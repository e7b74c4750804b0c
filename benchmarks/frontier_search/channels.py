"""A candidate as the dense matrix of its probabilities: what it reveals, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.frontier_search.ground import Tensor
from wordveil._mechanisms.rows import rate_of
from wordveil.parallel import blocks

__all__ = ["Candidate", "Sampler", "column_parts", "near_losses", "probabilities", "success"]

_ENTRIES = 1 << 27  # of a block of rows


@dataclass(frozen=True)
class Candidate:
    """Draws ``u`` for ``w`` with probability ∝ ``prior(u)·e^{-ε·cost(w,u)/2}``.

    The promise is ε·d(w,w') wherever the cost changes by no more than the distance d between two inputs; that holds
    for every cost made from a metric by `free`.
    """

    cost: Tensor  # a row for each input
    log_prior: Tensor | None = None  # over outputs; uniform if not given

    @classmethod
    def free(cls, distance: Tensor, offset: float, log_prior: Tensor | None = None) -> Candidate:
        """Make the first part of every way free: the cost is the distance less the offset, and never below 0."""
        return cls((distance - offset).clamp(min=0.0), log_prior)

    def logs(self, rows: Tensor, epsilon: float) -> Tensor:
        """Return the logarithms of the probabilities of some inputs."""
        weights = self.cost[rows] * -rate_of(epsilon)
        return torch.log_softmax(weights if self.log_prior is None else weights + self.log_prior, dim=-1)


def probabilities(candidate: Candidate, epsilon: float) -> Tensor:
    """Return the whole channel, a row for each input."""
    channel = torch.empty_like(candidate.cost)
    for part in _parts(channel):
        channel[part] = candidate.logs(part, epsilon).exp_()
    return channel


def success(channel: Tensor, chances: Tensor) -> float:
    """Return how often the best guess of an input is right: the sum over outputs of the largest ``π(w)·Pr[M(w)=u]``."""
    best = torch.zeros(channel.shape[1], device=channel.device)
    for part in _parts(channel):
        best = torch.maximum(best, (channel[part] * chances[part, None]).amax(dim=0))
    return float(best.double().sum())


def near_losses(
    candidate: Candidate, epsilon: float, ids: NDArray[np.int64], similar: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return for some words the largest log-ratio to one of their most similar words, over all outputs."""
    inputs = torch.as_tensor(np.column_stack([ids, similar]), device=candidate.cost.device)
    found = []
    for part in blocks(len(inputs), max(1, _ENTRIES // (inputs.shape[1] * candidate.cost.shape[1]))):
        logs = candidate.logs(inputs[part], epsilon)
        found.append((logs[:, 1:] - logs[:, :1]).abs().amax(dim=(1, 2)))
    return torch.cat(found).double().cpu().numpy()


class Sampler:
    """Draws from a channel.

    The sums along each row go from 0 to 1; those of row w, raised by w, go from w to w + 1. So all of them together
    rise, and one search in them finds a draw of any row, to about 1e-11 of its probability at 50,000 words.
    """

    def __init__(self, channel: Tensor) -> None:
        self._words = channel.shape[1]
        sums = channel.cumsum(dim=1, dtype=torch.float64)
        sums /= sums[:, -1:].clone()
        sums += torch.arange(len(channel), device=channel.device)[:, None]
        self._sums = sums.flatten()

    def __call__(self, ids: Tensor, generator: torch.Generator) -> Tensor:
        """Draw an output for each input."""
        aim = ids + torch.rand(ids.shape, dtype=torch.float64, generator=generator, device=ids.device)
        drawn = torch.searchsorted(self._sums, aim, right=True) - ids * self._words
        return drawn.clamp_(max=self._words - 1)


def _parts(channel: Tensor) -> list[slice]:
    return list(blocks(len(channel), max(1, _ENTRIES // channel.shape[1])))


def column_parts(channel: Tensor, count: int) -> list[slice]:
    """Return blocks of so many columns as are worked on at once."""
    return list(blocks(count, max(1, _ENTRIES // len(channel))))
