"""Texts in the form that the network reads: cut into windows, with the law's evidence about their outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.parallel import blocks
from wordveil.reading.kinds import Basis, Floats, Vectors
from wordveil.reading.places import VEILED, Places

if TYPE_CHECKING:
    import torch

__all__ = ["Seen"]

_COLUMN_BYTES = 1 << 30  # the most memory for cached columns of the law
_LOG_FLOOR = -80.0  # relative to the largest: a word this unlikely to have given an output counts as impossible


_WINDOW, _OVERLAP = 128, 16  # words read together, and how many at a cut end serve only as context


class Seen:
    """Texts as the network sees them, with the law's evidence about their outputs.

    `prior` is the probability of every word at a veiled place; the `count` likeliest words are the candidates. `means`
    returns the mean vector of the word behind each row of outputs. `truth` are the originals, if they are known.
    """

    def __init__(
        self,
        basis: Basis,
        places: Places,
        prior: Floats,
        count: int,
        *,
        means: Callable[[NDArray[np.int64]], Vectors],
        truth: NDArray[np.int64] | None,
        device: str,
    ) -> None:
        import torch  # noqa: PLC0415 - an extra, and slow to import

        self.windows = Windows.of(places)
        points = basis.points
        scale = float(1.0 / points.std())
        likeliest = np.argsort(-prior, kind="stable")[:count]
        chosen = np.sort(likeliest[prior[likeliest] > 0])
        self.candidates = torch.as_tensor(chosen, device=device)
        self.log_prior = torch.as_tensor(np.log(prior[chosen]), dtype=torch.float32, device=device)
        table = torch.as_tensor(points * scale, device=device)
        self.words = table[self.candidates]
        self.kinds = torch.as_tensor(places.kinds.astype(np.int64), device=device)
        self.gaps = torch.as_tensor(places.gaps.astype(np.int64), device=device)
        outputs, veiled = places.outputs, places.veiled
        distinct, which = np.unique(outputs, axis=0, return_inverse=True)
        known = means(distinct) * scale if len(distinct) else np.empty((0, points.shape[1]))
        nothing = torch.zeros((1, points.shape[1]), device=device)
        self._vectors = torch.cat([table, nothing])
        self._means = torch.cat([torch.as_tensor(known, dtype=torch.float32, device=device), self._vectors])
        unknown = len(table)
        ids = np.where((places.ids < 0) | (places.kinds > VEILED), unknown, places.ids)
        rows = ids + len(distinct)
        rows[veiled] = which.ravel()
        self._ids, self._rows = torch.as_tensor(ids, device=device), torch.as_tensor(rows, device=device)
        self.truth = None
        self._outputs = distinct
        if truth is not None:
            place_of = np.full(len(prior) + 1, -1)
            place_of[chosen] = np.arange(len(chosen))
            self.truth = torch.as_tensor(place_of[truth], device=device)
        self._columns = _Columns(basis, chosen, prior, device)

    def features(self, index: torch.Tensor) -> torch.Tensor:
        """Return the vector of the word at each place, joined with the mean vector of the word behind it."""
        import torch  # noqa: PLC0415

        return torch.cat([self._vectors[self._ids[index]], self._means[self._rows[index]]], dim=-1)

    def evidence(self, places: torch.Tensor) -> torch.Tensor:
        """Return ``ln Pr[M(w)=y]`` of the candidates for each of these veiled places, summed over its draws."""
        return self._columns.of(self._outputs[self._rows[places].cpu().numpy()])


class _Columns:
    """A cache of the law's columns, restricted to the candidates."""

    def __init__(self, basis: Basis, candidates: NDArray[np.int64], prior: Floats, device: str) -> None:
        import torch  # noqa: PLC0415

        self._law, self._candidates, self._prior, self._device = basis.law, candidates, prior[candidates], device
        self._most = _COLUMN_BYTES // (4 * max(1, len(candidates)))
        self._place = np.full(len(prior), -1)
        self._kept = torch.empty((0, len(candidates)), dtype=torch.float32, device=device)
        self._count = 0

    def of(self, outputs: NDArray[np.int64]) -> torch.Tensor:
        """Return one row per place, given the outputs of its draws."""
        import torch  # noqa: PLC0415

        new = np.unique(outputs[self._place[outputs] < 0])
        if len(new) and self._count + len(new) > self._most:
            self._place[:], self._count = -1, 0
            new = np.unique(outputs)
        for part in blocks(len(new), 1024):
            logs = self._law.log_columns(new[part], self._candidates, prior=self._prior)
            largest = logs.max(axis=1, keepdims=True)
            # an output that no candidate gives is equally unlikely for all of them, and says nothing
            logs = np.maximum(logs - np.where(np.isfinite(largest), largest, 0.0), _LOG_FLOOR)
            self._keep(new[part], torch.as_tensor(logs, dtype=torch.float32, device=self._device))
        rows = torch.as_tensor(self._place[outputs], device=self._device)
        found = self._kept[rows[:, 0]]
        for draw in range(1, rows.shape[1]):
            found = found + self._kept[rows[:, draw]]
        return found

    def _keep(self, outputs: NDArray[np.int64], logs: torch.Tensor) -> None:
        stop = self._count + len(outputs)
        if stop > len(self._kept):  # grows by doubling, so that rows are not copied often
            grown = logs.new_empty((min(max(stop, 2 * len(self._kept)), max(stop, self._most)), logs.shape[1]))
            grown[: self._count] = self._kept[: self._count]
            self._kept = grown
        self._kept[self._count : stop] = logs
        self._place[outputs] = np.arange(self._count, stop)
        self._count = stop


class Windows(NamedTuple):
    """Stretches of texts that are read together, and the places (`firsts` to `lasts`) that each answers for."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]

    @classmethod
    def of(cls, places: Places) -> Windows:
        """Cut texts into windows, leaving out those without a veiled word to read."""
        before = np.concatenate([[0], np.cumsum(places.kinds == VEILED)])
        cut = []
        for start, stop in zip(places.starts[:-1].tolist(), places.starts[1:].tolist(), strict=True):
            if stop - start <= _WINDOW:
                cut.append((start, stop, start, stop))
                continue
            for first in range(start, stop - 2 * _OVERLAP, _WINDOW - 2 * _OVERLAP):
                last = min(first + _WINDOW, stop)
                answers = first if first == start else first + _OVERLAP, last if last == stop else last - _OVERLAP
                cut.append((first, last, *answers))
        found = np.array(cut, dtype=np.int64).reshape(-1, 4)
        return cls(*found[before[found[:, 3]] > before[found[:, 2]]].T)

    def take(self, which: NDArray[np.int64]) -> Windows:
        """Return the windows with these numbers."""
        return Windows(*(part[which] for part in self))


def runs(
    windows: Windows, which: NDArray[np.int64], words: int, generator: np.random.Generator | None = None
) -> list[NDArray[np.int64]]:
    """Batch windows of similar length, about `words` words per batch, so that there is little padding."""
    lengths = (windows.stops - windows.starts)[which].astype(np.float64)
    if generator is not None:
        lengths += generator.normal(scale=2.0, size=len(lengths))
    ordered = which[np.argsort(lengths, kind="stable")]
    found, first, longest = [], 0, 0
    for number, length in enumerate((windows.stops - windows.starts)[ordered].tolist()):
        longest = max(longest, length)
        if number > first and longest * (number - first + 1) > words:
            found.append(ordered[first:number])
            first, longest = number, length
    return [*found, ordered[first:]] if len(ordered) else []
