"""Words in a metric space."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from wordveil.errors import OptionError, SpaceError
from wordveil.spaces.euclidean import EuclideanSpace
from wordveil.spaces.graph import GraphSpace
from wordveil.spaces.mahalanobis import MahalanobisSpace
from wordveil.spaces.poincare import PoincareSpace, is_poincare_folder
from wordveil.spaces.ring import RingSpace
from wordveil.spaces.space import DATA, HopSpace, PointSpace, Space, neighbourhoods
from wordveil.spaces.vocabulary import Vocabulary

__all__ = [
    "BUNDLED",
    "EuclideanSpace",
    "GraphSpace",
    "HopSpace",
    "MahalanobisSpace",
    "PoincareSpace",
    "PointSpace",
    "RingSpace",
    "Space",
    "Vocabulary",
    "bundled_facts",
    "load_space",
    "neighbourhoods",
]

#: The names of the bundled spaces.
BUNDLED = ("glove-50k", "wordnet-poincare")


def bundled_facts(name: str) -> dict[str, Any]:
    """Return facts about a bundled space without opening it: words, dimension, source, licence, checksum."""
    facts: dict[str, Any] = json.loads((DATA / name / "meta.json").read_text(encoding="utf-8"))
    return facts


@overload
def load_space(name_or_path: Literal["glove-50k"], *, normalise: bool = False) -> EuclideanSpace: ...
@overload
def load_space(name_or_path: Literal["wordnet-poincare"], *, normalise: bool = False) -> PoincareSpace: ...
@overload
def load_space(name_or_path: str | Path, *, normalise: bool = False) -> EuclideanSpace | PoincareSpace: ...
def load_space(name_or_path: str | Path, *, normalise: bool = False) -> EuclideanSpace | PoincareSpace:
    """Open a bundled space by name, or an embedding from a file.

    Parameters
    ----------
    name_or_path : str or Path
        The name of a bundled space, or a file: GloVe text, word2vec text or binary, fastText .vec, .npz or
        .safetensors, plain or gzipped. The parsed form is cached, so it opens in milliseconds the next time. A folder
        written by `wordveil train` gives a Poincaré space.
    normalise : bool
        Scale every vector to length 1.

    Examples
    --------
    >>> space = load_space("glove-50k")
    >>> len(space), space.dimension
    (50000, 100)
    """
    if not isinstance(name_or_path, str | Path):
        raise SpaceError(f"a space must be a name or the path of an embedding file, not {type(name_or_path).__name__}.")
    if str(name_or_path) in BUNDLED:
        folder = DATA / str(name_or_path)
        if is_poincare_folder(folder):
            return _poincare(folder, normalise)
        words = (folder / "words.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
        vectors = np.load(folder / "vectors.npy", mmap_mode="r")
        return EuclideanSpace(str(name_or_path), Vocabulary(words), vectors, normalise=normalise, folder=folder)
    path = Path(name_or_path)
    if not path.exists():
        raise SpaceError(
            f"unknown space {str(name_or_path)!r}: give the path of an embedding file or one of {', '.join(BUNDLED)}."
        )
    if is_poincare_folder(path):
        return _poincare(path, normalise)
    from wordveil.spaces.files import load_vectors  # noqa: PLC0415 - the bundled space opens without the parsers

    words, vectors = load_vectors(path)
    return EuclideanSpace(path.name, Vocabulary(words), vectors, normalise=normalise)


def _poincare(folder: Path, normalise: bool) -> PoincareSpace:
    if normalise:
        raise OptionError("a Poincaré space cannot be normalised: its distances depend on the lengths of its vectors.")
    return PoincareSpace.load(folder)
