"""What becomes of words outside the vocabulary.

The default draws a replacement that does not depend on the word: a word of the vocabulary by a public prior, or, for
a number, as many random digits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.priors import log_prior
from wordveil.errors import WordveilError
from wordveil.noise import Entropy
from wordveil.spaces import Space
from wordveil.text.selection import stop_words

__all__ = ["POLICIES", "OutsideWords", "check_policy", "random_digits"]

POLICIES = ("replace", "drop", "keep")


def check_policy(policy: str) -> str:
    """Return the name of the policy, or refuse it."""
    if policy not in POLICIES:
        raise WordveilError(f"there is no oov policy {policy!r}; choose one of {', '.join(POLICIES)}.")
    return policy


class OutsideWords:
    """Draws replacements that depend on nothing but how many are wanted.

    Parameters
    ----------
    space : Space
        The words to draw from: its content words, frequent ones more often (by the prior ``frequency``).
    """

    def __init__(self, space: Space) -> None:
        stop = stop_words()
        content = [place for place, word in enumerate(space.vocabulary) if word.lower() not in stop]
        self._ids = np.array(content or range(len(space)), dtype=np.int64)
        self._sums = np.cumsum(np.exp(log_prior(space, "frequency")[self._ids]))

    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Draw the ids of so many words."""
        aim = entropy.uniform(count) * self._sums[-1]
        return np.asarray(self._ids[np.searchsorted(self._sums, aim)])


def random_digits(lengths: list[int], entropy: Entropy) -> list[str]:
    """Draw a number of each of these lengths."""
    digits = "".join(map(str, entropy.generator.integers(0, 10, sum(lengths)).tolist()))
    ends = np.cumsum(lengths).tolist()
    return [digits[end - length : end] for end, length in zip(ends, lengths, strict=True)]
