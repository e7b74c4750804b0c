"""What somebody claims of a callable: how far an output may change the odds between two words, by their distance."""

from __future__ import annotations

import csv
import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.errors import InputError, OptionError
from wordveil.files import file_errors
from wordveil.guarantee import Notion
from wordveil.spaces import Space, Vocabulary
from wordveil.spaces.space import Ids, Rows

__all__ = ["Claim", "TableSpace"]

_MOST_WORDS = 2000  # of a table, because its distances are a matrix in memory
_COLUMNS = 3


class TableSpace(Space):
    """Words with distances from a table. Pairs that are not in it are infinitely far apart.

    Parameters
    ----------
    distances : dict
        The distance of each pair of words, in either order.
    """

    metric, unit = "the distance in a table", "unit"

    def __init__(self, distances: dict[tuple[str, str], float], name: str = "table") -> None:
        words = list(dict.fromkeys(word for pair in distances for word in pair))
        if not 2 <= len(words) <= _MOST_WORDS:
            raise InputError(f"a table of distances must have between 2 and {_MOST_WORDS:,} words.")
        super().__init__(name, Vocabulary(words))
        self._rows = np.full((len(words), len(words)), np.inf)
        np.fill_diagonal(self._rows, 0.0)
        for pair, distance in distances.items():
            left, right = map(self.vocabulary.id, pair)
            if not (math.isfinite(distance) and distance >= 0) or (left == right and distance > 0):
                raise InputError(
                    "a distance in the table is not a finite number of 0 or more, or is above 0 for a word and itself."
                )
            # if a pair is listed twice, the smaller distance counts
            self._rows[left, right] = self._rows[right, left] = min(distance, self._rows[left, right])

    @classmethod
    def read(cls, path: str | Path) -> TableSpace:
        """Read a table: two words and their distance in each line, separated by commas or tabs, without a heading."""
        path = Path(path)
        with file_errors("read", path):
            text = path.read_text(encoding="utf-8-sig")
        found = {}
        for number, row in enumerate(csv.reader(text.splitlines(), delimiter="\t" if "\t" in text else ","), start=1):
            if not row:
                continue
            try:
                left, right, distance = (one.strip() for one in row)
                found[left, right] = float(distance)
            except ValueError:
                raise InputError(f"line {number} of {path.name} is not two words and a distance.") from None
        return cls(found, path.name)

    @property
    def checksum(self) -> str:
        """A SHA-256 of the words and their distances."""
        return hashlib.sha256("\n".join(self.vocabulary.words).encode() + self._rows.tobytes()).hexdigest()

    @property
    def diameter(self) -> float:
        """The largest distance in the table."""
        return float(self._rows[np.isfinite(self._rows)].max())

    def distances(self, ids: Ids) -> Rows:
        """Return the distances from each of these words to every word, a row for each."""
        return np.array(self._rows[np.asarray(ids)])


@dataclass(frozen=True)
class Claim:
    """A claim about every call: exchanging one word for another changes the odds of any output by at most a factor.

    For all words ``w``, ``w'`` and every set ``S`` of outputs, ``Pr[f(w) in S] <= exp(loss) * Pr[f(w') in S] + delta``,
    where the loss is ``epsilon`` times the distance of the words, or ``epsilon`` itself if the claim is `local`. The
    losses of the words of a text add up, and so do those of several calls.

    Parameters
    ----------
    space : Space
        The words and their distances. `TableSpace.read` reads distances from a file. A local claim needs the distances
        only to choose words.
    epsilon : float
        The claimed ε.
    delta : float
        The claimed δ.
    local : bool
        Whether ε holds for any two words, however far apart.
    mechanism : Mechanism, optional
        A mechanism of wordveil whose guarantee is the claim. See `of`.
    known_only : bool
        Whether the claim leaves out words that the space does not have. Otherwise they may lose as much as the two
        words farthest apart.

    Examples
    --------
    >>> space = TableSpace({("tea", "coffee"): 1.0, ("tea", "bridge"): 4.0})
    >>> claim = Claim(space, epsilon=2.0)
    >>> claim.allowed(np.array([0]), np.array([2])).tolist(), claim.unknown
    ([8.0], 8.0)
    """

    space: Space
    epsilon: float
    delta: float = 0.0
    local: bool = False
    mechanism: Mechanism[Any] | None = None
    known_only: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon >= 0):
            raise OptionError("epsilon must be a finite number of 0 or more.")
        if not 0 <= self.delta < 1:
            raise OptionError("delta must lie between 0 and 1.")
        if len(self.space) < 2:
            raise OptionError("a claim needs at least two words.")

    @classmethod
    def of(cls, mechanism: Mechanism[Any], *, known_only: bool = False) -> Claim:
        """Return the guarantee of a mechanism of wordveil as a claim, to test something that should do the same."""
        promise = mechanism.guarantee
        if promise.notion is Notion.NONE:
            raise OptionError("this mechanism guarantees nothing, so there is nothing to claim.")
        return cls(mechanism.space, promise.epsilon, promise.delta, mechanism=mechanism, known_only=known_only)

    @property
    def unknown(self) -> float:
        """The loss allowed between words outside the space; infinite if the claim leaves them out."""
        if self.known_only:
            return math.inf
        if self.local:
            return self.epsilon
        return self.mechanism.largest_loss if self.mechanism else self.epsilon * float(self.space.diameter)

    def allowed(self, left: Ids, right: Ids) -> NDArray[np.float64]:
        """Return the loss allowed between the words of each pair; infinite where nothing is claimed."""
        if self.local:
            return np.where(left == right, 0.0, self.epsilon)
        # the distances are rounded to the space's precision, and so is what is computed from them
        rounding = 3.0 * self.epsilon * self.space.precision
        if self.mechanism:
            loss = self.mechanism.allowed_loss(left, right) + rounding
            if self.mechanism.guarantee.notion is not Notion.APPROXIMATE:
                return loss
            pairs = self.mechanism.covered_pairs(np.unique([left, right])).tolist()  # it guarantees nothing for others
            covered = {(one, other) for pair in pairs for one, other in (pair, pair[::-1])}
            return np.where([pair in covered for pair in zip(left.tolist(), right.tolist(), strict=True)], loss, np.inf)
        words, row = np.unique(left, return_inverse=True)
        return np.asarray(self.epsilon * self.space.distances(words)[row, right] + rounding, dtype=np.float64)

    def between(self, ids: Ids) -> NDArray[np.float64]:
        """Return the loss allowed between any two of these words."""
        return np.array([self.allowed(np.full(len(ids), word), ids) for word in ids])

    def sentence(self) -> str:
        """Return the claim as a sentence."""
        much = f"e^{self.epsilon:g}" if self.local else f"e^({self.epsilon:g}·d), d = {self.space.metric}"
        if self.mechanism:
            much = f"what {self.mechanism.name} guarantees at ε = {self.epsilon:g}"
        slack = f", except with probability {self.delta:g}" if self.delta else ""
        words = "" if math.isinf(self.unknown) else ", including words that the space does not have"
        return f"exchanging one word for another changes the odds of any output by at most {much}{slack}{words}"

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain values."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "local": self.local,
            "mechanism": self.mechanism.describe() if self.mechanism else None,
            "space": self.space.describe(),
            "known_only": self.known_only,
            "sentence": self.sentence(),
        }
