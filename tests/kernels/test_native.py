"""Compiled code is used only if it is that of this version."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from wordveil.kernels import compiled, kinds, native


@pytest.fixture
def reloaded() -> Iterator[None]:
    native._module.cache_clear()
    yield
    native._module.cache_clear()


@pytest.mark.parametrize("version", [None, native.VERSION - 1, native.VERSION + 1])
@pytest.mark.usefixtures("reloaded")
def test_compiled_code_of_another_version_counts_as_none(monkeypatch: pytest.MonkeyPatch, version: int | None) -> None:
    monkeypatch.delenv("WORDVEIL_KERNELS", raising=False)
    stale = ModuleType("wordveil.kernels._native")
    if version is not None:
        stale.VERSION = version  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wordveil.kernels._native", stale)
    assert compiled() is None
    assert kinds() == []
