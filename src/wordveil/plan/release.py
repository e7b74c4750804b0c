"""A whole plan: a survey of the input, attacks on a sample, and a recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordveil import __version__
from wordveil.calibration import Maker
from wordveil.errors import InputError, OptionError
from wordveil.io import Plan, Reading, make_plan
from wordveil.plan.gates import Gate, Verdict, check
from wordveil.plan.presets import bound_of, choose, usual_epsilons
from wordveil.plan.recommendation import RULES, Recommendation, recommend
from wordveil.plan.records import Records
from wordveil.plan.survey import Sampled, Survey, survey
from wordveil.plan.trial import LEAST, Bench, Trial
from wordveil.progress import Watch, ignore, within
from wordveil.spaces import Space
from wordveil.stats import CONFIDENCE, Estimate
from wordveil.text import Veil

__all__ = ["DEFAULT_PROTECTION", "ReleasePlan", "epsilon_for", "plan_release"]

#: The default protection.
DEFAULT_PROTECTION = "balanced"

_SELECTIONS = ("content", "all")


@dataclass(frozen=True)
class ReleasePlan:
    """The findings of a plan, and its recommendation.

    Attributes
    ----------
    found : Survey
        What the input contains.
    described : dict
        The description of the mechanism, without ε.
    trials : list of Trial
        What attackers find and readers keep at several ε; empty if there are too few records.
    chosen : Trial or None
        The trial at the ε to release at; None if there is none.
    protect : str or None
        The protection asked for; None if an ε was given.
    is_fast : bool
        Whether the network was left out.
    known, attacked : int
        How many sampled records attackers know in clear, and how many are attacked.
    recommendation : Recommendation
        What to do.
    """

    found: Survey
    described: dict[str, Any]
    trials: list[Trial]
    chosen: Trial | None
    protect: str | None
    is_fast: bool
    known: int
    attacked: int
    recommendation: Recommendation

    def figures(self) -> dict[str, Estimate | float | None]:
        """Return the figures that can be required, by name; see `wordveil.plan.FIGURES`."""
        found, trial = self.found, self.chosen
        names = ("attacker", "gain", "repeats", "kept", "utility", "score", "epsilon")
        tried: dict[str, Estimate | float | None] = dict.fromkeys(names)
        if trial is not None:
            values = (
                trial.strongest.right, trial.gain, trial.repeats or 0.0, trial.kept, trial.utility, trial.score,
                trial.epsilon,
            )  # fmt: skip
            tried = dict(zip(names, values, strict=True))
        return {
            **tried,
            "coverage": found.coverage,
            "templated": found.templated,
            "repeated": found.repeated,
            "singled_out": found.records.singled_out,
            "identifiers": float(found.left_raw),
            "untouched": float(len(found.untouched)),
            "personal": float(len(found.personal)),
            "stops": float(len(self.recommendation.of("stop"))),
        }

    def check(self, gates: Sequence[Gate]) -> list[Verdict]:
        """Compare the figures with requirements."""
        return check(gates, self.figures())

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, without any text."""
        return {
            "wordveil": __version__,
            "confidence": CONFIDENCE,
            **self.described,
            "input": self.found.to_dict(),
            "protect": self.protect,
            "bound": None if self.protect is None else bound_of(self.protect)._asdict(),
            "fast": self.is_fast,
            "records_known_to_attackers": self.known,
            "records_attacked": self.attacked,
            "trials": [trial.to_dict() for trial in self.trials],
            "chosen": None if self.chosen is None else self.chosen.to_dict(),
            "recommendation": self.recommendation.to_dict(),
        }


def plan_release(
    source: Plan | str | Path,
    columns: Reading | Sequence[str],
    make: Maker,
    space: Space,
    *,
    epsilons: Sequence[float] = (),
    protect: str | None = None,
    select: str = "content",
    person: str | None = None,
    label: str | None = None,
    sample: int = 2000,
    seed: int = 0,
    fast: bool = False,
    once: str | None = "record",
    watch: Watch = ignore,
) -> ReleasePlan:
    """Survey an input, attack a sample of it, and recommend what to do. Nothing is written or released.

    Parameters
    ----------
    source : str or Path
        The file or folder.
    columns : sequence of str
        The columns to veil. If empty, those that seem to be text.
    make : callable
        Makes the mechanism for an ε; see `wordveil.calibration.maker`.
    space : Space
        The space of the mechanism.
    epsilons : sequence of float
        The ε to try. A single ε is taken as chosen, unless you ask for a protection.
    protect : {"strong", "balanced", "light"}, optional
        Choose the largest ε with this protection. Default: ``balanced``, unless a single ε is given.
    select : {"content", "all"}
        Which words are veiled.
    person, label : str, optional
        The column that identifies the person of a record, and the column that an analyst wants to predict from the
        text.
    sample : int
        How many records to try attacks on.
    seed : int
        Random seed of the sample and of all draws.
    fast : bool
        Leave out the network, which needs PyTorch and minutes.
    once : {"record", "person", "file"} or None
        The scope in which equal words would be drawn once.
    watch : callable
        Called with the progress.
    """
    if select not in _SELECTIONS:
        raise OptionError(f"attacks are tried for select {' or '.join(_SELECTIONS)} only.")
    plan = source if isinstance(source, Plan) else make_plan(Path(source))
    reading = columns if isinstance(columns, Reading) else Reading(tuple(columns))
    given = sorted(set(epsilons))
    asked = protect if protect is not None or len(given) == 1 else DEFAULT_PROTECTION
    bound = None if asked is None else bound_of(asked)
    tried = given or usual_epsilons(make, space, within(watch, 0.0, 0.05))
    veil = Veil(make(tried[0]), select=select, once=None if once is None else "record", unproven=True)
    found = survey(
        plan, reading, veil, person=person, label=label, sample=sample, seed=seed, watch=within(watch, 0.05, 0.2)
    )
    described = {name: value for name, value in veil.mechanism.describe().items() if name != "epsilon"}
    bench = chosen = None
    # If the space knows too few of the words, that alone is a reason not to release, so nothing is attacked.
    enough = sum(bool(record.texts) for record in found.sample) >= LEAST
    if enough and found.records.veiled and (found.coverage or 0.0) >= RULES.least_coverage:
        bench = Bench(found, make, space, select=select, is_fast=fast, once=once, seed=seed)
        if bound is None:
            bench.trial(tried[0], within(watch, 0.2, 0.5))
            chosen = bench.deepened(tried[0], within(watch, 0.5, 1.0))
        else:
            chosen = choose(bench, bound, tried, within(watch, 0.2, 1.0))
    return ReleasePlan(
        found=found,
        described={**described, "select": select},
        trials=[] if bench is None else bench.trials,
        chosen=chosen,
        protect=asked,
        is_fast=fast,
        known=0 if bench is None else bench.known,
        attacked=0 if bench is None else bench.attacked,
        recommendation=recommend(
            found,
            chosen,
            floor=0.0 if bench is None else bench.floor,
            protect=asked,
            is_fast=fast,
            once=once,
            has_label=label is not None,
            enough=enough,
            tried=() if bench is None else bench.trials,
        ),
    )


def epsilon_for(
    texts: Sequence[str],
    protect: str,
    make: Maker,
    space: Space,
    *,
    select: str = "content",
    fast: bool = False,
    seed: int = 0,
    watch: Watch = ignore,
) -> float:
    """Return the largest ε that gives a protection to texts, by the strongest attacker on these texts.

    Parameters
    ----------
    texts : sequence of str
        The texts, or a random sample: half of them serve as what attackers know, and half are attacked.
    protect : {"strong", "balanced", "light"}
        The strongest attacker guesses at most 10, 20 or 40% of the veiled words, and at most 5, 10 or 20% of those that
        cannot be guessed without the draws.
    make : callable
        Makes the mechanism for an ε; see `wordveil.calibration.maker`.
    space : Space
        The space of the mechanism.
    select : {"content", "all"}
        Which words are veiled.
    fast : bool
        Leave out the network, which needs PyTorch and minutes.
    seed : int
        Random seed of all draws.
    watch : callable
        Called with the progress.

    Raises
    ------
    InputError
        If no ε gives this protection.
    """
    records = [Sampled((text,), None) for text in texts]
    nothing = Records(len(records), 0, 0, 0.0, 1.0, 0.0, 0.0, is_exact=True)
    found = Survey([], ("",), nothing, None, records, [], 0)
    bench, bound = Bench(found, make, space, select=select, is_fast=fast, seed=seed), bound_of(protect)
    chosen = choose(bench, bound, usual_epsilons(make, space), watch)
    if chosen is None:
        few = bench.floor <= bound.attacker and any(bound.may_allow(trial) for trial in bench.trials)
        why = f"{len(texts):,} are too few to be sure of it" if few else "they are too similar"
        raise InputError(f"no ε can be shown to give these texts the protection {protect!r}; {why}.")
    return chosen.epsilon
