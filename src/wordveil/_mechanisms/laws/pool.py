"""Draws of a mechanism from which its columns are learnt, shared by everything that asks for them.

What a word becomes depends on no prior. A prior only says of which words to know more: so the draws that were made for
one serve the next, and only what it asks for beyond them is drawn.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.laws.learner import Learnt, Sightings
from wordveil.parallel import renew_after_fork
from wordveil.progress import Watch, ignore

if TYPE_CHECKING:
    from wordveil.spaces import Space

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Draws each word as often as the second array says, in the given round, and returns the pairs that came: for each the
#: place of its word, the output, and how often.
Draw: TypeAlias = Callable[[Ids, Ids, int, Watch], tuple[Ids, Ids, Floats]]

_LEAST = 2  # draws of every word, however unlikely
_ENOUGH = 0.9  # of the draws that a prior asks for; then the rest is not worth making
_REMEMBERED = 4


class Pool:
    """Draws of one mechanism, and what was learnt from them under the last few priors.

    Parameters
    ----------
    space : Space
        The words.
    draw : callable
        Makes the draws.
    total : int
        How many draws a prior asks for in all, of each word in proportion to how likely it is.
    """

    def __init__(self, space: Space, draw: Draw, total: int) -> None:
        self._space, self._draw, self._total = space, draw, total
        self._drawn = np.zeros(len(space), dtype=np.int64)
        self._keys: Ids = np.empty(0, dtype=np.int64)  # of the pairs, in order
        self._counts: Floats = np.empty(0)
        self._learnt: dict[tuple[bytes, bytes], Learnt] = {}
        self._rounds = 0
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Begin with a lock that nobody holds."""
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the lock behind, which goes into no other process."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a new lock."""
        vars(self).update(state)
        self.after_fork()
        renew_after_fork(self)

    def learnt(self, words: Ids, prior: Floats | None, watch: Watch = ignore) -> Learnt:
        """Return what draws tell of these words, which are as likely as the prior says or all alike.

        The draws are made at most once, even if several ask at the same time.
        """
        shares = np.full(len(words), 1.0 / len(words)) if prior is None else prior / prior.sum()
        key = (words.tobytes(), shares.tobytes())
        with self._lock:
            if key not in self._learnt:
                self._make(words, np.maximum(_LEAST, np.ceil(self._total * shares)).astype(np.int64), watch)
                while len(self._learnt) >= _REMEMBERED:
                    self._learnt.pop(next(iter(self._learnt)))
                self._learnt[key] = Learnt(self._space, self._sightings(words))
            return self._learnt[key]

    def _make(self, words: Ids, wanted: Ids, watch: Watch) -> None:
        """Draw what is missing, unless next to nothing is."""
        missing = np.maximum(wanted - self._drawn[words], 0)
        if (self._drawn[words] >= _LEAST).all() and missing.sum() <= (1.0 - _ENOUGH) * wanted.sum():
            return
        some = missing > 0
        places, output, count = self._draw(words[some], missing[some], self._rounds, watch)
        self._rounds += 1
        keys = np.concatenate([self._keys, words[some][places] * len(self._space) + output])
        self._keys, place = np.unique(keys, return_inverse=True)
        self._counts = np.asarray(np.bincount(place, weights=np.concatenate([self._counts, count])), dtype=np.float64)
        self._drawn[words[some]] += missing[some]

    def _sightings(self, words: Ids) -> Sightings:
        """Return what is known of these words."""
        place = np.full(len(self._space), -1)
        place[words] = np.arange(len(words))
        row = place[self._keys // len(self._space)]
        known = row >= 0
        output = self._keys[known] % len(self._space)
        return Sightings(words, self._drawn[words].astype(np.float64), row[known], output, self._counts[known])
