"""Training steps on a CUDA device, with PyTorch and Triton."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.extras import needs
from wordveil.lab.training.geometries import FARTHEST, LONGEST_STEP, Floats
from wordveil.lab.training.pairs import Pairs
from wordveil.lab.training.steps import Steps, popular_nodes

_HASH = 0x9E3779B97F4A7C15
_BITS_A_PAIR = 1024  # bits per known pair in their table: one negative in this many is lost by chance
_MOST_BITS = 33


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
        """Go once through the pairs and return the mean loss."""
        from wordveil.lab.training.kernels import add_gradients, move_points  # noqa: PLC0415

        pairs = len(self._child)
        nodes, dimension = self._points.shape
        width, rows = self._next_power(dimension), self._next_power(self.negatives + 1)
        block = max(1, 1024 // width)
        seeds = np.random.default_rng(seed).integers(0, 2**31 - 1, 1 + -(-pairs // batch)).tolist()
        order = self._order(seeds.pop())
        # in a tensor, because Triton would pass Python's numbers as 32-bit floats
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
