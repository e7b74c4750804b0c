"""Spaces whose points lie on a device. Mechanisms made on them run there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wordveil.engines.gpu.certified_search import CertifiedSearch, DoubleSearch
from wordveil.engines.gpu.chacha import directions, makes_noise_in_one_step, noisy_points
from wordveil.engines.gpu.rays import DeviceRays
from wordveil.errors import OptionError, SpaceError, WordveilError
from wordveil.spaces import EuclideanSpace, PoincareSpace, Space
from wordveil.spaces.space import Device, Ids, Points, Rows

_FARTHEST = 1e30


def check_cuda() -> None:
    """Refuse a machine whose PyTorch finds no CUDA device."""
    if not torch.cuda.is_available():
        raise OptionError(
            "the engine gpu needs a CUDA device and a PyTorch built for CUDA, and found none; choose the engine local."
        )


def on_device(space: Space, device: str) -> Space:
    """Return the same space with its points on a device: "cuda", or "cpu" to run the same code without one."""
    if isinstance(space, EuclideanSpace):
        return PlacedEuclidean(space, device)
    if isinstance(space, PoincareSpace):
        return PlacedPoincare(space, device)
    raise SpaceError(f"a space of {space.metric} cannot be searched on a GPU; choose the engine local.")


class PlacedEuclidean(EuclideanSpace):
    """An embedding whose vectors lie on a device. Points may be PyTorch tensors or arrays."""

    def __init__(self, base: EuclideanSpace, device: str) -> None:
        super().__init__(base.name, base.vocabulary, base.vectors, normalise=base.normalise, folder=base._folder)
        self._device = device

    @cached_property
    def device(self) -> Device:
        """The device that holds and searches its points."""
        return _Placed(self.matrix, self._device)

    @cached_property
    def _search(self) -> CertifiedSearch:
        return search_among(self.matrix, self._device)

    def nearest(self, points: Any) -> NDArray[np.int64]:
        """Return the id of the word nearest to each point."""
        with _told():
            return np.asarray(self._search.best(_queries(points, self._device)).cpu().numpy())

    def closest(self, points: Any, k: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the `k` words nearest to each point, nearest first, and their distances."""
        with _told():
            queries = _queries(points, self._device)
            where, values = self._search.most(queries, min(k, len(self)))
            squares = queries.to(torch.float64).square().sum(dim=1, keepdim=True) - 2.0 * values
            return np.asarray(where.cpu().numpy()), np.asarray(squares.clamp(min=0.0).sqrt().cpu().numpy())

    @cached_property
    def _likeness_search(self) -> CertifiedSearch:
        return CertifiedSearch(self.directions, np.zeros(len(self)), self._device)

    def similar(self, ids: Ids, k: int) -> tuple[NDArray[np.int64], Rows]:
        """Return the `k` other words with the largest cosine, and these cosines."""
        k = min(k, len(self) - 1)
        with _told():
            queries = torch.as_tensor(self.directions[ids], device=self._device)
            where, values = self._likeness_search.most(queries, k + 1)
            own = torch.as_tensor(np.asarray(ids, dtype=np.int64), device=where.device)[:, None]
            # put the word itself last; twins may have pushed it out of the list
            order = (where == own).to(torch.int8).argsort(dim=1, stable=True)[:, :k]
            found = (some.gather(1, order).cpu().numpy() for some in (where, values))
            return tuple(np.asarray(one) for one in found)  # type: ignore[return-value] # two of them

    def describe(self) -> dict[str, Any]:
        """Describe the space in plain values."""
        return {**super().describe(), "engine": "gpu"}


class PlacedPoincare(PoincareSpace):
    """A hyperbolic space whose words are searched on a device, in double precision."""

    def __init__(self, base: PoincareSpace, device: str) -> None:
        super().__init__(base.name, base.vocabulary, base.hyperboloid, is_a=base.is_a, facts=base.facts)
        self._device = device

    @cached_property
    def _closest(self) -> Any:
        return _HostSearch(DoubleSearch(self.hyperboloid, -self._times, self._device), self._device)

    def describe(self) -> dict[str, Any]:
        """Describe the space in plain values."""
        return {**super().describe(), "engine": "gpu"}


class _HostSearch:
    """A search on a device that takes and returns arrays, like `wordveil.spaces.products.BestProduct`."""

    def __init__(self, search: DoubleSearch, device: str) -> None:
        self._search, self._device = search, device

    def best(self, queries: Points) -> tuple[NDArray[np.int64], Points]:
        """Return the best word of each query, and its product plus bias."""
        if not len(queries):
            return np.empty(0, dtype=np.int64), np.empty(0)
        with _told():
            where, values = self._search.best(torch.as_tensor(queries, device=self._device))
            return np.asarray(where.cpu().numpy()), np.asarray(values.cpu().numpy())


class _Placed:
    """The points of a space on a device, and noise around them. See `wordveil.spaces.space.Device`."""

    def __init__(self, matrix: NDArray[np.float32], device: str) -> None:
        self._points = torch.as_tensor(matrix, device=device)
        self._device = device
        self._is_quick = makes_noise_in_one_step(self._points)

    def throw(self, ids: Ids, lengths: NDArray[np.float64], stretch: Rows | None, key: NDArray[np.uint32]) -> Any:
        """Add a random direction, times a length, times a matrix, to the points with these ids, all on the device."""
        with _told():
            places = torch.as_tensor(np.asarray(ids, dtype=np.int64), device=self._device)
            long = torch.as_tensor(lengths.astype(np.float32), device=self._device)
            if stretch is None:
                return noisy_points(self._points, places, long, key, in_one_step=self._is_quick)
            noise = directions(len(ids), self._points.shape[1], key, self._device)
            noise *= long[:, None]
            return noise @ torch.as_tensor(stretch, device=self._device) + self._points[places]

    def rays(self, matrix: NDArray[np.float32]) -> DeviceRays:
        """Return the object that follows noise among these points."""
        return DeviceRays(matrix, search_among(matrix, self._device), self._device)


@contextmanager
def _told() -> Iterator[None]:
    """Report in one sentence of our own that a device failed or ran out of memory."""
    try:
        yield
    except RuntimeError as error:
        kind = type(error).__name__
    else:
        return
    raise WordveilError(f"the GPU failed ({kind}); give it fewer words at once, or choose the engine local.")


def search_among(matrix: NDArray[np.float32], device: str) -> CertifiedSearch:
    """Return a search for the nearest of these points by Euclidean distance."""
    squares = np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)
    return CertifiedSearch(matrix, -0.5 * squares, device)


def _queries(points: Any, device: str) -> Any:
    # Noise too long for float32 is clipped to what can be multiplied. That depends only on the noisy point.
    queries = torch.as_tensor(points, device=device).to(torch.float32)
    return torch.nan_to_num(queries, nan=0.0, posinf=_FARTHEST, neginf=-_FARTHEST).clamp_(-_FARTHEST, _FARTHEST)
