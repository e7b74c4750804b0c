"""Chooses events of the outputs that tell two inputs apart, on some draws, to be measured on others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.audit.cases import Case, Observation, read_off, readings_of
from wordveil.audit.sampled import loss_bound

__all__ = ["choose_events"]

_CUTS = 400  # the most sets of outputs to compare
_EVENTS = 12  # how many events of a pair are measured on the same draws


class _Choice(NamedTuple):
    """A set of outputs, and why it is worth measuring."""

    chance: float  # how likely it is to break the claim: a score, larger is likelier
    keys: frozenset[str]
    reading: str
    outputs: int  # how many were seen in all
    swapped: bool  # whether it is likelier after the second input


def choose_events(
    drawn: tuple[list[Observation], list[Observation]],
    case: Case,
    readings: Iterable[str],
    names: Sequence[str],
    lean: dict[str, float] | None = None,
) -> tuple[float, list[Case]]:
    """Choose what tells two inputs apart best. Return a score of how likely that breaks the claim, and the cases.

    Outputs are ordered by their ratio on half of the draws, and by how much nearer they are to one word than to the
    other (`lean`). Sets of the first outputs in such an order, and single outputs, are compared on the other half.
    Nobody knows yet which is best, so several are chosen. They are measured on the same draws, each with a share of the
    error.
    """
    found: dict[tuple[frozenset[str], str, bool], _Choice] = {}
    for reading in readings:
        ours, theirs = (readings_of(reading, some, names) for some in drawn)
        for swapped in (False, True):
            sides = (theirs, ours) if swapped else (ours, theirs)
            way = {key: -much for key, much in lean.items()} if lean and swapped else lean
            for one in _choices(sides, case, reading, way if reading.startswith(("whole", "place")) else None):
                choice = one._replace(swapped=swapped)
                found.setdefault((choice.keys, reading, swapped), choice)
    best = sorted(found.values(), key=lambda one: -one.chance)[:_EVENTS]
    return best[0].chance, [_case(one, case, names, drawn) for one in best]


def _case(
    choice: _Choice, case: Case, names: Sequence[str], drawn: tuple[list[Observation], list[Observation]]
) -> Case:
    """Return the case of a choice. A set of most outputs is described by those it does not contain."""
    inside = 2 * len(choice.keys) <= choice.outputs
    keys = choice.keys
    if not inside:
        keys = frozenset(read_off(choice.reading, seen, names) for seen in {*drawn[0], *drawn[1]}) - keys
    event = {
        "reading": choice.reading,
        "keys": sorted(keys),
        "inside": inside,
        "names": list(names),
        "says": _says(choice.reading, sorted(choice.keys)),
    }
    scripts = (case.right, case.left) if choice.swapped else (case.left, case.right)
    return replace(case, left=scripts[0], right=scripts[1], event=event, error=case.error / _EVENTS)


def _choices(
    sides: tuple[list[str], list[str]], case: Case, reading: str, lean: dict[str, float] | None
) -> Iterator[_Choice]:
    counts = [Counter(some[start::2]) for start in (0, 1) for some in sides]
    seen = sorted(set().union(*counts))
    ratio = {key: (counts[0][key] + 0.5) / (counts[1][key] + 0.5) for key in seen}
    orders = [sorted(seen, key=lambda key: -ratio[key])]
    if lean:
        orders.append(sorted((key for key in seen if key in lean), key=lambda key: -lean[key]))
    for keys in filter(None, orders):
        hits, misses = (np.array([one[key] for key in keys]) for one in counts[2:])
        for chance, chosen in _best_sets(hits, misses, (counts[2].total(), counts[3].total()), case):
            yield _Choice(chance, frozenset(keys[chosen]), reading, len(seen), swapped=False)


def _best_sets(
    ours: NDArray[np.int64], theirs: NDArray[np.int64], trials: tuple[int, int], case: Case
) -> Iterator[tuple[float, slice]]:
    """Return the best sets of first outputs and the best single ones, and how likely each is to break the claim."""
    ends = np.arange(1, len(ours) + 1)
    if len(ends) > _CUTS:
        ends = np.unique(np.geomspace(1, len(ours), _CUTS).astype(int))
    singles = np.argsort(-ours, kind="stable")[:_CUTS]
    kinds = [
        ([slice(0, int(end)) for end in ends], np.cumsum(ours)[ends - 1], np.cumsum(theirs)[ends - 1]),
        ([slice(int(one), int(one) + 1) for one in singles], ours[singles], theirs[singles]),
    ]
    for slices, hits, few in kinds:
        misses = few + 1.0  # because it was chosen for having few
        bounds = loss_bound(
            np.minimum(hits * (case.draws / trials[0]), case.draws),
            np.minimum(misses * (case.draws / trials[1]), case.draws),
            (case.draws, case.draws),
            case.error / (2 * _EVENTS),
            case.delta,
        )
        spread = np.sqrt(1.0 / np.maximum(hits, 0.5) + 1.0 / misses)  # how well the ratio is known so far
        with np.errstate(divide="ignore"):
            ratios = np.log(np.maximum(hits / trials[0] - case.delta, 0.0)) - np.log(misses / trials[1])
        chances = (bounds - case.allowed) / spread
        # Likeliest to break the claim, showing most on average, and revealing most where it occurs.
        for score in (chances, bounds - spread, ratios - spread):
            place = int(score.argmax())
            yield float(chances[place]), slices[place]


def _says(reading: str, keys: list[str]) -> str:
    """Describe the event."""
    kind, _, place = reading.partition(":")
    what = {
        "whole": "the output",
        "session": "what comes out of the two calls",
        "place": f"word {int(place or 0) + 1} of the output",
        "words": "the number of words",
        "letters": "the number of letters",
        "alike": "the number of different words",
        "names": "which of the two words the output has",
    }[kind]
    shown = keys[0].replace("\0", "failure: ") if len(keys) == 1 else f"one of {len(keys):,}"
    return f"{what} is {shown}"
