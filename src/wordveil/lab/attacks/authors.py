"""Who wrote a text: attribution of clean and of veiled texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.progress import Watch, ignore
from wordveil.stats import Estimate, plain

__all__ = ["KINDS", "Attribution", "Attributor", "Corpus", "attack_authors", "attribute"]

#: The adversaries: one who has clean texts to attribute; one who has veiled texts and knows the authors by clean ones;
#: and one who veils the known texts himself before he learns from them.
KINDS = {"clean": ("clean", "clean"), "static": ("clean", "veiled"), "adaptive": ("veiled", "veiled")}


@dataclass(frozen=True)
class Corpus:
    """Texts and who wrote each.

    Attributes
    ----------
    texts, authors : sequence of str
        As many of one as of the other.
    """

    texts: Sequence[str]
    authors: Sequence[str]

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.authors):
            raise WordveilError("every text needs one author.")

    def __len__(self) -> int:
        return len(self.texts)

    def with_texts(self, texts: Sequence[str]) -> Corpus:
        """Return the same authors with other texts."""
        return Corpus(texts, self.authors)

    def split(self, share: float, seed: int = 0) -> tuple[Corpus, Corpus]:
        """Set aside a share of each author's texts as unknown; an author of one text has none there.

        Returns
        -------
        known, unknown : Corpus
            The two parts.
        """
        if not 0.0 < share < 1.0:
            raise WordveilError("the share of unknown texts must lie between 0 and 1, both excluded.")
        generator = np.random.default_rng(seed)
        aside = np.zeros(len(self), dtype=np.bool_)
        authors = np.array(self.authors, dtype=object)
        for author in sorted(set(self.authors)):
            own = generator.permutation(np.flatnonzero(authors == author))
            aside[own[: min(len(own) - 1, round(share * len(own)))]] = True
        known, unknown = self._take(~aside), self._take(aside)
        if not len(unknown):
            raise WordveilError("no author has a text to set aside; give more texts of each author.")
        return known, unknown

    def _take(self, chosen: NDArray[np.bool_]) -> Corpus:
        places = np.flatnonzero(chosen).tolist()
        return Corpus([self.texts[place] for place in places], [self.authors[place] for place in places])


class Attributor(Protocol):
    """What tells authors apart; `Koppel` and `CharacterSvm` do.

    Attributes
    ----------
    name : str
        What people call it.
    authors : list of str
        The authors it knows, in the order of the scores.
    threshold : float or None
        The score that an author must be above to be named; None if one is always named.
    """

    name: str
    authors: list[str]

    @property
    def threshold(self) -> float | None:
        """The least score to name an author."""

    def fit(self, texts: Sequence[str], authors: Sequence[str]) -> Any:
        """Learn known texts."""

    def scores(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a score for each text (row) and author (column)."""


@dataclass(frozen=True)
class Attribution:
    """How well unknown texts were attributed.

    Attributes
    ----------
    method : str
        Whose method it was.
    trained_on, tested_on : {"clean", "veiled"}
        What the adversary knew the authors by, and what he had to attribute.
    right : Estimate
        The share of all texts that were attributed to their author.
    precision : Estimate
        The same among those for which an author was named.
    blind : Estimate
        How often the author with most known texts would be right, for whoever reads nothing.
    authors : int
        How many authors there were to choose from.
    """

    method: str
    trained_on: str
    tested_on: str
    right: Estimate
    precision: Estimate
    blind: Estimate
    authors: int

    @property
    def kind(self) -> str:
        """Which of `KINDS` the adversary was."""
        return next(kind for kind, texts in KINDS.items() if texts == (self.trained_on, self.tested_on))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {"kind": self.kind, **plain(vars(self))}


def attribute(
    attributor: Attributor, known: Corpus, unknown: Corpus, *, trained_on: str = "clean", tested_on: str = "clean"
) -> Attribution:
    """Learn from known texts and attribute the unknown ones.

    Parameters
    ----------
    attributor : Attributor
        The method.
    known, unknown : Corpus
        What is learnt from, and what is attributed; its authors are only looked at to count what was right.
    trained_on, tested_on : {"clean", "veiled"}
        What kind of texts they are, for the record.
    """
    if len(set(known.authors)) < 2:
        raise WordveilError("an attribution needs texts of at least two authors.")
    if not len(unknown):
        raise WordveilError("there is no text to attribute.")
    scores = attributor.fit(known.texts, known.authors).scores(unknown.texts)
    guess = np.array(attributor.authors, dtype=object)[scores.argmax(axis=1)]
    threshold = attributor.threshold
    named = np.ones(len(unknown), dtype=np.bool_) if threshold is None else scores.max(axis=1) > threshold
    right = (guess == np.array(unknown.authors, dtype=object)) & named
    usual = Counter(known.authors).most_common(1)[0][0]
    return Attribution(
        method=attributor.name,
        trained_on=trained_on,
        tested_on=tested_on,
        right=Estimate.share(int(right.sum()), len(unknown)),
        precision=Estimate.share(int(right.sum()), int(named.sum())),
        blind=Estimate.share(list(unknown.authors).count(usual), len(unknown)),
        authors=len(attributor.authors),
    )


def attack_authors(
    attributor: Attributor,
    known: Corpus,
    unknown: Corpus,
    veil: Callable[[Sequence[str]], Sequence[str]],
    *,
    kinds: Sequence[str] = tuple(KINDS),
    watch: Watch = ignore,
) -> list[Attribution]:
    """Attribute texts as each kind of adversary would.

    Parameters
    ----------
    attributor : Attributor
        The method.
    known, unknown : Corpus
        What is learnt from, and what is attributed.
    veil : callable
        Veils texts: as ``lambda texts: [release.text for release in veil.many(texts)]``.
    kinds : sequence of {"clean", "static", "adaptive"}
        Which adversaries: see `KINDS`.
    watch : callable
        Told how far it is.
    """
    if not set(kinds) <= set(KINDS):
        raise WordveilError(f"an adversary is one of {', '.join(KINDS)}.")
    watch("veiling", 0.0)
    used = {texts for kind in kinds for texts in zip(("known", "unknown"), KINDS[kind], strict=True)}
    corpora = {
        (name, state): corpus if state == "clean" else corpus.with_texts(veil(corpus.texts))
        for name, corpus in (("unknown", unknown), ("known", known))
        for state in ("clean", "veiled")
        if (name, state) in used
    }
    found = []
    for number, kind in enumerate(kinds):
        watch(f"{attributor.name}, {kind} adversary", (number + 1) / (len(kinds) + 1))
        before, after = KINDS[kind]
        learnt, asked = corpora["known", before], corpora["unknown", after]
        found.append(attribute(attributor, learnt, asked, trained_on=before, tested_on=after))
    return found
