"""A candidate as the dense matrix of its probabilities, which gives exactly what it reveals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.frontier_search.ground import Tensor
from wordveil._mechanisms.rows import rate_of
from wordveil.parallel import blocks

__all__ = ["Candidate", "Sampler", "column_parts", "near_losses", "probabilities", "success"]

_ENTRIES = 1 << 27  # in a block of rows


@dataclass(frozen=True)
class Candidate:
    """Draws ``u`` for ``w`` with probability ∝ ``prior(u)·e^{-ε·cost(w,u)/2}``.

    The guarantee is ε·d(w,w') if the cost changes by no more than the distance d between two inputs. That holds for
    every cost that `free` makes from a metric.
    """

    cost: Tensor  # a row for each input
    log_prior: Tensor | None = None  # over outputs; uniform if None

    @classmethod
    def free(cls, distance: Tensor, offset: float, log_prior: Tensor | None = None) -> Candidate:
        """Make the first part of every path free: the cost is the distance minus the offset, and never below 0."""
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
    """Return how often the best guess of the input is right: the sum over outputs of max ``π(w)·Pr[M(w)=u]``."""
    best = torch.zeros(channel.shape[1], device=channel.device)
    for part in _parts(channel):
        best = torch.maximum(best, (channel[part] * chances[part, None]).amax(dim=0))
    return float(best.double().sum())


def near_losses(
    candidate: Candidate, epsilon: float, ids: NDArray[np.int64], similar: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return for some words the largest log-ratio, over all outputs, to any of their most similar words."""
    inputs = torch.as_tensor(np.column_stack([ids, similar]), device=candidate.cost.device)
    found = []
    for part in blocks(len(inputs), max(1, _ENTRIES // (inputs.shape[1] * candidate.cost.shape[1]))):
        logs = candidate.logs(inputs[part], epsilon)
        found.append((logs[:, 1:] - logs[:, :1]).abs().amax(dim=(1, 2)))
    return torch.cat(found).double().cpu().numpy()


class Sampler:
    """Draws from a channel.

    The cumulative sums of each row go from 0 to 1. Row w is raised by w, so its sums go from w to w + 1, and those of
    all rows together are increasing. One search finds a draw of any row, to about 1e-11 of its probability at 50,000
    words.
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
    """Return blocks of as many columns as are processed at once."""
    return list(blocks(count, max(1, _ENTRIES // len(channel))))
