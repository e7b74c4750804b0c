"""A bar on the terminal while a job runs."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from wordveil.cli.options import stderr

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
    """

    def __init__(self, total: int, *, quiet: bool) -> None:
        self._total = total
        self._console = stderr()
        self._progress: Progress | None = None
        self._is_shown = not quiet and self._console.is_terminal

    def __enter__(self) -> ProgressBar:
        if self._is_shown:
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            speed = TextColumn("{task.fields[words]:,} words, {task.fields[speed]:,} a second")
            self._progress = Progress(
                TextColumn("veiling"),
                BarColumn(),
                TaskProgressColumn(),
                speed,
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._progress.add_task("", total=self._total or None, words=0, speed=0)
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress:
            self._progress.stop()

    def show(self, tally: Tally, bytes_done: int) -> None:
        """Move the bar."""
        if self._progress:
            words, speed = tally.counts.words, round(tally.words_per_second)
            self._progress.update(self._task, completed=bytes_done, words=words, speed=speed)
