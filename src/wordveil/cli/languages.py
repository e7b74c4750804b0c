"""The language of texts, which must be that of the words they are veiled with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from wordveil.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from wordveil._mechanisms import Mechanism

_NO_SENSE = "little of the meaning will survive"


def language_and_check(
    made: Mechanism[Any], language: str | None, *, is_list_used: bool
) -> tuple[str, Callable[[list[str]], None]]:
    """Return the language of the function words, and what looks at texts and refuses or warns of another language.

    The language is the one that was given, else that of the space, else English. A list of function words is never
    applied to texts in another language, unless somebody says that they are in its own.
    """
    from wordveil.text import language_name

    drawn = _language_of(made)
    spoken = language or drawn or "en"
    if drawn not in ("", spoken):
        _warn(f"the words of the space are {language_name(drawn)}, not {language_name(spoken)}: {_NO_SENSE}.")

    def look(texts: list[str]) -> None:
        from wordveil.text import language_of

        found = language_of(texts).name
        if found in ("", spoken):
            return
        what = f"the texts seem to be {language_name(found)}, not {language_name(spoken)}"
        if is_list_used and language is None:
            raise InputError(
                f"{what}: give an embedding of their language with `space`, set `language` to {spoken} if that is "
                "theirs after all, or set `select` to all."
            )
        _warn(f"{what}: {_NO_SENSE}.")

    return spoken, look


def _language_of(made: Mechanism[Any]) -> str:
    """Return the language of the words that are drawn, "" if it cannot be told."""
    from wordveil.spaces import BUNDLED
    from wordveil.text import language_of_words

    name = made.space.name.split()[0]
    return "en" if name in BUNDLED else language_of_words(made.space.vocabulary.ids)


def _warn(sentence: str) -> None:
    typer.echo(f"wordveil: warning: {sentence}", err=True)
