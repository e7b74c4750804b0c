"""Launches the Triton kernels. The only module that knows their grids and the shapes of their blocks.

Triton comes only with the CUDA builds of PyTorch, so this is imported only when tensors are on a card.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import torch
import triton

from wordveil.engines.gpu import triton_kernels as kernels

#: How the columns of a product of a query and a word are cut: into at most three powers of two.
Parts = tuple[int, int, int]

#: The shape of the scan: how many queries are in a half of a program, whether it has two halves, how many groups of
#: words to load ahead, and how many warps to use.
Shape = tuple[int, bool, int, int]

#: What is raised if a card, or its version of Triton, cannot build a kernel or has too little room for it.
CANNOT_BUILD = (triton.TritonError, RuntimeError)

_TRIES = 4  # the first one also builds
_OFF = 1e-3  # how far products may differ whose float32 sums are made in another order
_SEATS = 64  # queries to multiply with one group of words at once
_SHARES = 8  # programs that share the queries of one group
_ROOM = 32  # the most words to list for a query
_NOISY, _ROUNDED, _RANKED = 8, 8, 8  # queries per program


def shapes_of(width: int) -> tuple[Shape, ...]:
    """Return the possible shapes of a scan with this many columns; the first is sure to fit.

    A program may have 227 KiB of shared memory. Two halves share what is loaded, which halves the reads from the
    second-level cache, which is nearly as busy as the matrix units.
    """
    if width > 224:
        return ((64, False, 2, 4),)
    return ((128, False, 3, 4), (128, True, 2, 4), (256, False, 3, 8), (128, True, 3, 8))


def chacha_words(key: Any, blocks: int) -> Any:
    """Return `blocks` ChaCha20 blocks of 16 numbers, one column per block."""
    words = torch.empty((16, blocks), dtype=torch.int32, device=key.device)
    kernels.chacha_words[(triton.cdiv(blocks, 256),)](key, words, blocks, BLOCK=256, num_warps=4)
    return words


def noisy_points(words: Any, pairs: int, points: Any, ids: Any, lengths: Any) -> Any:
    """Add random directions, each times a length, to the points with these ids, from two rows of random words."""
    count, dimension = len(ids), points.shape[1]
    noisy = torch.empty((count, dimension), dtype=torch.float32, device=points.device)
    kernels.noisy_points[(triton.cdiv(count, _NOISY),)](
        words, words.shape[1], pairs, points, ids, lengths, noisy, count, DIMENSION=dimension,
        COLUMNS=triton.next_power_of_2(dimension), ROWS=_NOISY, num_warps=4,
    )  # fmt: skip
    return noisy


def rounded(queries: Any, bounds: Any, biases: int, width: int) -> tuple[Any, Any]:
    """Return queries in bfloat16, followed by ones for the biases, and how far off the scan's products may be."""
    count, dimension = queries.shape
    coarse = torch.empty((count, width), dtype=torch.bfloat16, device=queries.device)
    error = torch.empty(count, dtype=torch.float32, device=queries.device)
    kernels.round_queries[(triton.cdiv(count, _ROUNDED),)](
        queries, coarse, error, bounds, count, DIMENSION=dimension, BIASES=biases, WIDTH=width,
        COLUMNS=triton.next_power_of_2(width), ROWS=_ROUNDED, num_warps=4,
    )  # fmt: skip
    return coarse, error


def group_maxima(queries: Any, words: Any, groups: int, group: int, parts: Parts, shape: Shape) -> tuple[Any, Any]:
    """Return the largest product of each query with each group of words, a row for each group, and with all words."""
    count = len(queries)
    maxima = torch.empty((groups, count), dtype=torch.float32, device=queries.device)
    largest = torch.empty(count, dtype=torch.float32, device=queries.device)
    rows, is_twice, stages, warps = shape
    kernels.group_maxima[(triton.cdiv(count, 2 * rows if is_twice else rows),)](
        queries, words, maxima, largest, count, groups, GROUP=group, ROWS=rows, TWICE=is_twice, WIDTH=sum(parts),
        FIRST=parts[0], SECOND=parts[1], THIRD=parts[2], STAGES=stages, num_warps=warps,
    )  # fmt: skip
    return maxima, largest


def fastest_shape(queries: Any, words: Any, groups: int, group: int, parts: Parts) -> Shape:
    """Return the fastest shape for the scan of these queries on this card. Skip shapes that give wrong results."""
    usual, *others = shapes_of(sum(parts))
    right, least = _timed(queries, words, groups, group, parts, usual)
    fastest, off = usual, _OFF * float(right.abs().mean())
    for shape in others:
        with suppress(*CANNOT_BUILD):
            largest, spent = _timed(queries, words, groups, group, parts, shape)
            if spent < least and torch.allclose(largest, right, rtol=_OFF, atol=off, equal_nan=True):
                fastest, least = shape, spent
    return fastest


def _timed(queries: Any, words: Any, groups: int, group: int, parts: Parts, shape: Shape) -> tuple[Any, float]:
    """Return the largest product of each query, and how many milliseconds it took to find."""
    spent = []
    for _ in range(_TRIES):
        began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        began.record()
        _, largest = group_maxima(queries, words, groups, group, parts, shape)
        ended.record()
        ended.synchronize()
        spent.append(float(began.elapsed_time(ended)))
    return largest, min(spent)


def list_pairs(maxima: Any, least: Any, room: int) -> tuple[Any, Any, int]:
    """List, in any order, the queries and groups whose maximum is not below the query's least. Return their number.

    The list is complete only if they are no more than `room`.
    """
    groups, count = maxima.shape
    row, group = torch.empty((2, room), dtype=torch.int64, device=maxima.device)
    listed = torch.zeros(1, dtype=torch.int32, device=maxima.device)
    kernels.list_pairs[(triton.cdiv(count, 512), triton.cdiv(groups, 64))](
        maxima, least, row, group, listed, count, groups, room, EACH=64, BLOCK=512, num_warps=4
    )
    return row, group, int(listed)


def first_of(
    queries: Any, coarse: Any, least: Any, row: Any, group: Any, of: Sequence[Any], size: int, parts: Parts
) -> tuple[Any, Any] | None:
    """Return the best word of each query and its product plus bias; None if too many words are as good.

    `row` and `group` are the pairs that may hold it, ordered by group. `of` holds the rounded words, their vectors and
    their biases.
    """
    rounded_words, vectors, bias = of
    count, groups = len(queries), len(bias) // size
    starts = torch.searchsorted(group, torch.arange(groups + 1, device=group.device))
    listed = torch.zeros(count, dtype=torch.int32, device=queries.device)
    found = torch.empty((count, _ROOM), dtype=torch.int32, device=queries.device)
    kernels.list_words[(groups, _SHARES)](
        coarse, rounded_words, least, row, starts, listed, found, _ROOM, GROUP=size, SEATS=_SEATS, SHARES=_SHARES,
        WIDTH=sum(parts), FIRST=parts[0], SECOND=parts[1], THIRD=parts[2], num_warps=4,
    )  # fmt: skip
    where = torch.empty(count, dtype=torch.int64, device=queries.device)
    values = torch.empty(count, dtype=torch.float64, device=queries.device)
    dimension = queries.shape[1]
    kernels.best_listed[(triton.cdiv(count, _RANKED),)](
        queries, vectors, bias, listed, found, where, values, count, _ROOM, len(bias), DIMENSION=dimension,
        COLUMNS=triton.next_power_of_2(dimension), ROWS=_RANKED, num_warps=4,
    )  # fmt: skip
    return None if int(listed.max()) > _ROOM else (where, values)
