"""Turns what the operating system refuses into one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wordveil.errors import WordveilError

__all__ = ["told"]


@contextmanager
def told(action: str, path: Path | str) -> Iterator[None]:
    """Say which `action` ("read", "write") on which file failed, and why, instead of an ``OSError``.

    A broken pipe stays what it is: whoever reads the output may stop when they like.
    """
    try:
        yield
        return
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise WordveilError(f"cannot {action} {path}: {reason}.")
