"""``wordveil budget`` beside the service's own accounts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the service's tests need the extra serve")

from wordveil.cli import main
from wordveil.lac.ledger import Account, Ledger
from wordveil.service.keys import hash_key


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "service.toml"
    path.write_text(
        f'ledgers = "{tmp_path}/ledgers"\n[[keys]]\nname = "app"\nhash = "{hash_key("a")}"\nbudget = 100.0\n'
        f'user_budget = 10.0\n[[keys]]\nname = "open"\nhash = "{hash_key("b")}"\n',
        encoding="utf-8",
    )
    return path


def run(capsys: pytest.CaptureFixture[str], config: Path, *arguments: str) -> tuple[int, Any, str]:
    with pytest.raises(SystemExit) as caught:
        main(["budget", *arguments, "--config", str(config), "--json"])
    told = capsys.readouterr()
    return int(str(caught.value.code or 0)), json.loads(told.out) if told.out else None, told.err


def test_budgets_are_shown_added_to_and_reset(capsys: pytest.CaptureFixture[str], config: Path) -> None:
    _, told, _ = run(capsys, config, "show")
    assert [(part["key"], part["of"], part["left"]) for part in told] == [("app", "key", 100.0)]
    Ledger(config.parent / "ledgers" / "app.db").charge([(Account("app", 100.0), 60.0)])
    _, told, _ = run(capsys, config, "add", "app", "20")
    assert (told[0]["spent"], told[0]["left"], told[0]["ever"]) == (40.0, 60.0, 60.0)
    code, told, said = run(capsys, config, "reset", "app")
    assert (code, told[0]["left"], told[0]["ever"]) == (0, 100.0, 60.0)
    assert "60" in said
    _, told, _ = run(capsys, config, "add", "app", "5", "--user", "jane")
    assert (told[0]["of"], told[0]["left"]) == ("user", 15.0)
    _, told, _ = run(capsys, config, "show", "app", "--user", "jane")
    assert [part["left"] for part in told] == [100.0, 15.0]
    with pytest.raises(SystemExit):
        main(["budget", "show", "--config", str(config)])
    assert "app" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["show", "open"], ["add", "app", "0"], ["add", "app", "nan"], ["reset", "nobody"], ["add", "app"]]
)
def test_mistakes_are_told(capsys: pytest.CaptureFixture[str], config: Path, arguments: list[str]) -> None:
    code, told, said = run(capsys, config, *arguments)
    assert (code, told) == (2, None)
    assert said.startswith("wordveil: ")
