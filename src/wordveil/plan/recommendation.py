"""The rules by which a plan recommends a release, asks for something first, or advises against it.

The thresholds are defined here and explained in docs/plan.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wordveil.io.formats import listed
from wordveil.plan.presets import PROTECTION, Protection
from wordveil.plan.survey import Survey
from wordveil.plan.trial import LEAST, Trial

__all__ = ["RULES", "Advice", "Recommendation", "recommend"]


@dataclass(frozen=True)
class Rules:
    """The thresholds of the advice."""

    least_coverage: float = 0.5  # below this, do not release: most words would be replaced at random
    poor_coverage: float = 0.8  # below this, warn
    weakest: Protection = PROTECTION["light"]  # do not release if attackers find more than the weakest preset allows
    least_utility: float = 0.05  # do not release if a reader keeps less than this: it would be useless
    # Drop a column if more of its running text than this lies in phrases that recur from record to record.
    templated: float = 0.5
    recurring: float = 0.1  # draw words once if they recur in more records, or for more people, than this
    singled_out: float = 0.5  # warn if more records than this have a unique shape


#: The rules in use.
RULES = Rules()


@dataclass(frozen=True)
class Advice:
    """A piece of advice.

    Attributes
    ----------
    kind : {"stop", "first", "note"}
        A reason not to release, something to do first, or something to know.
    code : str
        The topic, for programs.
    sentence : str
        The advice, for people.
    """

    kind: str
    code: str
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Recommendation:
    """What to do.

    Attributes
    ----------
    epsilon : float or None
        The ε to release at; None if there are reasons not to release.
    advice : tuple of Advice
        The reasons, what to do first, and what else to know.
    columns : tuple of str
        The columns to veil.
    once : str or None
        The scope in which to draw equal words once; None to draw them each time.
    """

    epsilon: float | None
    advice: tuple[Advice, ...]
    columns: tuple[str, ...]
    once: str | None

    def of(self, kind: str) -> list[Advice]:
        """Return the advice of one kind."""
        return [one for one in self.advice if one.kind == kind]

    def to_dict(self) -> dict[str, Any]:
        """Return the recommendation as plain values."""
        return {
            "release": self.epsilon is not None,
            "epsilon": self.epsilon,
            "advice": [one.to_dict() for one in self.advice],
            "columns": list(self.columns),
            "once": self.once,
        }


def recommend(
    found: Survey,
    trial: Trial | None,
    *,
    floor: float,
    protect: str | None,
    is_fast: bool,
    once: str | None = "record",
    has_label: bool = False,
    enough: bool = True,
    tried: Sequence[Trial] = (),
) -> Recommendation:
    """Apply the rules.

    `trial` is the one at the ε to release at, or None if no ε gives the protection asked for. `floor` is the share of
    the veiled words that attackers guess without the draws. `protect` is None if an ε was given instead. `is_fast` says
    whether the network was left out, and `once` in what scope equal words are already drawn once. `has_label` says
    whether a label was given, and `enough` whether there were enough records to try attacks. `tried` are all trials.
    """
    stops, first = _stops(found, trial, floor, protect, tried, enough=enough), _first(found)
    notes = _notes(found, trial, is_fast=is_fast)
    if has_label and trial is not None and trial.score is None:
        notes.append(
            Advice(
                "note",
                "label",
                "These texts predict the label little better than without their veiled words, or most of its values "
                "occur once, so it cannot be said how much of it is kept.",
            )
        )
    wider = None
    if once in (None, "record") and found.people and found.people.recurring > RULES.recurring:
        wider, whose = "person", f"for {found.people.recurring:.0%} of the people"
    elif once is None and found.records.recurring > RULES.recurring:
        wider, whose = "record", f"in {found.records.recurring:.0%} of the records"
    if wider is not None:
        risk = ""
        if trial is not None and trial.repeats is not None:
            risk = f": an attacker who knows where it stands would find {trial.repeats.value:.0%} of such words"
        first.append(
            Advice(
                "first", "recurring",
                f"A word would be drawn more than once {whose}, and its draws add up{risk}. Draw equal words once for "
                f"each {wider}.",
            )
        )  # fmt: skip
    return Recommendation(
        epsilon=None if stops or trial is None else trial.epsilon,
        advice=(*stops, *first, *notes),
        columns=found.chosen,
        once=wider or once,
    )


def _stops(
    found: Survey, trial: Trial | None, floor: float, protect: str | None, tried: Sequence[Trial], *, enough: bool
) -> list[Advice]:
    bound, asked = (RULES.weakest, "light") if protect is None else (PROTECTION[protect], protect)
    said = [
        Advice(
            "stop",
            "coverage",
            f"The space knows only {column.coverage:.0%} of the words of {_named(column.name)}, so most of it would be "
            "replaced at random. Choose a space in the language of the texts.",
        )
        for column in found.texts
        if column.coverage is not None and column.coverage < RULES.least_coverage
    ]
    if not found.chosen:
        said.append(
            Advice("stop", "nothing", "No column seems to be text, so there is nothing to veil; name the columns.")
        )
    elif not found.records.veiled:
        said.append(Advice("stop", "nothing", "There is no word to veil in these columns."))
    elif not enough:
        said.append(
            Advice(
                "stop",
                "few",
                f"There are too few records with text ({len(found.sample)}; {LEAST} are needed) to try attacks, so no "
                "ε can be recommended: what attackers find depends on the texts. Plan all the records that you will "
                "ever release together, or see what an ε means for prose in general (`wordveil calibrate`).",
            )
        )
    if floor > bound.attacker:
        worst = [column.name for column in found.texts if column.templated > RULES.templated]
        is_some = worst and len(worst) < len(found.texts)
        advised = (
            f"Leave out {_named(*worst)}, and plan again."
            if is_some
            else "Release a category of each text instead, or veil all words."
        )
        said.append(
            Advice(
                "stop",
                "guessed",
                f"An attacker who knows other records of this kind guesses {floor:.0%} of these words without seeing a "
                f"draw, from the words left alone: more than the {bound.attacker:.0%} that {asked!r} allows, at any ε. "
                f"{found.templated:.0%} of the text is in phrases that recur. {advised}",
            )
        )
    if trial is None:
        if not said and any(bound.may_allow(one) for one in tried):
            said.append(
                Advice(
                    "stop",
                    "unsure",
                    f"No ε can be shown to give the protection {asked!r}: attackers were measured to guess and to gain "
                    f"no more than it allows, but {len(found.sample):,} records are too few to be sure, because the "
                    "upper ends of the intervals count. Plan more records, or ask for less protection.",
                )
            )
        elif not said:
            said.append(
                Advice(
                    "stop",
                    "no_epsilon",
                    f"No ε gives the protection {protect!r}: at every ε tried attackers guess more than "
                    f"{bound.attacker:.0%} of the words, or gain more than {bound.gain:.0%} from the draws. The texts "
                    "are too similar; remove templates from them, or ask for less protection.",
                )
            )
        return said
    if trial.gain.high > RULES.weakest.gain or (floor <= bound.attacker and trial.most > RULES.weakest.attacker):
        said.append(
            Advice(
                "stop", "gained",
                f"At ε = {trial.epsilon:g} the strongest attacker may guess {trial.most:.0%} of the veiled words, and "
                f"the draws may reveal {trial.gain.high:.0%} of those that cannot be guessed without them. The weakest "
                f"preset allows {RULES.weakest.attacker:.0%} and {RULES.weakest.gain:.0%}. Choose a smaller ε.",
            )
        )  # fmt: skip
    # A score says more than vectors, but only if it is clearly above the score without the veiled words.
    useful = trial.score if trial.score is not None and trial.score.low > 0.0 else trial.utility or trial.score
    if useful is not None and useful.value < RULES.least_utility:
        said.append(
            Advice(
                "stop", "useless",
                f"At ε = {trial.epsilon:g} a reader keeps next to nothing of the texts ({max(0.0, useful.value):.0%} "
                "of the way from no words to clean text), so the release would cost privacy and be useless.",
            )
        )  # fmt: skip
    return said


def _first(found: Survey) -> list[Advice]:
    said = []
    if found.lacking and found.missing == "refuse":
        said.append(
            Advice(
                "first",
                "missing",
                f"{_lacking(found)}, and privatize refuses them: give every record its text, or null, or have them "
                "passed on as they are.",
            )
        )
    if found.untouched:
        names = _named(*(column.name for column in found.untouched))
        said.append(Advice("first", "untouched", f"Veil or drop {names}: that is text and would stay as it is."))
    if found.personal:
        names = ", ".join(f"{listed([column.name])} ({column.kind})" for column in found.personal)
        said.append(
            Advice(
                "first", "personal",
                f"Drop these columns or replace their values, which identify people or things: {names}. privatize "
                "leaves them as they are.",
            )
        )  # fmt: skip
    templated = [column for column in found.texts if column.templated > RULES.templated]
    if templated:
        shares = ", ".join(f"{column.templated:.0%} of {_named(column.name)}" for column in templated)
        said.append(
            Advice(
                "first", "templated",
                f"{shares} is in phrases that recur from record to record: macros, forms or signatures. Remove them, "
                "or release the name of the template instead of the text.",
            )
        )  # fmt: skip
    poor = [
        column for column in found.texts
        if column.coverage is not None and RULES.least_coverage <= column.coverage < RULES.poor_coverage
    ]  # fmt: skip
    if poor:
        shares = ", ".join(f"{column.coverage:.0%} of {_named(column.name)}" for column in poor)
        said.append(
            Advice(
                "first",
                "coverage",
                f"The space knows only {shares}. Choose a space for the language and field of the texts.",
            )
        )
    return said


def _notes(found: Survey, trial: Trial | None, *, is_fast: bool) -> list[Advice]:
    said = []
    records = found.records
    if records.singled_out > RULES.singled_out:
        said.append(
            Advice(
                "note", "singled_out",
                f"{records.singled_out:.0%} of the records have a unique shape: the words left alone, the punctuation "
                "and the number of words. Anyone who knows such a text finds its record, at any ε. If all words were "
                f"veiled, it would be {records.singled_out_bare:.0%}.",
            )
        )  # fmt: skip
    if found.identifiers:
        counts = ", ".join(f"{count:,} {kind}" for kind, count in found.identifiers.items())
        said.append(
            Advice(
                "note", "identifiers", f"privatize replaces these identifiers in the texts by placeholders: {counts}."
            )
        )
    foreign = [column for column in found.texts if column.language not in ("", "en")]
    if foreign:
        names = ", ".join(f"{_named(column.name)} ({column.language})" for column in foreign)
        said.append(
            Advice("note", "language", f"Not in English: {names}. Choose function words and a space for that language.")
        )
    if is_fast and trial is not None:
        said.append(
            Advice(
                "note", "fast",
                "The network that reads texts in context was left out. It needs no record in clear, and may find more.",
            )
        )  # fmt: skip
    if found.lacking and found.missing == "pass":
        said.append(Advice("note", "missing", f"{_lacking(found)}; they would be released as they are."))
    if found.skipped:
        said.append(Advice("note", "skipped", f"Files of the folder that are not read: {found.skipped:,}."))
    return said


def _lacking(found: Survey) -> str:
    return f"{found.lacking:,} of {found.records.records:,} records lack a key to veil"


def _named(*columns: str) -> str:
    if columns == ("",):
        return "the text"
    return f"the column{'s' if len(columns) > 1 else ''} {listed(columns)}"
