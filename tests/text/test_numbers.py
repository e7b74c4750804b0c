"""Values are moved with metric privacy, and written in the form they had."""

import math
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.conftest import ALPHA
from wordveil.noise import Entropy
from wordveil.text.identifiers import find_identifiers
from wordveil.text.numbers import Mover, Place, read_value


def read(kind: str, written: str, order: str = "dmy") -> Place:
    place = read_value(kind, written, order)
    assert place is not None
    return place


VALUES = [
    ("AMOUNT", "$1,234.50"),
    ("AMOUNT", "12 €"),
    ("AMOUNT", "EUR 5k"),
    ("NUMBER", "0"),
    ("NUMBER", "-42"),
    ("NUMBER", "87th"),
    ("NUMBER", "1.234,5"),
    ("NUMBER", "0.125"),
    ("DATE", "2021-05-12"),
    ("DATE", "3/4/21"),
    ("DATE", "31.12.9999"),
    ("DATE", "1 Jan 0001"),
    ("DATE", "May 5th"),
    ("DATE", "May 5, 2021"),
    ("DATE", "Feb 2020"),
    ("TIME", "5 pm"),
    ("TIME", "23:59"),
    ("TIME", "12:30:45"),
    ("TIME", "17h30"),
    ("TIME", "T10:20:30Z"),
]


@pytest.mark.parametrize(("kind", "written"), VALUES)
def test_what_is_written_is_of_the_same_kind_and_form(kind: str, written: str) -> None:
    place = read(kind, written)
    for steps in (-(10**7), -300, -7, -1, 0, 1, 7, 300, 10**7):
        moved = place.moved(steps)
        if kind != "NUMBER":  # a long number without marks looks like one of an account
            assert [one.end for one in find_identifiers(moved)] == [len(moved)]
            assert find_identifiers(moved)[0].kind == kind
            # The form does not depend on the value: the same place is written alike from everywhere.
            assert read(kind, moved).write(place.first) == place.write(place.first)


@pytest.mark.parametrize(
    ("kind", "written", "steps", "moved"),
    [
        ("DATE", "28 Feb 2021", 1, "1 March 2021"),
        ("DATE", "2020-02-28", 1, "2020-02-29"),
        ("DATE", "31/12/99", 1, "01/01/00"),
        ("DATE", "December 31", 1, "January 1"),
        ("DATE", "Dec 2020", 1, "January 2021"),
        ("TIME", "11:55 pm", 1, "12:10 am"),
        ("TIME", "23:50", 1, "00:00"),
        ("NUMBER", "0", -5, "0"),
        ("NUMBER", "100", 20, "999"),
        ("NUMBER", "1st", 4, "2nd"),
        ("AMOUNT", "$999", 20, "$9999"),
    ],
)
def test_steps(kind: str, written: str, steps: int, moved: str) -> None:
    assert read(kind, written).moved(steps) == moved


@pytest.mark.parametrize(
    ("kind", "written"),
    [("DATE", "31/02/2021"), ("DATE", "13/13/2021"), ("NUMBER", "½"), ("TIME", "25:00"), ("TIME", "13 pm")],
)
def test_what_is_no_value_is_not_read(kind: str, written: str) -> None:
    assert read_value(kind, written) is None


def test_the_order_of_a_date_is_stated_and_not_guessed() -> None:
    assert read("DATE", "03/04/2021", "dmy").moved(0) == "03/04/2021"
    assert read_value("DATE", "03/25/2021", "dmy") is None
    assert read("DATE", "03/25/2021", "mdy").moved(1) == "03/26/2021"


@given(st.dates(), st.integers(-(10**6), 10**6))
def test_moved_dates_are_valid(day: date, steps: int) -> None:
    moved = date.fromisoformat(read("DATE", day.isoformat()).moved(steps))
    assert moved == date.fromordinal(min(max(day.toordinal() + steps, 1), date.max.toordinal()))


@pytest.mark.parametrize("pair", [("7", "8"), ("0", "2"), ("900000000000000", "999999999999999"), ("$7", "$9")])
def test_the_promise_holds_for_every_output(pair: tuple[str, str]) -> None:
    """The exact law of the written output: the noise's, gathered over all places that are written alike."""
    rate = float(Mover(0.5).rate)
    laws = []
    for written in pair:
        place = read("NUMBER", written)
        law: dict[str, float] = {}
        for to in range(place.first, place.last + 1):
            steps = to - place.step
            fall = math.exp(-rate)
            chance = (1 - fall) / (1 + fall) * fall ** abs(steps)
            if to in (place.first, place.last):  # everything beyond stops here
                chance = fall ** abs(steps) / (1 + fall)
            law[place.write(to)] = law.get(place.write(to), 0.0) + chance
        assert sum(law.values()) == pytest.approx(1.0)
        laws.append((place.step, law))
    (one, left), (other, right) = laws
    assert left.keys() == right.keys()
    worst = max(abs(math.log(left[out] / right[out])) for out in left)
    assert worst <= rate * abs(one - other) + 1e-9


def test_moves_follow_the_law() -> None:
    mover, count = Mover(0.7), 20_000
    moved = mover.move([("DATE", "2021-05-12")] * count, Entropy(5))
    days = np.array([date.fromisoformat(str(one)).toordinal() for one in moved]) - date(2021, 5, 12).toordinal()
    fall = math.exp(-float(mover.rate))
    places = np.arange(-6, 7)
    chances = (1 - fall) / (1 + fall) * fall ** np.abs(places)
    seen = np.array([(days == place).sum() for place in places] + [(np.abs(days) > 6).sum()])
    assert stats.chisquare(seen, count * np.append(chances, 1 - chances.sum())).pvalue > ALPHA
