"""What becomes of identifiers, values and markup, which are set apart from the words of a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from wordveil.errors import OptionError
from wordveil.noise import Entropy
from wordveil.text.identifiers import KINDS, VALUES, is_placeholder, markup_kept, placeholder
from wordveil.text.numbers import DATE_ORDERS, Mover, read_value

__all__ = ["IDENTIFIERS", "MARKUP", "NUMBERS", "NonWords", "Numbering", "drop"]

#: What may become of identifiers, of numbers, amounts, dates and times, and of markup.
IDENTIFIERS = ("placeholder", "drop", "veil", "selected")
NUMBERS = ("placeholder", "metric", "digits", "drop")
MARKUP = ("keep", "drop")

_BY_DIGITS = ("CARD", "IBAN", "PHONE")

Numbers = Callable[[str, str], int]


class Numbering:
    """Numbers the identifiers of each kind as they come, the same for the same one."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], int] = {}
        self._of_kind: Counter[str] = Counter()

    def __call__(self, kind: str, same: str) -> int:
        """Return the number of an identifier, given by what all its spellings share."""
        if (kind, same) not in self._seen:
            self._of_kind[kind] += 1
            self._seen[kind, same] = self._of_kind[kind]
        return self._seen[kind, same]


class NonWords:
    """Says what is set apart from the words of a text, and what is written in its place.

    `Veil` says what the options are.
    """

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
                raise OptionError(f"{option} cannot be {value!r}; choose one of {', '.join(values)}.")
        if (numbers == "metric") != (numbers_epsilon is not None):
            raise OptionError("`numbers='metric'` and `numbers_epsilon` go together: give both or neither.")
        if numbered and identifiers not in ("placeholder", "selected"):
            raise OptionError(
                "only placeholders are numbered: set `identifiers` to placeholder, or leave out `numbered`."
            )
        self.identifiers, self.numbers, self.markup, self.numbered = identifiers, numbers, markup, numbered
        self.mover = None if numbers_epsilon is None else Mover(numbers_epsilon, date_order)
        #: The kinds that are set apart; the words of others are veiled, all of them, and their digits redrawn.
        self.apart = frozenset(
            kind
            for kind in KINDS
            if kind == "MARKUP" or (numbers != "digits" if kind in VALUES else identifiers != "veil")
        )

    def describe(self) -> dict[str, Any]:
        """Say what the options are, in plain values."""
        moved = {} if self.mover is None else {
            "numbers_epsilon": float(self.mover.rate), "date_order": self.mover.order,
        }  # fmt: skip
        return {
            "identifiers": self.identifiers, "numbered": self.numbered, "numbers": self.numbers, **moved,
            "markup": self.markup,
        }  # fmt: skip

    def released(self) -> list[str]:
        """Say what of identifiers, values and markup is released, in sentences."""
        told = {
            "placeholder": "Where an identifier stood and of which kind it was (an e-mail address, a card) is "
            "released, and nothing else of it" + (", but which are the same." if self.numbered else "."),
            "drop": "Where an identifier was left out can often be told from what is around it.",
            "veil": "The form of identifiers is released: their punctuation, the number of their words, and the number "
            "of digits of each number in them.",
            "selected": "Identifiers that were not selected are released as they are; of the others the place and the "
            "kind" + (", and which are the same." if self.numbered else "."),
        }[self.identifiers]
        values = {
            "placeholder": "Where a number, an amount, a date or a time stood is released, and nothing else of it.",
            "metric": "The form of numbers, amounts, dates and times is released: signs, currencies, the number of "
            "decimals, the order of a date; what cannot be read as a value has a placeholder.",
            "digits": "Where a number stood is released, and how many digits it had.",
            "drop": "Where a number was left out can often be told from what is around it.",
        }[self.numbers]
        marks = "Names of HTML's elements, entities that stand for no letter, and headers of mails are released."
        return [told, values, *([marks] if self.markup == "keep" else [])]

    def shape(self, kind: str, written: str) -> str:
        """Return what of something set apart its replacement depends on, the moved value aside."""
        if kind == "MARKUP":
            return f"markup {markup_kept(written) if self.markup == 'keep' else ''}"
        if kind in VALUES and self.mover is not None and not is_placeholder(written):
            place = read_value(kind, written, self.mover.order)
            return f"{kind} {'' if place is None else place.write(place.first)}"
        return f"{kind} {_same(kind, written)}" if self.numbered and kind not in VALUES else kind

    def moved(self, found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return which of the things found, given with their kinds, are values to move."""
        return [one for one in found if one[0] in VALUES and not is_placeholder(one[1])] if self.mover else []

    def move(self, values: Sequence[tuple[str, str]], entropy: Entropy) -> list[str | None]:
        """Move values one by one; None for what cannot be read as a value."""
        return self.mover.move(values, entropy) if self.mover and values else []

    def write(self, found: Sequence[tuple[str, str]], moved: Iterator[str | None], number: Numbers) -> list[str]:
        """Return what replaces each of what was found in one text, given with its kind; empty for what is dropped.

        Of `moved` comes what the values of the text were moved to, and of `number` the number of an identifier.
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
    """Leave out what stands at some places, with the space before it; what would then touch is kept apart."""
    for place in places:
        pieces[place] = ""
        before, after, is_last = pieces[place - 1], pieces[place + 1], place + 2 == len(pieces)
        if before.endswith(" ") and (after or is_last):
            pieces[place - 1] = before[:-1]
        elif not before and not after and place > 1 and not is_last:
            pieces[place] = " "
