"""What an audit that found nothing would have found: by how much too large a loss, or how rare a telltale output."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import scipy

from wordveil.audit.cases import Case
from wordveil.audit.sampled import loss_bound

__all__ = ["Sight", "sight_of"]

_SHARES = (0.5, 0.1, 0.01)  # how often an output, or a set of them, occurs
_SURE = 0.95  # the probability that a count is no worse than assumed


@dataclass(frozen=True)
class Sight:
    """What would have broken the claim, nine times in ten, on the pair of inputs that was measured most.

    Attributes
    ----------
    left, right : str
        The two inputs.
    draws : int
        How often each was drawn.
    allowed : float
        The loss that the claim allows between them.
    losses : dict
        The smallest loss that would have shown, by how often the outputs that show it occur.
    rarest : float or None
        How often an output must occur after one input to break the claim, if it never occurs after the other.
    """

    left: str
    right: str
    draws: int
    allowed: float
    losses: dict[float, float]
    rarest: float | None

    def sentence(self) -> str:
        """Return this as a sentence."""
        seen = [f"of {loss:.3g} in outputs that come {_often(share)}" for share, loss in self.losses.items()]
        lone = [f"an output of one word alone that comes {_often(self.rarest)}"] if self.rarest else []
        shown = ", or ".join([*([f"a loss {', '.join(seen)}"] if seen else []), *lone])
        return (
            f"Of the two inputs drawn most ({self.draws:,} times), which may lose {self.allowed:.3g}, it would have "
            f"shown {shown or 'nothing'}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        losses = {str(share): round(loss, 4) for share, loss in self.losses.items()}
        return {"left": self.left, "right": self.right, "draws": self.draws, "allowed": self.allowed, "losses": losses,
                "rarest": self.rarest}  # fmt: skip


def sight_of(case: Case) -> Sight | None:
    """Return what the draws of a case can show, or None if they can show nothing."""
    if not case.allowed < case.reach:
        return None
    losses = {}
    for share in _SHARES:
        # The largest probability after the other input that could still be told from this one.
        rarer = _largest(lambda other, share=share: _convicts(case, share, other), share)  # type: ignore[misc]
        if rarer is not None:
            losses[share] = math.log(share - case.delta) - math.log(rarer)
    rarest = _largest(lambda missed: _convicts(case, 1.0 - missed, 0.0), 1.0)
    return Sight(
        " ⏎ ".join(case.left), " ⏎ ".join(case.right), case.draws, case.allowed, losses,
        None if rarest is None else 1.0 - rarest,
    )  # fmt: skip


def _convicts(case: Case, share: float, other: float) -> bool:
    """Whether outputs with these probabilities break the claim, nine times in ten."""
    hits = scipy.stats.binom.ppf(1.0 - _SURE, case.draws, share)
    misses = scipy.stats.binom.ppf(_SURE, case.draws, other) if other else 0.0
    return bool(loss_bound(hits, misses, (case.draws, case.draws), case.error / 2, case.delta) > case.allowed)


def _largest(holds: Callable[[float], bool], top: float) -> float | None:
    """Return the largest number from 0 to `top` for which `holds` is true, given that it is true for all below."""
    low, high = 0.0, top
    if not holds(1e-9 * top):
        return None
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _often(share: float | None) -> str:
    """Say how often something occurs."""
    if not share or share >= 0.5:
        return "every second time" if share else ""
    return f"once in {round(1.0 / share):,}"
