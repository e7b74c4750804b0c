"""The matrix that a curator undoes: dense, for a vocabulary that it fits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Channel, ExponentialMechanism, Mechanism
from wordveil.errors import WordveilError
from wordveil.parallel import blocks

__all__ = ["dense_channel"]

_MOST = 1 << 28  # entries: 1 GiB of single precision


def dense_channel(source: Mechanism[Any] | Channel, *, dtype: type[np.floating[Any]] = np.float64) -> NDArray[Any]:
    """Return ``Pr[M(w)=u]`` for all words of the vocabulary, a row for each input word.

    Parameters
    ----------
    source : Mechanism or Channel
        A mechanism with exact probabilities, or a channel with a row for every word.
    dtype : type
        The precision; ``numpy.float32`` halves the memory.
    """
    words = source.matrix.shape[1] if isinstance(source, Channel) else len(source.space)
    if words * words > _MOST:
        raise WordveilError(
            f"a channel of {words:,} × {words:,} words is too large to undo; open a space of at most "
            f"{int(_MOST**0.5):,} words."
        )
    if isinstance(source, Channel):
        if len(source.words) != words or not np.array_equal(np.sort(source.words), np.arange(words)):
            raise WordveilError("to undo a channel it needs a row for every word of the vocabulary.")
        return np.asarray(source.matrix.toarray()[np.argsort(source.words)], dtype=dtype)
    if not isinstance(source, ExponentialMechanism):
        raise WordveilError(f"the probabilities of {source.name} are not known exactly; give a channel made from it.")
    matrix = np.empty((words, words), dtype=dtype)
    for part in blocks(words, 256):
        matrix[part] = source.probability_rows(np.arange(part.start, part.stop))
    return matrix
