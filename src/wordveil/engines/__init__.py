"""Where a job runs, on the processor or on a GPU, and how exactly the nearest word is searched."""

from __future__ import annotations

from typing import Any

from wordveil._mechanisms.base import Mechanism
from wordveil.engines.approximate import approximately
from wordveil.errors import OptionError
from wordveil.extras import needs
from wordveil.spaces import Space

__all__ = ["ENGINES", "approximately", "check_engine", "check_runs", "on_engine"]

#: The engines that a mechanism can run on in this process.
ENGINES = ("local", "gpu")


def check_engine(engine: str) -> None:
    """Refuse an engine that does not exist, or that this machine cannot run."""
    if engine not in ENGINES:
        raise OptionError(f"unknown engine {engine!r}; choose {' or '.join(ENGINES)}.")
    if engine == "gpu":
        needs("torch", "gpu", "the engine gpu")
        from wordveil.engines.gpu import check_cuda  # noqa: PLC0415 - PyTorch is slow to load

        check_cuda()


def on_engine(space: Space, engine: str) -> Space:
    """Return the space on an engine. Mechanisms made on it run there.

    Parameters
    ----------
    space : Space
        The words, from `wordveil.load_space`.
    engine : {"local", "gpu"}
        Where to search nearest words and make noise.

    Examples
    --------
    >>> import wordveil
    >>> space = on_engine(wordveil.load_space("glove-50k"), "local")
    """
    check_engine(engine)
    if engine == "local":
        return space
    from wordveil.engines.gpu import on_device  # noqa: PLC0415 - PyTorch is slow to load

    return on_device(space, "cuda")


def check_runs(mechanism: Mechanism[Any], engine: str) -> None:
    """Refuse a mechanism that would not use the engine."""
    if engine == "gpu" and not (mechanism.searches_points or mechanism.joins_words):
        raise OptionError(
            f"the mechanism {mechanism.name} does not search for nearest words, so a GPU would not help it; "
            "choose the engine local."
        )
