"""The progress bar of every command."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, TypeVar

import typer

from wordveil.cli.options import on_terminal, stderr

if TYPE_CHECKING:
    from rich.progress import Progress

_SECONDS = 60.0  # between two lines, to keep logs short
_TELLING = 0.02  # the share of work from which its speed predicts the end
_FIRST = 10.0  # seconds until the first line: before that, nobody wonders

Bar = TypeVar("Bar", bound="ProgressBar")


class ProgressBar:
    """Shows how far work is and how long it will still take: as a bar, or without a terminal as a line now and then.

    A `total` of 0 means that it is unknown. With `at_once`, the first line of each kind of work appears when it begins,
    for work that nobody expects.
    """

    def __init__(self, title: str, total: float = 1.0, *, quiet: bool, at_once: bool = False) -> None:
        self._title, self._total = title, total
        self._quiet, self._is_shown = quiet, not quiet and on_terminal()
        self._began, self._done = time.monotonic(), 0.0
        self._at_once = at_once
        self._told = self._began - _SECONDS + (0.0 if at_once else min(_FIRST, _SECONDS))
        self._progress: Progress | None = None

    def __enter__(self: Bar) -> Bar:
        if self._is_shown:
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[note]}"),
                TimeRemainingColumn(),
                console=stderr(),
                transient=True,
            )
            self._task = self._progress.add_task(self._title, total=self._total or None, note="")
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress:
            self._progress.stop()

    def move(self, done: float, note: str = "") -> None:
        """Show how much is done, with a note beside it."""
        if done < self._done:  # other work begins, at another speed
            self._began = time.monotonic()
            if self._at_once:
                self.tell_soon()
        self._done = done
        if self._progress:
            self._progress.update(self._task, completed=done, note=note)
        elif not self._quiet and time.monotonic() - self._told >= _SECONDS:
            self._told = time.monotonic()
            share = f" {100 * done / self._total:.0f}%" if self._total else ""
            if self._total and _TELLING * self._total <= done < self._total:
                minutes = (self._told - self._began) * (self._total / done - 1.0) / 60.0
                share += f", about {math.ceil(minutes)} min left"
            typer.echo(f"wordveil: {self._title}{share}{note and f' ({note})'}", err=True)

    def tell_soon(self) -> None:
        """Print the next step at once, not a minute after the one before."""
        self._told = self._began - _SECONDS

    def watch(self, what: str, share: float) -> None:
        """Show what is being done and its share: a `wordveil.progress.Watch`."""
        self.move(share * self._total, what)
