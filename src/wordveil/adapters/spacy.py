"""Veil a spaCy document, or any text with marked spans, and move the spans to their places in the new text.

Nothing is imported from spaCy: a document is anything with ``text`` and ``ents``, and a span anything with
``start_char``, ``end_char`` and ``label_``. So this works with other libraries that use the same attributes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple, TypeAlias

from wordveil.adapters._cells import check_veil
from wordveil.errors import InputError, OptionError
from wordveil.text import Document, Release, Veil

__all__ = ["Annotated", "privatize"]

#: Start and end in characters, and a label.
LabelledSpan: TypeAlias = tuple[int, int, str]


class Annotated(NamedTuple):
    """A veiled text with its spans.

    Attributes
    ----------
    text : str
        The veiled text.
    spans : list of (int, int, str)
        Where each given span is in the veiled text, in the order given, with its label. A span is empty if all its
        words were dropped. ``{"entities": spans}`` is what spaCy's training examples take.
    release : Release
        The release, with its guarantee and counts.
    """

    text: str
    spans: list[LabelledSpan]
    release: Release


def privatize(document: Any, veil: Veil, spans: Iterable[Any] | None = None, *, scope: Hashable = None) -> Annotated:
    """Veil a document and return it with its spans moved.

    A veil with ``select="spans"`` veils the words of the spans and leaves the others alone. Any other veil chooses
    words by its own selection, and the spans only move along.

    Parameters
    ----------
    document : spacy.tokens.Doc or str
        The text.
    veil : Veil
        Veils it.
    spans : iterable, optional
        Spans of the document, or tuples of start, end and, optionally, a label. By default the document's entities
        (``ents``).
    scope : hashable, optional
        For a veil with `once`: what the document belongs to, such as a person; see `wordveil.Document`.

    Raises
    ------
    InputError
        If a span lies outside the text, a plain text comes without spans, or the document has no text.
    OptionError
        If `veil` has the wrong type, or ``select="marked"``, which removes marks from the text and so shifts the given
        offsets.

    Examples
    --------
    >>> import wordveil
    >>> veil = wordveil.Veil(epsilon=4, select="spans", seed=1)
    >>> veiled = privatize("Mary Jones wrote.", veil, [(0, 10, "PERSON")])
    >>> start, end, label = veiled.spans[0]
    >>> veiled.text[end:], label
    (' wrote.', 'PERSON')
    """
    check_veil(veil)
    if veil.selection.kind == "marked":
        raise OptionError("a veil with select='marked' shifts the offsets of a text; use select='spans' here.")
    is_text = isinstance(document, str)
    text = document if is_text else getattr(document, "text", None)
    if spans is None:
        if is_text:
            raise InputError("a plain text needs its spans.")
        spans = getattr(document, "ents", None)
    if not isinstance(text, str) or spans is None:
        raise InputError(f"a {type(document).__name__} is neither a text nor a document with text and ents.")
    given = _all_plain(spans)
    for start, end, _ in given:
        if not 0 <= start <= end <= len(text):
            raise InputError("a span must have 0 <= start <= end <= the length of its text.")
    places = tuple((start, end) for start, end, _ in given) if veil.selection.kind == "spans" else None
    release = veil.together([Document(text, places, scope)])[0]
    return Annotated(release.text, _moved(given, release), release)


def _all_plain(spans: Iterable[Any]) -> list[LabelledSpan]:
    try:
        return [_plain(span) for span in spans]
    except (TypeError, ValueError, AttributeError, OverflowError):
        pass
    # Raised outside of the handler, so that the error does not keep the input alive as its context.
    raise InputError("the spans must be a list of (start, end), of (start, end, label) or of spaCy spans.")


def _plain(span: Any) -> LabelledSpan:
    if isinstance(span, (tuple, list)):
        start, end, *label = span
        return int(start), int(end), str(label[0]) if label else ""
    return int(span.start_char), int(span.end_char), str(span.label_)


def _moved(spans: list[LabelledSpan], release: Release) -> list[LabelledSpan]:
    """Return where spans of the original are in the release. One that cuts a replaced word takes the whole word."""
    words = release.replacements
    starts = [word.start for word in words]

    def between(offset: int, following: int) -> int:
        """Return the new place of an offset before the word `following` and not inside the one before it."""
        place = offset if not following else words[following - 1].new_end + offset - words[following - 1].end
        return min(place, words[following].new_start) if following < len(words) else place

    def start_of(offset: int) -> int:
        word = bisect_right(starts, offset) - 1
        if word < 0 or offset >= words[word].end:
            return between(offset, word + 1)
        # The replacement of a clitic starts with a space of its own, which belongs to no span.
        first, end = words[word].new_start, words[word].new_end
        return first + release.text.startswith(" ", first, end)

    def end_of(offset: int) -> int:
        word = bisect_left(starts, offset) - 1
        if word >= 0 and offset < words[word].end:
            return words[word].new_end
        return between(offset, word + 1)

    placed = ((start_of(start), end_of(end), label) for start, end, label in spans)
    return [(start, max(start, end), label) for start, end, label in placed]
