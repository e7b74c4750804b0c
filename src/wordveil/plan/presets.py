"""Presets by protection: the largest ε at which the strongest attacker guesses and gains at most what is stated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wordveil._mechanisms.attackers import shipped_curves
from wordveil.calibration import Maker, meter_for, span_of
from wordveil.errors import OptionError
from wordveil.plan.trial import Bench, Trial
from wordveil.progress import Watch, ignore, within
from wordveil.rounding import round_down
from wordveil.spaces import Space

__all__ = ["PROTECTION", "Protection", "bound_of", "choose", "usual_epsilons", "usual_presets"]


class Protection(NamedTuple):
    """The bounds of a preset, on the upper ends of intervals."""

    attacker: float  # the share of the veiled words that the strongest attacker guesses, with the draws or without
    gain: float  # of the words that cannot be guessed without the draws, the share that the draws reveal

    def allows(self, trial: Trial) -> bool:
        """Whether all attackers of a trial are within the bounds."""
        return trial.gain.high <= self.gain and trial.most <= self.attacker

    def may_allow(self, trial: Trial) -> bool:
        """Whether the measured shares are within the bounds, whatever their intervals say."""
        gained = max(attack.gain.value for attack in trial.attacks)
        return gained <= self.gain and trial.strongest.right.value <= self.attacker


#: The presets.
PROTECTION = {
    "strong": Protection(0.10, 0.05), "balanced": Protection(0.20, 0.10), "light": Protection(0.40, 0.20),
}  # fmt: skip

_AROUND = (0.5, 0.75, 1.1, 1.6)  # the ε to try, as multiples of the ε at which 2% of all words stay
_LOWER = (0.5, 0.25)  # multiples of the smallest of these, to try if even that reveals too much
_BACK = 0.8  # the factor to the next ε, if the network finds more than the other attackers
_TRIES = 4
_BELOW, _STEPS = 0.85, 3  # for the search between the last ε within the bounds and the first outside


def bound_of(protect: str) -> Protection:
    """Return the bounds of a preset."""
    if protect not in PROTECTION:
        raise OptionError(f"unknown protection {protect!r}; choose one of {', '.join(PROTECTION)}.")
    return PROTECTION[protect]


def usual_presets() -> dict[str, dict[str, dict[str, float]]]:
    """Return the ε of each preset on public prose, by space and mechanism.

    At this ε, no attacker guesses more than the preset allows. The bound on the gain is ignored, because what attackers
    guess without the draws was not measured there.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    for space, name, curve in shipped_curves():
        epsilons = {preset: curve.largest(bound.attacker) for preset, bound in PROTECTION.items()}
        found.setdefault(space, {})[name] = {preset: epsilon for preset, epsilon in epsilons.items() if epsilon}
    return found


def usual_epsilons(make: Maker, space: Space, watch: Watch = ignore) -> list[float]:
    """Return the ε to try by default: around the one at which the first few words stay."""
    low = span_of(meter_for(make, space, watch=watch)).low
    return sorted({float(f"{low * times:.2g}") for times in _AROUND})


def choose(bench: Bench, bound: Protection, epsilons: Sequence[float], watch: Watch = ignore) -> Trial | None:
    """Find the largest ε at which all attackers are within the bounds.

    The fast attackers are tried at the given ε, in ascending order, and then between the last ε within the bounds and
    the first outside. Then the network is tried, unless it is left out. If it finds more, the next smaller ε is tried.

    Returns
    -------
    Trial or None
        The trial at that ε; None if there is none.
    """
    share = 0.7 if bench.is_fast else 0.4
    tried = [
        bench.trial(epsilon, within(watch, share * place / len(epsilons), share * (place + 1) / len(epsilons)))
        for place, epsilon in enumerate(epsilons)
    ]
    if bench.floor > bound.attacker:  # guessed without any draw, so no ε helps
        return None
    fitting = next((place for place, one in enumerate(tried) if not bound.allows(one)), len(tried))
    if fitting == len(tried):
        found: Trial | None = tried[-1]
    elif fitting:
        found = _between(bench, tried[fitting - 1], tried[fitting], bound, within(watch, share, share + 0.1))
    else:
        lower = (bench.trial(float(f"{epsilons[0] * times:.2g}"), ignore) for times in _LOWER)
        found = next((one for one in lower if bound.allows(one)), None)
    if found is None:
        return None
    part = (0.9 - share) / _TRIES
    for number in range(_TRIES):
        begin = share + 0.1 + part * number
        found = bench.deepened(found.epsilon, within(watch, begin, begin + part))
        if bound.allows(found):
            return found
        found = bench.trial(float(f"{_BACK * found.epsilon:.2g}"), ignore)
    return None


def _between(bench: Bench, low: Trial, high: Trial, bound: Protection, watch: Watch) -> Trial:
    """Search between an ε within the bounds and one outside; if nothing between fits, return the lower one.

    The first try is slightly below the point where linear interpolation meets the bound; the next ones bisect.
    """
    ends = ((low.gain.high, high.gain.high, bound.gain), (low.most, high.most, bound.attacker))
    shares = [(most - start) / max(1e-9, end - start) for start, end, most in ends if end > most]
    share = _BELOW * min(1.0, max(0.0, min(shares, default=1.0)))
    for number in range(_STEPS):
        epsilon = round_down(low.epsilon + share * (high.epsilon - low.epsilon), 2)
        if epsilon <= low.epsilon:
            break
        found = bench.trial(epsilon, within(watch, number / _STEPS, (number + 1) / _STEPS))
        if bound.allows(found):
            return found
        high, share = found, 0.5
    return low
