"""The GPU engine: on CPU tensors always, and on the card too where there is one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.laws import same_law
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from tests.conftest import ALPHA, make_poincare, make_space, names
from wordveil import Veil, mechanism
from wordveil.calibration import Effort, maker, meter_for
from wordveil.cli import main
from wordveil.engines import check_engine, check_runs, on_engine
from wordveil.errors import ExtraError, OptionError, SpaceError, WordveilError
from wordveil.io import Destination, FileJob, Reading, Veils, make_plan
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, Vocabulary

pytest.importorskip("torch", reason="the engine gpu is not tested: torch is not installed")

import torch

from wordveil.engines.gpu import CertifiedSearch, keystream, on_device, spaces
from wordveil.engines.gpu.chacha import directions, makes_noise_in_one_step, noisy_points

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
on_every_device = pytest.mark.parametrize("device", DEVICES)


def placed(space: EuclideanSpace, device: str) -> EuclideanSpace:
    found = on_device(space, device)
    assert isinstance(found, EuclideanSpace)
    return found


def stream(key: NDArray[np.uint32], blocks: int, device: str) -> bytes:
    return bytes(keystream(key, blocks, device).cpu().numpy().T.copy().tobytes())


@on_every_device
def test_the_stream_is_that_of_rfc_8439(device: str) -> None:
    zeros = np.zeros(8, dtype=np.uint32)  # its appendix A.1, test vectors 1 and 2: blocks 0 and 1 of a key of zeros
    expected = (
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7da41597c5157488d7724e03fb8d84a376a43b8f41518a11c"
        "c387b669b2ee6586"
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed29b721769ce64e43d57133b074d839d531ed1f28510afb45"
        "ace10a1f4b794d6f"
    )
    assert stream(zeros, 2, device).hex() == expected


@on_every_device
def test_the_stream_is_that_of_an_independent_chacha20(device: str) -> None:
    key = Entropy(3).key()
    cipher = Cipher(algorithms.ChaCha20(key.tobytes(), bytes(16)), mode=None).encryptor()
    assert stream(key, 1000, device) == cipher.update(bytes(64_000))


def test_keys_come_from_the_host_and_are_never_the_same() -> None:
    entropy = Entropy()
    assert len({entropy.key().tobytes() for _ in range(100)}) == 100
    assert Entropy(5).key().tobytes() == Entropy(5).key().tobytes()


@on_every_device
@pytest.mark.parametrize("dimension", [2, 7])
def test_directions_are_uniform_on_the_sphere(device: str, dimension: int) -> None:
    vectors = directions(30_000, dimension, Entropy(1).key(), device).cpu().numpy().astype(np.float64)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1.0).max() < 1e-6
    tilted = vectors @ (np.ones(dimension) / np.sqrt(dimension))
    shape = 0.5 * (dimension - 1)
    for coordinate in (*vectors.T, tilted):  # of a uniform direction, every coordinate in every frame has this law
        assert stats.kstest(0.5 * (coordinate + 1.0), stats.beta(shape, shape).cdf).pvalue > ALPHA
    assert stats.pearsonr(vectors[:-1, 0], vectors[1:, 0]).pvalue > ALPHA


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no kernel was compared: this machine has no CUDA device")
@pytest.mark.parametrize("dimension", [1, 5, 100, 300])
def test_a_card_does_in_few_steps_what_others_do_in_many(dimension: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(1000, dimension)).astype(np.float32)
    assert makes_noise_in_one_step(torch.as_tensor(vectors, device="cuda"))
    search = CertifiedSearch(vectors, -0.5 * np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64), "cuda")
    assert search._steps is not None
    ids, lengths = torch.arange(1000, device="cuda"), torch.ones(1000, device="cuda")
    points = noisy_points(search._vectors, ids, lengths, Entropy(1).key(), in_one_step=False)
    found = search.best(points)
    search._steps = None
    assert torch.equal(found, search.best(points))


def exact_order(points: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.int64]:
    far = vectors.astype(np.float64)
    scores = points.astype(np.float64) @ far.T - 0.5 * np.einsum("ij,ij->i", far, far)
    return np.argsort(-scores, axis=1, kind="stable")


@on_every_device
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 5, 127, 128, 129, 700]), st.integers(1, 70), st.floats(-3.0, 3.0))
def test_nearest_words_are_those_of_double_precision(
    device: str, seed: int, words: int, dimension: int, size: float
) -> None:
    generator = np.random.default_rng(seed)
    vectors = (10.0**size * generator.normal(size=(words, dimension))).astype(np.float32)
    vectors[words // 2 :] += np.float32(10.0**size)  # a cloud that is not round the origin
    space = EuclideanSpace("made", Vocabulary(names(words)), vectors)
    points = (vectors[generator.integers(0, words, 50)] + generator.normal(size=(50, dimension))).astype(np.float32)
    order = exact_order(points, vectors)
    on_card = placed(space, device)
    assert on_card.nearest(points).tolist() == order[:, 0].tolist()
    k = min(3, words)
    where, distances = on_card.closest(points, k)
    assert where.tolist() == order[:, :k].tolist()
    apart = np.linalg.norm(points[:, None, :].astype(np.float64) - vectors[where], axis=2)
    assert distances == pytest.approx(apart, abs=1e-5 * 10.0 ** max(size, 0.0) * dimension)


@on_every_device
def test_words_that_a_scan_cannot_tell_apart_are_told_apart(device: str) -> None:
    generator = np.random.default_rng(0)
    base = generator.normal(size=20)
    vectors = (base + 1e-5 * generator.normal(size=(3000, 20))).astype(np.float32)  # more groups than a list holds
    points = (base + 1e-5 * generator.normal(size=(200, 20))).astype(np.float32)
    space = placed(EuclideanSpace("close", Vocabulary(names(3000)), vectors), device)
    found = space.nearest(points)
    assert found.tolist() == exact_order(points, vectors)[:, 0].tolist()
    assert len(np.unique(found)) > 50


@on_every_device
def test_of_words_at_one_place_the_first_comes_out(device: str) -> None:
    vectors = np.repeat(np.eye(3, dtype=np.float32), 200, axis=0)
    space = placed(EuclideanSpace("twins", Vocabulary(names(600)), vectors), device)
    assert space.nearest(np.eye(3, dtype=np.float32)).tolist() == [0, 200, 400]


@on_every_device
def test_points_far_beyond_all_words_have_a_nearest_word_too(device: str) -> None:
    vectors = np.random.default_rng(2).normal(size=(300, 6)).astype(np.float32)
    vectors[7] *= np.float32(1e12)  # whose products are too large for float32
    space = placed(EuclideanSpace("far", Vocabulary(names(300)), vectors), device)
    points = np.random.default_rng(3).normal(size=(100, 6)).astype(np.float32) * np.float32(1e29)
    assert space.nearest(points).tolist() == exact_order(points, vectors)[:, 0].tolist()
    lost = np.array([[np.inf, -np.inf, np.nan, 3e38, 0.0, 1.0]], dtype=np.float32)
    assert 0 <= space.nearest(lost)[0] < 300


def test_the_error_bound_of_the_scan_holds() -> None:
    generator = np.random.default_rng(1)
    vectors = generator.normal(size=(256, 37)).astype(np.float32)
    bias = generator.normal(size=256) * 50.0
    search = CertifiedSearch(vectors, bias, "cpu")
    queries = torch.as_tensor(generator.normal(size=(2000, 37)).astype(np.float32) * 30.0)
    coarse = search._coarse_queries(queries)
    maxima, _ = search._maxima(coarse)
    exact = queries.double() @ torch.as_tensor(vectors).double().T + torch.as_tensor(bias)
    off = (maxima.T - exact.reshape(2000, 2, 128).amax(dim=2)).abs().amax(dim=1)
    bound = search._error(queries, coarse)
    assert (off <= bound).all()
    assert (off > 0.02 * bound).any()  # not so wide that nothing would ever break it


# Each at an ε where words of the space below neither all stay nor all go.
LAWS = {
    "laplace": 2.5, "mahalanobis": 2.0, "gaussian": 8.0, "elastic": 10.0, "density": 2.0, "vickrey": 2.5,
    "nadp": 8.0, "jaccard": 8.0,
}  # fmt: skip


@on_every_device
@pytest.mark.parametrize("name", LAWS)
def test_every_noise_mechanism_has_one_law_on_both_engines(name: str, device: str) -> None:
    space = make_space(300, 5)
    options = {"join": True} if name == "nadp" else {}
    ids = np.repeat(np.arange(6), 4000)
    here = mechanism(name, space, epsilon=LAWS[name], **options).draw(ids, Entropy(1))
    there = mechanism(name, placed(space, device), epsilon=LAWS[name], **options).draw(ids, Entropy(2))
    assert 0.02 < (here == ids).mean() < 0.98
    assert same_law(ids, here, there) > ALPHA


@on_every_device
def test_hyperbolic_nearest_words_are_the_same(device: str) -> None:
    space = make_poincare(200, 3)
    on_card = on_device(space, device)
    ids = np.arange(200)
    made = mechanism("hyperbolic", space, epsilon=4.0)
    there = mechanism("hyperbolic", on_card, epsilon=4.0)
    assert made.draw(ids, Entropy(1)).tolist() == there.draw(ids, Entropy(1)).tolist()


@on_every_device
def test_a_seed_repeats_and_blocks_do_not(device: str) -> None:
    made = mechanism("laplace", placed(make_space(100, 3), device), epsilon=1.0)
    ids = np.zeros(1 << 17, dtype=np.int64)  # two blocks
    first = made.draw(ids, Entropy(7))
    assert (first[:1000] == made.draw(ids, Entropy(7))[:1000]).all()
    assert (first[: 1 << 16] != first[1 << 16 :]).any()
    assert (made.draw(ids[:1000]) != made.draw(ids[:1000])).any()


@on_every_device
def test_no_words_give_no_words(device: str) -> None:
    made = mechanism("laplace", placed(make_space(20, 3), device), epsilon=1.0)
    assert made.draw(np.empty(0, dtype=np.int64)).tolist() == []


@on_every_device
@pytest.mark.parametrize("name", ["laplace", "mahalanobis", "gaussian"])
def test_calibration_finds_the_same_on_both_engines(name: str, device: str) -> None:
    space = make_space(150, 4)
    settings_of = Effort(words=60, draws=1500, adversary_words=60, seed=1)
    epsilons = (2.0, 5.0) if name != "gaussian" else (6.0, 20.0)
    here = meter_for(maker(name, space), space, settings_of)
    there_space = placed(space, device)
    there = meter_for(maker(name, there_space), there_space, settings_of)
    assert type(here) is type(there)
    for left, right in zip(here.stays(epsilons), there.stays(epsilons), strict=True):
        # the same seed gives the same directions, so even the estimates agree, to float32
        assert left.values == pytest.approx(right.values, abs=2e-4)
    for left, right in zip(here.distinct(epsilons), there.distinct(epsilons), strict=True):
        assert left.values == pytest.approx(right.values, abs=1.0)


def test_the_report_says_where_it_ran() -> None:
    veil = Veil(mechanism("laplace", placed(make_space(50, 3), "cpu"), epsilon=1.0))
    assert veil.describe()["space"]["engine"] == "gpu"
    assert veil.guarantee == Veil(mechanism("laplace", make_space(50, 3), epsilon=1.0)).guarantee


@on_every_device
def test_the_neighbours_of_a_graph_are_looked_up_on_the_device(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    space = make_space(700, 8, seed=3)
    space.vectors[5] = space.vectors[6] = space.vectors[7]  # twins
    monkeypatch.setattr("wordveil.spaces.listing._EXACT", 0.0)  # whatever the size: the device does not need the cells
    there = placed(space, device)
    ids = np.arange(700)
    where, cosines = there.similar(ids, 10)
    assert not (where == ids[:, None]).any()
    assert cosines == pytest.approx(space.similar(ids, 10)[1], abs=1e-6)
    made = mechanism("graph", there, epsilon=3.0)
    check_runs(made, "gpu")
    assert not made.space.remarks
    assert made.draw(ids, Entropy(1)).shape == (700,)


def test_a_mechanism_that_searches_nothing_is_refused(toy: EuclideanSpace) -> None:
    for name in ("ring", "exponential", "remapped"):
        with pytest.raises(OptionError, match=name):
            check_runs(mechanism(name, toy, epsilon=1.0), "gpu")
        check_runs(mechanism(name, toy, epsilon=1.0), "local")
    with pytest.raises(SpaceError):
        on_device(mechanism("graph", toy, epsilon=1.0).space, "cpu")


def test_local_is_the_space_itself_and_an_unknown_engine_is_refused(toy: EuclideanSpace) -> None:
    assert on_engine(toy, "local") is toy
    with pytest.raises(OptionError, match="'abacus'"):
        on_engine(toy, "abacus")


def test_without_pytorch_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("wordveil.engines.gpu")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ExtraError, match=r"pip install '\.\[gpu\]'"):
        check_engine("gpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
@pytest.mark.parametrize("command", [["privatize", "IN"], ["calibrate", "--epsilon", "2"]])
def test_without_a_card_one_sentence_says_so(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.txt"
    source.write_text("The secret harbour.\n", encoding="utf-8")
    arguments = [str(source) if word == "IN" else word for word in command]
    if command[0] == "privatize":
        arguments += ["--epsilon", "10", "-o", str(tmp_path / "out.txt")]
    with pytest.raises(SystemExit) as stopped:
        main([*arguments, "--mechanism", "laplace", "--engine", "gpu"])
    assert stopped.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "CUDA" in told.err
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--engine", "gpu", "--workers", "2"], ["--workers", "--engine gpu"]),
        (["--engine", "gpu", "--index", "approximate"], ["--index", "--engine gpu"]),
        (["--index", "fuzzy"], ["exact", "approximate"]),
        (["--engine", "abacus"], ["local", "gpu", "spark"]),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: list[str], named: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["privatize", "-", "--epsilon", "10", "--mechanism", "laplace", *options])
    assert stopped.value.code == 2
    told = capsys.readouterr().err
    assert all(one in told for one in named)


@pytest.mark.parametrize("where", ["throw", "search"])
def test_a_device_that_fails_in_mid_job_is_told_and_survived(
    tmp_path: Path, toy: EuclideanSpace, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("".join(f"{name} secretly\n" for name in names(40)))
    plan, left = make_plan(source), [3]
    veils = Veils(lambda seed: Veil(mechanism("laplace", placed(toy, "cpu"), epsilon=1.0), select="all", seed=seed))

    def failing(act: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise torch.OutOfMemoryError("tried to allocate: secretly")
            return act(*given, **named)

        return call

    if where == "throw":
        monkeypatch.setattr(spaces, "noisy_points", failing(noisy_points))
    else:
        monkeypatch.setattr(CertifiedSearch, "best", failing(CertifiedSearch.best))
    with pytest.raises(WordveilError, match="OutOfMemoryError") as caught:
        FileJob(plan, Reading(batch_words=10), Destination.of(out, plan)).run(veils)
    assert "secretly" not in str(caught.value)
    assert not out.exists()
    tally = FileJob(plan, Reading(batch_words=10), Destination.of(out, plan), resume=True).run(veils)
    assert (tally.records, tally.runs) == (40, 2)
    assert "secretly" not in out.read_text()
