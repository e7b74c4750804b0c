"""Matches two mechanisms: finds the ε at which one protects as much as the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordveil._mechanisms.laws import PerWord
from wordveil.calibration.meter import Meter, span_of
from wordveil.calibration.targets import Target, solve
from wordveil.errors import OptionError
from wordveil.stats import Estimate

#: The figures by which two mechanisms can be matched, with the kind of target for each.
MATCHED = {
    "worst": "stays",
    "mean": "stays-mean",
    "adversary": "adversary",
    "adversary-frequency": "adversary-frequency",
}


@dataclass(frozen=True)
class Side:
    """One of the two mechanisms at its ε.

    Attributes
    ----------
    mechanism : dict
        The description of the mechanism.
    epsilon : float
        Its privacy parameter.
    stays : PerWord
        N_w.
    near_loss : PerWord
        The largest log-ratio between a word and its most similar words.
    adversary : Estimate, optional
        The attacker's success, if the match is by it.
    exact : bool
        Whether the figures are exact.
    """

    mechanism: dict[str, Any]
    epsilon: float
    stays: PerWord
    near_loss: PerWord
    adversary: Estimate | None
    exact: bool

    def value(self, by: str) -> float:
        """Return the figure to match."""
        if self.adversary is not None:
            return self.adversary.high
        return self.stays.worst if by == "worst" else self.stays.mean

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        loss = float(np.median(self.near_loss.values))
        return {
            **self.mechanism,
            "epsilon": self.epsilon,
            "exact": self.exact,
            "words": len(self.stays.ids),
            "stays_worst": self.stays.worst,
            "stays_mean": self.stays.mean,
            "stays_mean_error": self.stays.mean_error,
            "near_loss_median": loss if np.isfinite(loss) else None,
            "near_loss_is_bound": self.near_loss.bound,
            "adversary": None if self.adversary is None else self.adversary.to_dict(),
        }


def side(meter: Meter, epsilon: float, by: str) -> Side:
    """Measure a mechanism at one ε, for a match."""
    if by not in MATCHED:
        raise OptionError(f"mechanisms cannot be matched by {by!r}; choose one of {', '.join(MATCHED)}.")
    described = meter.make(epsilon).describe()
    described.pop("epsilon")
    prior = {"adversary": "uniform", "adversary-frequency": "frequency"}.get(by)
    return Side(
        described,
        epsilon,
        meter.stays([epsilon], meter.ids)[0],
        meter.near_loss([epsilon])[0],
        None if prior is None else meter.adversary([epsilon], prior)[0],
        meter.exact,
    )


def match(known: Side, other: Meter, by: str) -> Side:
    """Find the ε at which another mechanism has the same figure.

    Parameters
    ----------
    known : Side
        The mechanism whose ε is given, from `side`.
    other : Meter
        The meter of the other mechanism, with the same effort, so that both are measured on the same words.
    """
    wanted = known.value(by)
    if not 0.0 < wanted < 1.0:
        raise OptionError("at that epsilon the first mechanism keeps no word or every word; choose another.")
    found = solve(other, Target(MATCHED[by], wanted), span_of(other), sure=0.0)
    if not (np.isfinite(found) and found > 0):
        raise OptionError(f"no epsilon gives the mechanism {other.probe.name} that figure; match by another figure.")
    return side(other, found, by)
