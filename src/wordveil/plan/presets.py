"""Presets by protection: the largest ε at which the strongest attacker gains no more than a stated share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from wordveil.calibration import Maker, meter_for, span_of
from wordveil.errors import OptionError
from wordveil.plan.trial import Bench, Trial
from wordveil.progress import Watch, ignore, within
from wordveil.rounding import round_down
from wordveil.spaces import Space

__all__ = ["PROTECTION", "USUAL", "bound_of", "choose", "usual_epsilons", "usual_presets"]

#: How much the draws may give away of the words that attackers cannot guess without them: the upper end of the
#: interval must be no more than this.
PROTECTION = {"strong": 0.05, "balanced": 0.10, "light": 0.20}

#: What the presets come to on public prose; ``tools/build_presets.py`` measures it again.
USUAL = Path(__file__).parent.parent / "data" / "presets.json"

_AROUND = (0.5, 0.75, 1.1, 1.6)  # times the ε at which 2% of all words stay
_LOWER = (0.5, 0.25)  # times the least of these, where even that gives too much away
_BACK = 0.8  # from one try to the next, where the network finds more than the others
_TRIES = 4


def bound_of(protect: str) -> float:
    """Return what a preset allows."""
    if protect not in PROTECTION:
        raise OptionError(f"there is no protection {protect!r}; choose one of {', '.join(PROTECTION)}.")
    return PROTECTION[protect]


@lru_cache(maxsize=1)
def usual_presets() -> dict[str, Any]:
    """Return the ε of each preset on public prose, by space and mechanism, and which prose it was."""
    told: dict[str, Any] = json.loads(USUAL.read_text(encoding="utf-8"))
    return told


def usual_epsilons(make: Maker, space: Space, watch: Watch = ignore) -> list[float]:
    """Return the ε worth looking at: around the one at which the first few words stay."""
    low = span_of(meter_for(make, space, watch=watch)).low
    return sorted({float(f"{low * times:.2g}") for times in _AROUND})


def choose(bench: Bench, bound: float, epsilons: Sequence[float], watch: Watch = ignore) -> Trial | None:
    """Find the largest ε at which no attacker gains more than `bound`.

    The quick attackers are tried at each of some ε, and at one between the last that will do and the first that will
    not. The network, if there is one, then has its say: where it gains more, the next smaller ε is tried.

    Parameters
    ----------
    bench : Bench
        Where to try.
    bound : float
        What may be gained; see `PROTECTION`.
    epsilons : sequence of float
        The ε to try, in order.
    watch : callable
        Told how far it is.

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
    fitting = next((place for place, one in enumerate(tried) if not _meets(one, bound)), len(tried))
    if fitting == len(tried):
        found: Trial | None = tried[-1]
    elif fitting:
        found = _between(bench, tried[fitting - 1], tried[fitting], bound, within(watch, share, share + 0.1))
    else:
        lower = (bench.trial(float(f"{epsilons[0] * times:.2g}"), ignore) for times in _LOWER)
        found = next((one for one in lower if _meets(one, bound)), None)
    if found is None:
        return None
    part = (0.9 - share) / _TRIES
    for number in range(_TRIES):
        begin = share + 0.1 + part * number
        found = bench.deepened(found.epsilon, within(watch, begin, begin + part))
        if _meets(found, bound):
            return found
        found = bench.trial(float(f"{_BACK * found.epsilon:.2g}"), ignore)
    return None


def _meets(trial: Trial, bound: float) -> bool:
    return trial.gain.high <= bound


def _between(bench: Bench, low: Trial, high: Trial, bound: float, watch: Watch) -> Trial:
    """Try where a straight line between two trials meets the bound; below that, stay with the lower one."""
    rise = max(1e-9, high.gain.high - low.gain.high)
    share = min(1.0, max(0.0, (bound - low.gain.high) / rise))
    epsilon = round_down(low.epsilon + share * (high.epsilon - low.epsilon), 2)
    if epsilon <= low.epsilon:
        return low
    found = bench.trial(epsilon, watch)
    return found if _meets(found, bound) else low
