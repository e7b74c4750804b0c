"""Libraries that only some attacks need."""

from __future__ import annotations

from importlib.util import find_spec

from wordveil.errors import WordveilError

__all__ = ["needs"]


def needs(module: str, extra: str) -> None:
    """Refuse to go on where a library is not installed.

    Parameters
    ----------
    module : str
        What it is imported as.
    extra : str
        The extra of this package that brings it.
    """
    if find_spec(module) is None:
        raise WordveilError(f"this attack needs {module}; install it with: pip install 'wordveil[{extra}]'.")
