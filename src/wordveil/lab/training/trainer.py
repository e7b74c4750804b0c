"""The training itself: epochs, rates, progress, checkpoints."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wordveil.errors import WordveilError
from wordveil.extras import needs
from wordveil.lab.training.cpu import CpuSteps
from wordveil.lab.training.cuda import CudaSteps, cuda_is_there
from wordveil.lab.training.evaluation import Reconstruction, reconstruction
from wordveil.lab.training.geometries import Floats, Geometry, geometry
from wordveil.lab.training.pairs import Pairs
from wordveil.lab.training.steps import Steps

__all__ = ["DEVICES", "Progress", "Settings", "Trained", "train"]

DEVICES = ("auto", "cpu", "cuda")

_BURN_IN_RATE = 0.1
_STEPS_AN_EPOCH = 64
_BATCHES = (64, 8192)
_SAMPLE = 500  # nodes looked at for the progress
_SECONDS_BETWEEN_CHECKPOINTS = 30.0


@dataclass(frozen=True)
class Settings:
    """How to train.

    Parameters
    ----------
    dimension : int
        How many coordinates a point has.
    geometry : {"poincare", "lorentz", "euclidean"}
        The ball, the hyperboloid, or flat space for comparison.
    epochs : int
        How often every pair is seen.
    negatives : int
        How many random nodes each pair is compared with.
    rate : float
        The length of a step by a gradient of length 1; falls linearly to 0 after the burn-in.
    burn_in : int
        So many epochs come first with a tenth of the rate and popular negatives, to find good angles.
    batch : int, optional
        How many pairs make a step; if not given, an epoch has about 64 steps, but no batch is below 64 or above 8,192.
    sharpness : float
        How much a unit of distance counts in the loss. A space trained at 4 is about four times as small as one
        trained at 1, and still has its order; see docs/hyperbolic.md on why noise needs a small one.
    weighted : bool
        Draw pairs in proportion to their counts.
    seed : int
        Of all random choices.
    """

    dimension: int = 10
    geometry: str = "lorentz"
    epochs: int = 200
    negatives: int = 50
    rate: float = 0.3
    burn_in: int = 10
    batch: int | None = None
    sharpness: float = 1.0
    weighted: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        geometry(self.geometry)
        for name in ("dimension", "epochs", "negatives"):
            if getattr(self, name) < 1:
                raise WordveilError(f"{name} must be at least 1.")
        if not (0 < self.rate < float("inf") and 0 < self.sharpness < float("inf")):
            raise WordveilError("rate and sharpness must be finite numbers above 0.")
        if self.burn_in < 0 or self.seed < 0 or (self.batch is not None and self.batch < 1):
            raise WordveilError("burn-in and seed must be 0 or more, and the batch at least 1.")

    def batch_for(self, pairs: int) -> int:
        """Return how many pairs make a step."""
        return self.batch or int(np.clip(pairs // _STEPS_AN_EPOCH, *_BATCHES))

    def rate_at(self, epoch: int) -> float:
        """Return the rate of an epoch."""
        if epoch < self.burn_in:
            return self.rate * _BURN_IN_RATE
        return self.rate * (1 - (epoch - self.burn_in) / max(1, self.epochs - self.burn_in))


class Progress(NamedTuple):
    """Where the training stands: epochs and seconds done, the mean loss, and how well a sample is reconstructed."""

    epoch: int
    seconds: float
    loss: float
    sample: Reconstruction | None


class Trained(NamedTuple):
    """What came out: the points, how to read them, and how long it took."""

    shape: Geometry
    points: Floats
    epochs: int
    seconds: float
    device: str


def train(
    pairs: Pairs,
    settings: Settings,
    *,
    device: str = "auto",
    checkpoint: Path | None = None,
    resume: bool = False,
    evaluate_every: int | None = None,
    tell: Callable[[Progress], None] | None = None,
) -> Trained:
    """Learn where the nodes are.

    Parameters
    ----------
    pairs : Pairs
        What is a kind of what.
    settings : Settings
        How to train.
    device : {"auto", "cpu", "cuda"}
        Where to; ``auto`` takes a CUDA device where there is one.
    checkpoint : Path, optional
        A file that the state is written to every half minute and at the end.
    resume : bool
        Go on from the checkpoint, where there is one; it must be of the same pairs and settings.
    evaluate_every : int, optional
        After so many epochs a sample of nodes is reconstructed for the progress.
    tell : callable, optional
        Called with the progress after every epoch.
    """
    if not len(pairs):
        raise WordveilError("there are no pairs to learn from; loosen the filters.")
    device = _device(device)
    shape = geometry(settings.geometry)
    points, begin, seconds = _begin(pairs, settings, shape, checkpoint if resume else None)
    kind: type[Steps] = CudaSteps if device == "cuda" else CpuSteps
    steps = kind(
        shape,
        points,
        pairs,
        negatives=settings.negatives,
        sharpness=settings.sharpness,
        weighted=settings.weighted,
    )
    batch = settings.batch_for(len(pairs))
    saved = time.monotonic()
    for epoch in range(begin, settings.epochs):
        started = time.monotonic()
        loss = steps.epoch(
            settings.rate_at(epoch), batch, popular=epoch < settings.burn_in, seed=[settings.seed, epoch]
        )
        now = time.monotonic()
        seconds += now - started
        if not np.isfinite(loss):
            raise WordveilError("the training has run away; give a smaller --rate.")
        last = epoch + 1 == settings.epochs
        if checkpoint and (last or now - saved > _SECONDS_BETWEEN_CHECKPOINTS):
            _save(checkpoint, pairs, settings, steps.points, epoch + 1, seconds)
            saved = now
        if tell:
            look = evaluate_every is not None and (epoch + 1) % evaluate_every == 0
            sample = reconstruction(shape, steps.points, pairs, sample=_SAMPLE) if look else None
            tell(Progress(epoch + 1, seconds, loss, sample))
    return Trained(shape, steps.points, settings.epochs, seconds, device)


def _device(device: str) -> str:
    if device not in DEVICES:
        raise WordveilError(f"there is no device {device!r}; choose one of {', '.join(DEVICES)}.")
    if device == "auto":
        return "cuda" if cuda_is_there() else "cpu"
    if device == "cuda" and not cuda_is_there():
        needs("torch", "gpu", "training on a CUDA device")
        raise WordveilError("no CUDA device is found by PyTorch; train with --device cpu.")
    return device


def _fingerprint(pairs: Pairs, settings: Settings) -> str:
    facts = json.dumps([pairs.checksum, asdict(settings)], sort_keys=True)
    return hashlib.sha256(facts.encode()).hexdigest()


def _begin(pairs: Pairs, settings: Settings, shape: Geometry, checkpoint: Path | None) -> tuple[Floats, int, float]:
    if checkpoint is None or not checkpoint.exists():
        generator = np.random.default_rng(settings.seed)
        return shape.first(len(pairs.names), settings.dimension, generator), 0, 0.0
    try:
        with np.load(checkpoint, allow_pickle=False) as state:
            points, epoch = np.asarray(state["points"]), int(state["epoch"])
            seconds, fingerprint = float(state["seconds"]), str(state["fingerprint"])
    except (OSError, ValueError, KeyError, EOFError):
        raise WordveilError(f"the checkpoint {checkpoint} is damaged; delete it and begin anew.") from None
    if fingerprint != _fingerprint(pairs, settings):
        raise WordveilError(
            f"the checkpoint {checkpoint} is of other pairs or settings; train with the same ones, or without --resume."
        )
    return points, epoch, seconds


def _save(path: Path, pairs: Pairs, settings: Settings, points: Floats, epoch: int, seconds: float) -> None:
    whole = path.with_name(f".{path.name}.part")
    with whole.open("wb") as out:
        np.savez(out, points=points, epoch=epoch, seconds=seconds, fingerprint=_fingerprint(pairs, settings))
    whole.replace(path)
