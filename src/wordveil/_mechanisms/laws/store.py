"""Measured figures in the cache, so that a stopped calibration resumes and a repeated one returns at once.

Only figures about a public vocabulary are cached, never anything from a text.
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

_VERSION = 6  # raise it whenever the same key would give different figures
_FILE = "figures.npz"


def kept(key: dict[str, Any]) -> dict[str, NDArray[Any]] | None:
    """Return the arrays cached under this key, or None."""
    folder = found(_name(key))
    if folder is None or not (folder / _FILE).is_file():
        return None
    path = folder / _FILE
    try:
        # opened here, because numpy leaks a file that it cannot read
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except (*DAMAGE, BadZipFile):
        shutil.rmtree(folder, ignore_errors=True)  # it will be measured again
        return None


def keep(key: dict[str, Any], arrays: dict[str, NDArray[Any]], *, for_now: bool = False) -> None:
    """Cache arrays under a key that names everything they depend on.

    Arrays cached `for_now`, which will be forgotten soon, are not compressed: that takes longer than drawing again.
    """
    save = np.savez if for_now else np.savez_compressed

    def fill(folder: Path) -> None:
        with (folder / _FILE).open("wb") as file:
            save(file, **arrays)  # type: ignore[arg-type]

    folder = cached_folder(_name(key), fill)
    if folder.parent != home():  # the cache is not writable, so the folder is a temporary one that nothing reads
        shutil.rmtree(folder, ignore_errors=True)


def forget(key: dict[str, Any]) -> None:
    """Remove what is cached under this key."""
    files.forget(_name(key))


def hash_of(*arrays: NDArray[Any]) -> str:
    """Return a digest of the arrays, for use in keys."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _name(key: dict[str, Any]) -> str:
    return f"calibration-{digest_of({'version': _VERSION, **key})}"
