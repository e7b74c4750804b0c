"""Run by a test in its own process: one step on the processor and one in Triton's interpreter must be the same."""

from __future__ import annotations

import numpy as np

from wordveil.lab.training import Pairs
from wordveil.lab.training.geometries import GEOMETRIES
from wordveil.lab.training.steps import CpuSteps, CudaSteps

# All negatives are node 0, whatever the random numbers, because it is the only parent; the pairs of one batch have no
# order.
pairs = Pairs.of([(f"n{node}", "root") for node in range(40)] + [("other", "root")])
pairs = Pairs(pairs.names, pairs.child[1:], pairs.parent[1:], pairs.counts[1:])
for shape in GEOMETRIES.values():
    start = shape.first(len(pairs.names), 5, np.random.default_rng(0)) * 300
    settings = {"negatives": 3, "sharpness": 2.5}
    ours = CpuSteps(shape, start, pairs, **settings)  # type: ignore[arg-type]
    theirs = CudaSteps(shape, start, pairs, **settings, device="cpu")  # type: ignore[arg-type]
    for steps in (ours, theirs):
        steps._popular = steps._popular * 0
    left, right = (steps.epoch(0.1, len(pairs), popular=True, seed=[0]) for steps in (ours, theirs))
    assert np.isclose(left, right, rtol=1e-12), shape.name
    assert np.allclose(ours.points, theirs.points, rtol=1e-12, atol=1e-14), shape.name
    assert np.abs(ours.points - start).max() > 1e-3, shape.name
