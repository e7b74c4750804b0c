"""The reader: computes what an output says about the word behind it."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism, block_ids
from wordveil._mechanisms.laws import Effort, Law
from wordveil.errors import FileError, InputError, OptionError
from wordveil.progress import Watch, ignore
from wordveil.reading.context import Context
from wordveil.reading.kinds import Basis, Kind, Population, Table, vectors_of
from wordveil.reading.language import Language
from wordveil.reading.places import Cutter, Places, check_case
from wordveil.reading.priors import NAMED, PriorLike, make_prior
from wordveil.reading.released import mechanism_of, read_report
from wordveil.reading.saved import read_saved, write_saved
from wordveil.spaces import Space
from wordveil.text import Document, Release, function_words, languages

__all__ = ["Place", "Reader"]

Vectors = NDArray[np.float32]
Text = str | Document

_KINDS: dict[str, type[Kind]] = {kind.name: kind for kind in (Table, Population, Context, Language)}
_BATCH = 1 << 19  # characters read at once


class Place(NamedTuple):
    """A veiled place of a text, with the likeliest originals.

    Attributes
    ----------
    start, end : int
        The span of its word in the veiled text, in characters.
    words : tuple of str
        The likeliest originals, likeliest first.
    probabilities : tuple of float
        The probability of each.
    """

    start: int
    end: int
    words: tuple[str, ...]
    probabilities: tuple[float, ...]


class Reader:
    """Reads a release through the posterior of its mechanism, as an analyst or an attacker would.

    You know how words were replaced, so you need not take the drawn words at face value. Anything computed from a
    release alone costs no privacy.

    In all methods, `texts` are the veiled texts, each a str or a `Document`. `others` are further draws of the same
    text (or of each text), if it was released more than once; the evidence adds up. `watch` is called with the progress
    of long work. `space` is the embedding of the release, if it is not a bundled one.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism that veiled the texts, with the same ε and blocked words, such as ``veil.mechanism``. A `Veil`
        made from an ε alone never draws the words of the bundled list.
    kind : {"table", "population", "context", "language"}
        What to use besides the output of a word:

        - ``table``: public word frequencies.
        - ``population``: also the word frequencies estimated from the release passed to `fit`.
        - ``context``: also the rest of the text, by a small network fitted on that release. Needs PyTorch, and minutes.
          On the bundled embedding the network is pretrained on public text and also reads without a fit.
        - ``language``: the rest of the text, by a public language model that needs no fit. Needs an extra.
    prior : {"space", "uniform"}, path or array
        How likely words are by public knowledge. ``space``: as frequent as in English text, or by rank in a space of
        another language. ``uniform``: all alike. A path: a public text, or a list with a word and its count per line.
        An array: one number per word of the vocabulary.
    select : {"content", "all", "spans", "words"}
        Which words the release has veiled. With ``spans`` and ``words``, pass every text as a `Document` with the spans
        of its veiled words in the released text.
    words : collection of str, optional
        The list, for ``select="words"``. Only these words are considered as originals.
    stop_words : collection of str, optional
        The words that ``select="content"`` has left alone. Default: the English function words.
    case : {"sentence", "lower", "copy"}
        How `best` capitalises, as for a `Veil`.
    vectors : array of shape (vocabulary, d), optional
        A vector for every word. Default: those of the space.
    effort : Effort, optional
        How much to draw if the mechanism's probabilities must be estimated.
    law : Law, optional
        The law of the mechanism, from ``mechanism.law(effort)``, if you already have it; its draws are reused.
    once : bool
        Whether equal words of a text were drawn once, the default of a `Veil`. Equal outputs in a text then count as
        one draw of one word, and their contexts are combined.
    **options
        Options of one kind. ``language`` takes `model`: ``trigram`` (the default), ``smollm2`` or the path of a public
        reference text. ``smollm2`` also takes the width of its `beam`, and a `preamble` of public text.

    Attributes
    ----------
    mechanism : Mechanism
        The mechanism of the release.

    Raises
    ------
    OptionError
        If options are unknown or contradict each other, or if the selection does not determine which words were veiled.

    Examples
    --------
    >>> import wordveil
    >>> space = wordveil.load_space("glove-50k").restrict(np.arange(2000))
    >>> mechanism = wordveil.mechanism("graph", space, epsilon=6.0)
    >>> reader = wordveil.Reader(mechanism)
    >>> place = reader.posterior("The station.", top=2)[0]
    >>> place.start, place.end, len(place.words), place.probabilities[0] > place.probabilities[1]
    (4, 11, 2, True)
    >>> reader.transform(["The station.", "Rain and snow."]).shape
    (2, 100)
    """

    def __init__(
        self,
        mechanism: Mechanism[Any],
        *,
        kind: str = "table",
        prior: PriorLike = "space",
        select: str = "content",
        words: Collection[str] | None = None,
        stop_words: Collection[str] | None = None,
        case: str = "sentence",
        vectors: NDArray[np.floating[Any]] | None = None,
        effort: Effort | None = None,
        law: Law | None = None,
        once: bool = True,
        **options: Any,
    ) -> None:
        if not isinstance(mechanism, Mechanism):
            raise OptionError(
                "a reader needs the mechanism of the release; make it with wordveil.mechanism, or use Reader.of_report."
            )
        if law is not None and (effort is not None or law.mechanism is not mechanism):
            raise OptionError("law must be the law of this mechanism, and cannot be combined with effort.")
        chosen = _kind(kind)
        self.mechanism, self._words, self._stop_words = mechanism, words, stop_words
        self._cutter = Cutter(mechanism.space.vocabulary, select, words, stop_words)
        self._case = check_case(case)
        self._has_own_vectors = vectors is None
        self._prior = prior if isinstance(prior, str) and prior in NAMED else None
        own, points = vectors_of(mechanism.space, vectors)
        self._basis = Basis(
            mechanism.law(effort) if law is None else law,
            make_prior(prior, mechanism.space, self._cutter),
            vectors=own,
            points=points,
            is_public=self._prior is not None and words is None,
            once=once,
        )
        try:
            self._kind: Kind = chosen(self._basis, **options)
        except TypeError as error:
            if not options or "unexpected keyword" not in str(error):
                raise
            known = inspect.signature(chosen).parameters
            unknown = [name for name in options if name not in known]
            raise OptionError(f"the {kind} reader has no option {' or '.join(unknown or options)}.") from None

    def __repr__(self) -> str:
        return f"<Reader: {self.kind} of {self.mechanism!r}, select={self.select!r}>"

    @property
    def kind(self) -> str:
        """The kind of reader."""
        return self._kind.name

    @property
    def select(self) -> str:
        """Which words the release has veiled."""
        return self._cutter.selection.kind

    @property
    def cutter(self) -> Cutter:
        """Cuts the texts of the release into words, and finds which of them are veiled."""
        return self._cutter

    @property
    def dimension(self) -> int:
        """The length of the vectors that `transform` returns."""
        return int(self._basis.vectors.shape[1])

    @classmethod
    def of_report(
        cls,
        report: Mapping[str, Any] | str | Path,
        *,
        space: Space | str | Path | None = None,
        select: str | None = None,
        block: Collection[str] | None = None,
        **options: Any,
    ) -> Reader:
        """Make a reader from the report of a release.

        Parameters
        ----------
        report : mapping, str or Path
            The report, as returned by `Veil.report` or written by ``wordveil privatize``.
        select : str, optional
            Overrides the report's selection. Use ``spans`` if that selection cannot be recognised in a released text.
        block : collection of str, optional
            The words that were never drawn, if the release used its own list; the report has only their number.
        **options
            Further parameters of `Reader`.

        Examples
        --------
        >>> import wordveil
        >>> veil = wordveil.Veil(epsilon=4)
        >>> wordveil.Reader.of_report(veil.report())
        <Reader: table of <Graph on 'glove-50k graph k=10': epsilon=4, k=10, first=0.5>, select='content'>
        """
        facts = read_report(report)
        selection = facts.get("select") if select is None else select
        if not isinstance(selection, str):
            raise InputError("the report does not say which words the release veiled; give `select`.")
        if selection == "words" and options.get("words") is None:
            raise OptionError(
                "the report does not list the words that the release veiled: set `select` to 'spans', and give the "
                "spans of the veiled words with each text (in Python, the list as words will do)."
            )
        if selection == "content" and facts.get("language", "en") != "en" and options.get("stop_words") is None:
            if facts["language"] not in languages():
                raise InputError("the report does not list the words that the release left alone; give `stop_words`.")
            options["stop_words"] = function_words(facts["language"])
        made = mechanism_of(facts, space, block)
        defaults = {"case": facts.get("case", "sentence"), "once": facts.get("once") is not None}
        return cls(made, select=selection, **{**defaults, **options})

    def fit(self, texts: Iterable[Text], y: Any = None, *, watch: Watch = ignore) -> Reader:  # noqa: ARG002
        """Learn from the veiled texts of a release. A table reader learns nothing.

        `y` is ignored; it is there for scikit-learn's interface.
        """
        return self.fit_places(self._cutter.cut(_texts(texts)), watch=watch)

    def tune(
        self,
        *,
        steps: int | None = None,
        candidates: int | None = None,
        device: str | None = None,
        fresh: bool = False,
    ) -> Reader:
        """Change how the network of a context reader is fitted. Call it before `fit`.

        Parameters
        ----------
        steps : int, optional
            The largest number of steps; with 0 the pretrained network is used as it is.
        candidates : int, optional
            Consider only this many words as originals, the likeliest ones.
        device : str, optional
            Where PyTorch runs: ``cpu`` or ``cuda``.
        fresh : bool
            Start from random weights instead of the pretrained ones.
        """
        self._kind.tune(steps, candidates, device, fresh=fresh)
        return self

    def pretrain(self, texts: Iterable[Text], *, watch: Watch = ignore) -> Reader:
        """Pretrain a context reader on clean public texts, before you fit it on a release.

        The texts should resemble those of the release; they are veiled here in the same way. On the bundled embedding
        the network is already pretrained on public text, and continues from there.
        """
        self._kind.train(self._cutter.cut(_texts(texts)), watch)
        return self

    def looks_veiled(self, texts: Iterable[Text]) -> bool | None:
        """Guess from their words whether texts were veiled by this mechanism; None if that is unclear.

        Parameters
        ----------
        texts : iterable of str or Document
            The supposed release, or a part of it.
        """
        places = self._cutter.cut(_texts(texts))
        return self._basis.looks_drawn(places.outputs[np.unique(places.draws, return_index=True)[1], 0])

    def fit_places(self, places: Places, *, watch: Watch = ignore) -> Reader:
        """Learn from veiled texts that have been cut with `cut`; see `fit`."""
        self._kind.fit(places, watch)
        return self

    def read(self, places: Places, *, watch: Watch = ignore) -> tuple[Vectors, NDArray[np.int64]]:
        """Return the results of `transform` and `guesses` for texts that have been cut, in one pass."""
        means, guesses = self._kind.read(places, watch)
        return places.means(means, self._basis.vectors), guesses

    def guesses(self, places: Places, *, watch: Watch = ignore) -> NDArray[np.int64]:
        """Return the likeliest word behind each veiled place of texts that have been cut."""
        return self._kind.best(places, watch)

    def transform(
        self,
        texts: Iterable[Text],
        *,
        others: Sequence[Sequence[Text]] | None = None,
        watch: Watch = ignore,
    ) -> Vectors:
        """Return a vector for each text: the mean over its words.

        A veiled word counts with its posterior mean vector, a word left alone with its own vector, and a word outside
        the vocabulary not at all. The vector of a text without words is 0.
        """
        given = _texts(texts)
        if others is not None:
            if len(others) != len(given):
                raise InputError("others needs one list of further draws per text; the list may be empty.")
            places = (self._cut([text], rest) for text, rest in zip(given, others, strict=True))
        else:
            places = (self._cutter.cut(part, keep=self._kind.needs_text) for part in _batches(given))
        parts = [some.means(self._kind.means(some, watch), self._basis.vectors) for some in places]
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), dtype=np.float32)

    def fit_transform(self, texts: Iterable[Text], y: Any = None, *, watch: Watch = ignore) -> Vectors:
        """Fit on veiled texts and return a vector for each; see `fit` and `transform`."""
        given = _texts(texts)
        return self.fit(given, y, watch=watch).transform(given, watch=watch)

    def posterior(
        self, text: Text, top: int = 10, *, others: Sequence[Text] = (), watch: Watch = ignore
    ) -> list[Place]:
        """Return the likeliest originals for each veiled place of a text.

        Parameters
        ----------
        top : int
            How many words to return for each place.
        """
        _check_top(top)
        places = self._cut([text], others, keep=True)
        words, chances = self._kind.posterior(places, min(top, len(self.mechanism.space)), watch)
        vocabulary = self.mechanism.space.vocabulary
        return [
            Place(*span, tuple(vocabulary.take(row)), tuple(values.tolist()))
            for span, row, values in zip(places.spans(), words, chances, strict=True)
        ]

    def best(self, text: Text, *, others: Sequence[Text] = (), watch: Watch = ignore) -> str:
        """Return the text with the likeliest word in each veiled place: a guess at the original."""
        return self._written(self._cut([text], others, keep=True), watch)[0].text

    def rewrite(self, texts: Iterable[Text], *, watch: Watch = ignore) -> Iterator[Release]:
        """Yield the result of `best` for each of many texts, in order and many times faster.

        Post-processing keeps the guarantee, so each result is a `Release`, which also says where words were replaced.
        """
        for part in _batches(_texts(texts)):
            yield from self._written(self._cutter.cut(part, keep=True), watch)

    def cut(self, texts: Iterable[Text], others: Sequence[Sequence[Text]] | None = None) -> Places:
        """Cut veiled texts into words, for `likeliest`; every text needs the same number of `others`."""
        given = _texts(texts)
        if others is None:
            return self._cutter.cut(given, keep=self._kind.needs_text)
        if len(others) != len(given):
            raise InputError("others needs one list of further draws per text.")
        return Places.joined([self._cut([text], rest) for text, rest in zip(given, others, strict=True)])

    def likeliest(
        self, places: Places, top: int = 10, *, watch: Watch = ignore
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the result of `posterior` for many texts at once, as arrays of ids and probabilities.

        Parameters
        ----------
        top : int
            How many words to return for each veiled place, likeliest first.
        """
        _check_top(top)
        words, chances = self._kind.posterior(places, min(top, len(self.mechanism.space)), watch)
        return words, np.asarray(chances, dtype=np.float64)

    def without_context(self) -> Reader:
        """Return a reader without context: it looks up each output by itself, with this reader's word frequencies."""
        weaker = copy(self)
        weaker._kind = self._kind.without_context()
        return weaker

    def save(self, path: str | Path) -> None:
        """Write the reader and what it has learnt to a file, usually an ``.npz``; read it with `load`.

        The file holds no text of the release. It does hold its word frequencies, and the list of words or the public
        preamble if there is one.
        """
        _check_path(path)
        header = {
            "kind": self.kind,
            "release": self.mechanism.describe(),
            "select": self.select,
            "words": None if self._words is None else list(self._words),
            "stop_words": None if self._stop_words is None else list(self._stop_words),
            "case": self._case,
            "once": self._basis.once,
            "prior": self._prior,
            "effort": self._basis.law.effort.to_dict(),
        }
        arrays = {
            "vectors": None if self._has_own_vectors else self._basis.vectors,
            "blocked": self.mechanism.blocked if len(self.mechanism.blocked) else None,
            "prior": None if self._prior is not None else self._basis.prior,
        }
        write_saved(
            Path(path), header, {name: one for name, one in arrays.items() if one is not None}, self._kind.state()
        )

    @classmethod
    def load(cls, path: str | Path, *, space: Space | str | Path | None = None) -> Reader:
        """Read a reader that `save` wrote."""
        _check_path(path)
        saved = read_saved(Path(path))
        made = mechanism_of({**saved.release, "blocked_words": 0}, space)
        if saved.blocked is not None:
            made = block_ids(made, saved.blocked)
        # A table is cheap to make; the saved kind is then restored from its state.
        reader = cls(made, prior=saved.prior, vectors=saved.vectors, effort=saved.effort, **saved.options)
        try:
            reader._kind = _kind(saved.kind).from_state(reader._basis, saved.state)
        except (KeyError, ValueError, TypeError) as error:
            if isinstance(error, FileError):
                raise
            raise FileError(f"{path} is damaged; fit and save the reader again.") from None
        return reader

    def _cut(self, texts: Sequence[Text], others: Sequence[Text], *, keep: bool = False) -> Places:
        if isinstance(others, (str, Document)):
            raise InputError("others must be a list of texts: further draws of the same text.")
        keep = keep or self._kind.needs_text
        return self._cutter.cut_draws([*texts, *others]) if others else self._cutter.cut(texts, keep=keep)

    def _written(self, places: Places, watch: Watch) -> list[Release]:
        words = self.mechanism.space.vocabulary.take(self._kind.best(places, watch))
        return places.write(words, self.mechanism.guarantee, self._case)


def _kind(name: str) -> type[Kind]:
    if not isinstance(name, str) or name not in _KINDS:
        raise OptionError(f"unknown reader {name!r}; choose one of {', '.join(_KINDS)}.")
    return _KINDS[name]


def _check_path(path: object) -> None:
    if not isinstance(path, (str, PathLike)):
        raise OptionError(f"expected the file of a saved reader, not an object of the type {type(path).__name__}.")


def _check_top(top: int) -> None:
    if not isinstance(top, int) or top < 1:
        raise OptionError("top must be a whole number, 1 or more.")


def _texts(texts: Iterable[Text]) -> list[Text]:
    if isinstance(texts, (str, bytes, Document, Mapping)) or not isinstance(texts, Iterable):
        raise InputError("expected a list of texts; wrap a single text in a list.")
    return list(texts)


def _batches(texts: Sequence[Text]) -> Iterator[Sequence[Text]]:
    """Divide texts into batches of about the same number of characters; `Cutter.cut` checks their types."""
    first = size = 0
    for number, text in enumerate(texts):
        size += len(text.text if isinstance(text, Document) else text) if isinstance(text, (str, Document)) else 0
        if size >= _BATCH:
            yield texts[first : number + 1]
            first, size = number + 1, 0
    if first < len(texts):
        yield texts[first:]
