"""The kind of reader that reads each veiled place in the light of the whole text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import FileError, OptionError
from wordveil.extras import needs
from wordveil.progress import Watch, ignore, within
from wordveil.reading.kinds import Basis, Floats, Ids, Population, Vectors
from wordveil.reading.network import ContextModel, Passage, Size
from wordveil.reading.places import Places

__all__ = ["Context"]


class Context(Population):
    """Reads each veiled place in the light of the whole text, by a network that is fitted on the release alone."""

    name = "context"
    size = Size()

    def __init__(self, basis: Basis) -> None:
        needs("torch", "gpu", "the context reader")
        super().__init__(basis)
        self._model: ContextModel | None = None

    @property
    def model(self) -> ContextModel:
        """The network, once it is fitted."""
        if self._model is None:
            raise OptionError("a context reader must be fitted on veiled texts before it reads any.")
        return self._model

    def fit(self, places: Places, watch: Watch = ignore) -> None:
        """Estimate word frequencies, then fit the network by the outputs that it is not shown."""
        super().fit(places, within(watch, 0.0, 0.1))
        self._model = ContextModel(self.basis.law, self.basis.vectors, self.prior, self.size)
        self._model.fit(_passages(places), watch=within(watch, 0.1, 1.0))

    def means(self, places: Places, watch: Watch = ignore) -> Vectors:
        """Return the mean vector of the word behind each veiled place."""
        found = list(self.model.means(_passages(places), watch))
        return np.concatenate([np.empty((0, self.basis.vectors.shape[1])), *(one for one in found if len(one))]).astype(
            np.float32
        )

    def posterior(self, places: Places, top: int, watch: Watch = ignore) -> tuple[Ids, Floats]:
        """Return the likeliest words behind each veiled place and their probabilities."""
        shown = min(top, len(self.model.candidates))
        found = [one for one in self.model.likeliest(_passages(places), shown, watch) if len(one[0])]
        words = np.concatenate([np.empty((0, shown), dtype=np.int64), *(one[0] for one in found)])
        chances = np.concatenate([np.empty((0, shown)), *(one[1] for one in found)])
        missing = top - shown
        others = np.setdiff1d(np.arange(len(self.prior)), self.model.candidates)[:missing]  # which are not considered
        return (
            np.concatenate([words, np.broadcast_to(others, (len(words), len(others)))], axis=1),
            np.concatenate([chances, np.zeros((len(words), len(others)))], axis=1),
        )

    def best(self, places: Places, watch: Watch = ignore) -> Ids:
        """Return the likeliest word behind each veiled place."""
        return self.posterior(places, 1, watch)[0][:, 0]

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the frequencies and the weights."""
        return {} if self._model is None else {"learnt": self.prior, **self._model.state()}

    @classmethod
    def from_state(cls, basis: Basis, state: Mapping[str, NDArray[Any]]) -> Context:
        """Restore a kind from its `state`."""
        kind = cls(basis)
        if "learnt" in state:
            kind._learn(Population.from_state(basis, {"learnt": state["learnt"]}).prior)
            try:
                given = zip(Size(), state["size"].tolist(), strict=True)
                size = Size._make(type(usual)(value) for usual, value in given)
                kind._model = ContextModel(basis.law, basis.vectors, kind.prior, size)
                kind._model.restore(state)
            except (KeyError, RuntimeError, TypeError, ValueError):
                raise FileError("the saved network is damaged; fit and save the reader again.") from None
        return kind


def _passages(places: Places) -> list[Passage]:
    """Return the texts one by one."""
    ends = places.starts[1:-1]
    words, kinds = np.split(places.ids, ends), np.split(places.kinds.astype(np.int64), ends)
    others = np.split(places.others, ends, axis=1) if len(places.others) else [None] * len(places)
    return [Passage(*one) for one in zip(words, kinds, others, strict=True)] if len(places) else []
