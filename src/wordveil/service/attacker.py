"""Draws to look at, and what the strongest available reader guesses from them.

Nothing here is a release. Somebody who draws many times and picks the result they like best releases more than ε says.
So the answers are pieces, not texts, and keys with a budget can explore only the examples: otherwise exploring would be
a way around the budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from wordveil._mechanisms import Mechanism
from wordveil._mechanisms.attackers import ALONE, strongest
from wordveil.errors import WordveilError
from wordveil.progress import Watch, ignore
from wordveil.reading import Place, Reader
from wordveil.service.schemas import (
    AttackerFigure,
    CaseName,
    CountDetails,
    GuaranteeDetails,
    MechanismChoice,
    PolicyName,
    check_characters,
)
from wordveil.spaces import EuclideanSpace, PoincareSpace
from wordveil.text import Document, Release, Veil, language_name, language_of, language_of_words
from wordveil.text.tokens import lookup_key

__all__ = [
    "EXAMPLES",
    "SECONDS",
    "Attacker",
    "ExploreFacts",
    "ExploreRequest",
    "Explored",
    "explored",
    "make_attacker",
]

#: Texts that anyone may explore. No person wrote them.
EXAMPLES: dict[str, str] = {
    "A committee": "The committee met in Paris on Tuesday. Its chair, a doctor from Lyon, asked the hospital for more "
    "nurses and cheaper medicine. Nobody in the room knew that her brother had lost his job at the bank.",
    "A ticket": "My order 4471-9920 arrived on 3 May without the charger. I wrote to support@example.com twice, called "
    "+44 20 7946 0958, and nobody answered. Please refund the 49.90 to my card; my husband paid it.",
    "A clinic note": "The patient, a teacher of 46, has had chest pain since Monday and sleeps badly. She smokes, "
    "takes pills for her blood pressure, and fears that she will lose her licence.",
    "Another language": "Das Paket war nicht da, als ich nach Hause kam, und niemand konnte mir sagen, wo es ist. "
    "Ich habe dann bei der Post angerufen, aber auch dort wusste man nichts von dem Brief meiner Schwester.",
}

#: About how many seconds one processor takes to make a mechanism for 50,000 words, where it takes two or more (`warm`
#: in the settings logs the time). Shown while the first of its kind is made; then the service knows its own times.
SECONDS = {"bayes-remap": 29.0, "diffractor": 7.0, "gaussian": 6.0, "mahalanobis": 2.0}

_KINDS = {
    "context": "an attacker who reads words in context with a small network",
    "table": ALONE,
}
_LEARNT = " and has learnt the mechanism’s probabilities from its draws"
_FIRST = "Some first words at the station."
_NEAR = 50  # nearest words, as in the curves


class ExploreRequest(MechanismChoice):
    """A text to try settings on. Nothing that comes back is a release."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "The committee met in Paris.", "epsilon": 4.0, "draw": "1"}]}
    )

    text: str = Field(max_length=8000)
    select: Literal["content", "all", "marked"] = "content"
    oov: PolicyName = "replace"
    case: CaseName = "sentence"
    draw: str = Field(
        min_length=1,
        max_length=100,
        description="A name for this draw. The same name and settings give the same words again.",
    )
    guess: bool = Field(default=True, description="Whether to let an attacker guess.")

    @model_validator(mode="after")
    def _make_sense(self) -> ExploreRequest:
        check_characters((self.text, self.draw))
        return self


class AttackerDetails(BaseModel):
    """The attacker that guessed."""

    reader: Literal["context", "table"]
    name: str


class Piece(BaseModel):
    """A veiled word, or the text between two of them."""

    text: str | None = None
    kind: Literal["drawn", "outside", "numbers", "identifiers", "dropped"] | None = None
    was: str | None = None
    drawn: str | None = None
    guess: str | None = Field(
        default=None, description="The attacker's first guess; null where they saw no veiled word."
    )
    chance: float | None = Field(default=None, description="How likely they think it is.")
    right: bool | None = None
    near: bool | None = Field(
        default=None, description="Whether the drawn word is the original or one of its 50 most similar words."
    )


class PublicFigure(AttackerFigure):
    """How often an attacker guesses a veiled word in public prose."""

    sentence: str = Field(description="The same in words, as `wordveil explain` puts it.")


class Explored(BaseModel):
    """A draw to look at, and what an attacker guesses from it. It is not a release."""

    pieces: list[Piece]
    counts: CountDetails
    attacker: AttackerDetails | None = Field(
        description="The strongest reader available; null while it is being prepared, and if no guess was asked for."
    )
    preparing: bool = Field(description="Whether the attacker is still being prepared. If so, ask again for this draw.")
    progress: float = Field(description="How far that is, from 0 to 1.")
    words: int = Field(description="How many words were drawn.")
    guessed: int | None
    public: PublicFigure | None = Field(
        description="What the strongest attacker we measured guesses on public prose at this ε; null where none was "
        "measured, or where other words than content words are veiled."
    )
    alike: int
    draws: int = Field(description="How many draws a release would make. Equal words are drawn once.")
    loss: float | None = Field(description="The most that a release of this text could lose; null without a bound.")
    language: str | None = Field(description="The language of the text, if it is not the one of the space.")
    guarantee: GuaranteeDetails


class Example(BaseModel):
    """A text that anyone may explore."""

    name: str
    text: str


class ExploreFacts(BaseModel):
    """What this key may explore, and what the presets mean."""

    examples: list[Example]
    own_texts: bool = Field(description="Whether this key may explore texts of its own. With a budget, it may not.")
    needs_user: bool = Field(description="Whether a release must name an end user (user), who has a budget.")
    protection: dict[str, dict[str, float]] = Field(
        description="What each preset allows: the share of all veiled words that an attacker guesses (attacker), and "
        "the share they guess of the words that cannot be guessed without the draws (gain)."
    )
    seconds: dict[str, float] = Field(
        description="About how long a free processor takes to make each mechanism at a new ε, if more than two seconds."
    )
    presets: dict[str, dict[str, dict[str, float]]] = Field(description="The ε of each preset, by space and mechanism.")


class Attacker(NamedTuple):
    """The reader of a mechanism's draws, if its draws can be read at all."""

    reader: Reader | None
    select: str
    is_learnt: bool = False

    @property
    def told(self) -> dict[str, str] | None:
        """Which reader it is, in words."""
        if self.reader is None:
            return None
        return {"reader": self.reader.kind, "name": _KINDS[self.reader.kind] + (_LEARNT if self.is_learnt else "")}


def make_attacker(mechanism: Mechanism[Any], select: str, watch: Watch = ignore) -> Attacker:
    """Make the strongest reader available: in context with PyTorch and weights for the space, otherwise a table.

    If a mechanism's probabilities are only known from draws, a table is learnt from draws, which takes half a minute.
    """
    select = select if select in ("content", "all") else "spans"
    is_exact = mechanism.law().exact
    for kind in _KINDS if is_exact else ("table",):
        try:
            reader = Reader(mechanism, kind=kind, select=select)
            reader.posterior(Document(_FIRST, ((0, 4),) if select == "spans" else None), 1, watch=watch)
        except WordveilError:  # no PyTorch, no weights for this space, or nothing to read
            continue
        return Attacker(reader, select, not is_exact)
    return Attacker(None, select)


@lru_cache(maxsize=8)
def _language(space: EuclideanSpace | PoincareSpace) -> str:
    return language_of_words(space.vocabulary)


def explored(
    text: str, release: Release, veil: Veil, space: EuclideanSpace | PoincareSpace, attacker: Attacker | float
) -> dict[str, Any]:
    """Return what a draw shows to an analyst and to an attacker, or how far the attacker's preparation is."""
    old = veil.selection.prepare(Document(text)).text  # without marks
    ready = attacker if isinstance(attacker, Attacker) else None
    reader = None if ready is None else ready.reader
    guesses = {} if reader is None or ready is None else _guesses(release, reader, ready.select)
    pieces = list(_pieces(old, release, veil, guesses))
    drawn = [piece for piece in pieces if piece.get("kind") == "drawn"]
    _mark_near(drawn, veil, space)
    found, wanted = language_of([old]).name, _language(space)
    public = strongest(veil.mechanism) if veil.selection.kind == "content" else None
    return {
        "pieces": pieces,
        "counts": release.counts.to_dict(),
        "attacker": None if ready is None else ready.told,
        "preparing": not isinstance(attacker, Attacker),
        "progress": 1.0 if isinstance(attacker, Attacker) else attacker,
        "words": len(drawn),
        "guessed": None if reader is None else sum(piece["right"] for piece in drawn),
        "public": None if public is None else {**public.to_dict(), "sentence": public.sentence()},
        "alike": sum(piece["near"] for piece in drawn),
        "draws": release.counts.draws,
        "language": language_name(found) if found and wanted and found != wanted else None,
    }


def _guesses(release: Release, reader: Reader, select: str) -> dict[int, Place]:
    """Return the reader's first guess for each place of the draw, by where it starts."""
    spans = None
    if select == "spans":
        places = zip(release.replacements, release.kinds, strict=True)
        spans = tuple((one.new_start, one.new_end) for one, kind in places if kind in ("drawn", "outside"))
    return {place.start: place for place in reader.posterior(Document(release.text, spans), 1)}


def _pieces(old: str, release: Release, veil: Veil, guesses: dict[int, Place]) -> Iterator[dict[str, Any]]:
    at = 0
    vocabulary = veil.mechanism.space.vocabulary
    for place, kind in zip(release.replacements, release.kinds, strict=True):
        was, word = old[place.start : place.end], release.text[place.new_start : place.new_end]
        gap = len(word) - len(word.lstrip())
        if release.text[at : place.new_start + gap]:
            yield {"text": release.text[at : place.new_start + gap]}
        at = place.new_end
        piece: dict[str, Any] = {"kind": kind, "was": was, "drawn": word.strip()}
        if kind == "drawn":
            guess = guesses.get(place.new_start + gap)  # none for a function word, which looks like one left alone
            known = veil.lookup.id(was, lookup_key(was))
            piece |= {
                "guess": None if guess is None else guess.words[0],
                "chance": None if guess is None else guess.probabilities[0],
                "right": guess is not None and known is not None and guess.words[0] == vocabulary[known],
            }
        yield piece
    if release.text[at:]:
        yield {"text": release.text[at:]}


def _mark_near(drawn: list[dict[str, Any]], veil: Veil, space: EuclideanSpace | PoincareSpace) -> None:
    """Mark whether each drawn word is the original or one of the words most similar to it."""
    pairs = [[veil.lookup.id(piece[name], lookup_key(piece[name])) for name in ("was", "drawn")] for piece in drawn]
    if not drawn:
        return
    ids = np.array([was or 0 for was, _ in pairs], dtype=np.int64)
    distinct, which = np.unique(ids, return_inverse=True)
    around = space.neighbours(distinct, min(_NEAR, len(space) - 1))[0][which.ravel()]
    for piece, (was, is_now), near in zip(drawn, pairs, around, strict=True):
        piece["near"] = is_now is not None and (is_now == was or is_now in near)
