"""Who takes part in a comparison of all mechanisms."""

from __future__ import annotations

from typing import Any

from wordveil._mechanisms import MECHANISMS, Mechanism, NoiseMechanism
from wordveil.calibration import maker
from wordveil.engines import on_engine
from wordveil.lab.experiments.comparison import Contender
from wordveil.spaces import EuclideanSpace, PoincareSpace, Space

__all__ = ["entrant", "everyone"]

_ON_VECTORS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("graph", {}),
    ("graph", {"first": 1}),
    ("graph", {"k": 3, "first": 1}),
    ("graph", {"k": 0, "first": 1}),
    ("ring", {}),
    ("exponential", {}),
    ("exponential", {"prior": "frequency"}),
    ("exponential", {"prior": "density"}),
    ("truncated", {}),
    ("knn-truncated", {}),
    ("laplace", {}),
    ("vickrey", {}),
    ("mahalanobis", {}),
    ("density", {}),
    ("elastic", {}),
    ("remapped", {}),
    ("gaussian", {}),
    ("nadp", {}),
    ("jaccard", {}),
)
_ON_A_BALL: tuple[tuple[str, dict[str, Any]], ...] = (
    ("graph", {}),
    ("exponential", {}),
    ("hyperbolic", {}),
    ("hyperbolic-icdm19", {}),
)
_ON_A_GRAPH: tuple[tuple[str, dict[str, Any]], ...] = (("graph", {}), ("graph", {"first": 1}))


def everyone(space: Space, engine: str = "local") -> list[Contender]:
    """Return every mechanism that suits a space, the default one also with other graphs and costs.

    Parameters
    ----------
    space : Space
        The words.
    engine : {"local", "gpu"}
        Where mechanisms with noise draw; the others search no nearest words.
    """
    if isinstance(space, EuclideanSpace):
        who = _ON_VECTORS
    elif isinstance(space, PoincareSpace):
        who = _ON_A_BALL
    else:
        who = _ON_A_GRAPH
    return [entrant(_label(name, options), name, options, space, engine) for name, options in who]


def entrant(label: str, name: str, options: dict[str, Any], space: Space, engine: str = "local") -> Contender:
    """Return one mechanism that takes part.

    Parameters
    ----------
    label, name : str
        What it is called in tables, and in the registry.
    options : dict
        Its options beside ε.
    space : Space
        The words.
    engine : {"local", "gpu"}
        Where it draws, if it has noise.
    """
    has_noise = issubclass(MECHANISMS.get(name, Mechanism), NoiseMechanism)
    placed = on_engine(space, engine) if has_noise else space
    return Contender(label, maker(name, placed, **options), placed)


def _label(name: str, options: dict[str, Any]) -> str:
    """Return how the mechanism is asked for, NAME:OPTION=VALUE and so on."""
    told = ",".join(f"{option}={value}" for option, value in options.items())
    return f"{name}:{told}" if told else name
