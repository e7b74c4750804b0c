"""What is no text, no number or no list is refused by what it should be, and never quoted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conftest import make_space
from wordveil import Reader, Veil, load_space, mechanism
from wordveil.errors import InputError, OptionError, WordveilError

SPACE = make_space(40)
GRAPH = mechanism("graph", SPACE, epsilon=2.0)
NO_TEXTS = [None, 5, 5.0, float("nan"), True, b"canary", {"canary": 1}]


@pytest.mark.parametrize("wrong", [*NO_TEXTS, ["canary"], np.array(["canary"]), ("canary",)])
def test_what_is_no_text(wrong: Any) -> None:
    with pytest.raises(InputError) as caught:
        Veil(GRAPH)(wrong)
    assert "canary" not in str(caught.value)
    with pytest.raises(InputError):
        Reader(GRAPH).best(wrong)


@pytest.mark.parametrize("wrong", [*NO_TEXTS, "canary", [None], [b"canary"], [5]])
def test_what_are_no_texts(wrong: Any) -> None:
    for read in (lambda: list(Veil(GRAPH).many(wrong)), lambda: Reader(GRAPH).transform(wrong)):
        with pytest.raises(InputError) as caught:
            read()
        assert "canary" not in str(caught.value)
    assert len(list(Veil(GRAPH).many(np.array(["zqa", "zqb"])))) == 2


@pytest.mark.parametrize("wrong", ["4", None, [4], True, 0, -1, float("nan"), float("inf"), 10**400, 1e-300])
def test_what_is_no_epsilon(wrong: Any) -> None:
    with pytest.raises(OptionError):
        Veil(epsilon=wrong, space=SPACE)
    number: Any = np.int64(2)
    assert Veil(epsilon=number, space=SPACE).mechanism.epsilon == 2.0


def test_an_epsilon_in_place_of_the_mechanism_is_told_where_it_belongs() -> None:
    wrong: Any = 4
    with pytest.raises(OptionError) as caught:
        Veil(wrong)
    assert "epsilon=4" in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": -1}, {"seed": "a"}, {"seed": 1.5}, {"seed": True}, {"once": 5}, {"block": 5}, {"block": [5]},
        {"block": "a"},
        {"select": "words", "words": [5]}, {"select": "words", "words": "a"}, {"stop_words": [None]}, {"stop_words": 5},
    ],
)  # fmt: skip
def test_what_is_no_option(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        Veil(epsilon=2, space=SPACE, **wrong)


@pytest.mark.parametrize("wrong", [5, float("nan"), ["graph"], {"graph": 1}])
def test_what_is_no_name(wrong: Any) -> None:
    for make in (
        lambda: mechanism(wrong, SPACE, epsilon=2.0),
        lambda: Veil(epsilon=2.0, space=SPACE, language=wrong),
        lambda: Reader(GRAPH, kind=wrong),
        lambda: Reader.load(wrong),
    ):
        with pytest.raises(OptionError):
            make()


@pytest.mark.parametrize("wrong", [None, 5, b"x", ["glove-50k"], ""])
def test_what_is_no_space_or_report(wrong: Any) -> None:
    for read in (load_space, Reader.of_report):
        with pytest.raises(WordveilError):
            read(wrong)
    with pytest.raises(InputError):
        Veil(GRAPH).report(wrong)


@pytest.mark.parametrize("wrong", ["x", 0, 1.5, None])
def test_what_is_no_number_of_words(wrong: Any) -> None:
    with pytest.raises(OptionError):
        Reader(GRAPH).posterior("zqa", top=wrong)
