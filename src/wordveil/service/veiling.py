"""Veils the texts of a request: checks limits, reuses kept draws, draws the rest, and charges before it answers."""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fastapi import Request

from wordveil.errors import InputError
from wordveil.service.budgets import Bill, Budgets
from wordveil.service.guard import CHARGED
from wordveil.service.metrics import REUSED, count_words
from wordveil.service.problems import Problem, problem_of
from wordveil.service.schemas import Way, check_characters
from wordveil.service.settings import Settings
from wordveil.service.state import Batcher, caller, state_of
from wordveil.service.sticky import Sticky
from wordveil.text import Counts, Document, Release, Replacement
from wordveil.text.tokens import has_more_words

__all__ = ["Drawn", "Scopes", "check_words", "details", "document", "price_messages", "veil_messages"]

Spans = Sequence[Sequence[int]]

_AGAIN = 0.01  # seconds until we check again what another request has claimed


class Drawn(NamedTuple):
    """The answer to a request."""

    results: list[dict[str, Any]]  # the text, and where words were redrawn
    counts: Counts
    reused: int  # how many texts reused draws of their conversation, and cost nothing
    budget_left: float | None
    guarantee_json: bytes

    @property
    def texts(self) -> list[str]:
        """The veiled texts, in order."""
        return [one["text"] for one in self.results]


async def veil_messages(
    request: Request,
    texts: Sequence[str],
    way: Way,
    *,
    conversation: str | None = None,
    **beside: Any,
) -> Drawn:
    """Veil texts together. A text that this caller had veiled in the same conversation returns the same draws.

    `beside` takes user (an end user), words, spans and people, as in a `PrivatizeRequest`.

    Raises a `Problem` if the settings, the key or a budget do not allow it. Then nothing was released or charged.
    """
    order = await _ordered(request, texts, way, conversation=conversation, **beside)
    if order.bill is None or conversation is None or not order.new:
        return await _drawn(request, order, is_kept=conversation is not None)
    sticky, owner = state_of(request).sticky, secrets.token_bytes(16)
    try:
        while (paid := await asyncio.to_thread(_claim, sticky, owner, order, state_of(request).budgets)) is None:
            await asyncio.sleep(_AGAIN)  # another request is paying for some of it
        new = {digest: one for digest, one in order.new.items() if digest not in paid}
        return await _drawn(request, order._replace(known=order.known | paid, new=new), is_kept=True)
    finally:
        await asyncio.to_thread(sticky.release, owner)


def _claim(sticky: Sticky, owner: bytes, order: _Order, budgets: Budgets) -> dict[bytes, dict[str, Any]] | None:
    """Claim what is new and return what is kept by now, or None while another request pays for it.

    Raises a `Problem` at once if a budget does not cover it, so that such requests do not wait for one another.
    """
    if order.bill is not None and not sticky.is_claimed(order.new):
        known = sticky.get(order.new)
        draws = sum(order.batcher.veil.shape(one).drawn for digest, one in order.new.items() if digest not in known)
        budgets.check(order.bill, draws)
    return sticky.claim(order.new, owner)


async def _drawn(request: Request, order: _Order, *, is_kept: bool) -> Drawn:
    """Draw what is new, charge for it, and keep it if it may be sent again."""
    state, key = state_of(request), caller(request)
    drawn = dict(zip(order.new, await order.batcher(list(order.new.values())) if order.new else [], strict=True))
    counts = _total(release.counts for release in drawn.values())
    left = None
    if order.bill is not None:
        request.scope[CHARGED] = True  # from here on we answer, however long it takes
        left = await asyncio.to_thread(state.budgets.charge, order.bill, counts.draws)
    reused = len(order.digests) - len(drawn)
    count_words(counts, key)
    if reused:
        REUSED.inc(reused)
    if not is_kept:
        results = [details(release) for release in drawn.values()]
        return Drawn(results, counts, 0, left, order.batcher.guarantee_json)
    made = {digest: {"result": details(one), "counts": one.counts.to_dict()} for digest, one in drawn.items()}
    if made:
        made = await asyncio.to_thread(state.sticky.put, made)
    found = [(order.known | made)[digest] for digest in order.digests]
    return Drawn(
        [one["result"] for one in found],
        _total(Counts(**one["counts"]) for one in found),
        reused,
        left,
        order.batcher.guarantee_json,
    )


def _total(counts: Iterable[Counts]) -> Counts:
    first, *others = [*counts] or [Counts()]
    return sum(others, first)


async def price_messages(request: Request, texts: Sequence[str], way: Way, **beside: Any) -> dict[str, Any]:
    """Return what `veil_messages` would charge for the same arguments."""
    order = await _ordered(request, texts, way, **beside)
    state, veil = state_of(request), order.batcher.veil

    def count() -> tuple[int, float | None]:
        draws = sum(veil.shape(one).drawn for one in order.new.values())
        return draws, None if order.bill is None else state.budgets.charge(order.bill, 0)

    draws, left = await asyncio.to_thread(count)
    of_one = veil.largest_loss if math.isfinite(veil.largest_loss) else None
    price = None if of_one is None else of_one * draws
    fits = left is None or (price is not None and price <= left)
    return {"draws": draws, "price_of_a_draw": of_one, "price": price, "budget_left": left, "fits": fits}


class _Order(NamedTuple):
    """What a request needs drawn, and what it has already."""

    batcher: Batcher
    bill: Bill | None
    digests: list[bytes]  # one per text, in order: the keys of kept draws
    known: dict[bytes, dict[str, Any]]  # kept draws
    new: dict[bytes, Document]  # texts to draw


async def _ordered(
    request: Request,
    texts: Sequence[str],
    way: Way,
    *,
    conversation: str | None = None,
    user: str | None = None,
    words: list[str] | None = None,
    spans: Sequence[Spans] | None = None,
    people: Sequence[str | None] | None = None,
) -> _Order:
    """Check a request and find which texts must be drawn."""
    state, key = state_of(request), caller(request)
    check_texts(texts, state.settings)
    batcher = await state.batcher(way, words)
    bill = state.budgets.bill(key, user, batcher.veil, state.pricer(way))
    whose = None if conversation is None else (key.name if key else "", user, conversation)
    scopes = Scopes(way.once, None if whose is None else state.sticky.digest("scope", *whose).hex())
    named = people or [None] * len(texts)
    asked = [
        document(text, None if spans is None else spans[number], scopes.of(named[number]))
        for number, text in enumerate(texts)
    ]
    known: dict[bytes, dict[str, Any]] = {}
    if whose is None:  # each text has a draw of its own
        digests = [number.to_bytes(4, "big") for number in range(len(asked))]
    else:
        how = way.model_dump(include=set(Way.model_fields))
        digests = [
            state.sticky.digest("message", *whose, how, words, one.text, one.spans, person)
            for one, person in zip(asked, named, strict=True)
        ]
        known = await asyncio.to_thread(state.sticky.get, digests)
    new = {digest: one for digest, one in zip(digests, asked, strict=True) if digest not in known}
    return _Order(batcher, bill, digests, known, new)


class Scopes:
    """Names the scopes in which equal words are drawn once, within a conversation or else within one request."""

    def __init__(self, once: str | None, conversation: str | None = None) -> None:
        self._once, self._mine = once, conversation or secrets.token_hex(16)

    def of(self, person: str | None) -> str | None:
        """Return the scope of a text: the named person's, or a new one if no person is named."""
        if self._once is None or self._once == "record":  # a text is a record
            return None
        if self._once == "file":
            return self._mine
        return secrets.token_hex(16) if person is None else f"{self._mine} person {person}"


def document(text: str, spans: Spans | None, scope: str | None) -> Document:
    """Make a document of a text and the places to veil in it."""
    return Document(text, None if spans is None else tuple((start, end) for start, end in spans), scope)


def details(release: Release) -> dict[str, Any]:
    """Return a veiled text as plain values."""
    places = [dict(zip(Replacement._fields, place, strict=True)) for place in release.replacements]
    return {"text": release.text, "replacements": places}


def check_texts(texts: Sequence[str], settings: Settings) -> None:
    """Refuse texts that are too many, too long or not valid Unicode."""
    if len(texts) > settings.texts:
        raise Problem(413, f"a batch may have at most {settings.texts:,} texts; send fewer, or a stream.")
    try:
        check_characters(texts)
    except InputError as error:
        raise problem_of(error) from None
    check_words(texts, settings)


def check_words(texts: Sequence[str], settings: Settings) -> None:
    """Refuse texts with too many words in total."""
    if sum(map(len, texts)) > settings.words and has_more_words(texts, settings.words):
        raise Problem(413, f"more than the {settings.words:,} words allowed at once; send less, or a stream.")
