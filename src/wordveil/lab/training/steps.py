"""Training steps, on the processor and on a CUDA device."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wordveil.extras import needs
from wordveil.lab.training.geometries import FARTHEST, LONGEST_STEP, Floats, Geometry
from wordveil.lab.training.pairs import Pairs

_TABLE = 1 << 20
_POWER = 0.75

_HASH = 0x9E3779B97F4A7C15
_BITS_A_PAIR = 1024  # bits per known pair in their table; one negative in this many is lost by chance
_MOST_BITS = 33


class Steps(ABC):
    """Moves the points, one batch of pairs after another.

    For each pair the loss is ``-log(e^{-s·d(u,v)} / Σ e^{-s·d(u,v')})``, where s is the sharpness and the sum is over
    the parent ``v`` and random nodes ``v'`` that are not parents of ``u``. The gradients of a node in one batch are
    summed and divided by the square root of their number. Without that, roots would be thrown around, because they
    occur in every other pair.

    Steps are divided by the sharpness, so that the training takes the same course at another scale. If weighted, pairs
    are drawn in proportion to their counts instead of once per epoch.
    """

    def __init__(
        self,
        shape: Geometry,
        points: Floats,
        pairs: Pairs,
        *,
        negatives: int = 50,
        sharpness: float = 1.0,
        weighted: bool = False,
        device: str = "cpu",
    ) -> None:
        self.shape, self.negatives, self.sharpness = shape, negatives, sharpness
        self.weighted, self.device = weighted, device
        self._begin(np.asarray(points, dtype=np.float64), pairs)

    @abstractmethod
    def _begin(self, points: Floats, pairs: Pairs) -> None:
        """Move everything to where the steps are made."""

    @property
    @abstractmethod
    def points(self) -> Floats:
        """Where the points are now."""

    @abstractmethod
    def epoch(self, rate: float, batch: int, *, popular: bool, seed: list[int]) -> float:
        """Go through the pairs once, and return the mean loss.

        `rate` is the length of a step for a gradient of length 1. Popular negatives are drawn in proportion to the
        number of pairs in which a node is a parent, to the power 0.75, and not uniformly.
        """


def popular_nodes(pairs: Pairs) -> NDArray[np.int64]:
    """Return a table with each node in proportion to its number of pairs as a parent, to the power 0.75."""
    weights = np.bincount(pairs.parent, minlength=len(pairs.names)) ** _POWER
    return np.repeat(np.arange(len(weights)), np.ceil(weights * (_TABLE / weights.sum())).astype(np.int64))


class CpuSteps(Steps):
    """Training steps on the processor."""

    def _begin(self, points: Floats, pairs: Pairs) -> None:
        self._points = points.copy()
        self._child = pairs.child.astype(np.int64)
        self._parent = pairs.parent.astype(np.int64)
        self._nodes = len(pairs.names)
        self._known = np.unique(self._child * self._nodes + self._parent)
        self._popular = popular_nodes(pairs)
        self._sums = np.cumsum(pairs.counts)

    @property
    def points(self) -> Floats:
        """Where the points are now."""
        return self._points

    def epoch(self, rate: float, batch: int, *, popular: bool, seed: list[int]) -> float:
        """Go through the pairs once, and return the mean loss."""
        generator = np.random.default_rng(seed)
        pairs = len(self._child)
        if self.weighted:
            aim = generator.random(pairs) * self._sums[-1]
            order = np.minimum(np.searchsorted(self._sums, aim, side="right"), pairs - 1)
        else:
            order = generator.permutation(pairs)
        table = self._popular if popular else np.arange(self._nodes)
        total = 0.0
        for start in range(0, pairs, batch):
            chosen = order[start : start + batch]
            negatives = table[generator.integers(0, len(table), (len(chosen), self.negatives))]
            total += self._step(self._child[chosen], self._parent[chosen], negatives, rate)
        return total / pairs

    def _step(
        self, u: NDArray[np.int64], parent: NDArray[np.int64], negatives: NDArray[np.int64], rate: float
    ) -> float:
        ends = np.concatenate([parent[:, None], negatives], axis=1)
        live = self._live(u, ends)
        x, y = self._points[u], self._points[ends]
        difference = x[:, None] - y
        pull = self.shape.slopes(x, y, difference)
        nearest = np.where(live, pull.distance, np.inf).min(axis=1, keepdims=True)
        weights = np.where(live, np.exp(self.sharpness * (nearest - pull.distance)), 0.0)
        sums = weights.sum(axis=1, keepdims=True)
        slope = -weights / sums
        slope[:, 0] += 1.0

        at_x = np.einsum("ij,ijk->ik", slope * pull.near_x, difference)
        at_x += (slope * pull.own_x).sum(axis=1)[:, None] * x
        at_y = (slope * pull.own_y)[:, :, None] * y
        at_y -= (slope * pull.near_y)[:, :, None] * difference

        places = np.concatenate([u, ends[live]])
        gradients = np.concatenate([at_x, at_y[live]])
        touched, row = np.unique(places, return_inverse=True)
        gather = csr_array((np.ones(len(row)), (row, np.arange(len(row)))), shape=(len(touched), len(row)))
        step = gather @ gradients
        step *= (-rate / self.sharpness / np.sqrt(np.diff(gather.indptr)))[:, None]
        self._points[touched] = self.shape.moved(self._points[touched], step, LONGEST_STEP / self.sharpness)
        return float((self.sharpness * (pull.distance[:, :1] - nearest) + np.log(sums)).sum())

    def _live(self, u: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which ends count: the parent, and nodes that are neither the child itself nor one of its parents."""
        keys = u[:, None] * self._nodes + ends
        place = np.minimum(np.searchsorted(self._known, keys), len(self._known) - 1)
        live = (self._known[place] != keys) & (ends != u[:, None])
        live[:, 0] = True
        return np.asarray(live)


def cuda_is_there() -> bool:
    """Whether PyTorch is installed and finds a CUDA device."""
    try:
        import torch  # noqa: PLC0415
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


class CudaSteps(Steps):
    """Training steps on a CUDA device."""

    def _begin(self, points: Floats, pairs: Pairs) -> None:
        needs("triton", "gpu", "training on a CUDA device")
        import torch  # noqa: PLC0415 - an extra
        import triton  # noqa: PLC0415 - comes with PyTorch

        self._torch: Any = torch
        self._next_power = triton.next_power_of_2
        self._points = self._put(points)
        self._child = self._put(pairs.child.astype(np.int64))
        self._parent = self._put(pairs.parent.astype(np.int64))
        self._popular = self._put(popular_nodes(pairs))
        self._sums = self._put(np.cumsum(pairs.counts))
        self._known, self._known_bits = self._bitmap(pairs)
        self._gradients = torch.zeros_like(self._points)
        self._counts = torch.zeros(len(points), dtype=torch.int32, device=self.device)
        self._losses = torch.zeros(len(pairs), dtype=torch.float64, device=self.device)

    def _put(self, array: NDArray[Any]) -> Any:
        return self._torch.tensor(array, device=self.device)

    def _bitmap(self, pairs: Pairs) -> tuple[Any, int]:
        bits = min(_MOST_BITS, max(10, math.ceil(math.log2(_BITS_A_PAIR * len(pairs)))))
        keys = pairs.child.astype(np.uint64) * np.uint64(len(pairs.names)) + pairs.parent.astype(np.uint64)
        place = (keys * np.uint64(_HASH)) >> np.uint64(64 - bits)
        bitmap = np.zeros(1 << (bits - 5), dtype=np.uint32)
        bit = np.uint32(1) << (place & np.uint64(31)).astype(np.uint32)
        np.bitwise_or.at(bitmap, (place >> np.uint64(5)).astype(np.int64), bit)
        return self._put(bitmap.view(np.int32)), bits

    @property
    def points(self) -> Floats:
        """Where the points are now."""
        return np.asarray(self._points.cpu().numpy())

    def _order(self, seed: int) -> Any:
        torch, pairs = self._torch, len(self._child)
        generator = torch.Generator(device=self.device).manual_seed(seed)
        if not self.weighted:
            return torch.randperm(pairs, generator=generator, device=self.device)
        aim = torch.rand(pairs, generator=generator, device=self.device, dtype=torch.float64) * self._sums[-1]
        return torch.searchsorted(self._sums, aim, right=True).clamp_(max=pairs - 1)

    def epoch(self, rate: float, batch: int, *, popular: bool, seed: list[int]) -> float:
        """Go through the pairs once, and return the mean loss."""
        from wordveil.lab.training.kernels import add_gradients, move_points  # noqa: PLC0415

        pairs = len(self._child)
        nodes, dimension = self._points.shape
        width, rows = self._next_power(dimension), self._next_power(self.negatives + 1)
        block = max(1, 1024 // width)
        seeds = np.random.default_rng(seed).integers(0, 2**31 - 1, 1 + -(-pairs // batch)).tolist()
        order = self._order(seeds.pop())
        # in a tensor, because Triton would pass Python numbers as 32-bit floats
        farthest = (math.inf, math.tanh(FARTHEST / 2), math.sinh(FARTHEST))[self.shape.number]
        limits = self._put(np.array([rate / self.sharpness, LONGEST_STEP / self.sharpness, farthest, self.sharpness]))
        same = {"DIMENSION": dimension, "WIDTH": width, "GEOMETRY": self.shape.number}
        for start, step_seed in zip(range(0, pairs, batch), seeds, strict=True):
            add_gradients[(min(batch, pairs - start),)](
                self._points,
                self._gradients,
                self._counts,
                self._losses,
                self._child,
                self._parent,
                order,
                self._popular,
                self._known,
                limits,
                start,
                step_seed,
                nodes,
                len(self._popular),
                ENDS=self.negatives + 1,
                ROWS=rows,
                KNOWN_BITS=self._known_bits,
                POPULAR=popular,
                num_warps=max(1, min(8, rows * width // 1024)),
                **same,
            )
            move_points[(-(-nodes // block),)](
                self._points, self._gradients, self._counts, limits, nodes, BLOCK=block, **same
            )
        return float(self._losses.mean())
