"""What several routes need."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import Request, Response

from wordveil.service import metrics
from wordveil.service.problems import Problem
from wordveil.service.settings import Key, Settings
from wordveil.service.state import State
from wordveil.text import Counts, Release, tokenise

__all__ = ["caller", "check_query", "check_words", "count", "json_response", "release_details", "state_of"]


def state_of(request: Request) -> State:
    """Return what the application shares."""
    state: State = request.app.state.shared
    return state


def caller(request: Request) -> Key | None:
    """Return whose key the request came with."""
    key: Key | None = request.scope.get("wordveil.key")
    return key


async def check_query(request: Request) -> None:
    """Refuse options in the address that the route does not take, or that are given twice: one would not count."""
    known = {field.alias for field in request.scope["route"].dependant.query_params}
    given = [name for name, _ in request.query_params.multi_items()]
    if not known.issuperset(given):
        takes = f"takes only the options {', '.join(sorted(known))}" if known else "takes no options"
        raise Problem(422, f"this address {takes}; see /openapi.json.")
    if len(set(given)) < len(given):
        raise Problem(422, "an option is given twice in the address; give each once.")


def json_response(content: Any, status: int = 200) -> Response:
    """Make an answer of plain values."""
    return Response(orjson.dumps(content), status, media_type="application/json")


def release_details(release: Release) -> dict[str, Any]:
    """Return a veiled text as plain values."""
    return {"text": release.text, "replacements": [place._asdict() for place in release.replacements]}


def check_words(texts: list[str], settings: Settings) -> None:
    """Refuse texts that have too many words in all."""
    if sum(map(len, texts)) <= settings.words:  # so few characters cannot be more words
        return
    if sum(len(tokenise(text).keys) for text in texts) > settings.words:
        raise Problem(413, f"more than the {settings.words:,} words that are allowed at once; send less, or a stream.")


def count(counts: Counts) -> None:
    """Tell the metrics what became of words."""
    for way, words in counts.to_dict().items():
        if words and way != "words":
            metrics.WORDS.labels(way).inc(words)
