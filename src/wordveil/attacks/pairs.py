"""Pairs originals with their releases, word by word, for texts veiled here or released before.

Both are cut by the code of the veil, and each word is compared with the word at the same place of the other text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.errors import InputError, OptionError
from wordveil.noise import Entropy
from wordveil.reading import LEFT_ALONE, UNKNOWN, VEILED, Cutter, Places, Reader
from wordveil.reading.places import nothing_to_find
from wordveil.text import Document, Veil

Text = str | Document

_UNFIT = 0.1  # the share of mismatched texts above which originals and veiled texts do not belong together
_ENOUGH = 50  # words that all stayed, so that it cannot be chance
_STRANGE = 0.05  # the share of outputs outside the vocabulary above which the release used another space


@dataclass(frozen=True)
class Pair:
    """Originals with their releases."""

    originals: Places  # the words of the originals; those that the mechanism replaced are `VEILED`
    releases: tuple[list[Text], ...]  # one or more releases of each original
    left_out: int  # texts left out because their words do not align, for example because words were dropped

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.originals)

    def sample(self, tokens: int, entropy: Entropy) -> NDArray[np.int64]:
        """Choose texts at random until they have `tokens` words to find, or all texts."""
        to_find = np.bincount(self.originals.texts, weights=self.originals.kinds == VEILED, minlength=len(self)).astype(
            np.int64
        )
        order = entropy.generator.permutation(np.flatnonzero(to_find))
        return np.sort(order[: int(np.searchsorted(np.cumsum(to_find[order]), tokens)) + 1])

    def others(self, chosen: Iterable[int]) -> list[list[Text]] | None:
        """Return the further releases of some texts; None if there is only one release."""
        return [[texts[one] for texts in self.releases[1:]] for one in chosen] if len(self.releases) > 1 else None


def veil_texts(
    mechanism: Mechanism[Any],
    texts: Sequence[Text],
    select: str,
    entropy: Entropy,
    *,
    words: Collection[str] | None = None,
    releases: int = 1,
    once: bool = True,
) -> Pair:
    """Veil originals once or several times."""
    if releases < 1:
        raise OptionError("releases must be at least 1.")
    cutter = Cutter(mechanism.space.vocabulary, select, words)
    seed = int(entropy.generator.integers(1 << 62))
    veil = Veil(mechanism, select=select, words=words, once="record" if once else None, seed=seed, unproven=True)
    drawn = [list(veil.many(texts)) for _ in range(releases)]
    if not cutter.needs_spans:
        return _paired(cutter, texts, [[one.text for one in release] for release in drawn])
    plain = [text.text if isinstance(text, Document) else text for text in texts]
    originals = [
        Document(text, tuple((place.start, place.end) for place in one.replacements))
        for text, one in zip(plain, drawn[0], strict=True)
    ]
    released: list[list[Text]] = [
        [Document(one.text, tuple((place.new_start, place.new_end) for place in one.replacements)) for one in release]
        for release in drawn
    ]
    return _paired(cutter, originals, released)


def pair_texts(reader: Reader, texts: Sequence[Text], veiled: Sequence[Text]) -> Pair:
    """Pair originals with texts that were released before; raise an InputError if they do not belong together."""
    if len(texts) != len(veiled):
        raise InputError(
            f"there are {len(texts):,} originals but {len(veiled):,} veiled texts: give the same records in the same "
            "order."
        )
    pair = _paired(reader.cutter, texts, [list(veiled)])
    if pair.left_out > _UNFIT * len(texts):
        raise InputError(
            f"the veiled texts do not match the originals: {pair.left_out:,} of {len(texts):,} have a different number "
            "of words, or differ in words that this selection leaves alone. Give the same records in the same order, "
            "and the selection that they were veiled with."
        )
    drawn, hidden = reader.cutter.cut(pair.releases[0]), pair.originals.kinds == VEILED
    stayed = (drawn.ids == pair.originals.ids)[hidden]
    if stayed.all() and len(stayed) >= _ENOUGH:
        raise InputError("the veiled texts are the originals, word for word: nothing in them was veiled.")
    function = np.isin(pair.originals.ids[hidden], _function_words(reader))
    if function.sum() >= _ENOUGH and stayed[function].all():
        raise InputError(
            "every function word stayed, so the release has left them alone: set select to content, not all."
        )
    if (drawn.kinds[hidden] == UNKNOWN).mean() > _STRANGE:
        raise InputError(
            "many words were replaced by words that this space does not have, so the texts were veiled with another "
            "space; give the space of the release."
        )
    return pair


def _function_words(reader: Reader) -> NDArray[np.int64]:
    return np.flatnonzero(~Cutter(reader.mechanism.space.vocabulary, "content").possible)


def _paired(cutter: Cutter, originals: Sequence[Text], releases: Sequence[list[Text]]) -> Pair:
    """Keep the texts whose words align in the original and in all its releases.

    An identifier counts as one place if it was replaced by a placeholder, and as its words if it was veiled.
    """
    pair = _aligned(cutter, originals, releases, whole=True)
    if pair.left_out:
        pair = min(pair, _aligned(cutter, originals, releases, whole=False), key=lambda one: one.left_out)
    if len(pair) and not (pair.originals.kinds == VEILED).any():
        raise nothing_to_find()
    return pair


def _aligned(cutter: Cutter, originals: Sequence[Text], releases: Sequence[list[Text]], *, whole: bool) -> Pair:
    clean, fits = cutter.cut(originals, original=whole), np.ones(len(originals), dtype=np.bool_)
    for release in releases:
        drawn = cutter.cut(release)
        fits &= np.diff(clean.starts) == np.diff(drawn.starts)
        # Compared text by text, because a text of another length shifts all that follow.
        for text in np.flatnonzero(fits).tolist():
            here, there = (slice(*places.starts[text : text + 2]) for places in (clean, drawn))
            alone = clean.kinds[here] == LEFT_ALONE
            fits[text] = np.array_equal(clean.ids[here][alone], drawn.ids[there][alone])
    if not fits.all():
        kept = np.flatnonzero(fits).tolist()
        clean = cutter.cut([originals[text] for text in kept], original=whole)
        releases = [[release[text] for text in kept] for release in releases]
    return Pair(clean, tuple(releases), int((~fits).sum()))
