"""The training loop: epochs, rates, progress, checkpoints, and writing the space at the end."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordveil.errors import FileError, InputError, OptionError
from wordveil.extras import needs
from wordveil.files import digest_of, whole_file
from wordveil.lab.training.evaluation import Reconstruction, reconstruction
from wordveil.lab.training.geometries import Floats, Geometry, geometry
from wordveil.lab.training.pairs import Pairs
from wordveil.lab.training.steps import CpuSteps, CudaSteps, Steps, cuda_is_there
from wordveil.lab.training.wordnet import WordNet
from wordveil.spaces import PoincareSpace, Vocabulary
from wordveil.spaces.formats.arrays import write_folder

DEVICES = ("auto", "cpu", "cuda")

_BURN_IN_RATE = 0.1
_STEPS_AN_EPOCH = 64
_BATCHES = (64, 8192)
_SAMPLE = 500  # nodes to examine for the progress
_SECONDS_BETWEEN_CHECKPOINTS = 30.0


@dataclass(frozen=True)
class Training:
    """How to train.

    The burn-in runs at a tenth of the rate and with popular negatives, to find good angles. A space trained at a
    sharpness of 4 is about a quarter of the size of one trained at 1, in the same order. docs/hyperbolic.md says why
    noise needs a small one.
    """

    dimension: int = 10  # the number of coordinates of a point
    geometry: str = "lorentz"  # lorentz (hyperboloid), poincare (ball), or euclidean for comparison
    epochs: int = 200  # how often every pair is seen
    negatives: int = 50  # how many random nodes each pair is compared with
    rate: float = 0.3  # the length of a step for a gradient of length 1; falls linearly to 0 after the burn-in
    burn_in: int = 10
    batch: int | None = None  # pairs per step; by default, an epoch has about 64 steps of 64 to 8,192 pairs
    sharpness: float = 1.0
    weighted: bool = False  # draw pairs in proportion to their counts
    seed: int = 0

    def __post_init__(self) -> None:
        geometry(self.geometry)
        for name in ("dimension", "epochs", "negatives"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} must be at least 1.")
        if not (0 < self.rate < float("inf") and 0 < self.sharpness < float("inf")):
            raise OptionError("rate and sharpness must be finite numbers above 0.")
        if self.burn_in < 0 or self.seed < 0 or (self.batch is not None and self.batch < 1):
            raise OptionError("burn_in and seed must be 0 or more, and batch at least 1.")

    def batch_for(self, pairs: int) -> int:
        """Return the number of pairs per step."""
        return self.batch or int(np.clip(pairs // _STEPS_AN_EPOCH, *_BATCHES))

    def rate_at(self, epoch: int) -> float:
        """Return the rate of an epoch."""
        if epoch < self.burn_in:
            return self.rate * _BURN_IN_RATE
        return self.rate * (1 - (epoch - self.burn_in) / max(1, self.epochs - self.burn_in))


class Progress(NamedTuple):
    """How far the training has got: epochs, seconds, the mean loss, and how well a sample is reconstructed."""

    epoch: int
    seconds: float
    loss: float
    sample: Reconstruction | None


class Trained(NamedTuple):
    """The result: the points, how to read them, and how long it took."""

    shape: Geometry
    points: Floats
    epochs: int
    seconds: float
    device: str


def train(
    pairs: Pairs,
    training: Training,
    *,
    device: str = "auto",
    checkpoint: Path | None = None,
    resume: bool = False,
    evaluate_every: int | None = None,
    tell: Callable[[Progress], None] | None = None,
) -> Trained:
    """Learn where the nodes are.

    The state is written to `checkpoint` every half minute and at the end. To resume from it, the pairs and the training
    must be the same. If there is none, the training starts anew. `evaluate_every` is the number of epochs between two
    reconstructions of a sample of nodes, for the progress.
    """
    if not len(pairs):
        raise InputError("there are no pairs to learn from; loosen the filters.")
    device = _device(device)
    shape = geometry(training.geometry)
    points, begin, seconds = _begin(pairs, training, shape, checkpoint if resume else None)
    kind: type[Steps] = CudaSteps if device == "cuda" else CpuSteps
    steps = kind(
        shape, points, pairs, negatives=training.negatives, sharpness=training.sharpness, weighted=training.weighted,
        device=device,
    )  # fmt: skip
    batch = training.batch_for(len(pairs))
    saved = time.monotonic()
    for epoch in range(begin, training.epochs):
        started = time.monotonic()
        loss = steps.epoch(
            training.rate_at(epoch), batch, popular=epoch < training.burn_in, seed=[training.seed, epoch]
        )
        now = time.monotonic()
        seconds += now - started
        if not np.isfinite(loss):
            raise OptionError("the training has diverged; use a smaller rate.")
        last = epoch + 1 == training.epochs
        if checkpoint and (last or now - saved > _SECONDS_BETWEEN_CHECKPOINTS):
            _save(checkpoint, pairs, training, steps.points, epoch + 1, seconds)
            saved = now
        if tell:
            look = evaluate_every is not None and (epoch + 1) % evaluate_every == 0
            sample = reconstruction(shape, steps.points, pairs, sample=_SAMPLE) if look else None
            tell(Progress(epoch + 1, seconds, loss, sample))
    return Trained(shape, steps.points, training.epochs, seconds, device)


def _device(device: str) -> str:
    if device not in DEVICES:
        raise OptionError(f"unknown device {device!r}; choose from {', '.join(DEVICES)}.")
    if device == "auto":
        return "cuda" if cuda_is_there() else "cpu"
    if device == "cuda" and not cuda_is_there():
        needs("torch", "gpu", "training on a CUDA device")
        raise OptionError("PyTorch finds no CUDA device; train on the device cpu.")
    return device


def _fingerprint(pairs: Pairs, training: Training) -> str:
    return digest_of([pairs.checksum, asdict(training)])


def _begin(pairs: Pairs, training: Training, shape: Geometry, checkpoint: Path | None) -> tuple[Floats, int, float]:
    if checkpoint is None or not checkpoint.exists():
        generator = np.random.default_rng(training.seed)
        return shape.first(len(pairs.names), training.dimension, generator), 0, 0.0
    try:
        with np.load(checkpoint, allow_pickle=False) as state:
            points, epoch = np.asarray(state["points"]), int(state["epoch"])
            seconds, fingerprint = float(state["seconds"]), str(state["fingerprint"])
    except (OSError, ValueError, KeyError, EOFError):
        raise FileError(f"the checkpoint {checkpoint} is damaged; delete it and start again.") from None
    if fingerprint != _fingerprint(pairs, training):
        raise OptionError(
            f"the checkpoint {checkpoint} belongs to other pairs or another training; use the same, or do not resume."
        )
    return points, epoch, seconds


def _save(path: Path, pairs: Pairs, training: Training, points: Floats, epoch: int, seconds: float) -> None:
    with whole_file(path) as out:
        np.savez(out, points=points, epoch=epoch, seconds=seconds, fingerprint=_fingerprint(pairs, training))


_FORMS = ("noun.exc", "verb.exc")


def to_space(name: str, trained: Trained, pairs: Pairs, facts: dict[str, Any] | None = None) -> PoincareSpace:
    """Make a Poincaré space of the nodes that are words, with the steps of their hierarchy."""
    shown = pairs.visible()
    steps = shown.reduced()
    return PoincareSpace(
        name,
        Vocabulary(shown.names),
        trained.shape.hyperboloid(trained.points)[: len(shown.names)],
        is_a=np.stack([steps.child, steps.parent], axis=1),
        facts=facts,
    )


def write_trained(folder: Path, trained: Trained, pairs: Pairs, facts: dict[str, Any]) -> None:
    """Write the result: a Poincaré space, or the vectors of a Euclidean embedding."""
    folder.mkdir(parents=True, exist_ok=True)
    if trained.shape.name == "euclidean":
        names = pairs.visible().names
        write_folder(folder, names, trained.points[: len(names)].astype(np.float32))
    else:
        to_space(folder.name, trained, pairs, facts).save(folder)


def write_forms(folder: Path, wordnet: WordNet) -> None:
    """Copy WordNet's lists of irregular forms and its notice beside a space of its words."""
    for name in _FORMS:
        if (wordnet.folder / name).is_file():
            shutil.copyfile(wordnet.folder / name, folder / name)
    (folder / "LICENSE").write_text(wordnet.notice, encoding="utf-8")
