"""The one progress bar: on a terminal it shows what is done, elsewhere it says so now and then."""

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


@pytest.mark.parametrize(("quiet", "seconds", "lines"), [(False, 0.0, 4), (True, 0.0, 0), (False, 60.0, 0)])
def test_long_work_gives_a_sign_of_life_where_there_is_no_terminal(
    quiet: bool, seconds: float, lines: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_SECONDS", seconds)
    with progress.ProgressBar("reading", quiet=quiet) as bar:
        for share in (0.1, 0.2, 0.3, 0.4):
            bar.watch("fitting", share)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == lines
    assert all(part in line for line in said for part in ("reading", "fitting", "%"))


def test_what_is_done_has_no_time_left(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    with progress.ProgressBar("reading", quiet=False) as bar:
        bar.watch("fitting", 0.5)
        bar.watch("fitting", 1.0)
    during, done = capsys.readouterr().err.splitlines()
    assert "left" in during
    assert "left" not in done
