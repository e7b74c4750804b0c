"""ChaCha20 on a device: random numbers from a key of 256 bits and a counter (RFC 8439).

For every block of noise, `wordveil.noise.Entropy` draws a new key on the host. So the device keeps no state, and no
counter is ever used twice with a key. As in our host stream, the counter has 64 bits and the nonce is 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

_CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<u4")
_DOUBLE_ROUNDS = 10
_TWO_PI = 2.0 * math.pi
_CHECKED = 64  # points that check a card's kernel


def keystream(key: NDArray[np.uint32], blocks: int, device: str) -> Any:
    """Return `blocks` ChaCha20 blocks of 16 numbers as 32-bit integers on the device, one column per block."""
    held = torch.tensor(np.asarray(key, dtype=np.uint32).view(np.int32), device=device)
    if held.is_cuda:
        from wordveil.engines.gpu.launches import chacha_words  # noqa: PLC0415 - Triton comes with CUDA builds only

        return chacha_words(held, blocks)
    number = torch.arange(blocks, dtype=torch.int64, device=device)
    start = torch.zeros((16, blocks), dtype=torch.int32, device=device)
    start[:4] = torch.tensor(_CONSTANTS.view(np.int32), device=device)[:, None]
    start[4:12] = held[:, None]
    start[12] = number.to(torch.int32)  # wraps to the low 32 bits, as intended
    start[13] = (number >> 32).to(torch.int32)
    rows = list(start.reshape(4, 4, blocks).clone())
    for _ in range(_DOUBLE_ROUNDS):
        rows = _quarters(rows)
        rows = [row.roll(-shift, 0) for shift, row in enumerate(rows)]  # puts the diagonals into columns
        rows = _quarters(rows)
        rows = [row.roll(shift, 0) for shift, row in enumerate(rows)]
    return torch.cat(rows) + start


def _quarters(rows: list[Any]) -> list[Any]:
    """Do the quarter rounds of all four columns at once."""
    a, b, c, d = rows
    for left, right in ((16, 12), (8, 7)):
        a = a + b
        d = _turned(d ^ a, left)
        c = c + d
        b = _turned(b ^ c, right)
    return [a, b, c, d]


def _turned(x: Any, n: int) -> Any:
    return (x << n) | ((x >> (32 - n)) & ((1 << n) - 1))  # masked, because the right shift keeps the sign


def _pairs(count: int, dimension: int, key: NDArray[np.uint32], device: str) -> tuple[Any, int]:
    """Return two rows of random words, and how many of their columns are needed for `count` vectors."""
    pairs = -(-count * dimension // 2)
    return keystream(key, -(-pairs // 8), device).reshape(2, -1), pairs


def noisy_points(points: Any, ids: Any, lengths: Any, key: NDArray[np.uint32], *, in_one_step: bool) -> Any:
    """Add random directions, each times a length, to the points with these ids, on the device."""
    count, dimension = len(ids), points.shape[1]
    if in_one_step:
        from wordveil.engines.gpu import launches  # noqa: PLC0415 - Triton comes with CUDA builds only

        return launches.noisy_points(*_pairs(count, dimension, key, points.device), points, ids, lengths)
    noise = directions(count, dimension, key, points.device)
    return noise.mul_(lengths[:, None]).add_(points[ids])


def makes_noise_in_one_step(points: Any) -> bool:
    """Whether the points lie on a card where our kernel can be built and makes the same noise as PyTorch."""
    if not points.is_cuda:
        return False
    from wordveil.engines.gpu.launches import CANNOT_BUILD  # noqa: PLC0415 - Triton comes with CUDA builds only

    ids = torch.arange(min(len(points), _CHECKED), device=points.device)
    made = points, ids, torch.ones(len(ids), dtype=torch.float32, device=points.device), np.arange(8, dtype=np.uint32)
    try:
        found = noisy_points(*made, in_one_step=True)
    except CANNOT_BUILD:
        return False
    return torch.allclose(found, noisy_points(*made, in_one_step=False), rtol=1e-5, atol=1e-5)


def directions(count: int, dimension: int, key: NDArray[np.uint32], device: str) -> Any:
    """Draw vectors of length 1, uniform on the sphere, as float32 on the device.

    Normal numbers come in pairs from the Box-Muller transformation, with 32 bits for the radius and 32 for the angle.
    The radius is computed from the smaller of u and 1-u, so that its spacing near 0 is as fine as far out.
    """
    words, pairs = _pairs(count, dimension, key, device)
    words = words[:, :pairs]
    low = words[0] & 0x7FFFFFFF
    share = (low.to(torch.float64) + 0.5).mul_(2.0**-32).to(torch.float32)  # of (0, 1/2)
    radius = torch.where(words[0] < 0, -torch.log(share), -torch.log1p(-share)).mul_(2.0).sqrt_()
    angle = words[1].to(torch.float64).mul_(_TWO_PI * 2.0**-32).to(torch.float32)
    vectors = torch.cat([radius * torch.cos(angle), radius * torch.sin(angle)])[: count * dimension]
    vectors = vectors.reshape(count, dimension)
    lengths = vectors.to(torch.float64).square().sum(dim=1, keepdim=True).sqrt()
    lengths[lengths == 0.0] = 1.0  # a vector of zeros, which never happens, must not become NaN
    return vectors / lengths.to(torch.float32)
