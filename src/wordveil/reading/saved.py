"""The file of a saved reader: an ``.npz`` with what it is in JSON, and its arrays."""

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
    """What a file holds of a reader: the options it was made with, and the state of its kind."""

    kind: str
    release: dict[str, Any]
    options: dict[str, Any]
    effort: Effort
    prior: str | NDArray[Any]
    vectors: NDArray[Any] | None
    blocked: NDArray[Any] | None
    state: Arrays


def write_saved(path: Path, header: Mapping[str, Any], arrays: Arrays, state: Arrays) -> None:
    """Write a reader: what is plain of it, and its arrays, those of its kind apart."""
    told = json.dumps({"layout": _LAYOUT, **header}).encode("utf-8", "surrogatepass")
    named = {f"{_STATE}{name}": array for name, array in state.items()}
    with whole_file(path) as file:
        np.savez(file, **{_HEADER: np.frombuffer(told, dtype=np.uint8)}, **arrays, **named)  # type: ignore[arg-type]


def read_saved(path: Path) -> Saved:
    """Read what `write_saved` wrote; any other file, or another layout, is refused."""
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
