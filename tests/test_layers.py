"""The layers: no import goes upwards, nothing but its commands imports the lab, and the map shows them as they are."""

from __future__ import annotations

import pytest
from tools.build_map import PAGE, with_map

importlinter = pytest.importorskip("importlinter", reason="the layers were not tested: import-linter is not installed")

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports  # noqa: E402


def test_every_contract_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint_imports(no_cache=True) == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_the_map_is_made_from_the_layers() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_map(page) == page, "run `make map`"
