"""Which code runs: compiled, and for which kind of processor, or numpy."""

from __future__ import annotations

import importlib
import os
from functools import cache
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import OptionError

__all__ = ["compiled", "kind", "kinds", "plain"]

Number = TypeVar("Number", bound=np.generic)

SWITCH = "WORDVEIL_KERNELS"
VERSION = 15  # as in native.c


@cache
def _module() -> ModuleType | None:
    try:
        module = importlib.import_module("wordveil.kernels._native")
    except ImportError:
        return None
    # What an earlier version left behind is no compiled code for this one.
    return module if getattr(module, "VERSION", None) == VERSION else None


def kinds() -> list[str]:
    """Return the kinds of compiled code that run here, the fastest first; none if nothing was compiled."""
    module = _module()
    return module.kinds() if module else []


def compiled() -> ModuleType | None:
    """Return the compiled code, or None if numpy is to do the work."""
    return None if os.environ.get(SWITCH) == "off" else _module()


def kind() -> str:
    """Return the kind of compiled code to run: the fastest, unless another is chosen."""
    chosen = os.environ.get(SWITCH) or kinds()[0]
    if chosen not in kinds():
        raise OptionError(f"{SWITCH} must be off or one of {', '.join(kinds())} on this machine.")
    return chosen


def plain(numbers: NDArray[Any], dtype: type[Number]) -> NDArray[Number]:
    """Return an array as compiled code reads it, contiguous and aligned; a copy only if it is not so already.

    An array that is mapped from a file begins wherever its header ends.
    """
    return np.require(numbers, dtype, ["C_CONTIGUOUS", "ALIGNED", "ENSUREARRAY"])
