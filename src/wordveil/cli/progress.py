"""The progress bar of every command."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from wordveil.cli.options import on_terminal, stderr

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["ProgressBar"]

Bar = TypeVar("Bar", bound="ProgressBar")


class ProgressBar:
    """A bar that shows how far work is and how long it will still take; on a terminal only.

    A `total` of 0 means that it is not known.
    """

    def __init__(self, title: str, total: float = 1.0, *, quiet: bool) -> None:
        self._title, self._total = title, total
        self._is_shown = not quiet and on_terminal()
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
        if self._progress:
            self._progress.update(self._task, completed=done, note=note)

    def watch(self, what: str, share: float) -> None:
        """Show what is being done and which share of it is done: a `wordveil.progress.Watch`."""
        self.move(share * self._total, what)
