"""What draws tell: figures counted from the outputs of some words, to be added up over blocks of words."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.calibration.settings import Settings

__all__ = ["Counts", "Pairs"]

#: An output tells which inputs are alike only if its likeliest input gave it at least so often.
SEEN = 20


@dataclass(frozen=True)
class Pairs:
    """The distinct pairs of a word and an output, and how often each was drawn.

    Attributes
    ----------
    row : array of int
        The place of the word among those drawn for.
    output : array of int
        The output.
    count : array of int
        How often it came out.
    """

    row: NDArray[np.int64]
    output: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, outputs: NDArray[np.integer[Any]]) -> Pairs:
        """Count the outputs of each row."""
        ordered = np.sort(outputs, axis=1)
        begins = np.ones(ordered.shape, dtype=np.bool_)
        begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        starts = np.flatnonzero(begins)
        return cls(
            starts // ordered.shape[1],
            ordered.ravel()[starts].astype(np.int64),
            np.diff(starts, append=ordered.size),
        )


@dataclass(frozen=True)
class Counts:
    """Figures of a block of words from their outputs at one ε.

    Attributes
    ----------
    distinct, effective, largest, own : array of shape (words,)
        The number of distinct outputs, the size of the smallest set that holds all but eta of the draws, the
        frequency of the likeliest output, and that of the word itself.
    singles : array of shape (words,)
        How many outputs came once.
    reached, reached_by : array of int
        The outputs that came at all, and from how many of the words each.
    below : array of int
        From how many words below it in the hierarchy each of them came.
    word, output, count : array of int
        The pairs that came often.
    """

    distinct: NDArray[np.float64]
    effective: NDArray[np.float64]
    largest: NDArray[np.float64]
    own: NDArray[np.float64]
    singles: NDArray[np.float64]
    reached: NDArray[np.int64]
    reached_by: NDArray[np.int64]
    below: NDArray[np.int64]
    word: NDArray[np.int64]
    output: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        ids: NDArray[np.int64],
        outputs: NDArray[np.integer[Any]],
        settings: Settings,
        depth: NDArray[np.float64] | None = None,
    ) -> Counts:
        """Count the outputs of a block of words.

        Parameters
        ----------
        ids : array of int
            The words.
        outputs : array of shape (words, draws)
            What came out.
        settings : Settings
            For eta and gamma.
        depth : array of float, optional
            How deep every word of the vocabulary lies in a hierarchy.
        """
        draws = outputs.shape[1]
        pairs = Pairs.of(outputs)
        words = len(ids)
        word = ids[pairs.row]
        distinct = np.bincount(pairs.row, minlength=words)
        by_size = np.lexsort((-pairs.count, pairs.row))
        begins = np.concatenate([[0], np.cumsum(distinct)[:-1]])
        running = np.cumsum(pairs.count[by_size])
        before = (running - pairs.count[by_size])[begins]
        held = running - np.repeat(before, distinct)
        is_needed = held - pairs.count[by_size] < (1.0 - settings.eta) * draws * (1 - 1e-12)
        often = pairs.count >= SEEN / settings.gamma
        reached, place = np.unique(pairs.output, return_inverse=True)
        lower = np.zeros(len(word)) if depth is None else depth[word] > depth[pairs.output]
        return cls(
            distinct=distinct.astype(np.float64),
            effective=np.add.reduceat(is_needed.astype(np.float64), begins),
            largest=pairs.count[by_size][begins] / draws,
            own=np.bincount(pairs.row, weights=pairs.count * (word == pairs.output), minlength=words) / draws,
            singles=np.bincount(pairs.row[pairs.count == 1], minlength=words).astype(np.float64),
            reached=reached,
            reached_by=np.bincount(place.ravel(), minlength=len(reached)),
            below=np.bincount(place.ravel(), weights=lower, minlength=len(reached)).astype(np.int64),
            word=word[often],
            output=pairs.output[often],
            count=pairs.count[often],
        )

    @classmethod
    def joined(cls, parts: list[Counts]) -> Counts:
        """Put blocks of words together."""
        whole = {one.name: np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)}
        outputs, place = np.unique(whole["reached"], return_inverse=True)
        for name in ("reached_by", "below"):
            sums = np.bincount(place.ravel(), weights=whole[name], minlength=len(outputs))
            whole[name] = sums.astype(np.int64)
        whole["reached"] = outputs
        return cls(**whole)

    def alike(self, gamma: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the outputs that came often from some input, and from how many inputs nearly as often."""
        outputs, place = np.unique(self.output, return_inverse=True)
        most = np.zeros(len(outputs), dtype=np.int64)
        np.maximum.at(most, place.ravel(), self.count)
        close = self.count * gamma >= most[place.ravel()]
        many = np.bincount(place.ravel()[close], minlength=len(outputs)).astype(np.float64)
        return outputs[most >= SEEN], many[most >= SEEN]
