"""The veil for each block of a job."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import wordveil
from wordveil.errors import WordveilError
from wordveil.io.records import Block
from wordveil.text import Document, Release, Veil

__all__ = ["Veils"]


class Veils:
    """Veils blocks.

    Without a seed it is one veil with fresh entropy, in every run anew. With a seed each block gets a veil of
    its own, whose seed follows from the seed, the input and the number of the block: so an experiment that
    was interrupted and resumed comes out as if it had not been.

    Parameters
    ----------
    make : callable
        Makes a veil with the seed it is given, or without one.
    seed : int, optional
        The seed of the whole job.

    Attributes
    ----------
    whole : Veil
        The veil of the job, for what it says about itself.
    """

    def __init__(self, make: Callable[[int | None], Veil], seed: int | None = None) -> None:
        self._make, self._seed = make, seed
        self.whole = make(seed)

    def identity(self) -> list[object]:
        """Return what must be the same for a job to go on."""
        return [wordveil.__version__, self.whole.fingerprint, self._seed]

    def veil(self, block: Block, name: str, number: int) -> list[Release]:
        """Veil a block of the input of this name."""
        veil = self._for(name, number)
        try:
            return veil.together(block.texts())
        except WordveilError as error:
            reason = str(error)
        raise WordveilError(f"{_culprit(veil, block)}: {reason}")

    def _for(self, name: str, number: int) -> Veil:
        if self._seed is None:
            return self.whole
        digest = hashlib.sha256(f"{self._seed}/{number}/{name}".encode("utf-8", "surrogateescape")).digest()
        return self._make(int.from_bytes(digest[:16], "big"))


def _culprit(veil: Veil, block: Block) -> str:
    """Find the record whose text the veil refuses, such as one with marks that do not pair."""
    first = block.end.record - len(block.records) + 1
    for number, texts in enumerate(block.records, first):
        if any(_is_refused(veil, text) for text in texts):
            return f"record {number}"
    return f"one of the records {first} to {block.end.record}"


def _is_refused(veil: Veil, text: str | Document) -> bool:
    try:
        veil.selection.prepare(Document(text) if isinstance(text, str) else text)
    except WordveilError:
        return True
    return False
