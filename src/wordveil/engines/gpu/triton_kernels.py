# mypy: ignore-errors
"""The CUDA kernels, written in Triton: noise from random words, and the steps of a search for the nearest word.

Only launches.py launches them.
"""

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
    """Write ChaCha20 blocks (64-bit counter from 0, nonce 0), with the first words of all blocks first."""
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
def noisy_points(
    words,
    half,
    pairs,
    points,
    ids,
    lengths,
    noisy,
    count,
    DIMENSION: tl.constexpr,
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Add directions, made from random words as in chacha.py and each times a length, to the points with these ids."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    is_row = row < count
    inside = is_row[:, None] & (column < DIMENSION)[None, :]
    number = row[:, None] * DIMENSION + column[None, :]
    is_sine = number >= pairs
    pair = tl.where(is_sine, number - pairs, number)
    first = tl.load(words + pair, mask=inside, other=0)
    second = tl.load(words + half + pair, mask=inside, other=0)
    share = ((first & 0x7FFFFFFF).to(tl.float64) + 0.5) * 2.3283064365386962890625e-10  # 2^-32: in (0, 1/2)
    radius = tl.sqrt((-2.0 * tl.log(tl.where(first < 0, share, 1.0 - share))).to(tl.float32))
    angle = (second.to(tl.float64) * 1.4629180792671596e-09).to(tl.float32)  # 2π·2^-32
    value = radius * tl.where(is_sine, tl.sin(angle), tl.cos(angle))
    value = tl.where(inside, value, 0.0)
    exact = value.to(tl.float64)
    size = tl.sqrt(tl.sum(exact * exact, axis=1)).to(tl.float32)
    size = tl.where(size == 0.0, 1.0, size)
    scale = tl.load(lengths + row, mask=is_row, other=0.0)
    word = tl.load(ids + row, mask=is_row, other=0)
    at = tl.load(points + word[:, None] * DIMENSION + column[None, :], mask=inside, other=0.0)
    value = value / size[:, None] * scale[:, None] + at
    tl.store(noisy + row[:, None] * DIMENSION + column[None, :], value, mask=inside)


@triton.jit
def round_queries(
    queries,
    coarse,
    error,
    bounds,
    count,
    DIMENSION: tl.constexpr,
    BIASES: tl.constexpr,
    WIDTH: tl.constexpr,
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Round queries to bfloat16, append ones for the biases, and bound the errors of the scan's products.

    `bounds` holds the words' part of that bound: see `CertifiedSearch`.
    """
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    is_row = row < count
    inside = is_row[:, None] & (column < DIMENSION)[None, :]
    value = tl.load(queries + row[:, None] * DIMENSION + column[None, :], mask=inside, other=0.0)
    rounded = value.to(tl.bfloat16)
    is_bias = (column >= DIMENSION) & (column < DIMENSION + BIASES)
    shown = tl.where(is_bias[None, :], 1.0, rounded.to(tl.float32)).to(tl.bfloat16)
    kept = is_row[:, None] & (column < WIDTH)[None, :]
    tl.store(coarse + row[:, None] * WIDTH + column[None, :], shown, mask=kept)
    near = rounded.to(tl.float64)
    gone = value.to(tl.float64) - near
    length = tl.sqrt(tl.sum(near * near, axis=1))
    lost = tl.sqrt(tl.sum(gone * gone, axis=1))
    off = length * tl.load(bounds) + lost * tl.load(bounds + 1) + length * tl.load(bounds + 2) + tl.load(bounds + 3)
    tl.store(error + row, (1.001 * off).to(tl.float32), mask=is_row)


@triton.jit
def _products(q1, q2, q3, w1, w2, w3, SECOND: tl.constexpr, THIRD: tl.constexpr):
    scores = tl.dot(q1, w1)
    if SECOND:
        scores = tl.dot(q2, w2, scores)
    if THIRD:
        scores = tl.dot(q3, w3, scores)
    return scores


@triton.jit
def _columns(matrix, row, inside, start, WIDTH: tl.constexpr, COUNT: tl.constexpr):
    column = start + tl.arange(0, COUNT)
    return tl.load(matrix + row[:, None] * WIDTH + column[None, :], mask=inside[:, None], other=0.0)


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
    TWICE: tl.constexpr,
    WIDTH: tl.constexpr,
    FIRST: tl.constexpr,
    SECOND: tl.constexpr,
    THIRD: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Write the largest product of each query with each group of words, and with all words.

    A program takes some of the queries. The columns are cut into at most three parts whose widths are powers of two, so
    that little is padding. A program with two halves of queries multiplies both with the words it has loaded.
    """
    row = tl.program_id(0).to(tl.int64) * (2 * ROWS if TWICE else ROWS) + tl.arange(0, ROWS)
    inside = row < count
    word = tl.arange(0, GROUP)
    first = tl.arange(0, FIRST)
    q1 = _columns(queries, row, inside, 0, WIDTH, FIRST)
    q2 = q1
    q3 = q1
    w1 = words + word[None, :] * WIDTH + first[:, None]
    if SECOND:
        q2 = _columns(queries, row, inside, FIRST, WIDTH, SECOND)
        w2 = words + word[None, :] * WIDTH + (FIRST + tl.arange(0, SECOND))[:, None]
    if THIRD:
        q3 = _columns(queries, row, inside, FIRST + SECOND, WIDTH, THIRD)
        w3 = words + word[None, :] * WIDTH + (FIRST + SECOND + tl.arange(0, THIRD))[:, None]
    out = maxima + row
    best = tl.full((ROWS,), -float("inf"), tl.float32)
    if TWICE:
        other = row + ROWS
        is_other = other < count
        p1 = _columns(queries, other, is_other, 0, WIDTH, FIRST)
        p2 = p1
        p3 = p1
        if SECOND:
            p2 = _columns(queries, other, is_other, FIRST, WIDTH, SECOND)
        if THIRD:
            p3 = _columns(queries, other, is_other, FIRST + SECOND, WIDTH, THIRD)
        best_other = tl.full((ROWS,), -float("inf"), tl.float32)
    for _ in tl.range(0, groups, num_stages=STAGES):
        x1 = tl.load(w1)
        x2 = x1
        x3 = x1
        w1 += GROUP * WIDTH
        if SECOND:
            x2 = tl.load(w2)
            w2 += GROUP * WIDTH
        if THIRD:
            x3 = tl.load(w3)
            w3 += GROUP * WIDTH
        most = tl.max(_products(q1, q2, q3, x1, x2, x3, SECOND, THIRD), axis=1)
        best = tl.maximum(best, most)
        tl.store(out, most, mask=inside)
        if TWICE:
            most = tl.max(_products(p1, p2, p3, x1, x2, x3, SECOND, THIRD), axis=1)
            best_other = tl.maximum(best_other, most)
            tl.store(out + ROWS, most, mask=is_other)
        out += count
    tl.store(largest + row, best, mask=inside)
    if TWICE:
        tl.store(largest + other, best_other, mask=is_other)


@triton.jit
def list_pairs(maxima, least, rows, groups, listed, count, group_count, room, EACH: tl.constexpr, BLOCK: tl.constexpr):
    """List, in any order, the queries and groups whose maximum is not below the query's least, and count them all."""
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = row < count
    bound = tl.load(least + row, mask=inside, other=0.0)
    for step in range(EACH):
        group = tl.program_id(1).to(tl.int64) * EACH + step
        shown = inside & (group < group_count)
        value = tl.load(maxima + group * count + row, mask=shown, other=0.0)
        hit = shown & ((value < bound) == 0)
        # only one or two groups in a thousand are hits: counting them singly is cheaper than a sum in each step
        place = tl.atomic_add(listed + row * 0, 1, mask=hit, sem="relaxed")
        kept = hit & (place < room)
        tl.store(rows + place, row, mask=kept)
        tl.store(groups + place, row * 0 + group, mask=kept)


@triton.jit
def list_words(
    queries,
    words,
    least,
    rows,
    starts,
    listed,
    found,
    room,
    GROUP: tl.constexpr,
    SEATS: tl.constexpr,
    SHARES: tl.constexpr,
    WIDTH: tl.constexpr,
    FIRST: tl.constexpr,
    SECOND: tl.constexpr,
    THIRD: tl.constexpr,
):
    """List for each query, in any order, the words whose product is not below its least, and count them all.

    `rows` are the queries that must look at a group, one group after another. `starts` says where each group begins.
    """
    group = tl.program_id(0).to(tl.int64)
    word = group * GROUP + tl.arange(0, GROUP)
    begin = tl.load(starts + group)
    end = tl.load(starts + group + 1)
    w1 = tl.load(words + word[None, :] * WIDTH + tl.arange(0, FIRST)[:, None])
    w2 = w1
    w3 = w1
    if SECOND:
        w2 = tl.load(words + word[None, :] * WIDTH + (FIRST + tl.arange(0, SECOND))[:, None])
    if THIRD:
        w3 = tl.load(words + word[None, :] * WIDTH + (FIRST + SECOND + tl.arange(0, THIRD))[:, None])
    for start in range(begin + tl.program_id(1) * SEATS, end, SHARES * SEATS):
        seat = start + tl.arange(0, SEATS)
        inside = seat < end
        row = tl.load(rows + seat, mask=inside, other=0)
        bound = tl.load(least + row, mask=inside, other=0.0)
        q1 = _columns(queries, row, inside, 0, WIDTH, FIRST)
        q2 = q1
        q3 = q1
        if SECOND:
            q2 = _columns(queries, row, inside, FIRST, WIDTH, SECOND)
        if THIRD:
            q3 = _columns(queries, row, inside, FIRST + SECOND, WIDTH, THIRD)
        scores = _products(q1, q2, q3, w1, w2, w3, SECOND, THIRD)
        hit = inside[:, None] & ((scores < bound[:, None]) == 0)
        at = row[:, None] + tl.zeros((SEATS, GROUP), tl.int64)
        place = tl.atomic_add(listed + at, 1, mask=hit, sem="relaxed")
        kept = hit & (place < room)
        shown = (word[None, :] + tl.zeros((SEATS, GROUP), tl.int64)).to(tl.int32)
        tl.store(found + at * room + place, shown, mask=kept)


@triton.jit
def best_listed(
    queries,
    vectors,
    bias,
    listed,
    found,
    where,
    values,
    count,
    room,
    nobody,
    DIMENSION: tl.constexpr,
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Write each query's listed word with the largest product plus bias in double precision; of equals, the first."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    is_row = row < count
    is_column = column < DIMENSION
    inside = is_row[:, None] & is_column[None, :]
    query = tl.load(queries + row[:, None] * DIMENSION + column[None, :], mask=inside, other=0.0).to(tl.float64)
    several = tl.minimum(tl.load(listed + row, mask=is_row, other=0), room)
    best = tl.full((ROWS,), -float("inf"), tl.float64)
    first = tl.zeros((ROWS,), tl.int64) + nobody
    for place in range(0, tl.max(several, axis=0)):
        present = place < several
        word = tl.load(found + row * room + place, mask=present, other=0).to(tl.int64)
        shown = present[:, None] & is_column[None, :]
        point = tl.load(vectors + word[:, None] * DIMENSION + column[None, :], mask=shown, other=0.0)
        score = tl.sum(query * point.to(tl.float64), axis=1) + tl.load(bias + word, mask=present, other=0.0)
        better = present & ((score > best) | ((score == best) & (word < first)))
        best = tl.where(better, score, best)
        first = tl.where(better, word, first)
    tl.store(where + row, first, mask=is_row)
    tl.store(values + row, best, mask=is_row)
