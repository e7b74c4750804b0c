"""Making and saving figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wordveil.errors import WordveilError
from wordveil.extras import check_can_draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_target", "new_figure", "save"]

_FORMATS = (".png", ".svg")


def check_target(path: Path) -> None:
    """Refuse, before any work is done, a file that cannot become a picture."""
    check_can_draw()
    if path.suffix.lower() not in _FORMATS:
        raise WordveilError(f"{path} must end in {' or '.join(_FORMATS)}, which says what kind of picture it is.")
    if not path.resolve().parent.is_dir():
        raise WordveilError(f"the folder of {path} is not there; make it, or choose another place.")


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure, of so many inches."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to import

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the same figure always makes the same file."""
    from matplotlib import rc_context  # noqa: PLC0415 - an extra, and slow to import

    dateless = {"Date": None} if path.suffix.lower() == ".svg" else None
    try:
        with rc_context({"svg.hashsalt": "wordveil", "svg.fonttype": "none"}):
            figure.savefig(path, dpi=200, metadata=dateless)
    except OSError:
        raise WordveilError(f"cannot write {path}; choose another file.") from None
