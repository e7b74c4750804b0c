"""The texts of tasks as one release: cut once, veiled as often as needed, and read as analysts and attackers would.

Everything works on ids. The result is what a `Veil` would release and a `Reader` would read: words of the vocabulary
are drawn by the mechanism, others are replaced by `OutsideWords`, and a drawn function word looks like one that was
left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil._mechanisms.laws import Effort
from wordveil.errors import InputError, OptionError
from wordveil.lab.tasks.evaluation import RandomWords, Rewriter, answers_to
from wordveil.lab.tasks.models import AveragedVectors
from wordveil.lab.tasks.task import Outcome, Task
from wordveil.noise import Entropy
from wordveil.parallel import run
from wordveil.reading import Reader
from wordveil.reading.places import LEFT_ALONE, OUTSIDE, UNKNOWN, VEILED, Cutter, Places
from wordveil.reading.priors import usage
from wordveil.spaces import Space
from wordveil.stats import Estimate
from wordveil.text import Document, Release, Veil
from wordveil.text.replacing import OutsideWords
from wordveil.text.tokens import is_number

_REMEMBERED = 3 << 30  # bytes, for the distances that every reader of every release needs

Vectors = NDArray[np.float32]

#: The drawn words taken at face value, without a reader.
AS_IT_STANDS = "as it stands"

#: The readers by name, from weakest to strongest. ``release`` is a network fitted on the release only, ``shipped`` the
#: network that comes with the package, and ``context`` the same, adapted to the release.
READERS = ("table", "population", "release", "shipped", "context")

#: The readers that use a network.
NETWORKS = ("release", "shipped", "context")


def readers_up_to(strongest: str) -> tuple[str, ...]:
    """Return the readers up to the `strongest`. Of the networks, only the one asked for is included."""
    if strongest not in READERS:
        raise OptionError(f"unknown reader {strongest!r}; choose one of {', '.join(READERS)}.")
    weaker = [name for name in READERS[: READERS.index(strongest)] if name not in NETWORKS]
    return (*weaker, strongest)


@dataclass(frozen=True)
class Reading:
    """How to read releases."""

    readers: tuple[str, ...] = ("table", "population")  # names of `READERS`
    device: str | None = None  # where to fit a network; by default, PyTorch's choice
    steps: int | None = None  # the most steps of fitting a network; by default, its own number
    candidates: int | None = None  # words among which a network looks for the original; by default, its own number
    effort: Effort | None = None  # how much to draw if a law is not exact

    def reader(self, name: str, mechanism: Mechanism[Any], select: str, vectors: Vectors) -> Reader:
        """Make a reader that is still to be fitted."""
        # As an array, the prior counts as the caller's own, so no table of an ε that nobody will ask for is cached.
        prior = usage(mechanism.space)
        kind = "context" if name in NETWORKS else name
        once = False  # because texts are veiled here word by word
        made = Reader(mechanism, kind=kind, select=select, vectors=vectors, prior=prior, effort=self.effort, once=once)
        if kind == "context":
            steps = 0 if name == "shipped" else self.steps
            made.tune(steps=steps, candidates=self.candidates, device=self.device, fresh=name == "release")
        return made


def read_back(mechanism: Mechanism[Any], name: str, reading: Reading, *, vectors: Vectors, **chosen: Any) -> Rewriter:
    """Return a rewriter that veils texts, then puts a reader's likeliest word into every veiled place.

    For models that need words. Models that take vectors get more from the reader's own vectors.
    """
    select = str(chosen.get("select", "all"))

    def rewrite(texts: Sequence[str], seed: int) -> list[str]:
        how = {"oov": "replace", "once": None, **chosen, "select": select}
        veil = Veil(mechanism, **how, case="lower", seed=seed, unproven=True)
        released = [_as_document(one) for one in veil.many(texts)]
        reader = reading.reader(name, mechanism, "spans", vectors)
        return [one.text for one in reader.fit(released).rewrite(released)]

    return rewrite


def _as_document(release: Release) -> Document:
    """Return a release as a document, with the places where its words were replaced."""
    return Document(release.text, tuple((one.new_start, one.new_end) for one in release.replacements))


@dataclass(frozen=True)
class Read:
    """What one reader makes of several veilings of the same texts."""

    outcomes: list[Outcome]  # for each task
    right: NDArray[np.float64]  # for each veiling, the share of veiled words guessed correctly
    guessed: Estimate  # the same over all veilings, with an interval over texts


class TaskTexts:
    """The texts of some tasks, cut for the mechanisms of one space."""

    def __init__(self, tasks: Sequence[Task], space: Space, *, select: str = "all") -> None:
        self.tasks, self.space, self.select = tasks, space, select
        cutter = Cutter(space.vocabulary, select)
        found = cutter.cut([text for task in tasks for text in task.texts], keep=True)
        words = [word for pieces in found.pieces for word in pieces[1::2]]
        unknown = np.flatnonzero(found.kinds == UNKNOWN)
        # An unknown number becomes random digits, which the vocabulary does not have, either.
        self._outside = (
            unknown[[not is_number(words[place]) for place in unknown.tolist()]] if len(unknown) else unknown
        )
        self._draw_outside = OutsideWords(space).draw
        self._possible = cutter.possible
        self.clean = replace(found, pieces=[])

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.clean)

    @property
    def chances(self) -> NDArray[np.float64]:
        """How often each word of the space occurs among the words to be veiled."""
        counts = np.bincount(self.clean.ids[self.clean.veiled], minlength=len(self.space))
        if not counts.any():
            raise InputError("no word of the texts is in the vocabulary, so there is nothing to guess.")
        return counts / counts.sum()

    def veil(self, mechanism: Mechanism[Any], seed: int) -> Places:
        """Return what a veil would release of the texts."""
        entropy = Entropy(seed)
        ids, veiled = self.clean.ids.copy(), self.clean.veiled
        ids[veiled] = mechanism.draw(ids[veiled], entropy)
        ids[self._outside] = self._draw_outside(len(self._outside), entropy)
        kinds, drawn = self.clean.kinds.copy(), np.concatenate([veiled, self._outside])
        kinds[drawn] = np.where(self._possible[ids[drawn]], VEILED, LEFT_ALONE)
        return replace(self.clean, ids=ids, kinds=kinds)

    def read(
        self,
        mechanism: Mechanism[Any],
        model: AveragedVectors,
        reading: Reading,
        *,
        repeats: int = 1,
        seed: int = 0,
    ) -> dict[str, Read]:
        """Veil the texts, and do the tasks with them as they stand and as each reader reads them.

        The readers are fitted on the whole release, because all of it can be read before anything is learnt from it.
        """
        return self.read_when(mechanism, model, reading, ("both",), repeats=repeats, seed=seed)["both"]

    def read_when(
        self,
        mechanism: Mechanism[Any],
        model: AveragedVectors,
        reading: Reading,
        times: Sequence[str],
        *,
        repeats: int = 1,
        seed: int = 0,
    ) -> dict[str, dict[str, Read]]:
        """Do the same with texts veiled in training, in testing or in both, reading them only once."""
        mechanism.space.remember(_REMEMBERED)
        table = self.table(model)
        clean = self._documents(self.clean, table)
        names = (AS_IT_STANDS, *reading.readers)
        answers: dict[tuple[str, str], list[list[NDArray[np.float64]]]] = {
            (when, name): [] for when in times for name in names
        }
        hits: dict[str, list[NDArray[np.bool_]]] = {name: [] for name in names}
        for number in np.random.SeedSequence(seed).generate_state(repeats).tolist():
            released = self.veil(mechanism, number)
            for name in names:
                documents, guesses = self._as_read(name, mechanism, reading, released, table)
                for when in times:
                    answers[when, name].append(self._answers(model, documents, clean, when, number))
                hits[name].append(self._hits(released, guesses))
        return {when: {name: self._summed_up(answers[when, name], hits[name]) for name in names} for when in times}

    def guessed(self, name: str, mechanism: Mechanism[Any], reading: Reading, seed: int, vectors: Vectors) -> Estimate:
        """Return how often a reader's likeliest word is the original, on one veiling."""
        mechanism.space.remember(_REMEMBERED)
        released = self.veil(mechanism, seed)
        reader = reading.reader(name, mechanism, self.select, vectors).fit_places(released)
        return self._share(self._hits(released, reader.guesses(released)))

    def ends(self, model: AveragedVectors, *, repeats: int, seed: int) -> tuple[list[Outcome], list[Outcome]]:
        """Do the tasks with random words in place of the selected ones, and with the texts as they are."""
        nobody = Reading(())
        random = self.read(RandomWords(self.space), model, nobody, repeats=repeats, seed=seed)[AS_IT_STANDS]
        documents = self._documents(self.clean, self.table(model))
        clean = self._answers(model, documents, documents, "both", seed)
        return random.outcomes, [Outcome(task, row[None]) for task, row in zip(self.tasks, clean, strict=True)]

    def _as_read(
        self, name: str, mechanism: Mechanism[Any], reading: Reading, released: Places, table: Vectors
    ) -> tuple[Vectors, NDArray[np.int64]]:
        if name == AS_IT_STANDS:
            return self._documents(released, table), released.ids[released.veiled]
        reader = reading.reader(name, mechanism, self.select, table).fit_places(released)
        return reader.read(released)

    def table(self, model: AveragedVectors) -> Vectors:
        """Return the analyst's vector of each word of the mechanism; zeros for a word that they do not know."""
        known = model.space
        if known.vocabulary is self.space.vocabulary:
            return np.asarray(known.matrix, dtype=np.float32)
        places = np.array([known.vocabulary.ids.get(word, OUTSIDE) for word in self.space.vocabulary])
        return np.where((places >= 0)[:, None], known.matrix[np.maximum(places, 0)], 0.0).astype(np.float32)

    def _documents(self, places: Places, table: Vectors) -> Vectors:
        """Return the mean vector of each text as it stands."""
        known = places.ids >= 0
        starts = np.concatenate([[0], np.cumsum(known)])[places.starts]
        ones = np.ones(int(known.sum()), dtype=np.float32)
        sums = scipy.sparse.csr_array((ones, places.ids[known], starts), shape=(len(places), len(table))) @ table
        return np.asarray(sums / np.maximum(np.diff(starts), 1)[:, None], dtype=np.float32)

    def _answers(
        self, model: AveragedVectors, documents: Vectors, clean: Vectors, when: str, seed: int
    ) -> list[NDArray[np.float64]]:
        """Do every task with these document vectors, and those of the clean texts where only one part is veiled."""
        learnt, tested = {"train": (documents, clean), "test": (clean, documents)}.get(when, (documents, documents))
        jobs, first = [], 0
        for task in self.tasks:
            ends = first + len(task) * np.arange(len(task.columns) + 1)
            columns = [slice(*pair) for pair in pairwise(ends.tolist())]
            jobs.append((task, [learnt[one] for one in columns], [tested[one] for one in columns]))
            first = int(ends[-1])
        return run(lambda job: answers_to(job[0], model, job[1], job[2], seed), jobs)

    def _hits(self, released: Places, guesses: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return, for each word of the originals that can be found, whether it was found."""
        found = np.zeros(len(released.ids), dtype=np.bool_)
        veiled = released.veiled
        found[veiled] = guesses == self.clean.ids[veiled]
        return found[self.clean.veiled]

    def _share(self, *hits: NDArray[np.bool_]) -> Estimate:
        """Return the share of hits, with an interval over texts, because words of a text are not independent."""
        texts = np.repeat(np.arange(len(self)), np.diff(self.clean.starts))[self.clean.veiled]
        trials = np.bincount(texts, minlength=len(self))
        counts = sum(np.bincount(texts, weights=one, minlength=len(self)) for one in hits)
        there = trials > 0
        return Estimate.share_of_groups(np.asarray(counts)[there], len(hits) * trials[there])

    def _summed_up(self, answers: list[list[NDArray[np.float64]]], hits: list[NDArray[np.bool_]]) -> Read:
        outcomes = [Outcome(task, np.stack([one[number] for one in answers])) for number, task in enumerate(self.tasks)]
        return Read(outcomes, np.array([one.mean() if len(one) else np.nan for one in hits]), self._share(*hits))
