"""A real browser, where there is one."""

from __future__ import annotations

import shutil

__all__ = ["chromium"]


def chromium() -> str | None:
    """Return where Chromium is; None if there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")
