# mypy: ignore-errors
"""Training steps as two CUDA kernels, written in Triton: one for the gradients of a batch, one that moves the points.

They compute the same as `wordveil.lab.training.steps`. A pair and its negatives make one program, so that only points
and gradients go through memory.
"""

import triton
import triton.language as tl

EUCLIDEAN = tl.constexpr(0)
POINCARE = tl.constexpr(1)
CLOSE = tl.constexpr(1e-12)


@triton.jit(do_not_specialize=["start", "seed"])
def add_gradients(
    points,
    gradients,
    counts,
    losses,
    child,
    parent,
    order,
    table,
    known,
    limits,
    start,
    seed,
    nodes,
    table_size,
    DIMENSION: tl.constexpr,
    WIDTH: tl.constexpr,
    ENDS: tl.constexpr,
    ROWS: tl.constexpr,
    KNOWN_BITS: tl.constexpr,
    GEOMETRY: tl.constexpr,
    POPULAR: tl.constexpr,
):
    """Add the gradients of one pair to its nodes' sums, and count them."""
    pair = tl.program_id(0)
    chosen = tl.load(order + start + pair)
    u = tl.load(child + chosen)
    row = tl.arange(0, ROWS)
    bits = tl.randint(seed, pair * ROWS + row).to(tl.uint32, bitcast=True).to(tl.uint64)
    if POPULAR:
        end = tl.load(table + ((bits * table_size) >> 32).to(tl.int64))
    else:
        end = ((bits * nodes) >> 32).to(tl.int64)
    end = tl.where(row == 0, tl.load(parent + chosen), end)
    # A bit for every hash of a known pair. It finds all parents of u, and sometimes a node that is none.
    key = (u * nodes + end).to(tl.uint64) * 0x9E3779B97F4A7C15
    place = (key >> (64 - KNOWN_BITS)).to(tl.int64)
    is_known = (tl.load(known + (place >> 5)) >> (place & 31).to(tl.int32)) & 1
    live = (row == 0) | ((row < ENDS) & (end != u) & (is_known == 0))

    column = tl.arange(0, WIDTH)
    inside = column < DIMENSION
    x = tl.load(points + u * DIMENSION + column, mask=inside, other=0.0)
    places = end[:, None] * DIMENSION + column[None, :]
    shown = live[:, None] & inside[None, :]
    y = tl.load(points + places, mask=shown, other=0.0)
    difference = x[None, :] - y
    squares = tl.sum(difference * difference, axis=1)
    x2 = tl.sum(x * x, axis=0)
    y2 = tl.sum(y * y, axis=1)
    if GEOMETRY == EUCLIDEAN:
        distance = tl.sqrt(squares)
        near_x = 1.0 / tl.maximum(distance, CLOSE)
        near_y = near_x
        own_x = tl.zeros_like(near_x)
        own_y = own_x
    elif GEOMETRY == POINCARE:
        alpha = 1.0 - x2
        beta = 1.0 - y2
        s2 = squares / (alpha * beta)
        half = 0.5 / tl.maximum(tl.sqrt(s2 * (1.0 + s2)), CLOSE)
        near_x = alpha * half / beta
        own_x = squares * half / beta
        near_y = beta * half / alpha
        own_y = squares * half / alpha
        distance = 2.0 * tl.log(tl.sqrt(s2) + tl.sqrt(1.0 + s2))
    else:
        x0 = tl.sqrt(1.0 + x2)
        y0 = tl.sqrt(1.0 + y2)
        later = tl.sum(difference * (x[None, :] + y), axis=1) / (x0 + y0)
        apart = (1.0 + y0)[:, None] * difference - later[:, None] * y
        s2 = tl.sum(apart * apart, axis=1) / (4.0 * (1.0 + x0) * (1.0 + y0))
        root = tl.maximum(tl.sqrt(s2 * (1.0 + s2)), CLOSE)
        near_x = 0.5 / root
        own_x = s2 / root
        near_y = near_x
        own_y = own_x
        distance = 2.0 * tl.log(tl.sqrt(s2) + tl.sqrt(1.0 + s2))

    sharpness = tl.load(limits + 3)
    nearest = tl.min(tl.where(live, distance, float("inf")), axis=0)
    weight = tl.where(live, tl.exp(sharpness * (nearest - distance)), 0.0)
    total = tl.sum(weight, axis=0)
    slope = tl.where(row == 0, 1.0, 0.0) - weight / total
    own_distance = tl.sum(tl.where(row == 0, distance, 0.0), axis=0)
    tl.store(losses + start + pair, sharpness * (own_distance - nearest) + tl.log(total))

    at_x = tl.sum((slope * near_x)[:, None] * difference, axis=0) + tl.sum(slope * own_x, axis=0) * x
    at_y = (slope * own_y)[:, None] * y - (slope * near_y)[:, None] * difference
    tl.atomic_add(gradients + u * DIMENSION + column, at_x, mask=inside, sem="relaxed")
    tl.atomic_add(gradients + places, at_y, mask=shown, sem="relaxed")
    tl.atomic_add(counts + end, tl.where(row >= 0, 1, 0), mask=live, sem="relaxed")
    tl.atomic_add(counts + u, 1, sem="relaxed")


@triton.jit
def move_points(
    points,
    gradients,
    counts,
    limits,
    nodes,
    DIMENSION: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    GEOMETRY: tl.constexpr,
):
    """Move every point that has a gradient, and clear sums and counts."""
    rate, longest, farthest = tl.load(limits), tl.load(limits + 1), tl.load(limits + 2)
    node = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    count = tl.load(counts + node, mask=node < nodes, other=0)
    touched = count > 0
    column = tl.arange(0, WIDTH)
    places = node[:, None] * DIMENSION + column[None, :]
    shown = touched[:, None] & (column < DIMENSION)[None, :]
    x = tl.load(points + places, mask=shown, other=0.0)
    step = tl.load(gradients + places, mask=shown, other=0.0)
    step = step * (-rate / tl.sqrt(tl.maximum(count, 1).to(tl.float64)))[:, None]
    x2 = tl.sum(x * x, axis=1)
    squares = tl.sum(step * step, axis=1)
    if GEOMETRY == EUCLIDEAN:
        shorter = longest / tl.maximum(tl.sqrt(squares), longest)
        moved = x + step * shorter[:, None]
    elif GEOMETRY == POINCARE:
        gap = 1.0 - x2
        long = tl.sqrt(squares)
        length = tl.minimum(2.0 * long / gap, longest)
        falling = tl.exp(-length)
        reach = (1.0 - falling) / (1.0 + falling)
        y = step * (reach / tl.maximum(long, CLOSE))[:, None]
        both = x + y
        square = tl.sum(both * both, axis=1)
        total = gap * (1.0 - reach * reach) + square
        moved = (gap[:, None] * both + square[:, None] * x) / tl.maximum(total, CLOSE * CLOSE)[:, None]
        norm = tl.sqrt(tl.sum(moved * moved, axis=1))
        moved = moved * tl.minimum(1.0, farthest / tl.maximum(norm, CLOSE))[:, None]
    else:
        along = tl.sum(x * step, axis=1)
        length = tl.sqrt(tl.maximum(squares - along * along / (1.0 + x2), 0.0))
        shorter = tl.minimum(length, longest)
        growth = tl.exp(shorter)
        sinh = tl.where(shorter > 1e-4, (growth - 1.0 / growth) / 2.0, shorter)
        scale = sinh / tl.maximum(length, CLOSE)
        moved = ((growth + 1.0 / growth) / 2.0)[:, None] * x + scale[:, None] * step
        norm = tl.sqrt(tl.sum(moved * moved, axis=1))
        moved = moved * tl.minimum(1.0, farthest / tl.maximum(norm, CLOSE))[:, None]
    tl.store(points + places, moved, mask=shown)
    tl.store(gradients + places, tl.zeros_like(moved), mask=shown)
    tl.store(counts + node, tl.zeros_like(count), mask=touched)
