"""The case of a replacement.

The vocabulary gives a word as it is written there. By default the first letter becomes a capital where a sentence
begins, which is seen from the punctuation alone; whether the original had a capital plays no part.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from wordveil.errors import WordveilError

__all__ = ["CASES", "capitals_of", "check_case", "copy_case", "starts_sentence"]

CASES = ("sentence", "lower", "copy")

# Matched from the end of the gap backwards, where each step is decided by the next character: forwards, a long row of
# dots or line breaks would be tried from each of them anew.
_END = regex.compile(r"(?r)[.!?…。！？][\p{Pe}\p{Pf}\p{Po}\"']*\s+[\p{Ps}\p{Pi}\"'¿¡]*$|\n\s*\n\s*[\p{Ps}\p{Pi}\"']*$")
_CACHED_LENGTH = 64


def check_case(case: str) -> str:
    """Return the name of the way, or refuse it."""
    if case not in CASES:
        raise WordveilError(f"there is no case {case!r}; choose one of {', '.join(CASES)}.")
    return case


def starts_sentence(gap: str) -> bool:
    """Whether a word after this gap begins a sentence."""
    return _short_gap(gap) if len(gap) <= _CACHED_LENGTH else _END.search(gap) is not None


@lru_cache(maxsize=4096)
def _short_gap(gap: str) -> bool:
    return _END.search(gap) is not None


def copy_case(model: str, word: str) -> str:
    """Write `word` in the case of `model`."""
    capitals = capitals_of(model)
    if capitals == "all":
        return word.upper()
    return word[:1].upper() + word[1:] if capitals == "first" else word


def capitals_of(model: str) -> str:
    """Return all that `copy_case` looks at: whether ``all`` letters are capitals, the ``first`` one, or ``none``."""
    if model.isupper() and len(model) > 1:
        return "all"
    return "first" if model[:1].isupper() else "none"
