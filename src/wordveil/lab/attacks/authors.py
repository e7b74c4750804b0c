"""Who wrote a text: attribution of clean and of veiled texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import InputError, OptionError
from wordveil.extras import needs
from wordveil.progress import Watch, ignore
from wordveil.stats import Estimate, plain

#: The attackers, by what they learn from and what they attribute: clean texts only; veiled texts, with clean texts by
#: the authors (static); veiled texts, after veiling the known texts as well (adaptive).
KINDS = {"clean": ("clean", "clean"), "static": ("clean", "veiled"), "adaptive": ("veiled", "veiled")}


@dataclass(frozen=True)
class Corpus:
    """Texts and their authors."""

    texts: Sequence[str]
    authors: Sequence[str]

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.authors):
            raise InputError("every text needs one author.")

    def __len__(self) -> int:
        return len(self.texts)

    def with_texts(self, texts: Sequence[str]) -> Corpus:
        """Return other texts by the same authors."""
        return Corpus(texts, self.authors)

    def split(self, share: float, seed: int = 0) -> tuple[Corpus, Corpus]:
        """Set aside a share of each author's texts as unknown, but never an author's only text.

        Returns
        -------
        known, unknown : Corpus
            The two parts.
        """
        if not 0.0 < share < 1.0:
            raise OptionError("the share of unknown texts must lie strictly between 0 and 1.")
        generator = np.random.default_rng(seed)
        aside = np.zeros(len(self), dtype=np.bool_)
        authors = np.array(self.authors, dtype=object)
        for author in sorted(set(self.authors)):
            own = generator.permutation(np.flatnonzero(authors == author))
            aside[own[: min(len(own) - 1, round(share * len(own)))]] = True
        known, unknown = self._take(~aside), self._take(aside)
        if not len(unknown):
            raise InputError("no author has a text to set aside; add more texts by each author.")
        return known, unknown

    def _take(self, chosen: NDArray[np.bool_]) -> Corpus:
        places = np.flatnonzero(chosen).tolist()
        return Corpus([self.texts[place] for place in places], [self.authors[place] for place in places])


@dataclass(frozen=True)
class Attribution:
    """How well unknown texts were attributed."""

    method: str
    trained_on: str
    tested_on: str
    right: Estimate  # the share of all texts attributed to their author
    precision: Estimate  # the same among the texts for which an author was named
    blind: Estimate  # the share that would be right if the author with the most known texts were always named
    authors: int  # the number of authors to choose from

    @property
    def kind(self) -> str:
        """Which of `KINDS` the attacker was."""
        return next(kind for kind, texts in KINDS.items() if texts == (self.trained_on, self.tested_on))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {"kind": self.kind, **plain(vars(self))}


def attribute(
    attributor: Attributor, known: Corpus, unknown: Corpus, *, trained_on: str = "clean", tested_on: str = "clean"
) -> Attribution:
    """Learn from known texts, and attribute the unknown ones.

    The authors of the unknown texts only serve to count what was right.
    """
    if len(set(known.authors)) < 2:
        raise InputError("attribution needs texts by at least two authors.")
    if not len(unknown):
        raise InputError("there is no text to attribute.")
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
    """Attribute texts as each kind of attacker would."""
    if not set(kinds) <= set(KINDS):
        raise OptionError(f"an attacker is one of {', '.join(KINDS)}.")
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
        watch(f"{attributor.name}, {kind} attacker", (number + 1) / (len(kinds) + 1))
        before, after = KINDS[kind]
        learnt, asked = corpora["known", before], corpora["unknown", after]
        found.append(attribute(attributor, learnt, asked, trained_on=before, tested_on=after))
    return found


def space_free_ngrams(text: str, length: int = 4) -> list[str]:
    """Return the character n-grams of each word, or the word itself if it is shorter.

    Examples
    --------
    >>> space_free_ngrams("the ships")
    ['the', 'ship', 'hips']
    """
    return [
        word[start : start + length] for word in text.lower().split() for start in range(max(1, len(word) - length + 1))
    ]


class Koppel:
    """Attributes texts to authors by repeated nearest neighbours (Koppel, Schler & Argamon 2011).

    Texts are vectors of the frequencies of *space-free character 4-grams*: four characters without a space between
    them, or a shorter word as a whole. In each round a random part of the features is chosen, and the author wins whose
    known text has the largest cosine with the unknown one. An author's score is the share of rounds they win. Below a
    threshold, the answer is "don't know"; a threshold of 0 always names an author.
    """

    name = "koppel"

    def __init__(
        self, features: int = 100_000, times: int = 100, share: float = 0.4, threshold: float = 0.0, seed: int = 0
    ) -> None:
        needs("sklearn", "tasks", "this attack")
        if features < 1 or times < 1 or not 0.0 < share <= 1.0:
            raise OptionError("features and times must be at least 1, and share above 0 and at most 1.")
        self.features, self.times, self.share = features, times, share
        self.threshold, self.seed = threshold, seed

    def fit(self, texts: Sequence[str], authors: Sequence[str]) -> Koppel:
        """Learn from the known texts. All texts of an author count as one."""
        from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415 - an extra

        self.authors = sorted(set(authors))
        joined: dict[str, list[str]] = {author: [] for author in self.authors}
        for text, author in zip(texts, authors, strict=True):
            joined[author].append(text)
        self._counter = CountVectorizer(analyzer=space_free_ngrams, max_features=self.features)
        try:
            counts = self._counter.fit_transform([" ".join(joined[author]) for author in self.authors])
        except ValueError:
            raise InputError("the known texts have no words to learn from.") from None
        self._known = counts.toarray().astype(np.float64)
        return self

    def scores(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return how often each author (column) was the nearest to each text (row), as a share of the rounds."""
        unknown = self._counter.transform(texts).astype(np.float64)
        generator = np.random.default_rng(self.seed)
        size = self._known.shape[1]
        known, squares, part = np.ascontiguousarray(self._known.T), self._known**2, unknown.copy()
        won = np.zeros((len(texts), len(self.authors)))
        for _ in range(self.times):
            chosen = np.zeros(size)
            chosen[generator.permutation(size)[: max(1, round(self.share * size))]] = 1.0
            part.data = unknown.data * chosen[unknown.indices]
            lengths = np.sqrt(squares @ chosen)
            cosines = part @ known / np.maximum(lengths, 1e-300)
            # a text without any of the chosen features is near nobody: choose a random author, not the first
            cosines += 1e-12 * generator.uniform(size=cosines.shape)
            won[np.arange(len(texts)), cosines.argmax(axis=1)] += 1
        return won / self.times


class CharacterSvm:
    """Attributes texts to authors by a linear support vector machine on tf-idf weights of character n-grams."""

    name = "svm"
    threshold = None

    def __init__(self, shortest: int = 2, longest: int = 4, features: int = 100_000, seed: int = 0) -> None:
        needs("sklearn", "tasks", "this attack")
        self.shortest, self.longest, self.features, self.seed = shortest, longest, features, seed

    def fit(self, texts: Sequence[str], authors: Sequence[str]) -> CharacterSvm:
        """Learn from texts with their authors."""
        from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - an extra
        from sklearn.svm import LinearSVC  # noqa: PLC0415 - an extra

        self.authors = sorted(set(authors))
        if len(self.authors) < 2:
            raise InputError("attribution needs texts by at least two authors.")
        self._vectors = TfidfVectorizer(
            analyzer="char", ngram_range=(self.shortest, self.longest), max_features=self.features, sublinear_tf=True
        )
        try:
            vectors = self._vectors.fit_transform(texts)
        except ValueError:
            raise InputError("the known texts have no characters to learn from.") from None
        self._machine = LinearSVC(random_state=self.seed, dual="auto").fit(vectors, list(authors))
        return self

    def scores(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return each author's (column) distance from the boundary, for each text (row)."""
        found = self._machine.decision_function(self._vectors.transform(texts))
        return np.stack([-found, found], axis=1) if found.ndim == 1 else np.asarray(found)


#: Attributes texts to authors. `authors` are in the order of the columns of `scores`.
Attributor: TypeAlias = Koppel | CharacterSvm
