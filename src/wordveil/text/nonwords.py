"""Replaces identifiers, values and markup, which are set apart from the words of a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from wordveil.errors import OptionError
from wordveil.noise import Entropy
from wordveil.text.identifiers import KINDS, VALUES, is_placeholder, markup_kept, placeholder
from wordveil.text.numbers import DATE_ORDERS, Mover, read_value

__all__ = ["IDENTIFIERS", "MARKUP", "NUMBERS", "NonWords", "Numbering", "drop"]

#: The options for identifiers; for numbers, amounts, dates and times; and for markup.
IDENTIFIERS = ("placeholder", "drop", "veil", "selected")
NUMBERS = ("placeholder", "metric", "digits", "drop")
MARKUP = ("keep", "drop")

_BY_DIGITS = ("CARD", "IBAN", "PHONE")

Numbers = Callable[[str, str], int]


class Numbering:
    """Numbers the identifiers of each kind in order; the same identifier always gets the same number."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], int] = {}
        self._of_kind: Counter[str] = Counter()

    def __call__(self, kind: str, same: str) -> int:
        """Return the number of an identifier; `same` is what all its spellings share."""
        if (kind, same) not in self._seen:
            self._of_kind[kind] += 1
            self._seen[kind, same] = self._of_kind[kind]
        return self._seen[kind, same]


class NonWords:
    """Decides what is set apart from the words of a text, and what replaces it; `Veil` documents the options."""

    def __init__(
        self,
        identifiers: str = "placeholder",
        numbers: str = "placeholder",
        markup: str = "keep",
        *,
        numbers_epsilon: float | None = None,
        date_order: str = "dmy",
        numbered: bool = False,
    ) -> None:
        choices = {
            "identifiers": (identifiers, IDENTIFIERS), "numbers": (numbers, NUMBERS), "markup": (markup, MARKUP),
            "date_order": (date_order, DATE_ORDERS),
        }  # fmt: skip
        for option, (value, values) in choices.items():
            if value not in values:
                raise OptionError(f"unknown {option} {value!r}; choose one of {', '.join(values)}.")
        if (numbers == "metric") != (numbers_epsilon is not None):
            raise OptionError("`numbers='metric'` and `numbers_epsilon` go together: give both or neither.")
        if numbered and identifiers not in ("placeholder", "selected"):
            raise OptionError("`numbered` needs placeholders: set `identifiers` to placeholder, or leave it out.")
        self.identifiers, self.numbers, self.markup, self.numbered = identifiers, numbers, markup, numbered
        self.mover = None if numbers_epsilon is None else Mover(numbers_epsilon, date_order)
        #: The kinds that are set apart; all words of other kinds are veiled, and their digits redrawn.
        self.apart = frozenset(
            kind
            for kind in KINDS
            if kind == "MARKUP" or (numbers != "digits" if kind in VALUES else identifiers != "veil")
        )

    def describe(self) -> dict[str, Any]:
        """Describe the options in plain values."""
        moved = {} if self.mover is None else {
            "numbers_epsilon": float(self.mover.rate), "date_order": self.mover.order,
        }  # fmt: skip
        return {
            "identifiers": self.identifiers, "numbered": self.numbered, "numbers": self.numbers, **moved,
            "markup": self.markup,
        }  # fmt: skip

    def released(self) -> list[str]:
        """Return sentences about what is released of identifiers, values and markup."""
        identifiers = {
            "placeholder": "The position and the kind of an identifier (an e-mail address, a card) are released, and "
            "nothing else of it" + (", except which identifiers are the same." if self.numbered else "."),
            "drop": "The position of a dropped identifier can often be inferred from the text around it.",
            "veil": "The form of identifiers is released: their punctuation, the number of their words, and the number "
            "of digits of each number in them.",
            "selected": "Identifiers that were not selected are released as they are; of the others, the position and "
            "the kind" + (", and which are the same." if self.numbered else "."),
        }[self.identifiers]
        values = {
            "placeholder": "The position of a number, an amount, a date or a time is released, and nothing else of it.",
            "metric": "The form of numbers, amounts, dates and times is released: signs, currencies, the number of "
            "decimals, the order of a date. Values that cannot be read get a placeholder.",
            "digits": "The position of a number is released, and how many digits it had.",
            "drop": "The position of a dropped number can often be inferred from the text around it.",
        }[self.numbers]
        marks = (
            "Names of HTML elements, entities that do not stand for letters, and names of mail headers are released."
        )
        return [identifiers, values, *([marks] if self.markup == "keep" else [])]

    def shape(self, kind: str, written: str) -> str:
        """Return what the replacement of something set apart depends on, besides the value that is shifted."""
        if kind == "MARKUP":
            return f"markup {markup_kept(written) if self.markup == 'keep' else ''}"
        if kind in VALUES and self.mover is not None and not is_placeholder(written):
            place = read_value(kind, written, self.mover.order)
            return f"{kind} {'' if place is None else place.write(place.first)}"
        return f"{kind} {_same(kind, written)}" if self.numbered and kind not in VALUES else kind

    def moved(self, found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the values to shift among what was found, given with their kinds."""
        return [one for one in found if one[0] in VALUES and not is_placeholder(one[1])] if self.mover else []

    def move(self, values: Sequence[tuple[str, str]], entropy: Entropy) -> list[str | None]:
        """Shift values; None for those that cannot be read."""
        return self.mover.move(values, entropy) if self.mover and values else []

    def write(self, found: Sequence[tuple[str, str]], moved: Iterator[str | None], number: Numbers) -> list[str]:
        """Return the replacement of everything found in a text, given with its kind; "" for what is dropped.

        `moved` yields the shifted values of the text, and `number` returns the number of an identifier.
        """
        written = []
        for kind, original in found:
            how = self.markup if kind == "MARKUP" else self.numbers if kind in VALUES else self.identifiers
            new: str | None = "" if how == "drop" else None
            if how == "keep":
                new = markup_kept(original)
            elif how == "metric" and not is_placeholder(original):
                new = next(moved)
            elif self.numbered and kind not in VALUES:
                new = placeholder(kind, number(kind, _same(kind, original)))
            written.append(placeholder(kind) if new is None else new)
        return written


def _same(kind: str, written: str) -> str:
    """Return what two spellings of one identifier share."""
    return "".join(filter(str.isalnum, written)).upper() if kind in _BY_DIGITS else written.casefold()


def drop(pieces: list[str], places: Collection[int]) -> None:
    """Drop the pieces at some places, with the space before each, but keep their neighbours apart."""
    for place in places:
        pieces[place] = ""
        before, after, is_last = pieces[place - 1], pieces[place + 1], place + 2 == len(pieces)
        if before.endswith(" ") and (after or is_last):
            pieces[place - 1] = before[:-1]
        elif not before and not after and place > 1 and not is_last:
            pieces[place] = " "
