"""The file of a saved reader: an ``.npz`` with a JSON header and arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.laws import Effort
from wordveil.errors import FileError
from wordveil.files import whole_file

__all__ = ["Saved", "read_saved", "write_saved"]

Arrays = Mapping[str, NDArray[Any]]

_LAYOUT = 4
_HEADER, _STATE = "reader", "state_"
_OPTIONS = ("select", "words", "stop_words", "case", "once")
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, MemoryError, BadZipFile)


class Saved(NamedTuple):
    """The content of the file: the reader's options, and the state of its kind."""

    kind: str
    release: dict[str, Any]
    options: dict[str, Any]
    effort: Effort
    prior: str | NDArray[Any]
    vectors: NDArray[Any] | None
    blocked: NDArray[Any] | None
    state: Arrays


def write_saved(path: Path, header: Mapping[str, Any], arrays: Arrays, state: Arrays) -> None:
    """Write a reader: a header of plain values, arrays, and the arrays of its kind's state."""
    encoded = json.dumps({"layout": _LAYOUT, **header}).encode("utf-8", "surrogatepass")
    named = {f"{_STATE}{name}": array for name, array in state.items()}
    with whole_file(path) as file:
        np.savez(file, **{_HEADER: np.frombuffer(encoded, dtype=np.uint8)}, **arrays, **named)  # type: ignore[arg-type]


def read_saved(path: Path) -> Saved:
    """Read a file of `write_saved`; raise a FileError for any other file or layout."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            arrays = dict(found)
        header = json.loads(arrays[_HEADER].tobytes().decode("utf-8", "surrogatepass"))
        if header["layout"] != _LAYOUT:
            raise KeyError("layout")
        return Saved(
            kind=header["kind"],
            release=header["release"],
            options={name: header[name] for name in _OPTIONS},
            effort=Effort(**header["effort"]),
            prior=header["prior"] or arrays["prior"],
            vectors=arrays.get("vectors"),
            blocked=arrays.get("blocked"),
            state={name.removeprefix(_STATE): one for name, one in arrays.items() if name.startswith(_STATE)},
        )
    except FileNotFoundError:
        raise FileError(f"there is no file {path}.") from None
    except _DAMAGE:
        raise FileError(f"{path} is not a reader that this version of wordveil has saved, or it is damaged.") from None
