"""Cases: an event that tells two inputs apart. Each is chosen once, measured, and can be replayed.

A case is chosen on some draws and measured on others. To replay it is to measure it again. Every measurement is a lower
bound on a loss, from Clopper-Pearson bounds on two probabilities, with an error that is fixed beforehand.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordveil.audit.sampled import loss_bound
from wordveil.audit.targets import Failure, Outcome, Target
from wordveil.audit.verdict import Evidence
from wordveil.errors import InputError
from wordveil.noise import Entropy
from wordveil.stats import lower_bound, upper_bound

__all__ = [
    "RAW",
    "SHAPES",
    "Case",
    "Clock",
    "Finding",
    "Observation",
    "OutOfTime",
    "choose_time",
    "measure",
    "measure_any",
    "read_off",
    "readings_of",
    "sample",
]

Observation = tuple[Outcome, ...]
T = TypeVar("T")

_MOST_LETTERS = 10_000  # of an output, in which to search for a raw word
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_GUESSED_LETTERS, _LEAST_GUESSED = 16, 5
#: The finding if made-up words come out of their own call.
RAW = "the output has the word that went in"
_SHOWN = 400  # letters of a text shown in a report
_SPARE = 8  # letters of a made-up word that may be cut off
_GAP = 1e-3  # seconds by which two durations must differ, and also by this share of a call
_GAP_SHARE = 0.1
#: Seconds between two runs that should not share a clock's second.
PAUSE = 1.1
_REPEATED = 32  # calls with each word, to see whether outputs repeat

#: Made-up words by shape: their alphabet, and how to write the letters.
SHAPES: dict[str, tuple[str, str]] = {
    "an unknown word": (_LETTERS, "{0}"),
    "a capitalised name": (_LETTERS, "{1}"),
    "a word in capitals": (_LETTERS, "{2}"),
    "a number": ("0123456789", "{0}"),
    "an e-mail address": (_LETTERS, "{0}@post.example"),
    "a word with a hyphen": (_LETTERS, "well-{0}"),
    "a word with an apostrophe": (_LETTERS, "{0}'s"),
    "a word in Greek": ("αβγδεζηθικλμνξοπρτυφχψω", "{0}"),
    "a word with accents": ("àâäéèêëíîïóôöúùûüçñ", "{0}"),
    "a word before a comma": (_LETTERS, "{0},"),
    "a word in quotation marks": (_LETTERS, "“{0}”"),
    "a word in Chinese": ("的一是不了人我在有他这中大来上国个到说们", "{0}"),
    "a very long word": (_LETTERS, "{0}" + "ab" * 150),
}


class OutOfTime(Exception):  # noqa: N818 - it ends an audit and is not an error
    """The time for the audit is over."""


class Clock:
    """Says when an audit must end. Counts its calls and the errors that quote the text.

    Parameters
    ----------
    seconds : float
        How long the audit may take.
    now : callable
        The clock that counts these seconds.
    """

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self.now, self.calls = now, 0
        self.quoting: set[str] = set()
        self._end = now() + seconds

    def count(self, calls: int) -> None:
        """Count calls that are about to be made. Refuse them if the time is over."""
        if self.now() > self._end:
            raise OutOfTime
        self.calls += calls

    def call(self, target: Target, texts: Sequence[str]) -> list[Outcome]:
        """Call the target with all texts, in parts that take about a second each."""
        outcomes = self._in_parts(target, texts, target.call)
        self.quoting |= {one.kind for one in outcomes if isinstance(one, Failure) and one.repeats}
        return outcomes

    def timed(self, target: Target, texts: Sequence[str]) -> list[float]:
        """Return how many seconds each call takes."""
        return self._in_parts(target, texts, lambda some: (target.timed(some) or ([], []))[1])

    def _in_parts(self, target: Target, texts: Sequence[str], call: Callable[[Sequence[str]], list[T]]) -> list[T]:
        found: list[T] = []
        place, many = 0, 64
        while place < len(texts):
            part = texts[place : place + min(max(many, target.fewest), target.most)]
            self.count(len(part))
            started = time.monotonic()
            found += call(part)
            place += len(part)
            many = max(1, int(len(part) * min(4.0, 1.0 / max(1e-3, time.monotonic() - started))))
        return found


@dataclass(frozen=True)
class Case:
    """What to call, and which event to count.

    Attributes
    ----------
    kind : str
        ``pair``: an event in the outputs of two inputs. ``time``: how long two inputs take. ``raw``: made-up words come
        out as they went in. ``guess``: a made-up word can be told from others. ``repeats``: two runs agree.
    about : str
        Why this was looked at.
    left, right : tuple of str
        The texts to call in turn. The event is likelier after the left ones.
    allowed : float
        The loss that the claim allows.
    distance : float or None
        The distance of the two words, if there are two.
    delta, error : float
        The claimed δ, and the probability that the bound is wrong.
    draws : int
        How often to call each side.
    event : dict
        What to count.
    """

    kind: str
    about: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    allowed: float
    draws: int
    error: float
    delta: float = 0.0
    distance: float | None = None
    event: dict[str, Any] = field(default_factory=dict)

    @property
    def reach(self) -> float:
        """The largest loss that this many draws could show."""
        return float(loss_bound(self.draws, 0, (self.draws, self.draws), self.error / 2, self.delta))

    def to_dict(self) -> dict[str, Any]:
        """Return the case as plain values; `from_dict` restores it."""
        return {**asdict(self), "allowed": self.allowed if math.isfinite(self.allowed) else None}

    @classmethod
    def from_dict(cls, plain: Any) -> Case:
        """Restore a case, or refuse anything else."""
        try:
            values = {one.name: plain[one.name] for one in fields(cls)}
            values["allowed"] = math.inf if values["allowed"] is None else float(values["allowed"])
            for name in ("left", "right"):
                values[name] = tuple(map(str, values[name]))
            case = cls(**values)
            is_right = 0 < case.error < 1 and 0 <= case.delta < 1 and 0 < int(case.draws) < 10**9
            if not is_right or case.kind not in _MEASURES or not isinstance(case.event, dict):
                raise InputError("the file holds no case of an audit that can be replayed.")
        except (LookupError, TypeError, AttributeError):
            raise InputError("the file holds no case of an audit that can be replayed.") from None
        return case


@dataclass(frozen=True)
class Finding(Evidence):
    """What was measured in a case.

    Attributes
    ----------
    hits, trials : tuple of int
        How often the event was seen for each input, and in how many trials.
    case : Case
        What was measured. `measure` measures it again.
    """

    hits: tuple[int, int] = (0, 0)
    trials: tuple[int, int] = (0, 0)
    case: Case | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, including what a replay needs."""
        plain = {**super().to_dict(), "case": self.case.to_dict() if self.case else None}
        return {**plain, "distance": None if math.isnan(self.distance) else plain["distance"]}


def sample(
    target: Target, script: Sequence[str], count: int, clock: Clock, *, fresh: bool = False
) -> list[Observation]:
    """Call the texts of a script in turn, `count` times, and return the outcomes of each time.

    `fresh` gives each time a session of its own.
    """
    if fresh:
        found = []
        for _ in range(count):
            clock.count(len(script))
            found.append(tuple(target.session(list(script))))
        return found
    outcomes, size = clock.call(target, list(script) * count), len(script)
    return [tuple(outcomes[place : place + size]) for place in range(0, len(outcomes), size)]


def _key(outcome: Outcome) -> str:
    return outcome if isinstance(outcome, str) else f"\0{outcome.kind}"


def read_off(reading: str, seen: Observation, names: Sequence[str]) -> str:
    """Return what an attacker reads off the outputs: the last one, a word of it, its length, names in it, or all."""
    out = _key(seen[-1])
    if reading == "whole":
        return out
    if reading == "session":  # the outputs of the first two calls
        return " ⏎ ".join(map(_key, seen[:2]))
    kind, _, place = reading.partition(":")
    words, lowered = out.split(), out.lower().split()
    if kind == "leans":  # which of the two names is more frequent in the other texts of the session
        counts = Counter(word for one in seen[1:] for word in _key(one).lower().split())
        return str(int(np.sign(counts[names[0]] - counts[names[1]])))
    if kind == "place":
        return words[int(place)] if len(words) > int(place) else "\0no such word"
    facts = {
        "letters": len(out),
        "words": len(words),
        "alike": len(set(words)),
        "names": [int(name in lowered) for name in names],
    }
    return str(facts[kind])


def readings_of(reading: str, some: Sequence[Observation], names: Sequence[str]) -> list[str]:
    """Return what an attacker reads off each of some observations. Equal ones are read only once."""
    known = {seen: read_off(reading, seen, names) for seen in set(some)}
    return [known[seen] for seen in some]


def _measure_pair(target: Target, case: Case, clock: Clock, _: Entropy) -> Finding:
    """Count an event in the outputs of fresh draws."""
    return measure_any(target, [case], clock)


def measure_any(target: Target, cases: Sequence[Case], clock: Clock) -> Finding:
    """Count several events of the same two inputs on the same fresh draws. Return the finding that shows most.

    Each case has a share of the error, so choosing the best one flatters none. The two inputs may be either way round.
    """
    first = cases[0]
    drawn = {}
    for script in (first.left, first.right):
        if first.event.get("restart"):
            target.restart()
        drawn[script] = sample(target, script, first.draws, clock, fresh=bool(first.event.get("fresh")))
    read = {
        (script, one.event["reading"]): Counter(
            readings_of(one.event["reading"], drawn[script], one.event.get("names", ()))
        )
        for one in {one.event["reading"]: one for one in cases}.values()
        for script in drawn
    }
    findings = []
    for case in cases:
        event, hits = case.event, []
        for script in (case.left, case.right):
            counts = read[script, event["reading"]]
            inside = sum(counts[key] for key in event["keys"])
            hits.append(inside if event["inside"] else case.draws - inside)
        findings.append(_finding(case, hits, (case.draws, case.draws), event["says"]))
    return max(findings, key=lambda one: one.measured - one.allowed)


def _finding(case: Case, hits: Sequence[int], trials: tuple[int, int], output: str) -> Finding:
    """Make a finding from the hits of the two sides."""
    bound = float(loss_bound(hits[0], hits[1], trials, case.error / 2, case.delta))
    return Finding(
        case.about, " ⏎ ".join(case.left), " ⏎ ".join(case.right), math.nan if case.distance is None else case.distance,
        case.allowed, max(bound, 0.0), "loss", output, hits=(hits[0], hits[1]), trials=trials, case=case,
    )  # fmt: skip


def choose_time(target: Target, case: Case, clock: Clock, entropy: Entropy) -> tuple[float, Case]:
    """Choose the duration that tells two words apart best. Return the expected bound with the case."""
    took = _durations(target, case, clock, entropy)
    gap = max(_GAP, _GAP_SHARE * float(np.median(np.concatenate(took))))
    never = {"cut": float(np.concatenate(took).max()), "gap": gap}
    best = -math.inf, replace(case, event=never)
    for way in (0, 1):
        ours, theirs = took[way], took[1 - way]
        for cut in np.quantile(np.concatenate(took), np.linspace(0.02, 0.98, 49)):
            hits = int((ours >= cut + gap).sum()), int((theirs >= cut).sum()) + 1
            bound = float(loss_bound(*hits, (len(ours), len(theirs) + 1), case.error / 2, case.delta))
            if bound > best[0]:
                event = {"cut": float(cut), "gap": gap}
                scripts = (case.left, case.right)[:: 1 if way == 0 else -1]
                best = bound, replace(case, left=scripts[0], right=scripts[1], event=event)
    return best


def _measure_time(target: Target, case: Case, clock: Clock, entropy: Entropy) -> Finding:
    """Count slow calls. Slower means slower by a gap that no accident of the machine explains."""
    cut, gap = case.event["cut"], case.event["gap"]
    ours, theirs = _durations(target, case, clock, entropy)
    says = f"a call takes {1000 * (cut + gap):.3g} ms or more, against {1000 * cut:.3g} ms"
    return _finding(case, [int((ours >= cut + gap).sum()), int((theirs >= cut).sum())], (len(ours), len(theirs)), says)


def _durations(target: Target, case: Case, clock: Clock, entropy: Entropy) -> tuple[NDArray[np.float64], ...]:
    """Call both in random order, so that a slow moment can hit either, and return how long each call took."""
    order = entropy.generator.permutation(np.repeat([0, 1], case.draws))
    texts = [(case.left, case.right)[one][0] for one in order]
    target.timed([case.left[0], case.right[0]] * 2)  # lets it do whatever it does on first use
    took = clock.timed(target, texts)
    return tuple(np.array(took)[order == one] for one in (0, 1))


def _made_up(shape: str, run: int, count: int, entropy: Entropy) -> tuple[list[str], list[str]]:
    """Return the letters of made-up words, any `run` of which in a row must be recognisable, and the words."""
    alphabet, form = SHAPES[shape]
    letters = entropy.generator.integers(0, len(alphabet), (count, run + _SPARE))
    cores = ["".join(alphabet[place] for place in row) for row in letters]
    return cores, [form.format(core, core.capitalize(), core.upper()) for core in cores]


def _measure_raw(target: Target, case: Case, clock: Clock, entropy: Entropy) -> Finding:
    """Call with made-up words of one shape, and count those that come out of their own call, or of another one.

    An output contains a run of r random letters that it does not depend on with probability at most (its length) over
    (the number of letters to the power of r), whatever the callable does. So a single hit shows a large loss: if the
    loss between any two such words is at most L, they come through with at most e^L times that probability. Both events
    are counted on the same calls, each with half of the error.
    """
    alphabet = SHAPES[case.event["shape"]][0]
    beyond = case.event["beyond"] + math.log(2 * _MOST_LETTERS * (_SPARE + 1) * case.draws)
    run = math.ceil(beyond / math.log(len(alphabet)))
    cores, words = _made_up(case.event["shape"], run, case.draws, entropy)
    texts = [case.event["context"].replace("$", word) for word in words]
    called = [text for one in texts for text in (one, case.left[0])]  # each followed by a known word
    outputs = [_key(one)[-_MOST_LETTERS:].lower() for one in clock.call(target, called)]
    runs = {core[place : place + run]: number for number, core in enumerate(cores) for place in range(_SPARE + 1)}
    sources = [{number for part, number in runs.items() if part in out} for out in outputs]  # the words seen in each
    own = sum(number in sources[2 * number] for number in range(case.draws))
    others = sum(
        bool((sources[2 * number] | sources[2 * number + 1]) - ({number} & sources[2 * number]))
        for number in range(case.draws)
    )
    found = []
    for hits, chance, says in (
        (own, (_SPARE + 1) * _MOST_LETTERS, RAW),
        (others, 2 * case.draws * (_SPARE + 1) * _MOST_LETTERS, "the output has a word of another call"),
    ):
        rarity = run * math.log(len(alphabet)) - math.log(chance)
        low = float(lower_bound(hits, case.draws, case.error / 2)) - case.delta
        bound = max(math.log(low) + rarity, 0.0) if low > 0 else 0.0
        found.append(Finding(
            case.about, _shortened(texts[0]), "another of its shape", math.nan, case.allowed, bound, "loss", says,
            hits=(hits, 0), trials=(case.draws, 0), case=case,
        ))  # fmt: skip
    return max(found, key=lambda one: one.measured)


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"… {text[-_SHOWN:]}"


def _measure_guess(target: Target, case: Case, clock: Clock, entropy: Entropy) -> Finding:
    """Call many made-up words twice, and guess from the second output which word it was, by the first outputs.

    Whatever the rule, a word drawn from N is guessed with probability at most ``e^L/N + δ`` if the loss between any two
    is at most L, because the rule depends only on the first calls. This finds outputs that are pseudonyms of words or
    masks of their length, in which no letter of the word appears.
    """
    cores, _ = _made_up("an unknown word", _GUESSED_LETTERS, case.draws, entropy)
    lengths = entropy.generator.integers(_LEAST_GUESSED, _GUESSED_LETTERS + _SPARE, case.draws, endpoint=True)
    texts = [case.event["context"].replace("$", core[:many]) for core, many in zip(cores, lengths, strict=True)]
    first, second = ([_key(one) for one in clock.call(target, texts)] for _ in range(2))
    source = {out: number for number, out in enumerate(first)}
    hits = sum(source.get(out) == number for number, out in enumerate(second))
    low = float(lower_bound(hits, case.draws, case.error)) - case.delta
    bound = max(math.log(low * case.draws), 0.0) if low > 0 else 0.0
    return Finding(
        case.about, texts[0], "another of its shape", math.nan, case.allowed, bound, "loss",
        "the output is what the same word became before, and no other",
        hits=(hits, 0), trials=(case.draws, 0), case=case,
    )  # fmt: skip


def _measure_repeats(target: Target, case: Case, clock: Clock, _: Entropy) -> Finding:
    """Compare places of runs on the same words that should be independent with other places.

    If draws are independent, both agree equally often. Agreements of different words do not follow one binomial law,
    but the tails of their sum are lighter than those of a binomial (Hoeffding 1956), so the bounds hold.
    """
    words = [word for word in case.left for _ in range(_REPEATED)]
    how, half = case.event["how"], _REPEATED // 2
    runs = [_keys(one) for one in _runs(target, words, how, clock)]
    if how == "calls":  # two calls in a row, against calls at two moments
        # every second word starts one call later, in case only every second call is fresh
        parts = [run[late::2, late : late + _REPEATED - 2] for run in runs for late in (0, 1)]
        alike = np.concatenate([part[:, ::2] == part[:, 1::2] for part in parts])
        apart = np.concatenate([runs[0][:, :half] == runs[1][:, :half], runs[1][:, half:] == runs[2][:, :half]])
    else:  # the same place in two runs, against another place
        alike, apart = runs[0] == runs[1], runs[0] == np.roll(runs[1], half, axis=1)
    counts = [(int(some.sum()), some.size) for some in (alike, apart)]
    is_less = counts[0][0] * counts[1][1] < counts[1][0] * counts[0][1]  # seen on the draws, so each side gets a half
    (hits, trials) = zip(*(counts[::-1] if is_less else counts), strict=True)
    low, high = lower_bound(hits[0], trials[0], case.error / 4), upper_bound(hits[1], trials[1], case.error / 4)
    what, rest = {
        "calls": ("two calls in a row agree", " than two at other moments"),
        "runs": ("two runs agree place by place", ""),
        "restarts": ("two processes begun together agree place by place", ""),
        "forks": ("two forks agree place by place", ""),
    }[how]
    says = f"{what}, {'less' if is_less else 'more'} often{rest or ' than at other places'}"
    return Finding(
        case.about, " ".join(case.left[:3]), "the same words again", 0.0, float(high), float(low), "agreement", says,
        hits=hits, trials=trials, case=case,
    )  # fmt: skip


def _keys(outcomes: Sequence[Outcome]) -> NDArray[Any]:
    return np.array(list(map(_key, outcomes)), dtype=object).reshape(-1, _REPEATED)


def _runs(target: Target, words: list[str], how: str, clock: Clock) -> Sequence[list[Outcome]]:
    """Call all words again: at moments that no clock of seconds confuses, in new processes, or in forks."""
    if how == "forks":
        clock.call(target, words[:_REPEATED])  # so that whatever is seeded on first use is seeded before the fork
        clock.count(2 * len(words))
        forks = target.forked(words)
        if forks is None:
            raise OutOfTime  # no answer, so nothing was seen
        return forks
    if how == "restarts":
        clock.count(2 * len(words))
        both = target.begun_together(words)
        if both is None:
            raise OutOfTime
        return both
    runs = [clock.call(target, words)]
    for _ in range(2 if how == "calls" else 1):
        if how == "calls":
            time.sleep(PAUSE)
        runs.append(clock.call(target, words))
    return runs


_MEASURES = {
    "pair": _measure_pair,
    "time": _measure_time,
    "raw": _measure_raw,
    "guess": _measure_guess,
    "repeats": _measure_repeats,
}


def measure(target: Target, case: Case, clock: Clock, entropy: Entropy) -> Finding:
    """Measure a case on fresh draws."""
    return _MEASURES[case.kind](target, case, clock, entropy)
