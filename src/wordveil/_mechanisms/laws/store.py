"""What was measured is kept in the cache, so that a stopped calibration goes on and a repeated one is at once there.

Only figures about a public vocabulary are kept, never anything of a text.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from wordveil import files
from wordveil.files import DAMAGE, cached_folder, digest_of, found, home

_VERSION = 5  # to be raised whenever the same key would now give other figures
_FILE = "figures.npz"


def kept(key: dict[str, Any]) -> dict[str, NDArray[Any]] | None:
    """Return the arrays kept under this key, or None."""
    folder = found(_name(key))
    if folder is None or not (folder / _FILE).is_file():
        return None
    path = folder / _FILE
    try:
        # numpy would leave open a file that it cannot read
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except (*DAMAGE, BadZipFile):
        shutil.rmtree(folder, ignore_errors=True)  # to be measured and kept again
        return None


def keep(key: dict[str, Any], arrays: dict[str, NDArray[Any]], *, for_now: bool = False) -> None:
    """Keep arrays under a key that says everything they depend on.

    What is kept `for_now`, to be forgotten soon, is not compressed, which takes longer than drawing it again.
    """
    save = np.savez if for_now else np.savez_compressed

    def fill(folder: Path) -> None:
        with (folder / _FILE).open("wb") as file:
            save(file, **arrays)  # type: ignore[arg-type]

    folder = cached_folder(_name(key), fill)
    if folder.parent != home():  # the cache cannot be written, and nobody will look for this again
        shutil.rmtree(folder, ignore_errors=True)


def forget(key: dict[str, Any]) -> None:
    """Forget what is kept under this key."""
    files.forget(_name(key))


def hash_of(*arrays: NDArray[Any]) -> str:
    """Return a name for what was asked about, to keep the answer under."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _name(key: dict[str, Any]) -> str:
    return f"calibration-{digest_of({'version': _VERSION, **key})}"
