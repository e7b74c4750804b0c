"""Whether a person's texts trained a language model (Song & Shmatikov 2019).

The auditor asks the model for the rank of each of the person's words among all words it would have expected there. A
histogram of these ranks describes the person. To learn what the histograms of members look like, the auditor trains
*shadow* models on other people, leaving some of them out, and then a linear classifier on the histograms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import InputError, OptionError
from wordveil.extras import needs
from wordveil.lab.attacks.authors import Corpus
from wordveil.lab.pytorch import seeded_torch, training_device
from wordveil.progress import Watch, ignore
from wordveil.stats import Estimate, Facts
from wordveil.text import tokenise

#: What the attacker has: a model of clean texts; a model of veiled texts, and shadow models of clean ones; a model of
#: veiled texts, and shadow models of veiled ones.
PLANS = ("clean", "static", "adaptive")

#: What the auditor asks about: the originals, or what was released from them.
AUDITS = ("original", "released")

_BINS = 60

Veiling = Callable[[Sequence[str]], Sequence[str]]

_Lesson: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]


@dataclass(frozen=True)
class Membership(Facts):
    """How well members were told from non-members."""

    plan: str  # what the models were trained on
    asked: str  # what the auditor asked about
    precision: Estimate  # the share of members among the people judged to be members; NaN if nobody was
    recall: Estimate  # the share of the members that were found
    accuracy: Estimate  # the share of people judged correctly; ½ is chance
    auc: Estimate  # how often a member scores above a non-member; ½ is chance
    shadows: int  # how many shadow models were trained


@dataclass(frozen=True)
class _Person:
    """A person's texts: as written, and as released."""

    original: Sequence[str]
    released: Sequence[str]


class MembershipAuditor:
    """Finds out whose texts trained a model, after practising on other people.

    A quarter of the people are members, a quarter are not, and the rest are for practice: each shadow model is trained
    on a random half of them. Practice on clean texts serves against every veil.
    """

    def __init__(
        self,
        corpus: Corpus,
        *,
        shadows: int = 4,
        size: WordModelSize | None = None,
        seed: int = 0,
        watch: Watch = ignore,
    ) -> None:
        needs("sklearn", "tasks", "this attack")
        if shadows < 1:
            raise OptionError("shadows must be at least 1.")
        self._corpus, self._shadows, self._seed, self._watch = corpus, shadows, seed, watch
        self._size = size or WordModelSize()
        _, _, own = _parts(_persons(corpus, None), seed)
        self._lexicon = ModelWords((text for person in own for text in person.original), self._size.words)
        self._clean: _Lesson | None = None

    def attack(
        self, veil: Veiling | None = None, *, plans: Sequence[str] = PLANS, asked: str | Sequence[str] = "original"
    ) -> list[Membership]:
        """Train a model on the members' texts, and find out who they were.

        `veil` rewrites texts before a model is trained on them. Asked about the originals, the auditor shows whether
        veiling hides a person; asked about the released texts, whether the model recognises them. Returns a result for
        each question, plan by plan.
        """
        questions = (asked,) if isinstance(asked, str) else tuple(asked)
        if veil is None and set(plans) != {"clean"}:
            raise OptionError("without a veil, the only plan is clean.")
        if not set(questions) <= set(AUDITS) or not set(plans) <= set(PLANS):
            raise OptionError(f"plans must be among {', '.join(PLANS)}, and asked must be original or released.")
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
        return WordModel(self._lexicon, self._size, seed).fit(texts)

    def _practised_on_clean(self, own: list[_Person]) -> _Lesson:
        if self._clean is None:
            self._clean = self._practise(own, False, ("original",))["original"]
        return self._clean

    def _practise(self, own: list[_Person], veiled: bool, abouts: Sequence[str]) -> dict[str, _Lesson]:
        """Train shadow models, and describe who is in them and who is not, for each kind of question."""
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
    """Return the histogram of ranks, as shares, in bins that grow with the rank. The first rank is 0."""
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
        raise InputError("a membership attack needs texts by at least 8 people.")
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
    """Return how far each person lies on the members' side."""
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415 - an extra
    from sklearn.preprocessing import Normalizer, StandardScaler  # noqa: PLC0415 - an extra
    from sklearn.svm import LinearSVC  # noqa: PLC0415 - an extra

    classifier = make_pipeline(Normalizer(), StandardScaler(), LinearSVC(random_state=0, max_iter=20_000, dual="auto"))
    return np.asarray(classifier.fit(taught, answers).decision_function(asked))


def _measure(plan: str, asked: str, scores: NDArray[np.float64], members: int, shadows: int) -> Membership:
    """Summarise the scores. Those of members come first."""
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


_PADDING, _START, _UNKNOWN, _SPECIAL = 0, 1, 2, 3


class ModelWords:
    """The words that a model knows: the most frequent words of a public text."""

    def __init__(self, texts: Iterable[str], words: int) -> None:
        counted = Counter(key for text in texts for key in tokenise(text).keys)
        kept = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:words]
        if not kept:
            raise InputError("the reference texts have no words to learn from.")
        self._places = {word: place for place, (word, _) in enumerate(kept, _SPECIAL)}

    def __len__(self) -> int:
        return len(self._places) + _SPECIAL

    def pieces(self, texts: Iterable[str], longest: int) -> list[list[int]]:
        """Return the texts as lists of word numbers, cut into pieces."""
        found = []
        for text in texts:
            numbers = [self._places.get(key, _UNKNOWN) for key in tokenise(text).keys]
            found += [numbers[start : start + longest] for start in range(0, len(numbers), longest)]
        return found


@dataclass(frozen=True)
class WordModelSize:
    """How a model is made and trained."""

    words: int = 5000  # how many words it knows
    width: int = 96  # the size of its word vectors and of its state
    epochs: int = 20  # how often it sees its texts
    batch: int = 32  # pieces of text per step
    rate: float = 4e-3  # the learning rate (Adam)
    longest: int = 24  # the most words in a piece of text

    def __post_init__(self) -> None:
        if min(self.words, self.width, self.epochs, self.batch, self.longest) < 1 or not self.rate > 0:
            raise OptionError("words, width, epochs, batch, longest and rate must all be above 0.")


class WordModel:
    """Predicts the next word of a text with a gated recurrent network (GRU), on CUDA if there is a device."""

    def __init__(self, lexicon: ModelWords, size: WordModelSize, seed: int = 0) -> None:
        needs("torch", "gpu", "this attack")
        self.lexicon, self.size, self.seed = lexicon, size, seed

    def fit(self, texts: Sequence[str]) -> WordModel:
        """Train on texts."""
        import torch  # noqa: PLC0415 - an extra, and slow to import

        pieces = self.lexicon.pieces(texts, self.size.longest)
        if not pieces:
            raise InputError("a word model cannot be trained on texts without words.")
        with seeded_torch(self.seed):
            self._network = _network(len(self.lexicon), self.size.width).to(training_device())
            optimiser = torch.optim.Adam(self._network.parameters(), lr=self.size.rate)
            generator = np.random.default_rng(self.seed)
            for _ in range(self.size.epochs):
                order = generator.permutation(len(pieces))
                for inputs, targets in self._batches([pieces[place] for place in order.tolist()]):
                    optimiser.zero_grad()
                    loss = torch.nn.functional.cross_entropy(
                        _expected(self._network, inputs).flatten(0, 1), targets.flatten(), ignore_index=_PADDING
                    )
                    loss.backward()
                    torch.nn.utils.clip_grad_norm_(self._network.parameters(), 1.0)
                    optimiser.step()
        return self

    def ranks(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the rank of every known word of the texts among the model's predictions there. The first is 0."""
        import torch  # noqa: PLC0415 - an extra, and slow to import

        found = [np.empty(0, dtype=np.int64)]
        with torch.no_grad(), seeded_torch(self.seed):
            for inputs, targets in self._batches(self.lexicon.pieces(texts, self.size.longest)):
                known = targets >= _SPECIAL
                scores = _expected(self._network, inputs)[known][:, _SPECIAL:]
                own = scores.gather(1, (targets[known] - _SPECIAL)[:, None])
                found.append((scores > own).sum(dim=1).cpu().numpy().astype(np.int64))
        return np.concatenate(found)

    def _batches(self, pieces: list[list[int]]) -> Iterator[tuple[Any, Any]]:
        import torch  # noqa: PLC0415 - an extra, and slow to import

        device = training_device()
        for start in range(0, len(pieces), self.size.batch):
            part = pieces[start : start + self.size.batch]
            padded = torch.zeros(len(part), max(map(len, part)) + 1, dtype=torch.int64)
            padded[:, 0] = _START
            for row, piece in enumerate(part):
                padded[row, 1 : len(piece) + 1] = torch.tensor(piece)
            padded = padded.to(device)
            yield padded[:, :-1], padded[:, 1:]


def _network(words: int, width: int) -> Any:
    from torch import nn  # noqa: PLC0415 - an extra, and slow to import

    return nn.ModuleDict(
        {
            "vectors": nn.Embedding(words, width),
            "states": nn.GRU(width, width, batch_first=True),
            "scores": nn.Linear(width, words),
        }
    )


def _expected(network: Any, inputs: Any) -> Any:
    """Return a score for every word at every place of the inputs."""
    states, _ = network["states"](network["vectors"](inputs))
    return network["scores"](states)
