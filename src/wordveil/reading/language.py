"""The language reader: uses a public language model, or trigrams learnt from a public text.

It looks for the words with the largest ``log p(text) + Σ log Pr[M(w)=y]`` over the veiled places of a text. There are
three models ``p``: the English trigrams of the package pocketsphinx, trigrams of a public reference text, and SmolLM2,
a language model with 135 million parameters. Nothing is fitted on the release, so even a single text can be read.

With trigrams, all words of the vocabulary are decoded exactly under bigrams. The likeliest words of each place are then
rescored by trigrams, keeping the total probability that the bigrams give them. SmolLM2 is decoded with a beam search
(`wordveil.reading.smollm`), whose probabilities are approximate and overconfident.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import FileError, InputError, OptionError
from wordveil.progress import Watch, ignore
from wordveil.reading.kinds import Basis, Floats, Ids, Kind, Table, Vectors
from wordveil.reading.ngrams import BigramDecoder, NgramModel, PhraseModel, decode_trigrams
from wordveil.reading.phrases import Phrases, read_phrases
from wordveil.reading.places import LEFT_ALONE, OUTSIDE, VEILED, Cutter, Places, Words
from wordveil.spaces import Vocabulary
from wordveil.text import stop_words
from wordveil.text.tokens import lookup_key

__all__ = ["MODELS", "Language", "Lexicon", "Line", "TextModel", "Trigrams", "public_trigrams"]

#: The models by name; anything else is the path of a reference text.
MODELS = ("trigram", "smollm2")

_WINDOW, _OVERLAP = 64, 6  # words decoded together, and how many at a cut end serve only as context
_BEAM = 16  # the usual width of SmolLM2's beam
_CANDIDATES = 24  # words of each place that trigrams rescore


class Line(NamedTuple):
    """A text as a language model reads it."""

    pieces: list[str]  # alternately what stands between words, and the words
    ids: Ids  # the number of the word at each place, by the `Lexicon`
    veiled: Ids  # the veiled places, in order


class TextModel(Protocol):
    """What a language reader asks of a model."""

    def read(self, line: Line, evidence: Floats) -> tuple[Floats, Ids]:
        """Return the posterior of the possible words at each veiled place, and the words of the likeliest text.

        `evidence` is the log-likelihood of what was observed at each veiled place, under each possible word.
        """


class Lexicon:
    """Numbers words for a language model.

    The words of the vocabulary keep their ids. Then come the function words that it lacks, and one number for all
    other words.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        there = {lookup_key(word) for word in vocabulary}
        more = sorted(word for word in stop_words() if word not in there)
        self._more = {word: len(vocabulary) + place for place, word in enumerate(more)}
        self.words = [*vocabulary, *more, "\0"]
        self.unknown = len(self.words) - 1

    def __len__(self) -> int:
        """Return the number of numbered words."""
        return len(self.words)

    def number(self, ids: Ids, pieces: Sequence[str]) -> Ids:
        """Return the number of each word of a text, from its ids and pieces."""
        found = ids.copy()
        for place in np.flatnonzero(ids == OUTSIDE).tolist():
            found[place] = self._more.get(lookup_key(pieces[2 * place + 1]), self.unknown)
        return found

    def spread(self, prior: Floats) -> Floats:
        """Extend the frequencies of the vocabulary to all numbers."""
        least = float(prior[prior > 0].min())
        found = np.concatenate([prior, np.full(len(self) - len(prior), least)])
        found[found == 0] = least
        return found

    def words_of(self, texts: Sequence[str], vocabulary: Vocabulary, select: str = "all") -> Words:
        """Return the numbered words of texts; hidden words that are outside the vocabulary get `OUTSIDE`."""
        places = Cutter(vocabulary, select).cut(texts, keep=True)
        parts = zip(np.split(places.ids, places.starts[1:-1]), places.pieces, strict=True)
        ids = np.concatenate([np.empty(0, dtype=np.int64), *(self.number(*part) for part in parts)])
        hidden = places.kinds != LEFT_ALONE
        lost = (ids == self.unknown) | (hidden & (ids >= len(vocabulary)))
        return Words(np.where(lost, OUTSIDE, ids), hidden, places.texts)


@lru_cache(maxsize=1)
def _phrases() -> Phrases:
    return read_phrases()


def public_trigrams(lexicon: Lexicon, prior: Floats) -> NgramModel:
    """Return the English trigram model of pocketsphinx over a lexicon; `prior` gives words that the model lacks."""
    return PhraseModel(_phrases(), lexicon.words, lexicon.spread(prior))


class Trigrams:
    """Reads texts with a trigram model over a lexicon; `possible` are the words that can be behind an output."""

    def __init__(self, model: NgramModel, possible: Ids) -> None:
        self.model, self._possible, self._decoder = model, possible, BigramDecoder(model)

    def read(self, line: Line, evidence: Floats) -> tuple[Floats, Ids]:
        """Return the posterior at each veiled place, and the words of the likeliest text; see `TextModel`."""
        belief, best = np.empty_like(evidence), np.empty(len(evidence), dtype=np.int64)
        rank = np.full(len(line.ids), -1)
        rank[line.veiled] = np.arange(len(line.veiled))
        for start, first, last in _windows(len(line.ids)):
            part = slice(start, min(start + _WINDOW, len(line.ids)))
            ranks = rank[part]
            rows = np.zeros((len(ranks), self.model.words))
            known, hidden = np.flatnonzero(ranks < 0), np.flatnonzero(ranks >= 0)
            asked = hidden[(hidden >= first) & (hidden < last)]
            if not len(asked):
                continue
            rows[known, line.ids[part][known]] = 1.0
            logs = evidence[ranks[hidden]]
            rows[np.ix_(hidden, self._possible)] = np.exp(logs - logs.max(axis=1, keepdims=True))
            exact = self._decoder.marginals(rows)
            found = decode_trigrams(self.model, rows, exact, _CANDIDATES)
            belief[ranks[asked]] = found.belief[np.ix_(asked, self._possible)]
            best[ranks[asked]] = found.path[asked]
        return belief, best


def _windows(count: int) -> Iterator[tuple[int, int, int]]:
    """Yield where each window of a text starts, and the range of its places that it answers for."""
    step = _WINDOW - 2 * _OVERLAP
    for start in range(0, max(1, count - 2 * _OVERLAP), step):
        is_last = start + _WINDOW >= count
        yield start, 0 if start == 0 else _OVERLAP, _WINDOW if is_last else _WINDOW - _OVERLAP
        if is_last:
            return


class Language(Kind):
    """Reads each veiled place using its text and a language model.

    `model` is ``trigram``, the English trigrams of pocketsphinx (the extra ``trigram``); ``smollm2``, SmolLM2 (the
    extra ``lm``); or the path of a public reference text to learn trigrams from. `beam` is the width of SmolLM2's beam,
    and `preamble` a few public sentences of the same kind that SmolLM2 reads before every text.
    """

    name = "language"
    needs_text = True  # for the words that are left alone

    def __init__(
        self, basis: Basis, *, model: str | Path = "trigram", beam: int | None = None, preamble: str | None = None
    ) -> None:
        super().__init__(basis)
        if not isinstance(model, str | Path):
            raise OptionError(f"model must be one of {', '.join(MODELS)}, or the path of a public text.")
        if not isinstance(preamble, str | None):
            raise OptionError("preamble must be a text.")
        if (beam is not None or preamble is not None) and str(model) != "smollm2":
            raise OptionError("only the model smollm2 takes a beam or a preamble.")
        width = _BEAM if beam is None else _width(beam)
        self._given = {"model": str(model), "beam": width, "preamble": preamble or ""}
        self._vocabulary = basis.law.mechanism.space.vocabulary
        self._possible, self._lexicon = np.flatnonzero(basis.prior), Lexicon(self._vocabulary)
        self._model: TextModel
        if str(model) == "smollm2":
            from wordveil.reading.smollm import SmolLM  # noqa: PLC0415 - needs an extra, which is slow to import

            words = list(self._vocabulary.take(self._possible))
            usual = basis.prior[self._possible]
            self._model = SmolLM(words, self._possible, usual, beam=width, preamble=preamble or "")
        elif str(model) == "trigram":
            self._model = Trigrams(public_trigrams(self._lexicon, basis.prior), self._possible)
        else:
            known = self._lexicon.words_of(_lines(Path(model)), self._vocabulary, "content")
            self._model = Trigrams(NgramModel(known, len(self._lexicon)), self._possible)

    def without_context(self) -> Table:
        """Return the kind that looks up each output by itself, under the same prior."""
        return Table(self.basis)

    def fit(self, places: Places, watch: Watch = ignore) -> None:
        """Do nothing: the model is public."""

    def means(self, places: Places, watch: Watch = ignore) -> Vectors:
        """Return the mean vector of the word behind each veiled place."""
        vectors = self.basis.vectors[self._possible]
        parts = [belief.astype(np.float32) @ vectors for belief, _ in self._read(places, watch)]
        return np.concatenate([np.empty((0, vectors.shape[1]), dtype=np.float32), *parts])

    def posterior(self, places: Places, top: int, watch: Watch = ignore) -> tuple[Ids, Floats]:
        """Return the likeliest words behind each veiled place and their probabilities."""
        shown = min(top, len(self._possible))
        words, chances = [np.empty((0, top), dtype=np.int64)], [np.empty((0, top))]
        impossible = np.flatnonzero(self.basis.prior == 0)[: top - shown]
        for belief, _ in self._read(places, watch):
            likeliest = np.argpartition(-belief, shown - 1, axis=1)[:, :shown]
            values = np.take_along_axis(belief, likeliest, axis=1)
            order = np.lexsort((likeliest, -values), axis=1)
            row, value = np.zeros((len(belief), top), dtype=np.int64), np.zeros((len(belief), top))
            row[:, :shown] = self._possible[np.take_along_axis(likeliest, order, axis=1)]
            row[:, shown:] = impossible
            value[:, :shown] = np.take_along_axis(values, order, axis=1)
            words.append(row)
            chances.append(value)
        return np.concatenate(words), np.concatenate(chances)

    def best(self, places: Places, watch: Watch = ignore) -> Ids:
        """Return the words of the likeliest text, which fit together better than the likeliest word of each place."""
        return np.concatenate([np.empty(0, dtype=np.int64), *(best for _, best in self._read(places, watch))])

    def _read(self, places: Places, watch: Watch) -> Iterator[tuple[Floats, Ids]]:
        """Yield the result of the model for each text with veiled places."""
        if len(places) and not places.pieces:
            raise InputError("a language reader needs the texts themselves; cut them with keep=True.")
        prior, bounds = self.basis.prior[self._possible], places.starts
        outputs, hidden = places.outputs, places.kinds == VEILED
        counts = np.concatenate([[0], np.cumsum(hidden)])[bounds]
        for number, pieces in enumerate(places.pieces):
            first, last = counts[number : number + 2].tolist()
            if first == last:
                continue
            here = slice(*bounds[number : number + 2])
            line = Line(pieces, self._lexicon.number(places.ids[here], pieces), np.flatnonzero(hidden[here]))
            distinct, which = np.unique(outputs[first:last], return_inverse=True)
            which = which.reshape(last - first, -1)
            columns = self.basis.law.log_columns(distinct, self._possible, prior=prior)
            evidence = columns[which].sum(axis=1)
            # If no word could have given all draws, such as those of a word outside the vocabulary, they say nothing.
            evidence[~np.isfinite(evidence).any(axis=1)] = 0.0
            yield self._model.read(line, evidence)
            watch("reading", (number + 1) / len(places))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the options of the model."""
        return {name: np.array(value) for name, value in self._given.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return self.from_state, (self.basis, self.state())  # the model is opened again

    @classmethod
    def from_state(cls, basis: Basis, state: Mapping[str, NDArray[Any]]) -> Language:
        """Restore a kind from its `state`."""
        try:
            model, beam, preamble = str(state["model"]), int(state["beam"]), str(state["preamble"])
        except (KeyError, TypeError, ValueError):
            raise FileError("the saved language reader is damaged; make and save it again.") from None
        return cls(basis, model=model, beam=beam if model == "smollm2" else None, preamble=preamble or None)


def _width(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, Integral) or given < 1:
        raise OptionError("beam must be a whole number, 1 or more.")
    return int(given)


def _lines(path: Path) -> list[str]:
    try:
        lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise FileError(f"{path} is not UTF-8 text.") from None
    except OSError as error:
        raise OptionError(
            f"cannot read the reference text {path} ({error.strerror}); model is one of {', '.join(MODELS)}, or the "
            "path of a public text."
        ) from None
    if not lines:
        raise InputError(f"the reference text {path} is empty.")
    return lines
