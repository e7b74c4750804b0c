"""The audit of anybody's callable against a claim.

Some draws are used to find pairs of words, others to choose events that tell them apart, and fresh ones to measure
these. How many pairs to measure, on how many draws and with which share of the error is settled before the first of
these draws. What time does not allow is left out unseen, so stopping early never finds an honest callable broken.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.audit.auditor import ERROR
from wordveil.audit.cases import (
    Case,
    Clock,
    Finding,
    Observation,
    OutOfTime,
    choose_time,
    measure,
    measure_any,
    sample,
)
from wordveil.audit.claim import Claim
from wordveil.audit.events import choose_events
from wordveil.audit.report import Report, sort_findings
from wordveil.audit.sampled import pairs_in_excess
from wordveil.audit.suspects import choose_candidates, choose_suspects
from wordveil.audit.targets import Failure, Target, target_of
from wordveil.audit.unknown import look_at_unknown
from wordveil.errors import OptionError
from wordveil.noise import Entropy
from wordveil.progress import Watch, ignore

__all__ = ["CHECKS", "audit_callable"]

#: The checks, and the share of the error that each one has.
CHECKS = {
    "raw": 0.075, "repeats": 0.1, "words": 0.4, "forms": 0.025, "sentences": 0.1, "neighbours": 0.1, "order": 0.1,
    "sessions": 0.05, "time": 0.05,
}  # fmt: skip
_NEEDED = ("raw", "repeats", "words")  # without these, there is no verdict
_SHARES = (4, 2, 1, 1)  # of the draws, for the pairs to measure, the most promising first
_WORTH_IT = 1000  # draws of a pair; if there are fewer, measure fewer pairs
_PROBES = 30  # texts beside the one that differs
_SESSIONS = 80
_TIMED = 150
_TIMED_LOSS = 1.5  # the loss that this many timed calls can show
_TRIED_TIMES = 7  # how often to time every word, to find words that take different times
_REPEATING = 12  # words
#: Ways to write a word that the space writes otherwise.
FORMS: dict[str, Callable[[str], str]] = {
    "with a capital": str.capitalize, "in capitals": str.upper, "before a comma": "{},".format,
}  # fmt: skip
_LEAST_DRAWS = 100
_MOST_DRAWS = 10**7
_TRYING = 0.3  # seconds
_TRIED = 16  # words to call first, to see whether the target works at all


@dataclass(frozen=True)
class _Sizes:
    """How much to draw, settled before the first draw that counts."""

    explored: int  # draws of every word, to find pairs
    chosen_on: int  # draws of a word, to choose events
    measured_on: tuple[int, ...]  # draws of each pair, the most promising first
    aside: int  # draws for each side question

    @classmethod
    def of(cls, draws: int | None, rate: float, seconds: float, words: int) -> _Sizes:
        """Return the sizes for this many draws of a pair, or for as many as the time allows at this rate."""
        if draws is not None:
            sizes = tuple(share * draws for share in _SHARES)
            return cls(max(50, draws // 10), max(50, draws), sizes, max(_LEAST_DRAWS, draws // 2))
        calls = rate * seconds
        each = 0.25 * calls / 2
        shares = next((some for some in (_SHARES, _SHARES[:2]) if each >= _WORTH_IT * sum(some)), _SHARES[:1])
        unit = int(np.clip(each / sum(shares), _LEAST_DRAWS / shares[0], 125_000))
        chosen = int(np.clip(0.2 * calls / (8 * len(shares)), 50, unit))
        explored = int(np.clip(0.1 * calls / words, 20, 10_000))
        return cls(explored, chosen, tuple(share * unit for share in shares), max(_LEAST_DRAWS, unit // 2))


def audit_callable(
    what: Target | str | Callable[[Any], Any],
    claim: Claim,
    *,
    takes: str | None = None,
    timeout: float | None = None,
    draws: int | None = None,
    words: int = 48,
    seconds: float = 60.0,
    error: float = ERROR,
    skip: Collection[str] = (),
    seed: int = 0,
    repeat: bool = False,
    now: Callable[[], float] = time.monotonic,
    watch: Watch = ignore,
) -> Report:
    """Audit anything that turns texts into texts, or words into words, against a claim.

    Parameters
    ----------
    what : Target, str or callable
        What to audit: the name of a function, as ``package.module:function``, which runs in its own process; a
        `Program`, `Command` or `Endpoint`; or a callable, which runs in this process and can be neither stopped nor
        restarted.
    claim : Claim
        What is claimed of it.
    takes : str, optional
        What one call takes and returns: ``word``, ``text`` (the default), or a list, ``words`` or ``texts``.
    timeout : float, optional
        Seconds that a call may take.
    draws : int, optional
        How many draws to measure a pair on; the most promising pair gets four times as many. By default, as many as the
        time allows.
    words : int
        How many words to look at.
    seconds : float
        How long the audit may take. Checks that are not done by then are left out.
    error : float
        The probability of finding an honest callable broken.
    skip : collection of str
        Checks to leave out, from `CHECKS`.
    seed : int
        Random seed for the choice of words.
    repeat : bool
        Whether made-up words and the order of calls also follow from the seed.
    now : callable
        The clock that counts `seconds`, such as one of processor seconds on a busy machine.
    watch : callable, optional
        Called with the progress.

    Returns
    -------
    Report
        The verdict and the evidence.

    Examples
    --------
    >>> from wordveil.audit import Claim, TableSpace, audit_callable
    >>> claim = Claim(TableSpace({("tea", "coffee"): 1.0}), epsilon=0.5)
    >>> audit_callable(str.upper, claim, takes="word", draws=1000).verdict
    'broken'
    """
    if draws is not None and not _LEAST_DRAWS <= draws <= _MOST_DRAWS:
        raise OptionError(f"draws must lie between {_LEAST_DRAWS:,} and {_MOST_DRAWS:,}.")
    if words < 2 or seed < 0:
        raise OptionError("words must be 2 or more, and seed 0 or more.")
    if not (0 < error < 1 and math.isfinite(seconds) and seconds > 0):
        raise OptionError("error must lie between 0 and 1, and seconds must be a finite number above 0.")
    if unknown := set(skip) - set(CHECKS):
        raise OptionError(f"unknown check {min(unknown)!r}; there are {', '.join(CHECKS)}.")
    target = target_of(what, takes, timeout)
    try:
        entropy = Entropy(seed if repeat else None)
        return _Audit(target, claim, Clock(seconds, now), error, entropy, watch).run(draws, words, seconds, skip, seed)
    finally:
        target.close()


class _Audit:
    """One audit in progress."""

    def __init__(
        self, target: Target, claim: Claim, clock: Clock, error: float, entropy: Entropy, watch: Watch
    ) -> None:
        self.target, self.claim, self.clock, self.entropy, self.watch = target, claim, clock, entropy, watch
        self.findings: list[Finding] = []
        self.unchecked: dict[str, str] = {}
        self.remarks: list[str] = []
        self.reasons: list[str] = []
        self.error = error

    def run(self, draws: int | None, words: int, seconds: float, skip: Collection[str], seed: int) -> Report:
        """Make every check that is not skipped, and report."""
        started = time.perf_counter()
        self.watch("choosing words", 0.0)
        ids = choose_suspects(self.claim, words, seed)
        self.words = [self.claim.space.vocabulary[one] for one in ids.tolist()]
        self.allowed = self.claim.between(ids)
        self.ids = ids
        self._find_near()
        try:
            rate = self._try_out(0.0 if draws else _TRYING)
            self.sizes = _Sizes.of(draws, rate, seconds, len(self.words))
            if not self.reasons:
                self.explored = self._explore()
        except OutOfTime:
            self.reasons.append("the time was over before anything could be measured")
        if not self.reasons:
            for number, (name, share) in enumerate(CHECKS.items()):
                self.watch(f"looking at {name}", (number + 0.5) / len(CHECKS))
                if name in skip:
                    self.unchecked[name] = "skipped"
                    continue
                try:
                    getattr(self, f"_look_at_{name}")(share * self.error)
                except OutOfTime:
                    self.unchecked[name] = "the time was over"
                    if name in _NEEDED:
                        self.reasons.append(f"the time was over before the check of {name} was done")
            self._judge(skip)
        if self.clock.quoting:
            kinds = ", ".join(sorted(self.clock.quoting))
            self.remarks.append(f"errors quote the text ({kinds}): keep them out of logs and answers")
        self.watch("done", 1.0)
        return Report(
            self.target.name,
            self.claim.to_dict(),
            sort_findings(self.findings),
            self.unchecked,
            self.remarks,
            self.reasons,
            self.error,
            self.clock.calls,
            time.perf_counter() - started,
            len(self.words),
            0 if self.reasons else self.sizes.explored,
        )

    def _judge(self, skip: Collection[str]) -> None:
        """Note why the audit cannot tell, if it cannot."""
        pairs = [one.case for one in self.findings if one.case and one.case.kind == "pair"]
        if not any(case.allowed < case.reach for case in pairs):
            least = self.allowed[np.isfinite(self.allowed) & ~np.eye(len(self.words), dtype=bool)].min(initial=math.inf)
            if "words" in skip or not pairs:
                self.reasons.append("no pair of words was measured")
            else:
                self.reasons.append(
                    f"the claim allows a loss of {least:.3g} or more between the words looked at, and "
                    f"{self.sizes.measured_on[0]:,} draws can show at most {max(case.reach for case in pairs):.3g}"
                )

    def _find_near(self) -> None:
        """Find the two words that may lose least, and a word beside them."""
        rows = np.where(np.eye(len(self.words), dtype=bool), math.inf, self.allowed)
        if not np.isfinite(rows).any():
            self.reasons.append("the claim covers no two of the words looked at")
        self.near = tuple(int(one) for one in np.unravel_index(rows.argmin(), rows.shape))
        self.beside = next((i for i in range(len(self.words)) if i not in self.near), self.near[0])

    def _try_out(self, seconds: float) -> float:
        """Call the target with some words. Return its calls per second, or note that it does not work."""
        started, done = self.clock.now(), 0
        outcomes: list[Any] = []
        while not done or (self.clock.now() - started < seconds and done < _LEAST_DRAWS**2):
            some = [self.words[(done + place) % len(self.words)] for place in range(max(_TRIED, done))]
            outcomes = self.clock.call(self.target, some)
            done += len(some)
            if done <= _TRIED:
                failed = [one.kind for one in outcomes if isinstance(one, Failure)]
                if 2 * len(failed) > len(outcomes):
                    self.reasons.append(f"most calls with known words fail ({failed[0]})")
                    break
        return done / max(1e-6, self.clock.now() - started)

    # The main question: which outputs tell two words apart?

    def _look_at_words(self, share: float) -> None:
        sizes = self.sizes.measured_on
        candidates = choose_candidates(self.words, self.allowed, self.explored, len(sizes))
        places = sorted({word for pair in candidates for word in pair})
        drawn = {word: sample(self.target, [self.words[word]], self.sizes.chosen_on, self.clock) for word in places}
        # With this many more draws, a search among these words finds more.
        again = pairs_in_excess(_table(drawn.values()), self.allowed[np.ix_(places, places)], 4 * len(sizes))
        for left, right in again:
            pair = places[left], places[right]
            if not {pair, pair[::-1]} & candidates.keys():
                candidates[pair] = "searched for"
        expected = []
        for pair, about in candidates.items():
            case = self._case(pair, about, share / len(sizes))
            lean = self._lean(pair, [drawn[word] for word in pair])
            expected.append(choose_events((drawn[pair[0]], drawn[pair[1]]), case, ["whole"], self._names(pair), lean))
        expected.sort(key=lambda one: -one[0])
        for (_, cases), draws in zip(expected, sizes, strict=False):
            these = [replace(case, draws=draws) for case in cases]
            self.findings.append(measure_any(self.target, these, self.clock))

    def _explore(self) -> NDArray[np.int64]:
        """Call every word a few times, and return how often each output was seen."""
        return _table(sample(self.target, [word], self.sizes.explored, self.clock) for word in self.words)

    def _lean(self, pair: tuple[int, int], drawn: list[list[Observation]]) -> dict[str, float]:
        """Return how much nearer each output is to the first word than to the second."""
        ids = self.claim.space.vocabulary.ids
        seen = sorted({one[-1] for some in drawn for one in some if isinstance(one[-1], str)} & ids.keys())
        if not seen:
            return {}
        rows = self.claim.space.distances(self.ids[list(pair)])[:, [ids[word] for word in seen]]
        with np.errstate(invalid="ignore"):
            return dict(zip(seen, np.nan_to_num(rows[1] - rows[0]).tolist(), strict=True))

    def _names(self, pair: Sequence[int]) -> list[str]:
        return [self.words[word].lower() for word in pair]

    def _case(self, pair: Sequence[int], about: str, error: float, **changed: Any) -> Case:
        left, right = pair
        distance = float(self.claim.space.distances(self.ids[[left]])[0, self.ids[right]])
        case = Case(
            "pair", about, (self.words[left],), (self.words[right],), float(self.allowed[left, right]),
            self.sizes.measured_on[0], error, self.claim.delta, distance if math.isfinite(distance) else None,
        )  # fmt: skip
        return replace(case, **changed)

    # Side questions: the company of a word.

    def _told_apart(self, case: Case, readings: Sequence[str], *, restart: bool = False) -> Finding:
        """Choose an event for two scripts, and measure it."""
        drawn = []
        for script in (case.left, case.right):
            if restart:
                self.target.restart()
            drawn.append(sample(self.target, script, case.draws, self.clock))
        _, chosen = choose_events((drawn[0], drawn[1]), case, readings, self._names(self.near))
        for one in chosen:
            one.event["restart"] = restart
        found = measure_any(self.target, chosen, self.clock)
        self.findings.append(found)
        return found

    def _look_at_sentences(self, share: float) -> None:
        if self._takes_words("sentences"):
            return
        beside, readings = self.words[self.beside], ["whole", "names", "words", "letters", "alike"]
        forms = {"in a sentence": f"{beside} $ {beside}", "twice in a text": f"{self.words[self.near[0]]} $"}
        for about, form in forms.items():
            left, right = ((form.replace("$", self.words[word]),) for word in self.near)
            case = self._case(self.near, about, share / 2, left=left, right=right, draws=self.sizes.aside)
            self._told_apart(case, [*readings, *(f"place:{place}" for place in range(3))])

    def _look_at_neighbours(self, share: float) -> None:
        if self._takes_words("neighbours"):
            return
        beside, leaks = self.words[self.beside], []
        for about, form, place in (("after", f"{beside} $", 0), ("before", f"$ {beside}", 1)):
            left, right = ((form.replace("$", self.words[word]),) for word in self.near)
            case = self._case(
                self.near, f"the word {about} it", share / 2, left=left, right=right, draws=self.sizes.aside
            )
            leaks.append(self._told_apart(case, [f"place:{place}"]).measured > 0)
        if any(leaks):
            self.remarks.append("what comes out for a word depends on the word beside it")

    def _takes_words(self, name: str) -> bool:
        if not self.target.is_text:
            self.unchecked[name] = "a call takes one word"
        return not self.target.is_text

    def _look_at_order(self, share: float) -> None:
        beside = self.words[self.beside]
        # Read two of three calls, because something that spans two calls begins with the first only half of the time.
        for about, reading, more in (("the call before", "whole", 1), ("two calls together", "session", 2)):
            left, right = ((self.words[word], *[beside] * more) for word in self.near)
            case = self._case(self.near, about, share / 2, left=left, right=right, draws=self.sizes.aside)
            found = self._told_apart(case, [reading], restart=not self.target.has_sessions)
            if found.measured > 0 and reading == "whole":
                self.remarks.append("what comes out for a text depends on the text before it")

    def _look_at_sessions(self, share: float) -> None:
        if not self.target.has_sessions:
            self.unchecked["sessions"] = "a call takes one text, so texts have no company"
            return
        beside = [self.words[place] for place in range(len(self.words)) if place not in self.near] or [self.words[0]]
        probes = tuple(beside[place % len(beside)] for place in range(_PROBES))
        names = self._names(self.near)
        event = {"reading": "leans", "keys": ["1"], "inside": True, "names": names, "fresh": True,
                 "says": "the other texts have the first word more often than the second"}  # fmt: skip
        case = self._case(
            self.near, "the texts beside it", share, left=(self.words[self.near[0]], *probes),
            right=(self.words[self.near[1]], *probes), draws=_SESSIONS, event=event,
        )  # fmt: skip
        found = measure(self.target, case, self.clock, self.entropy)
        self.findings.append(found)
        if found.measured > 0:
            self.remarks.append("what comes out for a text depends on the texts beside it")

    # What no draw should show.

    def _look_at_raw(self, share: float) -> None:
        known = self.words[self.beside]
        guessed = self.sizes.measured_on[0] // 2
        for told in look_at_unknown(self.target, self.claim, known, guessed, share, self.clock, self.entropy):
            if isinstance(told, str):
                self.remarks.append(told)
            else:
                self.findings.append(told)

    def _look_at_forms(self, share: float) -> None:
        """Write two known words as the space does not. What is claimed of unknown words then holds for them."""
        ids, told = self.claim.space.vocabulary.ids, []
        near_loss = float(self.allowed[self.near])
        for about, form in FORMS.items():
            left, right = ((form(self.words[word]),) for word in self.near)
            if {*left, *right} & ids.keys() or left == right or ("," in left[0] and not self.target.is_text):
                continue  # the space has them, or words cannot have commas
            case = self._case(
                self.near, f"known words {about}", share / len(FORMS), left=left, right=right, distance=None,
                allowed=max(self.claim.unknown, near_loss), draws=self.sizes.aside,
            )  # fmt: skip
            found = self._told_apart(case, ["whole"])
            if found.measured > near_loss and not found.breaks:
                told.append(about)
        if told:
            self.remarks.append(f"known words {' or '.join(told)} lose more than they may as the space writes them")

    def _look_at_repeats(self, share: float) -> None:
        agreeing = (self.explored**2).sum(axis=1)  # words whose calls agree least show most
        words = tuple(self.words[place] for place in np.argsort(agreeing, kind="stable")[:_REPEATING])
        for how in ("calls", "runs", "restarts", "forks"):
            if how == "forks" and (why := self._cannot_fork(words[0])):
                self.unchecked["forks"] = why
                continue
            if how == "restarts" and not self.target.restart():
                self.unchecked["restarts"] = "it cannot be started again from here"
                continue
            case = Case("repeats", f"whether {how} repeat", words, words, 0.0, 32, share / 4, event={"how": how})
            self.findings.append(measure(self.target, case, self.clock, self.entropy))

    def _cannot_fork(self, word: str) -> str | None:
        """Return why forks show nothing, or None if they answer."""
        forks = self.target.forked([word])
        if forks is None:
            return "only a function given by its name is forked"
        if any(isinstance(one, Failure) for fork in forks for one in fork):
            return "calls fail in a fork"  # as when they wait for threads or for a lock of another process
        return None

    def _look_at_time(self, share: float) -> None:
        if self.target.timed([self.words[self.beside]]) is None:
            self.unchecked["time"] = "single calls cannot be timed"
            return
        pairs = {tuple(sorted(self.near)), self._slow_and_fast()}
        for pair in sorted(pairs):
            if math.isfinite(self.allowed[pair]):
                case = self._case(pair, "how long a call takes", share / 2, kind="time", draws=_TIMED)
                _, chosen = choose_time(self.target, case, self.clock, self.entropy)
                found = measure(self.target, chosen, self.clock, self.entropy)
                self.findings.append(found)
                if found.measured > 0:
                    self.remarks.append("how long a call takes depends on the word")

    def _slow_and_fast(self) -> tuple[int, int]:
        """Return two words that seem to take different times, among those allowed to lose little."""
        count = len(self.words)
        order = self.entropy.generator.permutation(np.repeat(np.arange(count), _TRIED_TIMES))
        self.clock.timed(self.target, self.words)  # lets it do whatever it does on first use
        took = np.array(self.clock.timed(self.target, [self.words[place] for place in order]))
        middle = np.array([np.median(took[order == place]) for place in range(count)])
        gaps = np.where(self.allowed < _TIMED_LOSS, np.abs(middle[:, None] - middle), -1.0)
        np.fill_diagonal(gaps, -1.0)
        first, second = np.unravel_index(gaps.argmax(), gaps.shape)
        pair = (int(first), int(second)) if gaps.max() >= 0 else self.near
        return min(pair), max(pair)


def _table(drawn: Iterable[list[Observation]]) -> NDArray[np.int64]:
    """Return how often each output was seen, with a row for each word."""
    counts = [Counter(map(str, seen)) for seen in drawn]
    columns = {key: place for place, key in enumerate(sorted(set().union(*counts)))}
    table = np.zeros((len(counts), len(columns)), dtype=np.int64)
    for row, seen in zip(table, counts, strict=True):
        row[[columns[key] for key in seen]] = list(seen.values())
    return table
