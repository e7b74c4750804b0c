"""The one progress bar: on a terminal it shows what is done, elsewhere nothing."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from wordveil.cli import progress


@pytest.mark.parametrize(("is_terminal", "quiet"), [(True, False), (True, True), (False, False)])
def test_a_bar_shows_on_a_terminal_only(is_terminal: bool, quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(progress, "on_terminal", lambda: is_terminal)
    monkeypatch.setattr(progress, "stderr", lambda: Console(file=shown, force_terminal=True, width=100))
    with progress.ProgressBar("measuring", quiet=quiet) as bar:
        bar.watch("the third of four", 0.75)
    with progress.ProgressBar("veiling", 200, quiet=quiet) as bar:
        bar.move(50, "9 words")
    seen = all(part in shown.getvalue() for part in ("measuring", "the third of four", "75%", "25%", "9 words"))
    assert seen is (is_terminal and not quiet)
    assert bool(shown.getvalue()) is seen
