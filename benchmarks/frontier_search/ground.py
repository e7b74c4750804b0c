"""What every candidate is made from: the words, their most similar words, and their synonyms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wordveil.lab.training import PARTS, WordNet
from wordveil.spaces import EuclideanSpace

__all__ = ["Edges", "Ground", "Tensor"]

Edges = NDArray[np.int64]
Tensor = Any  # torch.Tensor, which mypy does not see

_LISTED = 100


@dataclass(frozen=True)
class Ground:
    """The words that candidates are made from."""

    space: EuclideanSpace  # the words, frequent ones first, and their vectors
    device: str  # where the dense matrices live: ``cuda`` or ``cpu``
    wordnet: Path | None = None  # the folder of WordNet's database files; without it, there are no synonyms

    def __len__(self) -> int:
        return len(self.space)

    def with_vectors(self, vectors: NDArray[np.float32]) -> Ground:
        """Return the same words with other vectors."""
        return Ground(EuclideanSpace(self.space.name, self.space.vocabulary, vectors), self.device, self.wordnet)

    @cached_property
    def directions(self) -> Tensor:
        """The vectors, each of length 1."""
        return torch.as_tensor(np.array(self.space.directions), device=self.device)

    @cached_property
    def _similar(self) -> tuple[Edges, NDArray[np.float32]]:
        listed, cosines = self.space.similar(np.arange(len(self)), min(_LISTED, len(self) - 1))
        return listed, cosines

    @property
    def listed(self) -> Edges:
        """The most similar other words of each word, by cosine, most similar first."""
        return self._similar[0]

    @property
    def cosines(self) -> NDArray[np.float32]:
        """The cosines of the listed words."""
        return self._similar[1]

    @cached_property
    def synonyms(self) -> Edges:
        """The pairs of nouns and of verbs that share a synset of WordNet, in both directions."""
        if self.wordnet is None:
            return np.empty((0, 2), dtype=np.int64)
        wordnet, get = WordNet(self.wordnet), self.space.vocabulary.ids.get
        pairs: set[tuple[int, ...]] = set()
        for part in PARTS:
            for synset in wordnet.synsets(part):
                known = {place for lemma in wordnet.lemmas(synset) if (place := get(lemma.lower())) is not None}
                pairs.update(permutations(known, 2))
        return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
