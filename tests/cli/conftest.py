"""What tests of commands share: a command run in this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wordveil.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def called(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command, and return its exit code and what it printed."""

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(list(arguments))
        out, err = capfd.readouterr()
        return int(caught.value.code or 0), out, err

    return call
