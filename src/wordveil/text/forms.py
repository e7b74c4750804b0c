"""Which characters spell words, where a sentence begins, and which words are written like a function word.

A function word is left alone only if it is written like one: in small letters, or with a capital where a sentence or a
line begins, and not joined to other words like the parts of an address, a path or a name in code. Otherwise it may be a
name (Dear Will), an initial (A. Smith), an acronym (US, IT, WHO) or part of an identifier, and is veiled like any other
word. The rule uses only the spelling of the word and the characters around it. If the word is left alone, the release
shows all of these, so a reader can apply the same rule.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import regex

from wordveil.kernels.words import FORM, GAP

__all__ = ["INSIDE", "SPELLS", "ends_in_word", "form_of", "gap_of", "starts_sentence", "written_plainly"]

#: Everything that can spell words, as a regular expression class: letters and digits, including turned, combining and
#: outlined ones, radicals, those in brackets, circles, squares or Braille, regional indicators, private-use letters,
#: invisible tags, and unassigned or broken code points. Signs for one thing (№, ℃, ™) are symbols.
SPELLS = (
    r"\p{Alphabetic}\p{N}\p{Co}\p{Cn}\p{Cs}\u1DCA\u2129\u213A\u2141-\u2144\u218A\u218B\uA8E0-\uA8F1"
    r"\u249C-\u24B5\u2800-\u28FF\u2E80-\u2FD5\u3190-\u319F\u3200-\u33FF\U00011366-\U00011374"
    r"\U0001CCD6-\U0001CCF9\U0001F100-\U0001F1FF\U0001F200-\U0001F251\U000E0000-\U000E007F"
)
#: The same, with characters that do not split a word: marks and joiners.
INSIDE = SPELLS + r"\p{M}\p{Cf}"

_INSIDE = regex.compile(f"[{INSIDE}]")

# Matched from the end of the gap backwards, where the next character decides each step: forwards, a long run of
# dots or line breaks would be tried again from each of them.
_SENTENCE_END = regex.compile(
    r"(?r)[.!?…。！？][\p{Pe}\p{Pf}\p{Po}\"']*\s+[\p{Ps}\p{Pi}\"'¿¡]*$|\n\s*\n\s*[\p{Ps}\p{Pi}\"']*$"
)
_CACHED_LENGTH = 64

# Characters that prose puts between two words without a space. Any others join them, as in an address or in code.
_PROSE = frozenset(",;!?…—–\"“”„«»‘’'‚‹›")
_BEFORE, _AFTER = frozenset("@#$~/\\_=&%^|+<{`-"), frozenset("@/\\_=|`~>}-")
# Function words that are also given names, even at the start of a sentence.
_NAMES = frozenset(("will", "may"))


def ends_in_word(piece: str) -> bool:
    """Whether the last character is one that words end in: true of every word, so it does not tell words apart."""
    last = piece[-1:]
    return last.isalnum() or (not last.isascii() and _INSIDE.match(last) is not None)


def starts_sentence(gap: str) -> bool:
    """Whether a sentence begins after a gap between two words, judged by punctuation alone."""
    return _short_gap(gap) if len(gap) <= _CACHED_LENGTH else _SENTENCE_END.search(gap) is not None


@lru_cache(maxsize=4096)
def _short_gap(gap: str) -> bool:
    return _SENTENCE_END.search(gap) is not None


def written_plainly(word: str, before: str, after: str, *, first: bool = False, last: bool = False) -> bool:
    """Whether a word is written like a function word, so that it may be left alone if it is spelt like one.

    Parameters
    ----------
    word : str
        The word.
    before, after : str
        The gaps before and after it.
    first, last : bool
        Whether it is the first word of its text or comes right after markup; whether it is the last word.

    Examples
    --------
    >>> [written_plainly(word, " ", " ") for word in ("all", "ALL", "Will", "I", "aLl")]
    [True, False, False, True, False]
    >>> written_plainly("The", ". ", " "), written_plainly("will", "", "@")
    (True, False)
    """
    if len(before) + len(after) + len(word) <= _CACHED_LENGTH:
        return _short_form(word, before, after, first, last)
    return _form(word, before, after, first, last)


def _form(word: str, before: str, after: str, first: bool, last: bool) -> bool:
    form, gap, behind = form_of(word), gap_of(before), gap_of(after)
    if form & FORM.SINGLE and behind & GAP.DOT:
        return False  # an initial
    if not (form & FORM.PLAIN or (form & FORM.CAPITAL and (first or gap & GAP.STARTS))):
        return False
    joins = gap & (GAP.BEFORE_OUT if first else GAP.BEFORE_IN) or behind & (GAP.AFTER_OUT if last else GAP.AFTER_IN)
    return not joins


def form_of(word: str) -> int:
    """Return the features of a word's spelling that decide whether it is written like a function word."""
    form = FORM.SINGLE if len(word) == 1 else 0
    if not word.isascii() and unicodedata.normalize("NFKC", word) != word:
        return form
    if word in ("I", word.lower()):
        return form | FORM.PLAIN
    return form if word[1:] != word[1:].lower() or word.lower() in _NAMES else form | FORM.CAPITAL


def gap_of(gap: str) -> int:
    """Return the features of a gap that decide how the words around it are written."""
    found = 0 if gap else GAP.EMPTY
    found |= GAP.SENTENCE if starts_sentence(gap) else 0
    found |= GAP.STARTS if found & GAP.SENTENCE or "\n" in gap else 0
    found |= GAP.DOT if gap[:1] == "." else 0
    for outside, before, after in ((False, GAP.BEFORE_IN, GAP.AFTER_IN), (True, GAP.BEFORE_OUT, GAP.AFTER_OUT)):
        found |= before if _joins(gap, outside, gap[-1:], _BEFORE) else 0
        found |= after if _joins(gap, outside, gap[:1], _AFTER) else 0
    return found


_short_form = lru_cache(maxsize=1 << 15)(_form)


def _joins(gap: str, outside: bool, nearest: str, signs: frozenset[str]) -> bool:
    """Whether a gap joins a word to another, or has a sign at which names start or end."""
    if not gap or gap.isspace():
        return False
    if nearest in signs:
        return True
    if outside or any(map(str.isspace, gap)):
        return False
    return not _PROSE.issuperset(gap.replace("...", "").replace("..", ""))
