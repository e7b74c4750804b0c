"""A real browser, where there is one."""

from __future__ import annotations

import shutil

__all__ = ["chromium"]


def chromium() -> str | None:
    """Return where Chromium is, without the window that nobody sees if there is such a one; None if there is none."""
    return next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)
