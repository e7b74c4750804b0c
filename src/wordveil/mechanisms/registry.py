"""The list of mechanisms: one line each."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from wordveil.errors import WordveilError
from wordveil.mechanisms.density import Density
from wordveil.mechanisms.elastic import Elastic
from wordveil.mechanisms.exponential import Exponential
from wordveil.mechanisms.gaussian import Gaussian
from wordveil.mechanisms.graph import Graph
from wordveil.mechanisms.hyperbolic import Hyperbolic
from wordveil.mechanisms.hyperbolic_icdm19 import HyperbolicIcdm19
from wordveil.mechanisms.jaccard import Jaccard
from wordveil.mechanisms.knn_truncated import KnnTruncated
from wordveil.mechanisms.laplace import Laplace
from wordveil.mechanisms.mahalanobis import Mahalanobis
from wordveil.mechanisms.mechanism import Mechanism
from wordveil.mechanisms.nadp import Nadp
from wordveil.mechanisms.remapped import Remapped
from wordveil.mechanisms.ring import Ring
from wordveil.mechanisms.truncated import Truncated
from wordveil.mechanisms.vickrey import Vickrey
from wordveil.spaces import Space

__all__ = ["DEFAULT", "MECHANISMS", "mechanism", "option_names"]

MECHANISMS: dict[str, type[Mechanism[Any]]] = {
    kind.name: kind
    for kind in (
        Graph,
        Ring,
        Exponential,
        Truncated,
        KnnTruncated,
        Laplace,
        Vickrey,
        Mahalanobis,
        Density,
        Elastic,
        Gaussian,
        Nadp,
        Jaccard,
        Remapped,
        Hyperbolic,
        HyperbolicIcdm19,
    )
}

DEFAULT = Graph.name

_LARGEST_WHOLE = 1 << 31  # a k or m beyond this is a slip, and overflows the arrays it sizes
_WANTED = {
    "int": "a whole number",
    "float": "a finite number",
    "bool": "true or false",
    "str": "a name",
    "None": "none",
}


def mechanism(name: str, space: Space, *, epsilon: float, **options: Any) -> Mechanism[Any]:
    """Make a mechanism by its name.

    Parameters
    ----------
    name : str
        One of `MECHANISMS`.
    space : Space
        The words, from `wordveil.load_space`.
    epsilon : float
        The privacy loss per unit of the mechanism's distance.
    **options
        What that mechanism takes besides; see its class.

    Examples
    --------
    >>> import wordveil
    >>> graph = wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=2.5)
    >>> print(round(graph.probabilities("sea").sum(), 9))
    1.0
    """
    kind = MECHANISMS.get(name)
    if kind is None:
        raise WordveilError(f"there is no mechanism {name!r}; choose one of {', '.join(MECHANISMS)}.")
    known = option_names(kind)
    unknown = [option for option in options if option not in known]
    if unknown:
        takes = f"takes {', '.join(known)}" if known else "takes no options beside epsilon"
        raise WordveilError(f"the mechanism {name} has no option {unknown[0]!r}; it {takes}.")
    for option, value in options.items():
        wanted = str(inspect.signature(kind.__init__).parameters[option].annotation).split(" | ")
        if not any(_is(value, one) for one in wanted):
            told = " or ".join(_WANTED[one] for one in wanted)
            raise WordveilError(f"the option {option} of the mechanism {name} must be {told}.")
        if "int" in wanted and isinstance(value, float):
            options[option] = int(value)
    return kind(space, epsilon, **options)


def _is(value: object, wanted: str) -> bool:
    """Whether a value is what an option is annotated with; a boolean is no number here."""
    if wanted in ("bool", "str", "None"):
        return type(value).__name__.replace("NoneType", "None") == wanted
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    if wanted == "int":
        return -_LARGEST_WHOLE < value < _LARGEST_WHOLE and value == int(value)
    return abs(value) <= sys.float_info.max


def option_names(kind: type[Mechanism[Any]]) -> list[str]:
    """Return the options that a mechanism takes beside epsilon."""
    parameters = inspect.signature(kind.__init__).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
