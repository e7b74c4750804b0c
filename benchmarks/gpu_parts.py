"""Where the time of a draw on a card goes, and what our kernels around the scan save.

Printed by `python -m benchmarks.gpu --parts`. Every part is timed separately, on one block of words, by the card's
clock.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import torch

from benchmarks.measure import best_of
from wordveil import mechanism
from wordveil._mechanisms import base
from wordveil._mechanisms.laplace import Laplace
from wordveil.engines import on_engine
from wordveil.engines.gpu import certified_search
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace

__all__ = ["matrix_rate", "print_parts"]

_BLOCK = 1 << 17  # words per block of a draw
_DRAWN = 1 << 20
_TIMES = 5
#: Further shapes of the scan, besides those that a search tries. See `wordveil.engines.gpu.launches.Shape`.
_SHAPES = (
    (128, False, 2, 4), (128, False, 4, 4), (64, True, 2, 4), (64, True, 3, 4), (128, True, 3, 4), (128, True, 2, 8),
    (128, True, 4, 8), (256, False, 2, 8), (256, False, 4, 8), (128, False, 3, 8),
)  # fmt: skip


def matrix_rate(kind: Any) -> float:
    """Return how many operations per second the card's own matrix product makes in one precision."""
    size = 8192
    left = torch.randn((size, size), device="cuda").to(kind)
    right = torch.randn((size, size), device="cuda").to(kind)

    def once() -> None:
        for _ in range(8):
            left @ right
        torch.cuda.synchronize()

    once()
    return 8 * 2 * size**3 / best_of(5, once)


def print_parts(space: EuclideanSpace) -> None:
    """Print a line for each part of a draw with `laplace` at ε = 10."""
    from wordveil.engines.gpu import launches  # noqa: PLC0415 - Triton comes with CUDA builds of PyTorch only
    from wordveil.engines.gpu.chacha import noisy_points  # noqa: PLC0415

    rate = matrix_rate(torch.bfloat16)
    limit = 1e3 * 2 * len(space) * space.dimension * _BLOCK / rate
    print(
        f"{torch.cuda.get_device_name()}, {len(space):,} × {space.dimension}, bf16 {rate / 1e12:,.0f} TFLOP/s: ", end=""
    )
    print(f"{limit:.2f} ms for a block of {_BLOCK:,} words at the least")
    made = mechanism("laplace", on_engine(space, "gpu"), epsilon=10.0)
    assert isinstance(made, Laplace)
    placed: Any = made.space
    device, search = placed.device, placed._search
    print(f"kernels in use: noise {device._is_quick}, around the scan {search._steps is not None}")
    ids = np.random.default_rng(1).integers(0, len(space), _DRAWN)
    began = time.perf_counter()
    lengths = made.lengths(ids[:_BLOCK], Entropy(0))
    _tell("lengths, on the host", 1e3 * (time.perf_counter() - began), limit)
    places = torch.as_tensor(ids[:_BLOCK], device="cuda")
    long = torch.as_tensor(lengths.astype(np.float32), device="cuda")
    key = Entropy(0).key()
    for is_quick in (False, True):
        _part(f"noise, {_how(is_quick)}", limit, lambda on=is_quick: noisy_points(  # type: ignore[misc]
            device._points, places, long, key, in_one_step=on))  # fmt: skip
    queries = noisy_points(device._points, places, long, key, in_one_step=False)
    _part(f"rounding, {_how(False)}", limit, lambda: search.rounded(queries))
    if search._steps is not None:
        _part(f"rounding, {_how(True)}", limit, lambda: search._steps.rounded(queries))
    coarse, error = search.rounded(queries)
    what = coarse, search._coarse, search._groups, 128, search._parts
    tried = launches.shapes_of(sum(search._parts))
    for shape in (*tried, *_SHAPES):
        with suppress(*launches.CANNOT_BUILD):  # too large for this card
            mark = "" if shape in tried else ", not tried by a search"
            _part(f"scan {shape}{mark}", limit, lambda shape=shape: launches.group_maxima(*what, shape))  # type: ignore[misc]
    print(f"a search would take {launches.fastest_shape(*what)}")
    maxima, largest = search._maxima(coarse)
    least = largest - 2.0 * error
    _part("listing the pairs to look at, and sorting them", limit, lambda: search._pairs(maxima, least))
    row, group = search._pairs(maxima, least)
    print(f"{len(row) / _BLOCK:.1f} groups a query are looked at")
    _part(f"looking at them, {_how(False)}", limit, lambda: search._first(queries, row, group))
    if search._steps is not None:
        _part(f"looking at them, {_how(True)}", limit, lambda: search._steps.first(queries, coarse, least, row, group))
        found = search._steps.first(queries, coarse, least, row, group)
        plain = search._first(queries, row, group)
        print("too many for a list" if found is None else f"the same words: {torch.equal(found[0], plain[0])}")
    _whole(made, ids, rate)


def _whole(made: Laplace, ids: Any, rate: float) -> None:
    """Print the rate of whole draws with and without the kernels, in turn, and what the card did meanwhile."""
    placed: Any = made.space
    device, search = placed.device, placed._search
    new = device._is_quick, search._steps, None, base._FIRST_DEVICE_BLOCK
    old = False, None, (128, False, 3, 4), _BLOCK
    allowed = rate / (2 * len(placed) * placed.dimension)

    def tell(name: str) -> None:
        made.draw(ids)
        reached = len(ids) / best_of(3, lambda: made.draw(ids))
        print(f"whole draws, {name}: {reached:,.0f} words/s, {reached / allowed:.0%} of {allowed:,.0f}", flush=True)

    for name, one in (("as before", old), ("as now", new), ("as before", old), ("as now", new)):
        device._is_quick, search._steps, search._scan, base._FIRST_DEVICE_BLOCK = one
        tell(name)
    print(f"the scan was cut by {search._scan}")
    largest, room = base._DEVICE_BLOCK, certified_search._MAXIMA
    certified_search._MAXIMA = 1 << 30
    for power in (16, 18):
        base._DEVICE_BLOCK = 1 << power
        tell(f"in blocks of 2^{power} words")
    base._DEVICE_BLOCK, certified_search._MAXIMA = largest, room
    with suppress(RuntimeError):  # if the card's counters cannot be read
        _profile(made, ids)


def _profile(made: Laplace, ids: Any) -> None:
    from torch.profiler import ProfilerActivity, profile  # noqa: PLC0415 - slow to load

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        began = time.perf_counter()
        made.draw(ids)
        spent = time.perf_counter() - began
    rows = [(event.key, event.self_device_time_total / 1e3, event.count) for event in seen.key_averages()]
    busy = sum(row[1] for row in rows)
    print(f"a profiled draw: {1e3 * spent:.1f} ms, in which kernels ran {busy:.1f} ms; of these")
    for name, milliseconds, count in sorted(rows, key=lambda row: -row[1])[:20]:
        print(f"  {milliseconds:9.2f} ms {count:6,} × {name[:90]}")


def _how(is_quick: bool) -> str:
    return "by one kernel of ours" if is_quick else "by PyTorch"


def _part(name: str, limit: float, work: Callable[[], object]) -> None:
    work()  # builds the kernel and allocates memory
    spent = []
    for _ in range(_TIMES):
        began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        began.record()
        work()
        ended.record()
        ended.synchronize()
        spent.append(began.elapsed_time(ended))
    _tell(name, statistics.median(spent), limit)


def _tell(name: str, milliseconds: float, limit: float) -> None:
    print(f"{milliseconds:8.2f} ms {milliseconds / limit:6.1%} of the least  {name}", flush=True)
