"""Modules that are slow to load, loaded by the first test that uses them: every process collects all modules."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

import pytest


class _Later:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # plugins of pytest ask every object of a module for a mark of theirs
            raise AttributeError(name)
        return getattr(importlib.import_module(self._name), name)


def later(name: str, *, reason: str = "") -> Any:
    """Return a module that is imported when it is first used; without its package the whole file is skipped."""
    package = name.partition(".")[0]
    if find_spec(package) is None:
        pytest.skip(reason or f"{package} is not installed", allow_module_level=True)
    return _Later(name)
