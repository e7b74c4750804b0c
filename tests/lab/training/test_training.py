"""Training: gradients, the order that is learnt, checkpoints, evaluation."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from wordveil.errors import FileError, InputError, OptionError, WordveilError
from wordveil.lab.training import (
    Pairs,
    Progress,
    Training,
    hyperlex,
    read_hyperlex,
    reconstruction,
    to_space,
    train,
    write_trained,
)
from wordveil.lab.training.geometries import GEOMETRIES, geometry
from wordveil.lab.training.steps import CpuSteps
from wordveil.spaces.hyperbolic_geometry import (
    ball_points,
    exp_map,
    hyperboloid_distance,
    hyperboloid_exp,
    tangent_length,
    to_hyperboloid,
)


def tree(depth: int = 5) -> Pairs:
    """Make the closure of a binary tree."""
    nodes = range(1, 2**depth)
    return Pairs.of([(f"n{node}", f"n{node // 2}") for node in nodes if node > 1]).closed()


def distance(name: str, x: np.ndarray, y: np.ndarray) -> float:
    return float(geometry(name).slopes(x[None], y[None, None], (x - y)[None, None]).distance[0, 0])


@pytest.mark.parametrize("name", GEOMETRIES)
def test_gradients_are_what_finite_differences_say(name: str) -> None:
    shape = geometry(name)
    generator = np.random.default_rng(1)
    for _ in range(20):
        x, y = generator.normal(size=(2, 3)) * 0.3
        pull = shape.slopes(x[None], y[None, None], (x - y)[None, None])
        gradient = pull.near_x[0, 0] * (x - y) + pull.own_x[0, 0] * x
        other = pull.near_y[0, 0] * (y - x) + pull.own_y[0, 0] * y
        # a Riemannian gradient of a distance has length 1, and a step along it lengthens the distance by its length
        for point, way, end in ((x, gradient, y), (y, other, x)):
            step = 1e-5 * way[None]
            if name == "poincare":
                moved = exp_map(ball_points(point[None]), step).x[0]
            elif name == "lorentz":
                moved = hyperboloid_exp(point[None], step)[0]
            else:
                moved = point + step[0]
            assert distance(name, moved, end) - distance(name, x, y) == pytest.approx(1e-5, rel=1e-3)
            assert distance(name, point, moved) == pytest.approx(1e-5, rel=1e-3)


@pytest.mark.parametrize("name", ["poincare", "lorentz"])
def test_no_step_leaves_the_space_or_is_too_long(name: str) -> None:
    shape = geometry(name)
    generator = np.random.default_rng(2)
    points = shape.first(50, 4, generator)
    for _ in range(60):
        before = points
        points = shape.moved(points, generator.normal(size=points.shape) * 1e3, 1.0)
        assert np.isfinite(shape.hyperboloid(points)).all()
        assert (shape.radii(points) <= 22.0 + 1e-3).all()
        way = shape.slopes(before, points[:, None], (before - points)[:, None]).distance
        assert (way < 1.001).all()


def test_ball_and_hyperboloid_are_one_space() -> None:
    ball, sheet = geometry("poincare"), geometry("lorentz")
    x = np.random.default_rng(3).uniform(-0.5, 0.5, (40, 3))
    p = np.asarray(to_hyperboloid(ball_points(x)), dtype=np.float64)
    assert np.allclose(ball.rows(x, x), sheet.rows(p, p))
    assert np.allclose(ball.radii(x), sheet.radii(p))


@pytest.mark.parametrize("name", GEOMETRIES)
def test_a_tree_is_learnt(name: str) -> None:
    pairs = tree()
    trained = train(pairs, Training(dimension=3, geometry=name, epochs=150, negatives=10, batch=32), device="cpu")
    found = reconstruction(trained.shape, trained.points, pairs)
    assert found.nodes == 30
    if name == "euclidean":
        assert found.mean_average_precision > 0.3
        return
    assert found.mean_average_precision > 0.9
    radii = trained.shape.radii(trained.points)
    depths = np.array([len(bin(int(word[1:]))) for word in pairs.names])
    assert np.corrcoef(radii, depths)[0, 1] > 0.7  # roots at the centre, leaves outside


def test_sharpness_makes_a_smaller_space_of_the_same_order() -> None:
    pairs = tree()
    sizes = []
    for sharpness in (1.0, 2.0):
        settings = Training(dimension=5, epochs=150, negatives=10, batch=32, sharpness=sharpness)
        trained = train(pairs, settings, device="cpu")
        assert reconstruction(trained.shape, trained.points, pairs).mean_average_precision > 0.85
        sizes.append(trained.shape.radii(trained.points).mean())
    assert sizes[1] < 0.75 * sizes[0]


def test_weights_draw_pairs_by_their_counts() -> None:
    counts = np.array([1.0, 1000.0])
    pairs = Pairs(["a", "b", "c", "d"], np.array([0, 1], np.int32), np.array([2, 3], np.int32), counts)
    start = np.array([[0.5, 0.5], [-0.5, -0.5], [0.5, -0.5], [-0.5, 0.5]])
    steps = CpuSteps(geometry("lorentz"), start, pairs, negatives=1, weighted=True)
    for epoch in range(30):
        steps.epoch(0.05, 1, popular=False, seed=[1, epoch])
    a, b, c, d = steps.points
    assert distance("lorentz", b, d) < 0.9 < distance("lorentz", a, c)


@pytest.mark.parametrize("reach", [1.0, 10.0, 18.0])
def test_distances_in_training_hold_far_out(reach: float) -> None:
    generator = np.random.default_rng(4)
    directions = generator.normal(size=(200, 2))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    p = directions * np.sinh(reach)
    v = generator.normal(size=p.shape)
    q = np.asarray(hyperboloid_exp(p, v / tangent_length(p, v)[:, None]), dtype=np.float64)
    ours = geometry("lorentz").slopes(p, q[:, None], (p - q)[:, None]).distance[:, 0]
    assert np.allclose(ours, hyperboloid_distance(p, q), rtol=1e-6, atol=1e-6)


def test_the_same_seed_gives_the_same_space() -> None:
    settings = Training(dimension=2, epochs=8, negatives=5)
    first, again = (train(tree(4), settings, device="cpu").points for _ in range(2))
    assert np.array_equal(first, again)
    other = train(tree(4), Training(dimension=2, epochs=8, negatives=5, seed=1), device="cpu").points
    assert not np.array_equal(first, other)


def test_a_stopped_training_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    pairs, settings = tree(4), Training(dimension=2, epochs=12, negatives=5)
    whole = train(pairs, settings, device="cpu").points
    file = tmp_path / "checkpoint.npz"

    class Stop(Exception):  # noqa: N818
        pass

    def stop(progress: Progress) -> None:
        if progress.epoch == 7:
            raise Stop

    import wordveil.lab.training.trainer as module

    patch = pytest.MonkeyPatch()
    patch.setattr(module, "_SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    with pytest.raises(Stop):
        train(pairs, settings, device="cpu", checkpoint=file, tell=stop)
    told: list[Progress] = []
    resumed = train(pairs, settings, device="cpu", checkpoint=file, resume=True, evaluate_every=6, tell=told.append)
    patch.undo()
    assert np.array_equal(resumed.points, whole)
    assert [progress.epoch for progress in told] == [8, 9, 10, 11, 12]
    assert told[-1].sample is not None
    assert told[0].sample is None
    with pytest.raises(OptionError):
        train(pairs, Training(dimension=3), device="cpu", checkpoint=file, resume=True)
    file.write_bytes(b"broken")
    with pytest.raises(FileError):
        train(pairs, settings, device="cpu", checkpoint=file, resume=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"dimension": 0},
        {"epochs": 0},
        {"negatives": 0},
        {"rate": 0.0},
        {"sharpness": -1.0},
        {"batch": 0},
        {"burn_in": -1},
        {"geometry": "spherical"},
    ],
)
def test_senseless_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(WordveilError):
        Training(**wrong)  # type: ignore[arg-type]


def test_what_cannot_be_trained_is_told() -> None:
    with pytest.raises(InputError):
        train(tree().filtered(min_count=9), Training())
    with pytest.raises(OptionError):
        train(tree(), Training(), device="tpu")


def test_reconstruction_of_known_rows() -> None:
    # On a line a(0) b(1) c(3) d(7): of b's parents, a is nearest of all and d farthest.
    pairs = Pairs.of([("b", "a"), ("b", "d"), ("c", "b")], ["a", "b", "c", "d"])
    points = np.array([[0.0], [1.0], [3.0], [7.0]])
    found = reconstruction(geometry("euclidean"), points, pairs)
    # b: a has rank 1 and precision 1/1; d has rank 2 (behind c) and precision 2/3. c: b has rank 1.
    assert found.mean_rank == pytest.approx((1 + 2 + 1) / 3)
    assert found.mean_average_precision == pytest.approx(((1 + 2 / 3) / 2 + 1) / 2)
    assert reconstruction(geometry("euclidean"), points, pairs, sample=1).nodes == 1


def test_hyperlex(tmp_path: Path) -> None:
    file = tmp_path / "ratings.tsv"
    file.write_text("word1\tword2\tpos\tscore\nn8\tn4\tN\t6.0\nn4\tn8\tN\t1.5\nn8\tn15\tN\t0.2\nx\ty\tN\t3\n", "utf-8")
    pairs = tree()
    trained = train(pairs, Training(dimension=3, epochs=100, negatives=10, batch=32), device="cpu")
    senses = {name: np.array([place]) for place, name in enumerate(pairs.names)}
    found = hyperlex(trained.shape, trained.points, senses, read_hyperlex(file))
    assert (found.covered, found.pairs) == (3, 4)
    assert found.correlation > 0.4
    (tmp_path / "wrong.tsv").write_text("a\tb\n1\t2\n", "utf-8")
    with pytest.raises(InputError):
        read_hyperlex(tmp_path / "wrong.tsv")


def test_what_is_written_can_be_opened(tmp_path: Path) -> None:
    from wordveil import load_space
    from wordveil.spaces import EuclideanSpace, PoincareSpace

    pairs = Pairs.of([("dog", "(pet)"), ("(pet)", "animal"), ("dog", "animal")], ["dog", "animal", "(pet)"], hidden=1)
    hyperbolic = train(pairs, Training(dimension=2, epochs=3), device="cpu")
    write_trained(tmp_path / "ball", hyperbolic, pairs, {"training": {"source": "test"}})
    space = load_space(tmp_path / "ball")
    assert isinstance(space, PoincareSpace)
    assert space.vocabulary.words == ["dog", "animal"]
    assert space.is_a is not None
    assert space.is_a.tolist() == [[0, 1]]
    assert space.facts["training"] == {"source": "test"}
    assert np.allclose(to_space("x", hyperbolic, pairs).hyperboloid, hyperbolic.points[:2])
    flat = train(pairs, Training(dimension=2, epochs=3, geometry="euclidean"), device="cpu")
    write_trained(tmp_path / "flat", flat, pairs, {})
    assert isinstance(load_space(tmp_path / "flat"), EuclideanSpace)


@pytest.mark.skipif(
    find_spec("torch") is None or find_spec("triton") is None,
    reason="the CUDA kernels need PyTorch and Triton (pip install '.[gpu]')",
)
def test_the_cuda_kernels_compute_what_numpy_computes() -> None:
    # in Triton's interpreter, which needs no device but must be chosen before Triton is imported
    script = Path(__file__).parent / "compare_kernels.py"
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
