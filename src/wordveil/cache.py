"""Where parsed embeddings, graphs and tours are kept between runs.

Only what is derived from an embedding is ever cached, never anything of a text.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["cached_folder", "home"]


def home() -> Path:
    """Return the cache's folder: ``$WORDVEIL_CACHE``, else ``wordveil`` in the user's cache folder."""
    explicit = os.environ.get("WORDVEIL_CACHE")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wordveil"


def cached_folder(key: str, fill: Callable[[Path], None]) -> Path:
    """Return the folder cached under `key`, filled by `fill` the first time.

    The folder appears under its name only when whole, so a crash leaves no half of one, and two processes
    that fill it at once both end with a good one. Where the cache cannot be written, a temporary folder
    serves this process.

    Parameters
    ----------
    key : str
        A name that says everything the content depends on; letters, digits, ``-`` and ``.`` only.
    fill : callable
        Writes the content into the empty folder it is given.
    """
    target = home() / key
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".making-", dir=target.parent))
    except OSError:
        scratch = Path(tempfile.mkdtemp(prefix="wordveil-"))
        fill(scratch)
        return scratch
    try:
        fill(scratch)
        scratch.rename(target)
    except OSError:
        if not target.is_dir():
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target
