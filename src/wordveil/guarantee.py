"""The guarantee of a mechanism, which travels with everything it releases."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum
from typing import Any

from wordveil.rounding import round_up

__all__ = ["Guarantee", "Notion"]

_ALL_PAIRS = "every two words of the vocabulary"


class Notion(str, Enum):
    """The kind of a guarantee."""

    METRIC = "metric differential privacy"
    APPROXIMATE = "approximate differential privacy"
    NONE = "none"


@dataclass(frozen=True)
class Guarantee:
    r"""A guarantee about one word, and its limits.

    For the notion ``METRIC``, all words ``w``, ``w'`` covered by `pairs` and every output ``y``:
    ``Pr[M(w)=y] <= exp(epsilon * d(w, w')) * Pr[M(w')=y]``. For the notion ``APPROXIMATE``, all words covered by
    `pairs` and every set ``S`` of outputs: ``Pr[M(w) in S] <= exp(epsilon) * Pr[M(w') in S] + delta``.

    Parameters
    ----------
    notion : Notion
        The kind of guarantee; ``Notion.NONE`` guarantees nothing.
    epsilon : float
        The loss, per unit of the metric for the notion ``METRIC``; infinite if nothing is guaranteed.
    metric : str
        The distance, as a phrase ("hops on the neighbour graph").
    unit : str
        The unit of the metric, as a noun ("hop").
    delta : float
        The additive slack of the notion ``APPROXIMATE``.
    pairs : str
        Which pairs of words the guarantee covers.
    caveats : tuple of str
        The limits of the guarantee, one sentence each.
    claim : str
        What the mechanism's paper claims, if it comes from one.

    Examples
    --------
    >>> promise = Guarantee(Notion.METRIC, 2.0, "hops on the neighbour graph", "hop")
    >>> promise
    <Guarantee: metric differential privacy, ε=2 per hop>
    >>> promise.loss(3)
    6.0
    >>> promise.void("a seed was given").notion.value
    'none'
    """

    notion: Notion
    epsilon: float
    metric: str
    unit: str
    delta: float = 0.0
    pairs: str = _ALL_PAIRS
    caveats: tuple[str, ...] = field(default=())
    claim: str = ""

    def loss(self, distance: float) -> float:
        """Return the largest log-ratio that the guarantee allows between two words at this distance."""
        if self.notion is Notion.METRIC:
            return self.epsilon * distance
        return self.epsilon if self.notion is Notion.APPROXIMATE else math.inf

    def void(self, reason: str) -> Guarantee:
        """Return a guarantee of nothing, with `reason` as a further caveat."""
        return replace(self, notion=Notion.NONE, epsilon=math.inf, delta=1.0, caveats=(*self.caveats, reason))

    def with_caveat(self, caveat: str) -> Guarantee:
        """Return the same guarantee with a further caveat."""
        return replace(self, caveats=(*self.caveats, caveat))

    def sentence(self) -> str:
        """Return the guarantee as a sentence."""
        if self.notion is Notion.NONE:
            return "No privacy is promised."
        power = _up(self.epsilon)
        factor = f"e^{f'({power})' if 'e' in power else power} ({_in_digits(self.epsilon)})"
        if self.notion is Notion.APPROXIMATE:
            return (
                "Exchanging one candidate word for another changes the probability of any set of outputs by a factor "
                f"of at most {factor}, plus {_up(self.delta, 2)} (covered: {self.pairs})."
            )
        covered = "" if self.pairs == _ALL_PAIRS else f" (covered: {self.pairs})"
        return (
            "Seeing an output changes the odds between two candidate words by a factor of at most "
            f"{factor} per {self.unit}{covered}."
        )

    def __str__(self) -> str:
        return self.sentence()

    def __repr__(self) -> str:
        per = f" per {self.unit}" if self.notion is Notion.METRIC else f", δ={_up(self.delta, 2)}"
        loss = "" if self.notion is Notion.NONE else f", ε={_up(self.epsilon)}{per}"
        limits = f", {len(self.caveats)} caveat{'s' * (len(self.caveats) > 1)}" if self.caveats else ""
        return f"<Guarantee: {self.notion.value if loss else 'no privacy'}{loss}{limits}>"

    def formula(self) -> str:
        """Return the guarantee as a formula."""
        if self.notion is Notion.NONE:
            return "no bound on Pr[M(w)=y] / Pr[M(w')=y]"
        if self.notion is Notion.APPROXIMATE:
            return f"Pr[M(w)∈S] ≤ exp({_up(self.epsilon)})·Pr[M(w')∈S] + {_up(self.delta, 2)} for {self.pairs}"
        covered = "" if self.pairs == _ALL_PAIRS else f", for {self.pairs}"
        return f"Pr[M(w)=y] ≤ exp({_up(self.epsilon)}·d(w,w'))·Pr[M(w')=y], d = {self.metric}{covered}"

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Guarantee:
        """Restore a guarantee from `to_dict`."""
        values = {one.name: plain[one.name] for one in fields(cls)}
        values["notion"] = Notion(values["notion"])
        values["epsilon"] = math.inf if values["epsilon"] is None else values["epsilon"]
        values["caveats"] = tuple(values["caveats"])
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as plain values for JSON; an infinite ε becomes None."""
        plain = asdict(self)
        plain["notion"] = self.notion.value
        plain["epsilon"] = self.epsilon if math.isfinite(self.epsilon) else None
        plain["caveats"] = list(self.caveats)
        plain["sentence"] = self.sentence()
        plain["formula"] = self.formula()
        return plain


def _up(value: float, digits: int = 6) -> str:
    """Return a bound as text in few digits, rounded up."""
    return f"{round_up(value, digits):g}"


def _in_digits(epsilon: float) -> str:
    """Return e^ε as text: three digits, rounded up; above a million, the next power of ten; more digits near 1."""
    if epsilon > math.log(1e6):
        return f"about 10^{math.ceil(epsilon / math.log(10))}" if math.isfinite(epsilon) else "infinity"
    if epsilon < 1e-6:
        return "hardly more than 1"
    if epsilon < 0.1:
        return f"about {1.0 + round_up(math.expm1(epsilon), 2):.9g}"
    factor = round_up(math.exp(epsilon))
    return f"about {factor:g}" if factor < 1000 else f"about {factor:,.0f}"
