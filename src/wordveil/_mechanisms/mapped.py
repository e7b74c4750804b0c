"""A mechanism with a fixed map applied to its outputs: post-processing, which costs no privacy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.base import Mechanism
from wordveil._mechanisms.laws import Effort, Law, RowLaw, SampledLaw
from wordveil.errors import OptionError
from wordveil.noise import Entropy
from wordveil.parallel import blocks
from wordveil.progress import Watch, ignore
from wordveil.spaces.space import Ids

_TOGETHER = 512  # outputs of the inner mechanism processed at once


def of_inner(name: str) -> Any:
    """Return a property that forwards to the inner mechanism."""
    return property(lambda self: getattr(self.inner, name))


class Mapped(Mechanism[Any]):
    """Draws from an inner mechanism and maps each output by `instead`."""

    family = "another mechanism, with some outputs replaced"
    summary = "another mechanism, with some outputs replaced"
    in_brief = "what the other mechanism promises"
    source = "post-processing"

    def __init__(self, inner: Mechanism[Any]) -> None:
        super().__init__(inner.space, inner.epsilon)
        self.inner = inner

    @property
    @abstractmethod
    def instead(self) -> NDArray[np.int64]:
        """The word released for every output; it must depend on the output alone."""

    @cached_property
    def _inner_law(self) -> Law:
        return self.inner.law()

    def draw(self, ids: Ids, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Replace each word by the image of the inner mechanism's draw."""
        return np.asarray(self.instead[self.inner.draw(ids, entropy)])

    def draw_each(self, ids: Ids, seeds: Sequence[bytes]) -> NDArray[np.int64]:
        """Replace each word by the image of the inner mechanism's draw from its seed."""
        return np.asarray(self.instead[self.inner.draw_each(ids, seeds)])

    def probability_rows(self, ids: Ids) -> NDArray[np.float64]:
        """Return the exact probabilities of every output, one row per word; an OptionError if they are unknown."""
        inner = self._inner_law
        if not inner.exact:
            raise OptionError(f"the mechanism {self.name} has no exact probabilities; ask its law for estimates.")
        rows = inner.rows(ids)
        moved = np.flatnonzero(self.instead != np.arange(len(self.space)))
        taken = np.ascontiguousarray(rows[:, moved].T)
        rows[:, moved] = 0.0
        np.add.at(rows.T, self.instead[moved], taken)
        return rows

    def log_columns(self, outputs: Ids, inputs: Ids, watch: Watch = ignore) -> NDArray[np.float64]:
        """Return the logarithms of the exact probabilities of some outputs, one row per output."""
        outputs = np.asarray(outputs)
        order = np.argsort(self.instead, kind="stable")  # the inner mechanism's outputs, grouped by their image
        starts = np.searchsorted(self.instead[order], outputs)
        counts = np.searchsorted(self.instead[order], outputs, side="right") - starts
        found = np.full((len(outputs), len(inputs)), -np.inf)
        behind = order[np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())]
        given = np.repeat(np.arange(len(outputs)), counts)
        law = self._inner_law
        for part in blocks(len(behind), _TOGETHER):  # thousands of outputs may map to one popular word
            logs = law.log_columns(behind[part], inputs, watch=watch)
            firsts = np.flatnonzero(np.diff(given[part], prepend=-1))
            places = given[part][firsts]
            found[places] = np.logaddexp(found[places], np.logaddexp.reduceat(logs, firsts, axis=0))
        return found

    def law(self, effort: Effort | None = None, watch: Watch = ignore) -> Law:
        """Return the law: exact if the inner mechanism's is, else estimated from draws."""
        kind = RowLaw if self._inner_law.exact else SampledLaw
        return kind(self, effort, watch)

    # Post-processing keeps the guarantee and what is stated of the noise. (An exact δ may shrink, so it is left out.)
    guarantee, claim, shortfall = of_inner("guarantee"), of_inner("claim"), of_inner("shortfall")
    largest_distance, largest_loss = of_inner("largest_distance"), of_inner("largest_loss")
    allowed_loss, covered_pairs = of_inner("allowed_loss"), of_inner("covered_pairs")
    perturb, radius_law, projection_law = of_inner("perturb"), of_inner("radius_law"), of_inner("projection_law")
