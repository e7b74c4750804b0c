"""The layers: no import goes upwards, nothing but its commands imports the lab, and the map shows them as they are."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_every_contract_is_kept(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    cli = pytest.importorskip("importlinter.cli", reason="the layers were not tested: import-linter is not installed")
    monkeypatch.chdir(ROOT)
    assert cli.lint_imports(no_cache=True) == 0, capsys.readouterr().out


def test_the_map_is_made_from_the_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    tool = import_module("build_map")
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.with_map(page) == page, "run `make map`"
