"""What happens to words that a callable cannot know: made-up ones of many shapes, in many places of a text."""

from __future__ import annotations

import math
from collections.abc import Iterator

from wordveil.audit.cases import RAW, SHAPES, Case, Clock, Finding, OutOfTime, measure
from wordveil.audit.claim import Claim
from wordveil.audit.targets import Failure, Target
from wordveil.noise import Entropy

__all__ = ["look_at_unknown"]

_CANARIES = 40  # made-up words of each shape
_AT_THE_END = 1  # of a long text, which is slow; one that comes through shows enough
_LONG = 600  # words
_FEW = 1000  # made-up words to tell apart where the claim allows more than can be shown
_OFTEN = 0.1  # how often a word must be guessed for a remark
_MOST_LOSS = 500.0  # nats; beyond that, made-up words would have hundreds of letters


def look_at_unknown(
    target: Target, claim: Claim, known: str, guessed: int, share: float, clock: Clock, entropy: Entropy
) -> Iterator[Finding | str]:
    """Call the target with made-up words. Yield findings worth reporting, and remarks, as they come.

    `known` is a word that the target knows, `guessed` how many words to tell apart, and `share` the error.
    """
    beyond = claim.unknown if math.isfinite(claim.unknown) else 0.0
    if beyond > _MOST_LOSS:
        yield f"made-up words were not tried: the claim allows a loss of {claim.unknown:.3g} between them"
        return
    contexts = {"$": ("", _CANARIES)}
    if target.is_text:
        contexts["we saw $ today"] = (" in a text", _CANARIES)
        contexts[f"{known} " * _LONG + "$"] = (" at the end of a long text", _AT_THE_END)
    tried = [
        (shape, context)
        for context, (_, canaries) in contexts.items()
        for shape in (SHAPES if canaries == _CANARIES else list(SHAPES)[:1])
    ]
    error = 0.5 * share / len(tried)
    through: list[str] = []
    try:
        for shape, context in tried:
            where, canaries = contexts[context]
            event = {"shape": shape, "context": context, "beyond": beyond - math.log(error / canaries)}
            case = Case("raw", shape + where, (known,), (), claim.unknown, canaries, error, claim.delta, None, event)
            found = measure(target, case, clock, entropy)
            if found.hits[0] or (shape, context) == tried[0]:
                yield found
            if found.hits[0] and found.output == RAW:
                through.append(f"{case.about} ({found.hits[0]} of {found.trials[0]})")
    except OutOfTime:
        if through:
            yield _came_through(through)
        raise
    if through:
        yield _came_through(through)
    else:
        is_reached = math.log(guessed) > beyond + 1.0
        case = Case(
            "guess", "unknown words told apart", (known,), (), claim.unknown, guessed if is_reached else _FEW,
            0.5 * share, claim.delta, None, {"context": "$"},
        )  # fmt: skip
        found = measure(target, case, clock, entropy)
        yield found
        if found.hits[0] > _OFTEN * case.draws:
            yield "unknown words have outputs of their own, by which they are told apart"
    outcome = clock.call(target, ["qzxvkjwq"])[0]
    if isinstance(outcome, Failure):
        yield f"a call with an unknown word fails ({outcome.kind})"


def _came_through(what: list[str]) -> str:
    return f"come out as they went in: {', '.join(what)}"
