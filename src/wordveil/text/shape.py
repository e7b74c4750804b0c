"""All of a text that a veil releases as it is."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Shape"]


class Shape(NamedTuple):
    """What a veil does not hide of a text: only texts of one shape are compared by its promise.

    Words left alone and whatever lies between words are in it as they are. In the place of a veiled word stands only
    what the draw goes by besides the word: that it is in the vocabulary, outside it or a number of some length, and its
    capitals where they are copied.

    Attributes
    ----------
    parts : tuple of str
        The pieces of the text, each with a sign of its kind.
    drawn : int
        How many of them are words of the vocabulary that are drawn anew; another text of the shape can differ in these
        and still be told from this one a little.
    """

    parts: tuple[str, ...]
    drawn: int
