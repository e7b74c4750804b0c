"""Checks of the dense matrices made here against wordveil's own mechanism and meter, and a known algorithm."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.frontier_search import graphs
from benchmarks.frontier_search.candidates import entries
from benchmarks.frontier_search.channels import near_losses, probabilities, success
from benchmarks.frontier_search.ground import Ground
from benchmarks.frontier_search.paths import shortest_paths
from wordveil.calibration import maker, meter_for

__all__ = ["differences"]

_EPSILON = 5.0


def differences(ground: Ground) -> dict[str, float]:
    """Return the relative errors of the default's figures, and of paths along weighted edges."""
    space = ground.space
    meter = meter_for(maker("graph", space), space)
    law = meter.laws([_EPSILON])[0]
    exact = meter.near_loss([_EPSILON])[0]
    candidate = entries(wordnet=False)[0].make(ground)
    channel = probabilities(candidate, _EPSILON)
    similar = meter.near[: len(exact.ids), : meter.effort.similar]
    uniform = np.full(len(ground), 1.0 / len(ground))
    pairs = graphs.connected(ground, graphs.nearest(ground, 5))
    lengths = graphs.chords(ground, pairs)
    ways, known = (shortest_paths(len(ground), pairs, lengths, device) for device in (ground.device, "cpu"))
    return {
        "probabilities": _apart(channel.cpu().numpy(), law.rows(np.arange(len(ground)))),
        "near loss": _apart(near_losses(candidate, _EPSILON, exact.ids, similar), exact.values),
        "success": _apart(
            np.array(success(channel, torch.as_tensor(uniform, device=ground.device))),
            np.array(law.best_guess(uniform).success.value),
        ),
        "shortest paths": _apart(ways.cpu().numpy() + 1.0, known.numpy() + 1.0),
    }


def _apart(here: NDArray[np.float64], there: NDArray[np.float64]) -> float:
    return float(np.max(np.abs(here - there) / there))
