"""The progress bar of every command."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, TypeVar

import typer

from wordveil.cli.options import on_terminal, stderr

if TYPE_CHECKING:
    from rich.progress import Progress

_SECONDS = 60.0  # between two lines: a log is to stay short
_TELLING = 0.02  # the share from which on what was done says how long the rest will take
_FIRST = 10.0  # seconds until the first: before that, nobody wonders

Bar = TypeVar("Bar", bound="ProgressBar")


class ProgressBar:
    """A bar that shows how far work is and how long it will still take; a line now and then where there is no terminal.

    A `total` of 0 means that it is not known. With `at_once` the first line of each kind of work comes when it begins,
    not some seconds later: for work that nobody expects.
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
        """Show how much is done, and a note beside it."""
        if done < self._done:  # other work begins, which may be slower or faster
            self._began = time.monotonic()
            if self._at_once:
                self.tell_soon()
        self._done = done
        if self._progress:
            self._progress.update(self._task, completed=done, note=note)
        elif not self._quiet and time.monotonic() - self._told >= _SECONDS:
            self._told = time.monotonic()
            share = f" {100 * done / self._total:.0f}%" if self._total else ""
            if self._total and done >= _TELLING * self._total:
                minutes = (self._told - self._began) * (self._total / done - 1.0) / 60.0
                share += f", about {math.ceil(minutes)} min left"
            typer.echo(f"wordveil: {self._title}{share}{note and f' ({note})'}", err=True)

    def tell_soon(self) -> None:
        """Show the next step where there is no terminal too, and not a minute after the one before."""
        self._told = self._began - _SECONDS

    def watch(self, what: str, share: float) -> None:
        """Show what is being done and which share of it is done: a `wordveil.progress.Watch`."""
        self.move(share * self._total, what)
