"""Whether a person's texts trained a language model (Song & Shmatikov 2019).

The auditor asks the model for the rank of each of the person's words among all words it would have expected there. A
histogram of these ranks describes the person. To learn what the histograms of members look like, he trains *shadow*
models on persons of his own, some of whom he leaves out, and a linear classifier on their histograms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.extras import needs
from wordveil.lab.attacks.authors import Corpus
from wordveil.lab.attacks.word_model import Lexicon, ModelSettings, WordModel
from wordveil.progress import Watch, ignore
from wordveil.stats import Estimate, plain

__all__ = ["AUDITS", "PLANS", "Membership", "MembershipAuditor", "attack_membership", "rank_features"]

#: What the adversary has: a model of clean texts; one of veiled texts, while his shadow models are of clean ones; and
#: one of veiled texts, with shadow models of veiled ones.
PLANS = ("clean", "static", "adaptive")

#: What the auditor asks about: the originals, or what was released of them.
AUDITS = ("original", "released")

_BINS = 60

Veiling = Callable[[Sequence[str]], Sequence[str]]

_Lesson: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]


@dataclass(frozen=True)
class Membership:
    """How well members were told from others.

    Attributes
    ----------
    plan : {"clean", "static", "adaptive"}
        What the models were trained on.
    asked : {"original", "released"}
        What the auditor asked about.
    precision : Estimate
        The share of members among those he took for members; NaN if he took nobody for one.
    recall : Estimate
        The share of the members that he found.
    accuracy : Estimate
        The share of all persons that he was right about; ½ is what a coin gives.
    auc : Estimate
        How often a member scores above another person; ½ is chance.
    shadows : int
        How many shadow models he trained.
    """

    plan: str
    asked: str
    precision: Estimate
    recall: Estimate
    accuracy: Estimate
    auc: Estimate
    shadows: int

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return plain(vars(self))


@dataclass(frozen=True)
class _Person:
    """Someone's texts: as they are, and as they are released."""

    original: Sequence[str]
    released: Sequence[str]


def attack_membership(
    corpus: Corpus,
    veil: Veiling | None = None,
    *,
    plans: Sequence[str] = PLANS,
    asked: str | Sequence[str] = "original",
    shadows: int = 4,
    settings: ModelSettings | None = None,
    seed: int = 0,
    watch: Watch = ignore,
) -> list[Membership]:
    """Train a model on the texts of some persons and audit who they were.

    Parameters
    ----------
    corpus : Corpus
        The texts, with the person of each as its author.
    veil, plans, asked
        What is attacked; see `MembershipAuditor.attack`.
    shadows, settings, seed, watch
        Who attacks; see `MembershipAuditor`.
    """
    auditor = MembershipAuditor(corpus, shadows=shadows, settings=settings, seed=seed, watch=watch)
    return auditor.attack(veil, plans=plans, asked=asked)


class MembershipAuditor:
    """Someone who tells whose texts trained a model, after practising on persons of his own.

    A quarter of the persons are members, a quarter are not, and the others are the auditor's own: each shadow model is
    trained on a random half of them. What he practised on clean texts serves against every veil.

    Parameters
    ----------
    corpus : Corpus
        The texts, with the person of each as its author.
    shadows : int
        How many shadow models.
    settings : ModelSettings, optional
        How models are made.
    seed : int
        Of who is a member, and of all training.
    watch : callable
        Told how far it is.
    """

    def __init__(
        self,
        corpus: Corpus,
        *,
        shadows: int = 4,
        settings: ModelSettings | None = None,
        seed: int = 0,
        watch: Watch = ignore,
    ) -> None:
        needs("sklearn", "tasks", "this attack")
        if shadows < 1:
            raise WordveilError("the auditor needs at least one shadow model.")
        self._corpus, self._shadows, self._seed, self._watch = corpus, shadows, seed, watch
        self._settings = settings or ModelSettings()
        _, _, own = _parts(_persons(corpus, None), seed)
        self._lexicon = Lexicon((text for person in own for text in person.original), self._settings.words)
        self._clean: _Lesson | None = None

    def attack(
        self, veil: Veiling | None = None, *, plans: Sequence[str] = PLANS, asked: str | Sequence[str] = "original"
    ) -> list[Membership]:
        """Train a model on the members' texts and say who they were.

        Parameters
        ----------
        veil : callable, optional
            Veils texts, before a model is trained on them; needed for every plan but ``clean``.
        plans : sequence of {"clean", "static", "adaptive"}
            What to train models on: see `PLANS`.
        asked : {"original", "released"}, or several
            What the auditor asks about. With the originals he finds out whether veiling hides a person; with what was
            released, whether the model knows the veiled text again. One answer for each, plan by plan.
        """
        questions = (asked,) if isinstance(asked, str) else tuple(asked)
        if veil is None and set(plans) != {"clean"}:
            raise WordveilError("without a veil, membership can only be attacked on clean texts.")
        if not set(questions) <= set(AUDITS) or not set(plans) <= set(PLANS):
            raise WordveilError(f"choose among the plans {', '.join(PLANS)}, and ask about original or released texts.")
        members, others, own = _parts(_persons(self._corpus, veil), self._seed)
        found = []
        for number, plan in enumerate(plans):
            abouts = ("original",) if plan == "clean" else questions
            self._watch(f"training the model ({plan})", number / len(plans))
            model = self._model(_training(members, plan != "clean"), self._seed)
            lessons = self._practise(own, True, abouts) if plan == "adaptive" else {}
            for about in abouts:
                lesson = lessons[about] if lessons else self._practised_on_clean(own)
                scores = _classify(*lesson, _describe(model, [*members, *others], about))
                found.append(_measure(plan, about, scores, len(members), self._shadows))
        return found

    def _model(self, texts: list[str], seed: int) -> WordModel:
        return WordModel(self._lexicon, self._settings, seed).fit(texts)

    def _practised_on_clean(self, own: list[_Person]) -> _Lesson:
        if self._clean is None:
            self._clean = self._practise(own, False, ("original",))["original"]
        return self._clean

    def _practise(self, own: list[_Person], veiled: bool, abouts: Sequence[str]) -> dict[str, _Lesson]:
        """Train shadow models and describe those who are in them and those who are not, by each kind of question."""
        taught: dict[str, list[NDArray[np.float64]]] = {about: [] for about in abouts}
        answers = []
        for shadow in range(self._shadows):
            self._watch("training shadow models", shadow / self._shadows)
            inside, outside = _halves(own, self._seed, shadow)
            model = self._model(_training(inside, veiled), self._seed + shadow + 1)
            for about in abouts:
                taught[about].append(_describe(model, [*inside, *outside], about))
            answers.append(np.repeat([1, 0], [len(inside), len(outside)]))
        return {about: (np.concatenate(rows), np.concatenate(answers)) for about, rows in taught.items()}


def rank_features(ranks: NDArray[np.int64], words: int) -> NDArray[np.float64]:
    """Return the histogram of ranks, as shares, in bins that grow with the rank.

    Parameters
    ----------
    ranks : array of int
        The ranks; 0 is the first.
    words : int
        How many ranks there are.
    """
    edges = np.unique(np.floor(np.geomspace(1, words + 1, _BINS + 1)).astype(np.int64)) - 1
    edges[-1] = max(edges[-1], words)
    counts = np.histogram(ranks, bins=edges)[0]
    return np.asarray(counts / max(1, counts.sum()), dtype=np.float64)


def _persons(corpus: Corpus, veil: Veiling | None) -> list[_Person]:
    released = corpus.texts if veil is None else veil(corpus.texts)
    texts: dict[str, tuple[list[str], list[str]]] = {}
    for author, original, hidden in zip(corpus.authors, corpus.texts, released, strict=True):
        first, second = texts.setdefault(author, ([], []))
        first.append(original)
        second.append(hidden)
    return [_Person(*texts[author]) for author in sorted(texts)]


def _parts(persons: list[_Person], seed: int) -> tuple[list[_Person], list[_Person], list[_Person]]:
    quarter = len(persons) // 4
    if quarter < 2:
        raise WordveilError("a membership attack needs texts of at least 8 persons.")
    order = np.random.default_rng([seed, 0]).permutation(len(persons)).tolist()
    shuffled = [persons[place] for place in order]
    return shuffled[:quarter], shuffled[quarter : 2 * quarter], shuffled[2 * quarter :]


def _halves(persons: list[_Person], seed: int, shadow: int) -> tuple[list[_Person], list[_Person]]:
    order = np.random.default_rng([seed, 1, shadow]).permutation(len(persons)).tolist()
    half = len(persons) // 2
    return [persons[place] for place in order[:half]], [persons[place] for place in order[half:]]


def _training(persons: list[_Person], veiled: bool) -> list[str]:
    return [text for person in persons for text in (person.released if veiled else person.original)]


def _describe(model: WordModel, persons: list[_Person], asked: str) -> NDArray[np.float64]:
    texts = [person.original if asked == "original" else person.released for person in persons]
    return np.stack([rank_features(model.ranks(own), len(model.lexicon)) for own in texts])


def _classify(
    taught: NDArray[np.float64], answers: NDArray[np.int64], asked: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how far on the members' side each person lies."""
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415 - an extra
    from sklearn.preprocessing import Normalizer, StandardScaler  # noqa: PLC0415 - an extra
    from sklearn.svm import LinearSVC  # noqa: PLC0415 - an extra

    classifier = make_pipeline(Normalizer(), StandardScaler(), LinearSVC(random_state=0, max_iter=20_000, dual="auto"))
    return np.asarray(classifier.fit(taught, answers).decision_function(asked))


def _measure(plan: str, asked: str, scores: NDArray[np.float64], members: int, shadows: int) -> Membership:
    """Sum up the scores, those of members first."""
    taken = scores > 0
    hits, false = int(taken[:members].sum()), int(taken[members:].sum())
    is_member = np.arange(len(scores)) < members

    return Membership(
        plan=plan,
        asked=asked,
        precision=Estimate.share(hits, hits + false),
        recall=Estimate.share(hits, members),
        accuracy=Estimate.share(hits + len(scores) - members - false, len(scores)),
        auc=Estimate.area(scores[is_member], scores[~is_member]),
        shadows=shadows,
    )
