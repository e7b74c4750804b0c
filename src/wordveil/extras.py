"""Optional packages, and plots with matplotlib."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from wordveil.errors import ExtraError, FileError, OptionError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PICTURES = (".png", ".svg")


def needs(module: str, extra: str, who: str) -> None:
    """Raise an ExtraError unless a module of this extra is installed; `who` needs it, and starts the message."""
    if find_spec(module) is None:
        # Not `pip install wordveil[...]`: until wordveil is released, anyone could register that name.
        raise ExtraError(f"{who} needs {module}; install it from a clone of wordveil: pip install '.[{extra}]'.")


def check_can_draw() -> None:
    """Raise an ExtraError if matplotlib is not installed."""
    needs("matplotlib", "plots", "a picture")


def check_target(path: Path) -> None:
    """Raise an error, before any work is done, if a plot cannot be written to this path."""
    check_can_draw()
    if path.suffix.lower() not in _PICTURES:
        raise OptionError(f"the name of a picture must end in {' or '.join(_PICTURES)}, but {path} does not.")
    if not path.resolve().parent.is_dir():
        raise FileError(f"cannot write {path}: its folder does not exist.")


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure of this size in inches."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to import

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path) -> None:
    """Write a figure, reproducibly."""
    from matplotlib import rc_context  # noqa: PLC0415 - an extra, and slow to import

    dateless = {"Date": None} if path.suffix.lower() == ".svg" else None
    try:
        with rc_context({"svg.hashsalt": "wordveil", "svg.fonttype": "none"}):
            figure.savefig(path, dpi=200, metadata=dateless)
    except OSError:
        raise FileError(f"cannot write {path}; choose another file.") from None
