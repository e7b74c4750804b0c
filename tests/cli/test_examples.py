"""Every example that a command's help shows is a command that would run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from tests.conftest import make_poincare, make_space
from wordveil._mechanisms import MECHANISMS, mechanism
from wordveil.cli.commands import app
from wordveil.cli.options import parse_options

_ROOT: Any = typer.main.get_command(app)


def commands(command: Any = _ROOT) -> Iterator[Any]:
    parts = getattr(command, "commands", {})
    if not parts:
        yield command
    for part in parts.values():
        yield from commands(part)


def examples() -> list[str]:
    return [
        found
        for command in commands()
        for line in (command.help or "").splitlines()
        for found in re.findall(r"^\s*(?:.*\| )?(wordveil .*)$", line)
    ]


def test_every_command_has_an_example() -> None:
    for command in commands():
        assert re.search(rf"wordveil (\w+ )?{command.name}", command.help), command.name


@pytest.mark.parametrize("example", examples())
def test_an_example_is_understood(example: str) -> None:
    command, arguments = _ROOT, shlex.split(example)[1:]
    while arguments and arguments[0] in getattr(command, "commands", {}):
        command = command.commands[arguments.pop(0)]
    given = command.make_context(command.name, arguments).params
    name, options = given.get("mechanism"), given.get("option") or []
    if isinstance(name, str):
        check_options(name, options)
    elif command.name == "match":
        for one in options:
            number, _, option = one.partition(":")
            check_options(name[int(number) - 1], [option])


def check_options(name: str, options: list[str]) -> None:
    space = make_poincare(30) if name.startswith("hyperbolic") else make_space(30)
    mechanism(name, space, epsilon=1.0 + MECHANISMS[name].least_epsilon(space), **parse_options(options))


@pytest.mark.parametrize("command", [_ROOT, *commands()], ids=lambda command: command.name)
def test_help_fits_a_terminal_and_its_examples_can_be_copied(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = command.get_help(command.make_context(command.name, [], resilient_parsing=True))
    assert [line for line in told.splitlines() if len(line) > 80] == []
    assert "<bool>" not in told
    assert "\\[" not in told  # only rich would take it for a bracket
    joined = told.replace("\\\n", " ")
    shown = {" ".join(line.split()) for line in joined.splitlines()}
    for example in re.findall(r"^ +(?:.*\| )?wordveil .*$", command.help or "", re.MULTILINE):
        assert " ".join(example.split()) in shown
