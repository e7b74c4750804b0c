"""Presets by protection: the largest ε at which the strongest attacker guesses, and gains, no more than stated."""

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
    """What a preset allows; the upper ends of the intervals must be no more than this."""

    attacker: float  # the share of the veiled words that the strongest attacker guesses, with the draws or without
    gain: float  # of the words that cannot be guessed without the draws, the share that these give away

    def allows(self, trial: Trial) -> bool:
        """Whether no attacker of a trial finds more."""
        return trial.gain.high <= self.gain and trial.most <= self.attacker


#: The presets.
PROTECTION = {
    "strong": Protection(0.10, 0.05), "balanced": Protection(0.20, 0.10), "light": Protection(0.40, 0.20),
}  # fmt: skip

_AROUND = (0.5, 0.75, 1.1, 1.6)  # times the ε at which 2% of all words stay
_LOWER = (0.5, 0.25)  # times the least of these, where even that gives too much away
_BACK = 0.8  # from one try to the next, where the network finds more than the others
_TRIES = 4
_BELOW, _STEPS = 0.85, 3  # between the last ε that will do and the first that will not


def bound_of(protect: str) -> Protection:
    """Return what a preset allows."""
    if protect not in PROTECTION:
        raise OptionError(f"unknown protection {protect!r}; choose one of {', '.join(PROTECTION)}.")
    return PROTECTION[protect]


def usual_presets() -> dict[str, dict[str, dict[str, float]]]:
    """Return the ε of each preset on public prose, by space and mechanism.

    There no attacker guesses more than the preset allows. What they would guess without the draws was not measured, so
    the bound on the gain has no part in it.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    for space, name, curve in shipped_curves():
        epsilons = {preset: curve.largest(bound.attacker) for preset, bound in PROTECTION.items()}
        found.setdefault(space, {})[name] = {preset: epsilon for preset, epsilon in epsilons.items() if epsilon}
    return found


def usual_epsilons(make: Maker, space: Space, watch: Watch = ignore) -> list[float]:
    """Return the ε worth looking at: around the one at which the first few words stay."""
    low = span_of(meter_for(make, space, watch=watch)).low
    return sorted({float(f"{low * times:.2g}") for times in _AROUND})


def choose(bench: Bench, bound: Protection, epsilons: Sequence[float], watch: Watch = ignore) -> Trial | None:
    """Find the largest ε at which no attacker finds more than `bound` allows.

    The quick attackers are tried at each of some ε, and at one between the last that will do and the first that will
    not. The network, if there is one, then has its say: where it gains more, the next smaller ε is tried.

    `bench`: where to try. `bound`: what may be found; see `PROTECTION`. `epsilons`: the ε to try, in order.

    Returns
    -------
    Trial or None
        What was found at that ε; None if there is none.
    """
    share = 0.7 if bench.is_fast else 0.4
    tried = [
        bench.trial(epsilon, within(watch, share * place / len(epsilons), share * (place + 1) / len(epsilons)))
        for place, epsilon in enumerate(epsilons)
    ]
    if bench.floor > bound.attacker:  # which no ε can change
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
    """Try between an ε that will do and one that will not; where nothing does, stay with the lower one.

    The first try is a little below where a straight line between the two meets the bound, the next ones halfway.
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
