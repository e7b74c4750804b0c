"""Rewrites text so that every word is plausibly deniable, under proved metric differential privacy.

>>> import wordveil
>>> release = wordveil.Veil(epsilon=4)("The committee met in Paris.")

The public API is the names below and these modules: `wordveil.adapters` (one module per supported library),
`wordveil.errors`, `wordveil.lac`, `wordveil.audit`, `wordveil.calibration`, `wordveil.attacks`, `wordveil.plan`,
`wordveil.spark` and `wordveil.client`. Everything else is internal and may change in any version.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wordveil.errors import (
    BudgetError,
    ExtraError,
    FileError,
    InputError,
    OptionError,
    SpaceError,
    UnprovenError,
    WordveilError,
)

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism, mechanism, register
    from wordveil.guarantee import Guarantee, Notion
    from wordveil.noise import Entropy
    from wordveil.reading import Reader
    from wordveil.spaces import Space, load_space
    from wordveil.text import Document, Release, Report, Veil

__version__ = "0.1.0"

__all__ = [
    "BudgetError",
    "Document",
    "Entropy",
    "ExtraError",
    "FileError",
    "Guarantee",
    "InputError",
    "Mechanism",
    "Notion",
    "OptionError",
    "Reader",
    "Release",
    "Report",
    "Space",
    "SpaceError",
    "UnprovenError",
    "Veil",
    "WordveilError",
    "__version__",
    "load_space",
    "mechanism",
    "register",
]

# Loaded on first use, so that `wordveil --help` does not wait for numpy.
_LAZY = {
    "wordveil._mechanisms": ("Mechanism", "mechanism", "register"),
    "wordveil.guarantee": ("Guarantee", "Notion"),
    "wordveil.noise": ("Entropy",),
    "wordveil.reading": ("Reader",),
    "wordveil.spaces": ("Space", "load_space"),
    "wordveil.text": ("Document", "Release", "Report", "Veil"),
}


def __getattr__(name: str) -> Any:
    for module, names in _LAZY.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'wordveil' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
