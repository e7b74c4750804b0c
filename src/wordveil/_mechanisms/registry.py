"""The registry of mechanisms: one line each."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, TypeVar

from wordveil._mechanisms.base import Mechanism, option_names, option_parameters
from wordveil._mechanisms.bayes_remap import BayesRemap
from wordveil._mechanisms.custext import Custext
from wordveil._mechanisms.density import Density
from wordveil._mechanisms.diffractor import Diffractor
from wordveil._mechanisms.elastic import Elastic
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.gaussian import Gaussian
from wordveil._mechanisms.graph import Graph
from wordveil._mechanisms.hyperbolic import Hyperbolic
from wordveil._mechanisms.hyperbolic_icdm19 import HyperbolicIcdm19
from wordveil._mechanisms.jaccard import Jaccard
from wordveil._mechanisms.knn_truncated import KnnTruncated
from wordveil._mechanisms.laplace import Laplace
from wordveil._mechanisms.mahalanobis import Mahalanobis
from wordveil._mechanisms.nadp import Nadp
from wordveil._mechanisms.polar import Polar
from wordveil._mechanisms.remapped import Remapped
from wordveil._mechanisms.ring import Ring
from wordveil._mechanisms.santext_plus import SantextPlus
from wordveil._mechanisms.tem_quotient import TemQuotient
from wordveil._mechanisms.truncated import Truncated
from wordveil._mechanisms.vickrey import Vickrey
from wordveil.errors import OptionError
from wordveil.spaces import Space

MechanismT = TypeVar("MechanismT", bound=Mechanism[Any])

MECHANISMS: dict[str, type[Mechanism[Any]]] = {
    kind.name: kind
    for kind in (
        Graph,
        Ring,
        Exponential,
        Truncated,
        KnnTruncated,
        Diffractor,
        BayesRemap,
        Laplace,
        Polar,
        Vickrey,
        Mahalanobis,
        Density,
        Elastic,
        Gaussian,
        Nadp,
        Jaccard,
        Remapped,
        Custext,
        SantextPlus,
        TemQuotient,
        Hyperbolic,
        HyperbolicIcdm19,
    )
}

DEFAULT = Graph.name

#: Other names of our mechanisms: the name here, and why the two are the same.
ALIASES: dict[str, tuple[str, str]] = {
    "santext": (Exponential.name, "SanText (Yue et al. 2021) draws ∝ exp(-ε·distance/2) from all words."),
    "tem": (Truncated.name, "TEM (Carvalho et al. 2021), with ⊥ as likely as the far words together, has this law."),
    "cmp": (Laplace.name, "Calibrated multivariate perturbations (Feyisetan et al. 2020) are Laplace noise."),
}


def kind_named(name: str) -> type[Mechanism[Any]]:
    """Return the class of a mechanism by its name or an alias."""
    if not isinstance(name, str):  # an unhashable name would raise a TypeError below
        raise OptionError(f"expected the name of a mechanism, not a {type(name).__name__}.")
    kind = MECHANISMS.get(ALIASES[name][0] if name in ALIASES else name)
    if kind is None:
        raise OptionError(f"unknown mechanism {name!r}; choose one of {', '.join(MECHANISMS)}.")
    return kind


def mechanism(name: str, space: Space, *, epsilon: float, **options: Any) -> Mechanism[Any]:
    """Create a mechanism by name.

    Parameters
    ----------
    name : str
        The name, as listed by `wordveil mechanisms`.
    space : Space
        The words and their distance, from `wordveil.load_space`.
    epsilon : float
        The privacy loss per unit of the mechanism's distance.
    **options
        The mechanism's own options; see its class.

    Examples
    --------
    >>> import wordveil
    >>> graph = wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=4)
    >>> graph.epsilon, graph.guarantee.unit
    (4.0, 'hop')
    """
    kind = kind_named(name)
    known = option_names(kind)
    unknown = [option for option in options if option not in known]
    if unknown:
        takes = f"takes {', '.join(known)}" if known else "takes no options besides epsilon"
        raise OptionError(f"the mechanism {name} has no option {unknown[0]!r}; it {takes}.")
    for option, value in options.items():
        _check_value(kind, option, value)
    return kind(space, epsilon, **options)


def register(kind: type[MechanismT]) -> type[MechanismT]:
    """Register a mechanism, so that every command, the service and Spark know it by name; use it as a decorator.

    The registry is per process: import the module that registers a mechanism in every process that uses it.

    Parameters
    ----------
    kind : type of Mechanism
        The class. It must define ``name``, ``family``, ``summary``, ``in_brief`` and ``source``. Its keyword-only
        parameters become the mechanism's options.

    Raises
    ------
    OptionError
        If the class is not a complete mechanism, or its name is taken.
    """
    if not (isinstance(kind, type) and issubclass(kind, Mechanism)):
        raise OptionError("only a subclass of wordveil.Mechanism can be registered.")
    wanted = ("name", "family", "summary", "in_brief", "source")
    missing = sorted(kind.__abstractmethods__) + [one for one in wanted if not getattr(kind, one, "")]
    if missing:
        raise OptionError(f"{kind.__name__} cannot be registered: it does not define {', '.join(missing)}.")
    if kind.name in ALIASES or MECHANISMS.setdefault(kind.name, kind) is not kind:
        raise OptionError(f"{kind.__name__} cannot be registered: the name {kind.name!r} is taken.")
    return kind


_LARGEST_WHOLE = 1 << 31  # a k or m beyond this overflows the arrays it sizes
_LARGEST_REAL = 1e300

#: For each type that an option's signature may name: the accepted class, and what to call it in messages.
_KINDS: dict[str, tuple[type, str]] = {
    "bool": (bool, "true or false"),
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "str": (str, "a string"),
}


def _check_value(kind: type[Mechanism[Any]], option: str, value: Any) -> None:
    """Check the type and range of an option, which may come from a command line or a request."""
    annotation = next(one.annotation for one in option_parameters(kind) if one.name == option)
    spelt = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    written = [part.strip() for part in spelt.split("|")]
    if value is None and "None" in written:
        return
    wanted = [_KINDS[part] for part in written if part in _KINDS]
    if wanted and not any(isinstance(value, of) and (of is bool or not isinstance(value, bool)) for of, _ in wanted):
        kinds = " or ".join(called for _, called in wanted)
        raise OptionError(f"the option {option} of the mechanism {kind.name} must be {kinds}.")
    largest = _LARGEST_WHOLE if "int" in written else _LARGEST_REAL
    if isinstance(value, (int, float)) and not abs(value) < largest:  # NaN as well
        raise OptionError(
            f"the option {option} of the mechanism {kind.name} must be between -{largest:g} and {largest:g}."
        )
