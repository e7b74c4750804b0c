"""Shifts numbers, amounts, dates and times, with metric privacy of their own.

A value is read as an integer step on a line or a ring, shifted by exact discrete Laplace noise, and written in its
original form:

- a number or an amount: a logarithmic scale starting at 0, with 20 steps per factor of 10 (12% each), up to 10^15 in
  units of its last decimal;
- a date: days; without a year, a ring of 366 days; without a day, months;
- a time of day: a ring of 144 steps of ten minutes.

Proof. With ``a = e^-ε``, the noise x has probability ∝ ``a^|x|``, the same for every value. So the probabilities of
moving ``v`` and ``v'`` to the same step have a ratio of at most ``a^-|v-v'|``: ε for each step between them. Clamping
to a line, wrapping round a ring and writing the result depend only on the shifted step and the form. ∎

The form is released: the sign, the currency and its position, the suffix (k, m, bn), the number of decimals and their
mark, the order and marks of a date, and whether a time has seconds or a.m. and p.m. Nothing else that depends on the
value is kept: no thousands separators, leading zeros, short names of months or time zones.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from datetime import date
from typing import NamedTuple

import regex

from wordveil.noise import Entropy, discrete_laplace, exact_rate, laplace_radius

__all__ = ["DATE_ORDERS", "Mover", "Place", "read_value"]

#: How dates such as 3/4/2021 are read: day first or month first.
DATE_ORDERS = ("dmy", "mdy")

_STEPS = 20  # per factor of 10
_DECADES = 15
_CORE = regex.compile(r"\d+(?:[.,'’\u00a0\u2009\u202f\u066b\u066c]\d+)*")
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_MONTH_OF = {name[:3].lower(): number for number, name in enumerate(_MONTHS, 1)}
_YEAR_FIRST = regex.compile(r"(\d{4})([\-/.])(\d{1,2})\2(\d{1,2})")
_YEAR_LAST = regex.compile(r"(\d{1,2})([\-/.])(\d{1,2})\2(\d{4}|\d{2})")
_DAY_FIRST = regex.compile(
    r"(\d{1,2})(?:st|nd|rd|th)?(?:\s+of)?[\s\-./]+(\p{L}{3,9})\.?(?:[,\s\-./]+(\d{4}|['’]?\d{2}))?"
)
_MONTH_FIRST = regex.compile(r"(\p{L}{3,9})\.?\s+(?:(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?|(\d{4}))")
_CLOCK = regex.compile(
    r"(?i)(T?)(\d{1,2})(?:[:h](\d{2})(:\d{2}(?:[.,]\d+)?)?)?(?:\s?([ap])\.?m\.?)?(?:Z|\s?[+\-]\d{2}:?\d{2})?"
)
_OLDEST, _YOUNGEST = 1950, 2049  # the years that two digits stand for


class Place(NamedTuple):
    """A value as a step on its scale, with the function that writes another step in the same form."""

    step: int
    first: int
    last: int
    is_ring: bool
    write: Callable[[int], str]

    def moved(self, steps: int) -> str:
        """Return the value this many steps away, as text."""
        if self.is_ring:
            return self.write((self.step + steps) % (self.last + 1))
        return self.write(min(max(self.step + steps, self.first), self.last))


class Mover:
    """Shifts values with metric privacy.

    `epsilon` is the loss per step; `order` is how dates such as 3/4/2021 are read (dmy, mdy).

    Examples
    --------
    >>> mover = Mover(1.0)
    >>> mover.move([("AMOUNT", "$1,234.50"), ("DATE", "2021-05-12"), ("NUMBER", "½")], Entropy(3))
    ['$1122.01', '2021-05-12', None]
    """

    def __init__(self, epsilon: float, order: str = "dmy") -> None:
        self.rate = exact_rate(epsilon)
        self.order = order

    def move(self, values: Sequence[tuple[str, str]], entropy: Entropy) -> list[str | None]:
        """Shift values, each given with its kind; None for those that cannot be read."""
        noise = discrete_laplace(self.rate, len(values), entropy).tolist()
        places = [read_value(kind, written, self.order) for kind, written in values]
        return [None if place is None else place.moved(steps) for place, steps in zip(places, noise, strict=True)]

    def sentence(self) -> str:
        """Return the guarantee for values, in a sentence."""
        return (
            f"Numbers, amounts, dates and times have a guarantee of their own: a factor of e^{float(self.rate):g} for "
            "each step between two values of the same form. A step is 12% of a number or an amount, a day of a date (a "
            "month if it has no day), and ten minutes of a time; 99 in 100 values move by at most "
            f"{laplace_radius(self.rate):,} steps."
        )


def read_value(kind: str, written: str, order: str = "dmy") -> Place | None:
    """Read a value of this kind; return None if it cannot be read.

    Examples
    --------
    >>> place = read_value("DATE", "28 Feb 2021")
    >>> place.moved(1), place.moved(0)
    ('1 March 2021', '28 February 2021')
    """
    if any(unicodedata.category(one) == "Cn" for one in written):
        return None  # digits newer than Python's Unicode tables
    if kind == "DATE":
        return _date(written, order)
    return _time(written) if kind == "TIME" else _number(written)


def _number(written: str) -> Place | None:
    core = _CORE.search(written)
    before, after = ("", "") if core is None else (written[: core.start()], written[core.end() :])
    if core is None or any(unicodedata.category(one)[0] == "N" for one in before + after):
        return None  # fractions and other numeric characters
    is_ordinal = after in ("st", "nd", "rd", "th")
    marks = [one for one in core.group() if not one.isdecimal()]
    digits = [str(unicodedata.decimal(one)) for one in core.group() if one.isdecimal()]
    decimals = 0
    if marks and marks[-1] in ".,\u066b" and marks.count(marks[-1]) == 1:
        behind = len(core.group()) - core.group().rindex(marks[-1]) - 1
        decimals = behind if behind != 3 or len(marks) > 1 or digits[0] == "0" else 0
    mark, last = marks[-1] if decimals else "", _STEPS * _DECADES
    units = int("".join(digits))  # in units of the last decimal

    def write(step: int) -> str:
        count = str(round(10 ** (step / _STEPS) - 1)).rjust(decimals + 1, "0")
        whole = count[: len(count) - decimals] + mark + count[len(count) - decimals :]
        return before + whole + (_ordinal(int(count)) if is_ordinal else after)

    step = min(round(_STEPS * math.log10(1 + units)), last) if units < 10**_DECADES else last
    return Place(step, 0, last, is_ring=False, write=write)


def _ordinal(number: int) -> str:
    return "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _date(written: str, order: str) -> Place | None:  # noqa: PLR0911 - one for each form
    if match := _YEAR_FIRST.fullmatch(written):
        mark = match[2]
        return _days(int(match[1]), int(match[3]), int(match[4]), lambda _: f"%Y{mark}%m{mark}%d")
    if match := _YEAR_LAST.fullmatch(written):
        mark, (one, other) = match[2], (int(match[1]), int(match[3]))
        day, month = (one, other) if order == "dmy" else (other, one)
        form = f"%d{mark}%m{mark}" if order == "dmy" else f"%m{mark}%d{mark}"
        form += "%Y" if len(match[4]) == 4 else "%y"
        return _days(match[4], month, day, lambda _: form)
    if match := _DAY_FIRST.fullmatch(written):
        month = _MONTH_OF.get(match[2][:3].lower(), 0)
        if match[3] is None:
            return _day_of_year(month, int(match[1]), "{day} {month}")
        year = match[3].lstrip("'’")
        shown = "%Y" if len(year) == 4 else "%y"
        return _days(year, month, int(match[1]), lambda day: f"{day.day} {_MONTHS[day.month - 1]} {shown}")
    if match := _MONTH_FIRST.fullmatch(written):
        month = _MONTH_OF.get(match[1][:3].lower(), 0)
        if match[4] is not None:
            return _month(int(match[4]), month)
        if match[3] is None:
            return _day_of_year(month, int(match[2]), "{month} {day}")
        return _days(match[3], month, int(match[2]), lambda day: f"{_MONTHS[day.month - 1]} {day.day}, %Y")
    return None


def _days(year: int | str, month: int, day: int, form: Callable[[date], str]) -> Place | None:
    first, last = date.min, date.max
    if isinstance(year, str) and len(year) == 2:
        first, last = date(_OLDEST, 1, 1), date(_YOUNGEST, 12, 31)
        year = int(year) + (1900 if int(year) >= _OLDEST % 100 else 2000)
    try:
        step = date(int(year), month, day).toordinal()
    except ValueError:
        return None

    def write(step: int) -> str:
        found = date.fromordinal(step)
        shown = {
            "%Y": f"{found.year:04}",
            "%y": f"{found.year % 100:02}",
            "%m": f"{found.month:02}",
            "%d": f"{found.day:02}",
        }
        return regex.sub("%[Yymd]", lambda one: shown[one.group()], form(found))

    return Place(step, first.toordinal(), last.toordinal(), is_ring=False, write=write)


def _day_of_year(month: int, day: int, form: str) -> Place | None:
    start = date(2000, 1, 1).toordinal()  # a leap year
    try:
        step = date(2000, month, day).toordinal() - start
    except ValueError:
        return None

    def write(step: int) -> str:
        found = date.fromordinal(start + step)
        return form.format(day=found.day, month=_MONTHS[found.month - 1])

    return Place(step, 0, 365, is_ring=True, write=write)


def _month(year: int, month: int) -> Place | None:
    if not (month and year):
        return None
    step = 12 * year + month - 1
    return Place(step, 12, 12 * 10_000 - 1, is_ring=False, write=lambda at: f"{_MONTHS[at % 12]} {at // 12:04}")


def _time(written: str) -> Place | None:
    match = _CLOCK.fullmatch(written)
    if match is None:
        return None
    hour, minute, half = int(match[2]), int(match[3] or 0), (match[5] or "").lower()
    if minute > 59 or hour > 24 or (half and not 1 <= hour <= 12):
        return None
    if half:
        hour = hour % 12 + 12 * (half == "p")
    mark = "h" if "h" in written.lower() else ":"

    def write(step: int) -> str:
        now = 10 * step if match[3] else 60 * ((10 * step + 30) // 60)
        at, past = now // 60 % 24, now % 60
        shown = f"{(at - 1) % 12 + 1}" if half else f"{at:02}"
        shown += f"{mark}{past:02}" if match[3] else ""
        return match[1] + shown + (":00" if match[4] else "") + (f" {'ap'[at >= 12]}m" if half else "")

    return Place(round((60 * hour + minute) / 10) % 144, 0, 143, is_ring=True, write=write)
