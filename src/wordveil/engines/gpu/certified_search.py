"""Exact nearest words on a device: a fast scan in bfloat16 says where to look, then exact products decide.

The scan computes every product with operands rounded to 8 bits, and keeps the largest of each group of words. By
Cauchy-Schwarz, a product of rounded operands is off by at most ``‖q̃‖·‖δx‖ + ‖δq‖·‖x‖`` (q̃ is the rounded query, δ
what rounding removed), plus the rounding of a float32 sum. So a group can hold the best word only if its maximum is
within twice that bound of the largest. These groups, about two in a thousand on word vectors, are multiplied again, and
the few words in them within the bound are scored in double precision. Where our kernels cannot be built, or too many
words are as good, all words of those groups are scored. The answer is that of a search in double precision; of equal
words, the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wordveil.parallel import blocks

_GROUP = 128
_BIAS_COLUMNS = 3  # three numbers of 8 bits hold the 24 bits of a float32
_PADDING = -1e30  # the bias of padding rows; finite, so that it causes no NaN
_MAXIMA = 1 << 29  # entries of the table of maxima: 2 GiB
_PAIRS = 1 << 18  # pairs of a query and a group to score exactly at once
_SEATS = 64  # pairs of one group to score in one matrix product
_ROOM = 16  # groups per query for which a list is made; if there are more, they are found otherwise
_ROWS = 1 << 10  # queries whose candidates are ranked together
_WIDEST = 352  # columns for which the kernel's tiles fit into shared memory
_TUNED = 1 << 17  # queries that keep all of a card busy, for finding its fastest scan
_CHECKED = 256  # queries that check a card's kernels
_SCORES = 1 << 27  # entries of a block of double-precision products


class CertifiedSearch:
    """Finds, for many queries, the words with the largest product plus bias, exactly.

    The vectors are float32 of shape (words, d). The biases are in double precision.
    """

    def __init__(self, vectors: NDArray[np.float32], bias: NDArray[np.float64], device: str) -> None:
        words, dimension = vectors.shape
        self._groups = -(-words // _GROUP)
        padded = self._groups * _GROUP
        self._vectors = torch.zeros((padded, dimension), dtype=torch.float32, device=device)
        self._vectors[:words] = torch.as_tensor(vectors, device=device)
        self._bias = torch.full((padded,), -torch.inf, dtype=torch.float64, device=device)
        self._bias[:words] = torch.as_tensor(bias, device=device)
        self._parts = _parts(dimension + _BIAS_COLUMNS)
        self._coarse = torch.zeros((padded, sum(self._parts)), dtype=torch.bfloat16, device=device)
        self._coarse[:, :dimension] = self._vectors
        rest = self._bias.clone()
        rest[words:] = _PADDING
        for column in range(dimension, dimension + _BIAS_COLUMNS):
            self._coarse[:, column] = rest
            rest = rest - self._coarse[:, column].to(torch.float64)
        rounded = self._coarse[:, :dimension].to(torch.float64)
        self._longest = float(rounded.norm(dim=1).max())
        self._rounding = float((self._vectors.to(torch.float64) - rounded).norm(dim=1).max())
        self._heaviest = float(np.abs(bias).max())
        self.words, self.dimension, self.device = words, dimension, device
        self._scan: Any = None  # the fastest shape on this card, once measured
        is_narrow = self._coarse.is_cuda and sum(self._parts) <= _WIDEST
        self._launches: Any = _launches() if is_narrow else None
        self._steps = None if self._launches is None else _FewSteps.of(self)

    def best(self, queries: Any) -> Any:
        """Return the best word of each query as a tensor; of equal ones, the first."""
        return self.most(queries, 1)[0][:, 0]

    def most(self, queries: Any, k: int) -> tuple[Any, Any]:
        """Return the `k` words with the largest product plus bias, largest first, and these values, as tensors."""
        found = [self._most(queries[part], k) for part in blocks(len(queries), max(1, _MAXIMA // self._groups))]
        if not found:
            return torch.empty((0, k), dtype=torch.int64), torch.empty((0, k), dtype=torch.float64)
        return torch.cat([where for where, _ in found]), torch.cat([values for _, values in found])

    def _most(self, queries: Any, k: int) -> tuple[Any, Any]:
        steps, queries = self._steps, queries.contiguous()
        coarse, error = (self if steps is None else steps).rounded(queries)
        maxima, largest = self._maxima(coarse)  # a row for each group
        if k == 1:
            least = largest
        elif k <= self._groups:
            least = maxima.topk(k, dim=0).values[-1]  # at least k groups have a word this good
        else:
            least = torch.full((len(queries),), -torch.inf, device=maxima.device)
        least = least - 2.0 * error
        row, group = self._pairs(maxima, least)
        if k == 1:
            found = None if steps is None else steps.first(queries, coarse, least, row, group)
            return self._first(queries, row, group) if found is None else found
        return self._several(queries, row, group, k)

    def rounded(self, queries: Any) -> tuple[Any, Any]:
        """Return the queries rounded for the scan, with ones for the biases, and a bound on its products' errors."""
        coarse = self._coarse_queries(queries)
        return coarse, self._error(queries, coarse)

    def _coarse_queries(self, queries: Any) -> Any:
        coarse = torch.zeros((len(queries), sum(self._parts)), dtype=torch.bfloat16, device=queries.device)
        coarse[:, : self.dimension] = queries
        coarse[:, self.dimension : self.dimension + _BIAS_COLUMNS] = 1.0
        return coarse

    def _error(self, queries: Any, coarse: Any) -> Any:
        """Return how far off the scan's product with each query may be."""
        rounded = coarse[:, : self.dimension].to(torch.float32)
        length = rounded.to(torch.float64).norm(dim=1)
        lost = (queries - rounded).to(torch.float64).norm(dim=1)  # exact: the two are close
        exact = length * self._rounding + lost * (self._longest + self._rounding)
        # A float32 sum of n terms, truncated at every step, is off by n·2^-23 of the sum of their sizes; doubled for
        # safety.
        summing = 2.0 * sum(self._parts) * 2.0**-23 * (length * self._longest + 2.0 * self._heaviest)
        return (1.001 * (exact + summing)).to(torch.float32)

    def _maxima(self, coarse: Any) -> tuple[Any, Any]:
        """Return the largest product of each query with the words of each group, and with all words."""
        count = len(coarse)
        if self._launches is not None:
            what = coarse, self._coarse, self._groups, _GROUP, self._parts
            if self._scan is None and count >= min(_TUNED, _MAXIMA // self._groups):
                self._scan = self._launches.fastest_shape(*what)
            return self._launches.group_maxima(*what, self._scan or self._launches.shapes_of(sum(self._parts))[0])
        # bfloat16 operands multiplied as float32, so that only the sums are rounded
        words = self._coarse.to(torch.float32)
        parts = [
            (coarse[part].to(torch.float32) @ words.T).reshape(-1, self._groups, _GROUP).amax(dim=2)
            for part in blocks(count, max(1, _SCORES // len(words)))
        ]
        found = torch.cat(parts).T
        return found, found.amax(dim=0)

    def _pairs(self, maxima: Any, least: Any) -> tuple[Any, Any]:
        """Return the pairs of a query and a group that may hold its best word, ordered by group."""
        # "Not smaller" also keeps a NaN, from a product too large for float32.
        if maxima.is_cuda:
            room = _ROOM * maxima.shape[1]
            row, group, found = _launches().list_pairs(maxima, least, room)
            if found <= room:
                group, order = torch.sort(group[:found].to(torch.int32))  # sorts 32 bits in half the passes
                return row[:found][order], group.to(torch.int64)
        group, row = torch.nonzero(~(maxima < least), as_tuple=True)
        return row, group

    def _first(self, queries: Any, row: Any, group: Any) -> tuple[Any, Any]:
        """Return the best word of the groups that may hold it, for each query."""
        where = torch.full((len(queries),), self.words, dtype=torch.int64, device=queries.device)
        values = torch.full((len(queries),), -torch.inf, dtype=torch.float64, device=queries.device)
        for part in blocks(len(row), _PAIRS):
            rows, groups = row[part], group[part]
            scores = self._exact(queries, rows, groups)
            top, place = scores.max(dim=1)  # of equal scores, the first
            ids = groups * _GROUP + place
            before = values.clone()
            values.scatter_reduce_(0, rows, top, "amax")
            where = torch.where(values > before, self.words, where)
            where.scatter_reduce_(0, rows, torch.where(top == values[rows], ids, self.words), "amin")
        return where[:, None], values[:, None]

    def _several(self, queries: Any, row: Any, group: Any, k: int) -> tuple[Any, Any]:
        """Return the best `k` words of the groups that may hold them, for each query."""
        order = torch.argsort(row, stable=True)
        row, group = row[order], group[order]
        ends = torch.cumsum(torch.bincount(row, minlength=len(queries)), dim=0).cpu()
        within = torch.arange(_GROUP, device=queries.device)
        found = []
        for part in blocks(len(queries), _ROWS):
            start = int(ends[part.start - 1]) if part.start else 0
            rows, groups = row[start : int(ends[part.stop - 1])], group[start : int(ends[part.stop - 1])]
            first = torch.searchsorted(rows, rows)  # where the pairs of each query begin
            column = torch.arange(len(rows), device=rows.device) - first
            shape = (part.stop - part.start, int(column.max()) + 1, _GROUP)
            scores = torch.full(shape, -torch.inf, dtype=torch.float64, device=queries.device)
            ids = torch.full(shape, self.words, dtype=torch.int64, device=queries.device)
            by_group = torch.argsort(groups)
            places = (rows - part.start)[by_group], column[by_group]
            scores[places] = self._exact(queries, rows[by_group], groups[by_group])
            ids[rows - part.start, column] = groups[:, None] * _GROUP + within
            found.append(_top(ids.flatten(1), scores.flatten(1), k))
        return torch.cat([where for where, _ in found]), torch.cat([values for _, values in found])

    def _exact(self, queries: Any, row: Any, group: Any) -> Any:
        """Return the products plus bias of each pair's query with its group's words, in double precision.

        The pairs must come in the order of their groups.
        """
        # Pairs of a group share its words, so they sit together at tables of `_SEATS` seats, with one product each. We
        # make the largest possible number of tables, because asking the device for the exact one would make it wait.
        sizes = torch.zeros(self._groups, dtype=torch.int64, device=group.device)
        sizes.scatter_add_(0, group, torch.ones_like(group))
        tables = (sizes + _SEATS - 1) // _SEATS
        rank = torch.arange(len(group), device=group.device) - (torch.cumsum(sizes, 0) - sizes)[group]
        ends = torch.cumsum(tables, 0)
        table = (ends - tables)[group] + rank // _SEATS
        seat = rank % _SEATS
        most = len(group) // _SEATS + min(self._groups, len(group))
        of = torch.searchsorted(ends, torch.arange(most, device=group.device), right=True).clamp_(max=self._groups - 1)
        seated = torch.zeros((len(of), _SEATS, self.dimension), dtype=torch.float64, device=group.device)
        seated[table, seat] = queries[row].to(torch.float64)
        words = self._vectors.reshape(self._groups, _GROUP, -1)[of].to(torch.float64)
        products = torch.bmm(seated, words.transpose(1, 2))
        return products[table, seat].add_(self._bias.reshape(self._groups, _GROUP)[group])


class _FewSteps:
    """The steps around a search's scan, with our own kernels. PyTorch would pass over the queries many times.

    For the groups that may hold a query's best word, the products are computed again. Only the few words within the
    bound are then scored in double precision, and not all 128 of a group.
    """

    def __init__(self, search: CertifiedSearch) -> None:
        self._search, self._launches = search, search._launches
        summing = 2.0 * sum(search._parts) * 2.0**-23  # as in `CertifiedSearch._error`
        bounds = (
            search._rounding, search._longest + search._rounding, summing * search._longest,
            summing * 2.0 * search._heaviest,
        )  # fmt: skip
        self._bounds = torch.tensor(bounds, dtype=torch.float64, device=search.device)

    @classmethod
    def of(cls, search: CertifiedSearch) -> _FewSteps | None:
        """Return the steps for a search on a card, or None if they cannot be built there or give other results."""
        steps = cls(search)
        queries = search._vectors[: min(search.words, _CHECKED)]
        try:
            coarse, error = steps.rounded(queries)
            maxima, largest = search._maxima(coarse)
            least = largest - 2.0 * error
            pairs = search._pairs(maxima, least)
            found = steps.first(queries, coarse, least, *pairs)
        except search._launches.CANNOT_BUILD:
            return None
        plain, bound = search.rounded(queries)
        same = torch.equal(coarse, plain) and torch.allclose(error, bound, rtol=1e-5, atol=0.0, equal_nan=True)
        agree = found is None or torch.equal(found[0], search._first(queries, *pairs)[0])
        return steps if same and agree else None

    def rounded(self, queries: Any) -> tuple[Any, Any]:
        """Return the same as `CertifiedSearch.rounded`, in one pass."""
        coarse, error = self._launches.rounded(queries, self._bounds, _BIAS_COLUMNS, sum(self._search._parts))
        return coarse, error

    def first(self, queries: Any, coarse: Any, least: Any, row: Any, group: Any) -> tuple[Any, Any] | None:
        """Return the best word of each query, or None if too many words are as good for a list."""
        search = self._search
        of = search._coarse, search._vectors, search._bias
        found = self._launches.first_of(queries, coarse, least, row, group, of, _GROUP, search._parts)
        return None if found is None else (found[0][:, None], found[1][:, None])


class DoubleSearch:
    """Finds, for many queries, the word with the largest product plus bias, in double precision throughout.

    For spaces whose words differ in size by many powers of ten, such as hyperbolic ones, where a scan in few bits would
    show nothing.
    """

    def __init__(self, vectors: NDArray[np.float64], bias: NDArray[np.float64], device: str) -> None:
        self._vectors = torch.as_tensor(vectors, device=device)
        self._bias = torch.as_tensor(bias, device=device)

    def best(self, queries: Any) -> tuple[Any, Any]:
        """Return the best word of each query and its product plus bias, as tensors; of equal ones, the first."""
        where, values = [], []
        for part in blocks(len(queries), max(1, _SCORES // len(self._vectors))):
            scores = torch.addmm(self._bias, queries[part], self._vectors.T)
            top, place = scores.max(dim=1)
            values.append(top)
            where.append(place)
        return torch.cat(where), torch.cat(values)


def _top(ids: Any, scores: Any, k: int) -> tuple[Any, Any]:
    """Return the `k` ids with the largest scores in each row, and these scores; of equal scores, the smaller id."""
    nowhere = torch.iinfo(torch.int64).max
    where, values = [], []
    for _ in range(k):
        top = scores.amax(dim=1)
        winner = torch.where(scores == top[:, None], ids, nowhere).amin(dim=1)
        scores = torch.where(ids == winner[:, None], -torch.inf, scores)
        where.append(winner)
        values.append(top)
    return torch.stack(where, dim=1), torch.stack(values, dim=1)


def _launches() -> Any:
    from wordveil.engines.gpu import launches  # noqa: PLC0415 - Triton comes with CUDA builds of PyTorch only

    return launches


def _parts(columns: int) -> tuple[int, int, int]:
    """Cut columns into at most three powers of two, each 16 or more, with as little padding as possible."""
    parts = []
    left = columns
    for number in range(3):
        if left <= 0:
            parts.append(0)
            continue
        power = max(16, 1 << (left.bit_length() - 1))
        if number == 2 and power < left:
            power *= 2
        parts.append(power)
        left -= power
    return parts[0], parts[1], parts[2]
