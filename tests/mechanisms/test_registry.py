"""Making mechanisms by name."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tests.conftest import FLAT
from wordveil import mechanism
from wordveil.errors import OptionError, SpaceError
from wordveil.guarantee import Guarantee, Notion
from wordveil.spaces import EuclideanSpace, GraphSpace


@pytest.mark.parametrize("name", FLAT)
def test_each_has_a_name_a_summary_and_a_promise(name: str, toy: EuclideanSpace) -> None:
    made = mechanism(name, toy, epsilon=1.5)
    assert made.name == name
    assert made.summary
    assert made.family
    assert made.source
    promise = made.guarantee
    assert (promise.notion is Notion.NONE) == (made.in_brief == "none")
    assert promise.loss(2.0) == {Notion.METRIC: 3.0, Notion.APPROXIMATE: 1.5, Notion.NONE: math.inf}[promise.notion]
    assert Guarantee.from_dict(json.loads(json.dumps(promise.to_dict()))) == promise
    assert made.describe()["epsilon"] == 1.5
    assert made.draw(np.array([0, 1])).shape == (2,)


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, "3", None])
@pytest.mark.parametrize("name", FLAT)
def test_a_senseless_epsilon_is_refused(name: str, epsilon: float, toy: EuclideanSpace) -> None:
    with pytest.raises(OptionError, match="epsilon"):
        mechanism(name, toy, epsilon=epsilon)


def test_unknown_names_and_options(toy: EuclideanSpace) -> None:
    with pytest.raises(OptionError, match="graph"):
        mechanism("nothing", toy, epsilon=1)
    with pytest.raises(OptionError, match="prior, clip"):
        mechanism("exponential", toy, epsilon=1, k=3)
    with pytest.raises(OptionError):
        mechanism("laplace", toy, epsilon=1, k=3)
    with pytest.raises(OptionError, match="prior"):
        mechanism("exponential", toy, epsilon=1, prior="x")
    with pytest.raises(OptionError, match="clip"):
        mechanism("exponential", toy, epsilon=1, clip=0)


def test_graph_takes_a_ready_graph(toy: EuclideanSpace) -> None:
    ready = GraphSpace.of(toy, 2)
    assert mechanism("graph", ready, epsilon=1).space is ready
    with pytest.raises(OptionError):
        mechanism("graph", ready, epsilon=1, k=2)
    with pytest.raises(SpaceError):
        mechanism("ring", ready, epsilon=1)
    with pytest.raises(SpaceError):
        mechanism("graph", mechanism("ring", toy, epsilon=1).space, epsilon=1)


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("graph", "k", "abc"),
        ("graph", "k", 2.5),
        ("graph", "k", True),
        ("exponential", "clip", "far"),
        ("exponential", "clip", True),
        ("exponential", "prior", 3),
        ("gaussian", "delta", None),
        ("nadp", "join", 1),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(name: str, option: str, value: object, toy: EuclideanSpace) -> None:
    with pytest.raises(OptionError, match=f"option {option} "):
        mechanism(name, toy, epsilon=1.0, **{option: value})


def test_values_of_the_right_kind_are_taken(toy: EuclideanSpace) -> None:
    assert mechanism("graph", toy, epsilon=1.0, k=None).options() == {"k": 10, "first": 0.5}
    assert mechanism("exponential", toy, epsilon=1.0, clip=2).options()["clip"] == 2
