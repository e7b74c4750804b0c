"""The entropy source: the right cipher, no shared streams, exact draws."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from randomgen import ChaCha
from scipy import stats

from tests.conftest import ALPHA, in_a_fork
from wordveil.noise import Entropy, key_blocks


def test_the_stream_is_chacha20() -> None:
    # An independent implementation encrypts zeros under the same key: the keystream must be our numbers.
    key = bytes(range(32))
    encryptor = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    theirs = np.frombuffer(encryptor.update(bytes(8 * 1000)), dtype="<u8")
    ours = ChaCha(key=int.from_bytes(key, "little"), rounds=20).random_raw(1000)
    assert np.array_equal(ours, theirs)


def test_blocks_of_many_keys_are_those_of_an_independent_chacha20() -> None:
    generator, counter = np.random.default_rng(0), 2**33 + 5
    keys, nonces = (
        generator.integers(0, 2**32, (7, 8), dtype=np.uint32),
        generator.integers(0, 2**63, 7, dtype=np.uint64),
    )
    for some, several in ((keys, nonces), (keys[0], nonces)):
        for row, nonce, key in zip(
            key_blocks(some, counter, several), nonces, np.broadcast_to(some, (7, 8)), strict=True
        ):
            start = counter.to_bytes(8, "little") + int(nonce).to_bytes(8, "little")
            encryptor = Cipher(algorithms.ChaCha20(key.astype("<u4").tobytes(), start), mode=None).encryptor()
            assert row.astype("<u8").tobytes() == encryptor.update(bytes(64))


def test_secure_by_default_and_never_twice_the_same() -> None:
    assert Entropy().secure
    assert not Entropy(0).secure
    assert not np.array_equal(Entropy().uniform(4), Entropy().uniform(4))


def test_a_seed_repeats() -> None:
    assert np.array_equal(Entropy(5).uniform(100), Entropy(5).uniform(100))
    assert not np.array_equal(Entropy(5).uniform(100), Entropy(6).uniform(100))


def test_spawned_streams_differ_and_repeat_under_a_seed() -> None:
    first = [child.uniform(8).tolist() for child in Entropy(5).spawn(3)]
    again = [child.uniform(8).tolist() for child in Entropy(5).spawn(3)]
    assert first == again
    assert len({tuple(row) for row in first} | {tuple(Entropy(5).uniform(8).tolist())}) == 4
    parent = Entropy(5)
    assert parent.spawn(1)[0].uniform(1) != parent.spawn(1)[0].uniform(1)


_SHARED = {"secure": Entropy(), "seeded": Entropy(3)}


def _draw_in_child(name: str) -> tuple[int, tuple[float, ...]]:
    return os.getpid(), tuple(_SHARED[name].uniform(4).tolist())


def _draw_from(entropy: Entropy) -> tuple[float, ...]:
    return tuple(entropy.uniform(4).tolist())


def test_forked_workers_never_share_a_stream() -> None:
    for name, entropy in _SHARED.items():
        entropy.uniform(1)
        seen = []
        for _ in range(6):  # each child is forked from the same state of the parent
            with multiprocessing.get_context("fork").Pool(1) as pool:
                seen.append(pool.apply(_draw_in_child, (name,)))
        draws = {draw for _, draw in seen} | {tuple(entropy.uniform(4).tolist())}
        assert len(draws) == 7, name


@pytest.mark.parametrize("seed", [None, 3])
def test_streams_made_from_one_in_a_forked_worker_are_no_other_workers(seed: int | None) -> None:
    entropy = Entropy(seed)
    ways: list[Callable[[], Entropy]] = [
        lambda: entropy.spawn(1)[0],
        lambda: pickle.loads(pickle.dumps(entropy)),  # noqa: S301 - our own
    ]
    for way in ways:
        draws = [in_a_fork(lambda way=way: way().uniform(4).tobytes()) for _ in range(3)]  # type: ignore[misc]
        assert len({*draws, way().uniform(4).tobytes()}) == 4


def test_a_process_with_the_number_of_a_dead_one_shares_no_stream_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    entropy = Entropy()
    monkeypatch.setattr(os, "getpid", lambda: 100)
    entropy.uniform(1)
    draws = [in_a_fork(lambda: entropy.uniform(4).tobytes()) for _ in range(2)]
    assert len({*draws, entropy.uniform(4).tobytes()}) == 3


def test_a_lock_held_at_the_fork_does_not_hang_the_child() -> None:
    entropy = Entropy(1)
    with entropy._lock, entropy.generator.bit_generator.lock:  # by a thread that the child does not have
        assert in_a_fork(lambda: bytes([len(entropy.spawn(2)), len(entropy.uniform(3))])) == bytes([2, 3])


def test_pickled_copies_never_share_a_stream() -> None:
    for entropy in (Entropy(), Entropy(3)):
        copies = [pickle.loads(pickle.dumps(entropy)) for _ in range(5)]  # noqa: S301
        assert all(copy.secure == entropy.secure for copy in copies)
        assert len({_draw_from(copy) for copy in copies} | {_draw_from(entropy)}) == 6


def test_workers_of_a_pool_never_share_a_stream() -> None:
    entropy = Entropy()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        draws = list(pool.map(_draw_from, [entropy] * 6))
    assert len(set(draws)) == 6


def test_threads_may_share_one() -> None:
    entropy = Entropy(1)
    with ThreadPoolExecutor(4) as pool:
        draws = np.concatenate(list(pool.map(lambda _: entropy.uniform(10_000), range(16))))
    assert len(np.unique(draws)) == len(draws)


def test_uniform_law() -> None:
    draws = Entropy(11).uniform(200_000)
    assert draws.min() > 0
    assert draws.max() < 1
    assert stats.kstest(draws, "uniform").pvalue > ALPHA


def test_uniform_is_fine_near_zero() -> None:
    # The rare branch: 64-bit draws too small to have 53 significant bits of their own.
    entropy = Entropy(1)

    class Zeros:
        def integers(self, low: int, _high: int, size: int, **_: object) -> object:
            return np.zeros(size, dtype=np.uint64) if low == 0 else np.full(size, 5, dtype=np.uint64)

    entropy._generator = Zeros()  # type: ignore[assignment]
    assert entropy.uniform(1)[0] == 5 * 2.0**-128


def test_small_draws_have_all_their_bits() -> None:
    # Of a million draws about 488 lie below 2^-11, where plain multiples of 2^-64 would show as trailing zeros.
    draws = Entropy(9).uniform(1_000_000)
    small = draws[draws < 2.0**-12]
    assert len(small) > 100
    mantissa = np.ldexp(np.frexp(small)[0], 53).astype(np.int64)
    assert (mantissa % 2).mean() == pytest.approx(0.5, abs=0.15)


def test_below_is_uniform_on_its_range() -> None:
    highs = np.full(60_000, 7)
    counts = np.bincount(Entropy(2).below(highs), minlength=7)
    assert len(counts) == 7
    assert stats.chisquare(counts).pvalue > ALPHA
