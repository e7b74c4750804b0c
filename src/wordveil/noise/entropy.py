"""The source of all randomness, and two samplers that numpy lacks."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from randomgen import ChaCha

from wordveil.errors import OptionError
from wordveil.parallel import renew_after_fork

_REFINE_BELOW = np.uint64(1) << np.uint64(53)  # a 64-bit draw below this has fewer than 53 significant bits


def _is_seed(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= 0


class Entropy:
    """A stream of random numbers: cryptographic by default, reproducible when seeded.

    The stream is ChaCha20 with a 256-bit key. Without a seed, the key comes from the operating system and is never
    stored. A forked process, and a copy pickled into another process, get a new key, so no two workers share a stream.
    Thread-safe.

    With a seed, the key of a forked process is derived from the seed and the process id: workers draw different
    numbers, but these differ from run to run. To make them reproducible, create each worker's stream in the worker,
    with its own seed.

    Parameters
    ----------
    seed : int, optional
        For experiments only. The same seed gives the same numbers, so a release made with it has no guarantee
        (`secure` is False).

    Examples
    --------
    >>> Entropy().secure
    True
    >>> bool(Entropy(1).uniform(1) == Entropy(1).uniform(1))
    True
    """

    def __init__(self, seed: int | None = None) -> None:
        if seed is not None and not _is_seed(seed):
            raise OptionError("seed must be a whole number, 0 or more.")
        self._sequence = None if seed is None else np.random.SeedSequence(seed)
        self._start()
        renew_after_fork(self)

    def _start(self) -> None:
        if self._sequence is None:
            key = secrets.randbits(256)
        else:
            key = int.from_bytes(self._sequence.generate_state(4, np.uint64).tobytes(), "little")
        self._generator = np.random.Generator(ChaCha(key=key, rounds=20))
        self._process = os.getpid()
        self._lock = threading.Lock()

    @property
    def secure(self) -> bool:
        """Whether the stream is cryptographic, which every guarantee needs."""
        return self._sequence is None

    @property
    def generator(self) -> np.random.Generator:
        """The stream as a numpy generator. Do not keep it: a forked process needs another one."""
        if self._process != os.getpid():  # a fork that bypassed Python's hooks
            self.after_fork()
        return self._generator

    def after_fork(self) -> None:
        """Take a new key, so that the child does not repeat this stream, and a new lock."""
        if self._sequence is not None:
            self._sequence = np.random.SeedSequence(
                self._sequence.entropy, spawn_key=(*self._sequence.spawn_key, 2**31, os.getpid())
            )
        self._start()

    def uniform(self, size: int) -> NDArray[np.float64]:
        """Draw numbers from (0, 1) that are finely spaced near 0.

        The usual ``random()`` gives multiples of 2^-53, so events of smaller probability never happen. Here, a draw
        near 0 has 53 significant bits down to 2^-76, and is a multiple of 2^-128 below. So a sampler that puts its
        rarest events first, near 0, gives each of them its probability.
        """
        generator = self.generator
        high = generator.integers(0, 2**64, size, dtype=np.uint64, endpoint=False)
        return uniform_from(high, lambda count: generator.integers(1, 2**64, count, dtype=np.uint64))

    def below(self, highs: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Draw, for each bound, an integer that is exactly uniform on ``range(bound)``."""
        return self.generator.integers(0, highs, dtype=np.int64)

    def key(self) -> NDArray[np.uint32]:
        """Draw a 256-bit key for a stream on a device where this one cannot run."""
        return self.generator.integers(0, 2**32, 8, dtype=np.uint32, endpoint=False)

    def spawn(self, count: int) -> list[Entropy]:
        """Make independent streams, for example one per thread or worker."""
        with self._lock:
            children = [None] * count if self._sequence is None else self._sequence.spawn(count)
        return [Entropy._from_sequence(child) for child in children]

    @classmethod
    def _from_sequence(cls, sequence: np.random.SeedSequence | None) -> Entropy:
        entropy = cls.__new__(cls)
        entropy._sequence = sequence
        entropy._start()
        renew_after_fork(entropy)
        return entropy

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        # A pickled copy must not repeat this stream: it gets a new key, or a child of the seed.
        child = self.spawn(1)[0]
        return Entropy._from_sequence, (child._sequence,)


class KeyedEntropy(Entropy):
    """A stream derived from a key of at least 32 random bytes, for draws that must be repeatable.

    It looks random to anyone without the key. Use it for one draw in one thread only: unlike other streams, it does not
    change in a forked process.
    """

    def __init__(self, key: bytes) -> None:
        self._sequence = None
        self._generator = np.random.Generator(ChaCha(key=int.from_bytes(key[:32], "little"), rounds=20))
        self._process = os.getpid()

    def spawn(self, count: int) -> list[Entropy]:
        """Make streams derived from this one."""
        return [KeyedEntropy(self._generator.bytes(32)) for _ in range(count)]

    def after_fork(self) -> None:
        """Keep the key: the child must repeat the draw."""
        self._process = os.getpid()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a keyed stream cannot be pickled")


def uniform_from(
    high: NDArray[np.uint64], low: Callable[[int], NDArray[np.uint64]] | NDArray[np.uint64]
) -> NDArray[np.float64]:
    """Return numbers from (0, 1) made from random bits; see `Entropy.uniform`.

    `high` are the first 64 bits of each number. `low` are the next 64, which only numbers near 0 need: an array for all
    numbers, or a function that draws a given number of them.
    """
    draws = np.ldexp(high.astype(np.float64), -64)
    coarse = np.flatnonzero(high < _REFINE_BELOW)
    if coarse.size:
        finer = low(coarse.size) if callable(low) else np.maximum(low[coarse], np.uint64(1))
        draws[coarse] += np.ldexp(finer.astype(np.float64), -128)
    return np.minimum(draws, 1.0 - 2.0**-53)


def key_blocks(keys: NDArray[np.uint32], counter: int, nonces: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return one block of ChaCha20, as eight 64-bit numbers, for each 64-bit nonce, with one key or a key per row.

    It is slower than a generator, but needs no generator per key. random_bits.h is the same in C.
    """
    start = np.empty((16, len(nonces)), dtype=np.uint32)
    start[:4] = np.frombuffer(b"expand 32-byte k", dtype="<u4")[:, None]
    start[4:12] = keys[:, None] if keys.ndim == 1 else keys.T
    start[12:14] = np.array([counter & 0xFFFFFFFF, counter >> 32], dtype=np.uint32)[:, None]
    start[14], start[15] = nonces & np.uint64(0xFFFFFFFF), nonces >> np.uint64(32)
    rows = list(start.reshape(4, 4, -1).copy())
    for half in range(20):
        a, b, c, d = rows
        for left, right in ((16, 12), (8, 7)):
            a = a + b
            d = _turned(d ^ a, left)
            c = c + d
            b = _turned(b ^ c, right)
        # rotate the diagonals into the columns, and back
        rows = [np.roll(row, shift if half % 2 else -shift, axis=0) for shift, row in enumerate((a, b, c, d))]
    words = (np.concatenate(rows) + start).astype(np.uint64)
    return np.ascontiguousarray((words[1::2] << np.uint64(32) | words[::2]).T)


def _turned(numbers: NDArray[np.uint32], by: int) -> NDArray[np.uint32]:
    return np.asarray(numbers << np.uint32(by) | numbers >> np.uint32(32 - by))


def directions(
    count: int, dimension: int, entropy: Entropy, dtype: type[np.float32] | type[np.float64] = np.float32
) -> NDArray[Any]:
    """Draw vectors of length 1, uniform on the sphere."""
    vectors = entropy.generator.standard_normal((count, dimension), dtype=dtype)
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    lengths[lengths == 0.0] = 1.0  # an all-zero vector, which practically never occurs, must not become NaN
    vectors /= lengths[:, None].astype(dtype)
    return vectors


def log_gamma_draws(shape: float, count: int, entropy: Entropy) -> NDArray[np.float64]:
    """Draw logarithms of Gamma variables with scale 1, for shapes whose draws often underflow.

    If ``G ~ Gamma(a+1)`` and U is uniform, ``G·U^{1/a} ~ Gamma(a)``.

    Examples
    --------
    >>> bool(log_gamma_draws(1e-3, 5, Entropy(0)).min() < -700)
    True
    """
    return np.asarray(
        np.log(entropy.generator.standard_gamma(shape + 1.0, count)) + np.log(entropy.uniform(count)) / shape
    )
