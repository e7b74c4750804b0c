# mypy: ignore-errors
"""The CUDA kernels, written in Triton: random words, largest products with groups of words, and which groups matter."""

import triton
import triton.language as tl


@triton.jit
def _turn(x, n: tl.constexpr):
    return (x << n) | (x >> (32 - n))


@triton.jit
def _quarter(a, b, c, d):
    a += b
    d = _turn(d ^ a, 16)
    c += d
    b = _turn(b ^ c, 12)
    a += b
    d = _turn(d ^ a, 8)
    c += d
    b = _turn(b ^ c, 7)
    return a, b, c, d


@triton.jit
def chacha_words(key, words, blocks, BLOCK: tl.constexpr):
    """Write ChaCha20 blocks (64-bit counter from 0, nonce 0), the first words of all blocks first."""
    number = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    low = (number & 0xFFFFFFFF).to(tl.uint32)
    high = (number >> 32).to(tl.uint32)
    zero = low ^ low
    k0 = zero + tl.load(key).to(tl.uint32, bitcast=True)
    k1 = zero + tl.load(key + 1).to(tl.uint32, bitcast=True)
    k2 = zero + tl.load(key + 2).to(tl.uint32, bitcast=True)
    k3 = zero + tl.load(key + 3).to(tl.uint32, bitcast=True)
    k4 = zero + tl.load(key + 4).to(tl.uint32, bitcast=True)
    k5 = zero + tl.load(key + 5).to(tl.uint32, bitcast=True)
    k6 = zero + tl.load(key + 6).to(tl.uint32, bitcast=True)
    k7 = zero + tl.load(key + 7).to(tl.uint32, bitcast=True)
    c0 = zero + 0x61707865
    c1 = zero + 0x3320646E
    c2 = zero + 0x79622D32
    c3 = zero + 0x6B206574
    x0, x1, x2, x3 = c0, c1, c2, c3
    x4, x5, x6, x7 = k0, k1, k2, k3
    x8, x9, x10, x11 = k4, k5, k6, k7
    x12, x13, x14, x15 = low, high, zero, zero
    for _ in tl.static_range(10):
        x0, x4, x8, x12 = _quarter(x0, x4, x8, x12)
        x1, x5, x9, x13 = _quarter(x1, x5, x9, x13)
        x2, x6, x10, x14 = _quarter(x2, x6, x10, x14)
        x3, x7, x11, x15 = _quarter(x3, x7, x11, x15)
        x0, x5, x10, x15 = _quarter(x0, x5, x10, x15)
        x1, x6, x11, x12 = _quarter(x1, x6, x11, x12)
        x2, x7, x8, x13 = _quarter(x2, x7, x8, x13)
        x3, x4, x9, x14 = _quarter(x3, x4, x9, x14)
    inside = number < blocks
    place = words + number
    tl.store(place, (x0 + c0).to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + blocks, (x1 + c1).to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 2 * blocks, (x2 + c2).to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 3 * blocks, (x3 + c3).to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 4 * blocks, (x4 + k0).to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 5 * blocks, (x5 + k1).to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 6 * blocks, (x6 + k2).to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 7 * blocks, (x7 + k3).to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 8 * blocks, (x8 + k4).to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 9 * blocks, (x9 + k5).to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 10 * blocks, (x10 + k6).to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 11 * blocks, (x11 + k7).to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 12 * blocks, (x12 + low).to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 13 * blocks, (x13 + high).to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 14 * blocks, x14.to(tl.int32, bitcast=True), mask=inside)
    tl.store(place + 15 * blocks, x15.to(tl.int32, bitcast=True), mask=inside)


@triton.jit
def group_maxima(
    queries,
    words,
    maxima,
    largest,
    count,
    groups,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    FIRST: tl.constexpr,
    SECOND: tl.constexpr,
    THIRD: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Write the largest product of each query with the words of each group, and of all; a program takes some queries.

    The columns are cut into at most three parts whose widths are powers of two, so that few are padding.
    """
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = row < count
    word = tl.arange(0, GROUP)
    first = tl.arange(0, FIRST)
    q1 = tl.load(queries + row[:, None] * WIDTH + first[None, :], mask=inside[:, None], other=0.0)
    w1 = words + word[None, :] * WIDTH + first[:, None]
    if SECOND:
        second = FIRST + tl.arange(0, SECOND)
        q2 = tl.load(queries + row[:, None] * WIDTH + second[None, :], mask=inside[:, None], other=0.0)
        w2 = words + word[None, :] * WIDTH + second[:, None]
    if THIRD:
        third = FIRST + SECOND + tl.arange(0, THIRD)
        q3 = tl.load(queries + row[:, None] * WIDTH + third[None, :], mask=inside[:, None], other=0.0)
        w3 = words + word[None, :] * WIDTH + third[:, None]
    out = maxima + row
    best = tl.full((ROWS,), -float("inf"), tl.float32)
    for _ in tl.range(0, groups, num_stages=STAGES):
        scores = tl.dot(q1, tl.load(w1))
        w1 += GROUP * WIDTH
        if SECOND:
            scores = tl.dot(q2, tl.load(w2), scores)
            w2 += GROUP * WIDTH
        if THIRD:
            scores = tl.dot(q3, tl.load(w3), scores)
            w3 += GROUP * WIDTH
        most = tl.max(scores, axis=1)
        best = tl.maximum(best, most)
        tl.store(out, most, mask=inside)
        out += count
    tl.store(largest + row, best, mask=inside)


@triton.jit
def list_pairs(maxima, least, rows, groups, listed, count, group_count, room, EACH: tl.constexpr, BLOCK: tl.constexpr):
    """List, in any order, the queries and groups whose maximum is not below the query's least; count all of them."""
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = row < count
    bound = tl.load(least + row, mask=inside, other=0.0)
    for step in range(EACH):
        group = tl.program_id(1).to(tl.int64) * EACH + step
        shown = inside & (group < group_count)
        value = tl.load(maxima + group * count + row, mask=shown, other=0.0)
        hit = shown & ((value < bound) == 0)
        # one or two groups of a query in thousands: counting them one by one is cheaper than a sum in each step
        place = tl.atomic_add(listed + row * 0, 1, mask=hit, sem="relaxed")
        kept = hit & (place < room)
        tl.store(rows + place, row, mask=kept)
        tl.store(groups + place, row * 0 + group, mask=kept)
