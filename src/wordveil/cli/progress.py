"""A bar on the terminal while a job runs."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from wordveil.cli.options import on_terminal, stderr

if TYPE_CHECKING:
    from rich.progress import Progress

    from wordveil.io import Tally

__all__ = ["ProgressBar"]


class ProgressBar:
    """Shows how far a job is, how fast and how long still; on a terminal only.

    Parameters
    ----------
    total : int
        The bytes of the whole input, 0 where that cannot be known.
    quiet : bool
        Show nothing.
    what : str
        What the job is at.
    """

    def __init__(self, total: int, *, quiet: bool, what: str = "veiling") -> None:
        self._total, self._what = total, what
        self._progress: Progress | None = None
        self._is_shown = not quiet and on_terminal()

    def __enter__(self) -> ProgressBar:
        if self._is_shown:
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            self._progress = Progress(
                TextColumn(self._what),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[told]}"),
                TimeRemainingColumn(),
                console=stderr(),
                transient=True,
            )
            self._task = self._progress.add_task("", total=self._total or None, told="")
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress:
            self._progress.stop()

    def move(self, bytes_done: int) -> None:
        """Move the bar of a pass that counts nothing."""
        if self._progress:
            self._progress.update(self._task, completed=bytes_done)

    def show(self, tally: Tally, bytes_done: int) -> None:
        """Move the bar."""
        if self._progress:
            told = f"{tally.counts.words:,} words, {tally.words_per_second:,.0f} a second"
            self._progress.update(self._task, completed=bytes_done, told=told)
