"""Libraries that only some parts need."""

from __future__ import annotations

from importlib.util import find_spec

from wordveil.errors import ExtraError

__all__ = ["check_can_draw", "needs"]


def needs(module: str, extra: str, who: str) -> None:
    """Refuse to go on where a library is not installed.

    Parameters
    ----------
    module : str
        What it is imported as.
    extra : str
        The extra of this package that brings it.
    who : str
        What cannot do without it, to begin a sentence with.
    """
    if find_spec(module) is None:
        # Not by the name of the package: until it is released, anybody could give that name to another one.
        raise ExtraError(f"{who} needs {module}; install it from a clone of wordveil: pip install '.[{extra}]'.")


def check_can_draw() -> None:
    """Refuse to go on where no picture can be drawn."""
    needs("matplotlib", "plots", "a picture")
