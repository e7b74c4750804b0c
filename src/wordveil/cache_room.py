"""How much the cache holds, and what goes when it is full.

What was not used for longest goes when something new has been written. What was used within the last hour stays, since
somebody may be about to read it; what is mapped or open already can be read on after it has gone.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import time
from pathlib import Path

from wordveil.errors import WordveilError

__all__ = ["KINDS", "CacheRoom"]

#: What the names of entries begin with: of each kind of thing that is cached, wherever it is made.
KINDS = ("vectors", "graph", "ring", "neighbours", "density", "smooth", "calibration", "hearst", "reading")

_SWITCH = "WORDVEIL_CACHE_SIZE"
_DEFAULT = 2048
_HOUR = 3600.0
# Nothing else is ever removed: the folder may be one that others use too.
_ENTRY = re.compile(rf"(?:{'|'.join(KINDS)})-(?:.*-)?[0-9a-f]{{32,}}")
_SCRATCH = re.compile(r"\.(making|going)-\w+")  # of a process that was killed, if it is old
_LOOKS = 16  # while the cache fills up once: to look at every entry takes time where there are thousands

_written: dict[Path, int] = {}  # into each cache, by this process, since it last looked


class CacheRoom:
    """The room of a cache: ``$WORDVEIL_CACHE_SIZE`` MiB, else 2 GiB.

    Parameters
    ----------
    home : Path
        The cache's folder.
    """

    def __init__(self, home: Path) -> None:
        chosen = os.environ.get(_SWITCH) or str(_DEFAULT)
        if not (chosen.isascii() and chosen.isdigit()):
            raise WordveilError(f"{_SWITCH} must be a whole number of MiB.")
        self._home, self._bytes = home, int(chosen) << 20

    def make_for(self, new: Path) -> None:
        """Remove what was not used for longest, if the cache is too full.

        Parameters
        ----------
        new : Path
            The entry that has just been written.
        """
        with contextlib.suppress(OSError):  # other processes, and people, remove things too
            _written[self._home] = _written.get(self._home, self._bytes) + _size(new)
            if _written[self._home] >= self._bytes // _LOOKS:
                _written[self._home] = 0
                self._make()

    def _make(self) -> None:
        now = time.time()
        entries: list[tuple[float, int, Path]] = []
        for path in self._home.iterdir():
            with contextlib.suppress(OSError):
                used = path.stat().st_mtime
                if _SCRATCH.fullmatch(path.name) and now - used > 24 * _HOUR:
                    shutil.rmtree(path, ignore_errors=True)
                elif _ENTRY.fullmatch(path.name) and path.is_dir():
                    entries.append((used, _size(path), path))
        total = sum(size for _, size, _ in entries)
        for used, size, path in sorted(entries):
            if total <= self._bytes or now - used < _HOUR:
                break
            _remove(path)
            total -= size


def _size(entry: Path) -> int:
    return sum(file.stat().st_size for file in os.scandir(entry))  # no entry has folders inside


def _remove(entry: Path) -> None:
    """Remove an entry so that nobody sees half of it."""
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(prefix=".going-", dir=entry.parent) as away:
        entry.rename(Path(away, entry.name))
