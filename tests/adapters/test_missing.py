"""An adapter whose package is not installed says which extra brings it."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

import wordveil.extras
from wordveil import ExtraError


@pytest.mark.parametrize("name", ["sklearn", "pandas", "datasets", "presidio", "langchain"])
def test_the_extra_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordveil.extras, "find_spec", lambda _: None)
    monkeypatch.delitem(sys.modules, f"wordveil.adapters.{name}", raising=False)
    with pytest.raises(ExtraError, match=rf"\[{name}\]"):
        import_module(f"wordveil.adapters.{name}")
