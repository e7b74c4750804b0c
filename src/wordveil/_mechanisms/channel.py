"""A mechanism written out as the matrix of its probabilities, and run from it."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms.base import ExponentialMechanism, Mechanism
from wordveil._mechanisms.rows import drawn_closely
from wordveil.errors import WordveilError
from wordveil.guarantee import Guarantee
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.spaces import Space
from wordveil.spaces.formats.arrays import ARCHIVE_DAMAGE, read_member
from wordveil.spaces.space import Ids

__all__ = ["Channel", "FromChannel", "channel_of"]

_MOST = 1 << 28  # entries of an exact channel: 2 GiB of doubles
_ARRAYS = ("words", "data", "indices", "indptr")
_ROUNDING = 1e-6  # of the sum of a row


class Channel:
    """The matrix ``Pr[M(w)=u]``: a row for each input word, a column for each word of the vocabulary.

    Attributes
    ----------
    words : array of int
        The input words, as ids of the vocabulary.
    matrix : sparse array of shape (words, vocabulary)
        The probabilities.
    draws : int or None
        How many draws a row was estimated from; None if the probabilities are exact.
    mechanism : dict
        What the mechanism says of itself.
    guarantee : Guarantee
        What is promised by a mechanism with just these probabilities.
    """

    def __init__(
        self,
        words: NDArray[np.int64],
        matrix: scipy.sparse.csr_array,
        draws: int | None,
        mechanism: dict[str, Any],
        guarantee: Guarantee,
    ) -> None:
        self.words, self.matrix, self.draws = words, matrix, draws
        self.mechanism, self.guarantee = mechanism, guarantee

    @property
    def exact(self) -> bool:
        """Whether the probabilities are exact."""
        return self.draws is None

    def row(self, word: int) -> NDArray[np.float64]:
        """Return the probabilities of every output for one input word."""
        place = np.flatnonzero(self.words == word)
        if not place.size:
            raise WordveilError("the channel has no row for this word.")
        return np.asarray(self.matrix[[int(place[0])]].toarray()[0])

    def bounds(self, confidence: float = 0.99) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array, float]:
        """Return lower and upper confidence bounds of the entries, and the upper bound of an entry that is zero.

        Clopper-Pearson bounds, each of them true with at least this confidence; of an exact channel the entries
        themselves.
        """
        if self.draws is None:
            return self.matrix, self.matrix, 0.0
        counts = np.rint(self.matrix.data * self.draws)
        tail = (1.0 - confidence) / 2.0
        lower, upper = self.matrix.copy(), self.matrix.copy()
        lower.data = scipy.special.betaincinv(counts, self.draws - counts + 1, tail)
        below_one = scipy.special.betaincinv(counts + 1, np.maximum(self.draws - counts, 1), 1.0 - tail)
        upper.data = np.where(counts == self.draws, 1.0, below_one)
        return lower, upper, float(scipy.special.betaincinv(1, self.draws, 1.0 - tail))

    def save(self, path: str | Path) -> None:
        """Write the channel to one file."""
        facts = {
            "draws": self.draws,
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            "shape": self.matrix.shape,
        }
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("channel.json", json.dumps(facts))
            for name in _ARRAYS:
                part = io.BytesIO()
                np.save(part, self.words if name == "words" else getattr(self.matrix, name))
                archive.writestr(f"{name}.npy", part.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> Channel:
        """Read a channel that `save` wrote."""
        try:
            with zipfile.ZipFile(path) as archive:
                facts = json.loads(archive.read("channel.json"))
                parts = {name: read_member(archive, name, Path(path)) for name in _ARRAYS}
            entries = (parts["data"], parts["indices"], parts["indptr"])
            matrix = scipy.sparse.csr_array(entries, shape=tuple(facts["shape"]))
            matrix.check_format(full_check=True)
            channel = cls(
                parts["words"], matrix, facts["draws"], facts["mechanism"], Guarantee.from_dict(facts["guarantee"])
            )
            if channel._is_sound():
                return channel
        except (*ARCHIVE_DAMAGE, OSError, AttributeError, RecursionError, WordveilError):
            pass
        raise WordveilError(f"{Path(path).name} is not a channel that wordveil saved, or it is damaged.")

    def _is_sound(self) -> bool:
        """Whether the rows are probabilities of known words, and what is said of them has the form it must have."""
        rows, columns = self.matrix.shape
        words, data = self.words, self.matrix.data
        return bool(
            words.dtype.kind == "i"
            and words.shape == (rows,)
            and ((words >= 0) & (words < columns)).all()
            and len(np.unique(words)) == rows
            and data.dtype.kind == "f"
            and (data >= 0).all()
            and np.allclose(self.matrix.sum(axis=1), 1.0, atol=_ROUNDING)
            and (self.draws is None or (isinstance(self.draws, int) and self.draws > 0))
            and isinstance(self.mechanism["epsilon"], (int, float))
            and isinstance(self.mechanism["space"]["checksum"], str)
        )


def channel_of(
    mechanism: Mechanism[Any],
    words: Ids | None = None,
    *,
    draws: int = 10_000,
    entropy: Entropy | None = None,
) -> Channel:
    """Write out a mechanism for some words, exactly where its probabilities are known and by counting draws elsewhere.

    Parameters
    ----------
    mechanism : Mechanism
        What to write out.
    words : array of int, optional
        The input words, as ids; all if not given.
    draws : int
        How many draws to count for each word where the probabilities are not known.
    entropy : Entropy, optional
        Where the randomness comes from.
    """
    chosen = np.arange(len(mechanism.space)) if words is None else np.asarray(words, dtype=np.int64)
    shape = (len(chosen), len(mechanism.space))
    if isinstance(mechanism, ExponentialMechanism):
        if shape[0] * shape[1] > _MOST:
            raise WordveilError(
                f"a channel of {shape[0]:,} × {shape[1]:,} exact probabilities is too large; give fewer words."
            )
        rows = [mechanism.probability_rows(chosen[part]) for part in blocks(len(chosen), 256)]
        matrix = scipy.sparse.csr_array(np.concatenate(rows) if rows else np.empty(shape))
        return Channel(chosen, matrix, None, mechanism.describe(), mechanism.guarantee)
    if draws < 1:
        raise WordveilError("a channel is estimated from at least one draw a word.")
    entropy = entropy or Entropy()
    found = []
    for part in blocks(len(chosen), max(1, (1 << 20) // draws)):
        place = np.repeat(np.arange(part.start, part.stop), draws)
        drawn = mechanism.draw(chosen[place], entropy)
        found.append(np.unique(place * shape[1] + drawn, return_counts=True))
    keys = np.concatenate([keys for keys, _ in found]) if found else np.empty(0, dtype=np.int64)
    counts = np.concatenate([counts for _, counts in found]) if found else np.empty(0)
    matrix = scipy.sparse.csr_array((counts / draws, (keys // shape[1], keys % shape[1])), shape=shape)
    promise = mechanism.guarantee.void(
        "The probabilities are estimates: an output that was never drawn has probability 0, which no promise survives."
    )
    return Channel(chosen, matrix, draws, mechanism.describe(), promise)


class FromChannel(Mechanism[Space]):
    """A mechanism that draws from a saved channel, in constant time a draw.

    Each row is summed up and cut into as many equal parts as it has entries; a table says at which entry each part
    begins, so that a draw looks at two entries on average (Chen & Asau 1974).

    Parameters
    ----------
    space : Space
        The space that the channel was made on.
    channel : Channel
        The probabilities.
    """

    name = "channel"
    family = "draws from a saved channel"
    summary = "draws from probabilities that were written out before"
    in_brief = "what the mechanism promised, if the channel is exact"
    source = "challenges paper"

    def __init__(self, space: Space, channel: Channel) -> None:
        super().__init__(space, channel.mechanism["epsilon"])
        if channel.matrix.shape[1] != len(space) or channel.mechanism["space"]["checksum"] != space.checksum:
            raise WordveilError("the channel was made on another space; open the one it was made on.")
        self.written = channel
        self._row = np.full(len(space), -1, dtype=np.int64)
        self._row[channel.words] = np.arange(len(channel.words))
        self._prepare()

    def _prepare(self) -> None:
        matrix = self.written.matrix
        self._sums = np.empty(len(matrix.data))
        self._guide = np.empty(len(matrix.data), dtype=np.int64)
        for start, stop in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
            sums = np.cumsum(matrix.data[start:stop])
            self._sums[start:stop] = sums / sums[-1]
            begins = np.arange(stop - start) / (stop - start)
            found = np.searchsorted(self._sums[start:stop], begins, side="right")
            self._guide[start:stop] = np.minimum(found, stop - start - 1) + start

    def options(self) -> dict[str, Any]:
        """Return what the channel was made of."""
        return {"of": self.written.mechanism}

    @property
    def guarantee(self) -> Guarantee:
        """What is promised for one word: what the channel keeps of its mechanism's promise."""
        return self.written.guarantee.with_caveat(drawn_closely(len(self.space)))

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by one drawn with its row of the channel."""
        row = self._row[ids]
        if (row < 0).any():
            raise WordveilError("the channel has no row for some of these words; make it for the whole vocabulary.")
        matrix = self.written.matrix
        start, stop = matrix.indptr[row].astype(np.int64), matrix.indptr[row + 1].astype(np.int64)
        aim = (entropy or Entropy()).uniform(len(row))
        place = self._guide[start + (aim * (stop - start)).astype(np.int64)]
        behind = np.flatnonzero((self._sums[place] <= aim) & (place < stop - 1))
        while behind.size:
            place[behind] += 1
            behind = behind[(self._sums[place[behind]] <= aim[behind]) & (place[behind] < stop[behind] - 1)]
        return np.asarray(matrix.indices[place], dtype=np.int64)
