"""Rewrites text so that every word is plausibly deniable, under proved metric differential privacy.

>>> import wordveil
>>> space = wordveil.load_space("glove-50k")
>>> veil = wordveil.Veil(wordveil.mechanism("graph", space, epsilon=6.0))
>>> release = veil("The committee met in Paris.")
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordveil._mechanisms import mechanism
    from wordveil.guarantee import Guarantee
    from wordveil.noise import Entropy
    from wordveil.spaces import load_space
    from wordveil.text import Document, Release, Veil

from wordveil.errors import WordveilError

__version__ = "0.1.0"

__all__ = [
    "Document",
    "Entropy",
    "Guarantee",
    "Release",
    "Veil",
    "WordveilError",
    "__version__",
    "load_space",
    "mechanism",
]

_HOMES = {
    "Document": "wordveil.text",
    "Entropy": "wordveil.noise",
    "Guarantee": "wordveil.guarantee",
    "Release": "wordveil.text",
    "Veil": "wordveil.text",
    "load_space": "wordveil.spaces",
    "mechanism": "wordveil._mechanisms",
}


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that `wordveil --help` does not wait for numpy.
    if name in _HOMES:
        import importlib  # noqa: PLC0415

        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'wordveil' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
