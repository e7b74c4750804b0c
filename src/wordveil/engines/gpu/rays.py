"""Calibration's rays on a device, where a plain search is faster than lists and bounds.

On a processor, `wordveil._mechanisms.laws.rays` avoids products of vectors. The matrix units of a GPU make them nearly
free, so here every noisy point is made and its nearest word searched, exactly. The edges of the cells are computed as
in that module.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wordveil._mechanisms.laws.rays import Landing, Rays
from wordveil.engines.gpu.certified_search import CertifiedSearch
from wordveil.parallel import blocks

_QUERIES = 1 << 18


class DeviceRays(Rays):
    """Follows noise from words to the words nearest to where it lands, on a device."""

    def __init__(self, matrix: NDArray[np.float32], search: CertifiedSearch, device: str) -> None:
        super().__init__(matrix)
        self._search, self._device = search, device
        self._turn = threading.Lock()  # one block of words at a time, so that the tables fit into the device's memory
        self._matrix = torch.as_tensor(matrix, device=device)
        self._distinct = torch.as_tensor(self._points, device=device)

    def follow(
        self,
        words: NDArray[np.integer[Any]],
        directions: NDArray[np.floating[Any]],
        lengths: NDArray[np.floating[Any]],
        scales: NDArray[np.floating[Any]],
        edges: NDArray[np.float64] | None = None,
    ) -> Landing:
        """Find where each word lands in each direction at each scale of the noise. See `Rays.follow`."""
        with self._turn:
            words = np.asarray(words, dtype=np.int64)
            rays = torch.as_tensor(np.asarray(directions * lengths[:, None], dtype=np.float32), device=self._device)
            edges = np.asarray(lengths, dtype=np.float64) * self._edges(self._place[words], rays)
            edges[self._ids[self._place[words]] != words] = 0.0  # a twin comes out instead
            outputs = np.empty((len(words), scales.shape[1], len(directions)), dtype=np.int32)
            each = max(1, _QUERIES // max(1, scales.shape[1] * len(directions)))
            for part in blocks(len(words), each) if scales.shape[1] else ():
                start = self._matrix[torch.as_tensor(words[part], device=self._device)]
                size = torch.as_tensor(np.asarray(scales[part], dtype=np.float32), device=self._device)
                points = start[:, None, None, :] + size[:, :, None, None] * rays
                found = self._search.best(points.reshape(-1, points.shape[-1]))
                outputs[part] = found.reshape(points.shape[:3]).to(torch.int32).cpu().numpy()
            return Landing(edges, outputs)

    def _edges(self, places: NDArray[np.int64], rays: Any) -> NDArray[np.float64]:
        """Return how far the cell of each word reaches along each ray, as a multiple of the ray."""
        points = self._distinct.to(torch.float64)
        squares = points.square().sum(dim=1)
        products = 2.0 * (rays @ self._distinct.T)
        found = np.empty((len(places), len(rays)))
        for row, place in enumerate(places.tolist()):
            apart = squares + squares[place] - 2.0 * (points @ points[place])
            apart[place] = torch.inf
            nearness = apart.clamp(min=torch.finfo(torch.float32).tiny).reciprocal().to(torch.float32)
            steepest = ((products - products[:, place, None]) * nearness).amax(dim=1).clamp(min=0.0)
            found[row] = steepest.to(torch.float64).reciprocal().cpu().numpy()
        return found
