"""Transformers for scikit-learn: `VeilText` veils texts, and `ReadVeiled` reads veiled texts as vectors."""
# ruff: noqa: E402 - a missing package is reported before it is imported

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import InputError, OptionError
from wordveil.extras import needs

needs("sklearn", "sklearn", "wordveil.adapters.sklearn")
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from wordveil._mechanisms import block, blocked_words
from wordveil._mechanisms import mechanism as make_mechanism
from wordveil.adapters._cells import check_texts, veil_rows
from wordveil.reading import Reader
from wordveil.spaces import load_space
from wordveil.text import Veil

__all__ = ["ReadVeiled", "VeilText"]


_LOOKED_AT = 500  # how many texts to look at to tell whether they were veiled


class _OfTexts(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer whose input `X` is a sequence of texts or a table of texts. `y` is ignored."""

    _fitted: ClassVar[str]  # the attribute that `fit` sets

    def _check(self, X: Any, *, reset: bool) -> NDArray[np.object_]:
        """Check the texts and return them as an array. Record or compare the names of their columns."""
        # scikit-learn's own messages about wrong dimensions quote the input, which is private here.
        dimensions = X.ndim if hasattr(X, "ndim") else np.asarray(X, dtype=object).ndim
        if dimensions not in {1, 2}:
            raise InputError("X must be a sequence of texts or a table of texts.")
        is_table = dimensions == 2
        if reset and hasattr(self, "n_features_in_"):
            del self.n_features_in_
        elif not reset and is_table != hasattr(self, "n_features_in_"):
            raise InputError("fit and transform must both get a table, or both get a sequence of texts.")
        cells = validate_data(self, X, reset=reset, dtype=object, ensure_2d=is_table, ensure_all_finite=False)
        check_texts(cells.ravel().tolist(), "X")
        return cells

    def _columns(self, input_features: Any) -> Any:
        """Return the names of the columns: a table's own, or ``text`` for a sequence of texts."""
        check_is_fitted(self)
        if hasattr(self, "n_features_in_"):
            return _check_feature_names_in(self, input_features)
        return np.array(["text"] if input_features is None else input_features, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._fitted)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class VeilText(_OfTexts):
    """Veils texts in a pipeline, those to train on and those to predict for alike.

    Takes a sequence of texts (a list, an array or a Series of strings) or a table whose columns are all text, and
    returns an array of the same shape. Nothing is learnt from the texts. Every call of `transform` draws again.

    Parameters
    ----------
    epsilon : float
        The privacy loss per unit of the mechanism's distance. `fit` needs it: no value is right for every text.
    mechanism : str
        The name of the mechanism.
    options : dict, optional
        Options of the mechanism.
    space : str or Path
        The name of a bundled space, or an embedding file.
    select : {"content", "all", "marked", "words"}
        Which words to veil; see `wordveil.Veil`.
    words : collection of str, optional
        The words to veil, for ``select="words"``.
    oov : {"replace", "drop", "keep"}
        What to do with words outside the vocabulary.
    case : {"sentence", "lower", "copy"}
        How to capitalise replacements.
    once : {"record", "file"} or None
        Draw equal words once per row, or once over all rows ever transformed; see `wordveil.Veil`.
    language : str
        The language of the texts, whose function words stay.
    stop_words : collection of str, optional
        The words to leave alone instead.
    identifiers, numbers, markup : str
        What to do with e-mail addresses and the like, with numbers and dates, and with HTML; see `wordveil.Veil`.
    numbers_epsilon : float, optional
        The loss per step, for ``numbers="metric"``.
    date_order : {"dmy", "mdy"}
        How to read dates, for ``numbers="metric"``.
    numbered : bool
        Number the placeholders of identifiers within the scope of `once`.
    block : collection of str, optional
        Words never to draw, instead of the bundled slurs and obscenities.
    random_state : int, optional
        A seed, for experiments. It voids the guarantee.
    unproven : bool
        Allow a mechanism that guarantees nothing or leaves some words unprotected.

    Attributes
    ----------
    veil_ : Veil
        Veils the texts. Its ``guarantee`` says what is guaranteed.
    n_features_in_ : int
        The number of columns; only for a table.
    feature_names_in_ : array of str
        The names of the columns; only for a table with names.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> pipeline = make_pipeline(VeilText(epsilon=4), TfidfVectorizer())
    >>> pipeline.fit_transform(["The ship left.", "Rain fell on the city."]).shape[0]
    2
    """

    _fitted = "veil_"

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        mechanism: str = "graph",
        options: dict[str, Any] | None = None,
        space: str | Path = "glove-50k",
        select: str = "content",
        words: Any = None,
        oov: str = "replace",
        case: str = "sentence",
        once: str | None = "record",
        language: str = "en",
        stop_words: Any = None,
        identifiers: str = "placeholder",
        numbers: str = "placeholder",
        numbers_epsilon: float | None = None,
        date_order: str = "dmy",
        numbered: bool = False,
        markup: str = "keep",
        block: Any = None,
        random_state: int | None = None,
        unproven: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.options = options
        self.space = space
        self.select = select
        self.words = words
        self.oov = oov
        self.case = case
        self.once = once
        self.language = language
        self.stop_words = stop_words
        self.identifiers = identifiers
        self.numbers = numbers
        self.numbers_epsilon = numbers_epsilon
        self.date_order = date_order
        self.numbered = numbered
        self.markup = markup
        self.block = block
        self.random_state = random_state
        self.unproven = unproven

    def fit(self, X: Any, y: Any = None) -> VeilText:  # noqa: ARG002 - scikit-learn's signature
        """Open the space and make the veil. Nothing is learnt from the texts."""
        self._check(X, reset=True)
        if self.once == "person":
            raise OptionError("scikit-learn does not say whose a row is; use once='record' or once='file'.")
        if self.epsilon is None:
            raise OptionError(
                "epsilon is required; 4 is a good start for the default mechanism, and `wordveil calibrate` finds the "
                "value for your own target."
            )
        made = make_mechanism(self.mechanism, load_space(self.space), epsilon=self.epsilon, **(self.options or {}))
        self.veil_ = Veil(
            made,
            select=self.select,
            words=self.words,
            oov=self.oov,
            case=self.case,
            once=self.once,
            language=self.language,
            stop_words=self.stop_words,
            identifiers=self.identifiers,
            numbers=self.numbers,
            numbers_epsilon=self.numbers_epsilon,
            date_order=self.date_order,
            numbered=self.numbered,
            markup=self.markup,
            block=blocked_words() if self.block is None else self.block,
            seed=self.random_state,
            unproven=self.unproven,
        )
        return self

    def transform(self, X: Any) -> NDArray[np.object_]:
        """Return the texts veiled, as an array of the same shape."""
        check_is_fitted(self)
        cells = self._check(X, reset=False)
        table = cells.reshape(len(cells), -1)
        veiled = np.empty(table.T.shape, dtype=object)
        for place, column in enumerate(veil_rows(self.veil_, table.T.tolist(), ["X"] * table.shape[1])):
            veiled[place, :] = column
        return veiled.T.reshape(cells.shape)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns: a table's own, or ``text`` for a sequence of texts."""
        return np.asarray(self._columns(input_features))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


class ReadVeiled(_OfTexts):
    """Reads veiled texts as vectors, for any classifier after it in a pipeline.

    A classifier learns more from the words that may be behind the drawn ones than from the drawn words themselves.
    Takes a sequence of veiled texts, or a table whose columns are all veiled text. Returns a vector for each text, the
    mean over its words; for a table, those of its columns side by side. It uses only the release, so it costs no
    privacy.

    Parameters
    ----------
    epsilon : float
        The ε that the texts were veiled with; needed if there is no `report`, which says it.
    mechanism : str
        The name of the mechanism that veiled them.
    options : dict, optional
        Options of the mechanism.
    space : str or Path, optional
        The name of a bundled space, or an embedding file. By default what the report says, or ``glove-50k``.
    select : {"content", "all"}
        Which words were veiled.
    block : list of str, optional
        The words that were never drawn. By default the bundled list of slurs and obscenities, as for `VeilText`.
    kind : {"population", "table", "context", "language"}
        What to read by: ``table`` knows public word frequencies, and ``population`` learns those of the veiled training
        texts. ``context`` also reads the rest of each text by a small network that `fit` adapts to the training texts;
        it tells a classifier most, needs PyTorch, and takes minutes. ``language`` reads it by a public language model.
    reader_options : dict, optional
        Options of that kind, such as ``{"model": "smollm2"}`` for ``language``; see `wordveil.Reader`.
    prior : {"space", "uniform"}, path or array
        How likely words are by public knowledge; see `wordveil.Reader`.
    report : dict, str or Path, optional
        The report of the release. It gives the mechanism, its options, ε and the selection, so leave out the parameters
        for these.
    force : bool
        Whether `fit` accepts texts that do not look veiled; see `wordveil.Reader.looks_veiled`.

    Attributes
    ----------
    reader_ : Reader
        Reads the texts.
    n_features_in_ : int
        The number of columns; only for a table.
    feature_names_in_ : array of str
        The names of the columns; only for a table with names.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> veiled = VeilText(epsilon=6).fit_transform(["The ship left the harbour.", "Rain fell on the city."])
    >>> pipeline = make_pipeline(ReadVeiled(epsilon=6), LogisticRegression())
    >>> pipeline.fit(veiled, [0, 1]).predict(veiled).tolist()
    [0, 1]
    """

    _fitted = "reader_"

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        mechanism: str = "graph",
        options: dict[str, Any] | None = None,
        space: str | Path | None = None,
        select: str = "content",
        block: list[str] | None = None,
        kind: str = "population",
        reader_options: dict[str, Any] | None = None,
        prior: Any = "space",
        report: Any = None,
        force: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.options = options
        self.space = space
        self.select = select
        self.block = block
        self.kind = kind
        self.reader_options = reader_options
        self.prior = prior
        self.report = report
        self.force = force

    def fit(self, X: Any, y: Any = None) -> ReadVeiled:  # noqa: ARG002 - scikit-learn's signature
        """Make the reader, and let it learn from the veiled texts whatever its kind can learn."""
        cells = self._check(X, reset=True)
        how = {"kind": self.kind, "prior": self.prior, **_options_of_reader(self.reader_options)}
        told = {"epsilon": None, "mechanism": "graph", "options": None, "select": "content"}
        for name, usual in told.items() if self.report is not None else ():
            if getattr(self, name) != usual:
                raise OptionError(f"{name} is already in the report; leave it out.")
        if self.report is None:
            if self.epsilon is None:
                raise OptionError("give the report of the release, or the epsilon that it was veiled with.")
            space = load_space("glove-50k" if self.space is None else self.space)
            made = make_mechanism(self.mechanism, space, epsilon=self.epsilon, **(self.options or {}))
            made = block(made, blocked_words() if self.block is None else self.block)
            reader = Reader(made, select=self.select, **how)
        else:
            opened = None if self.space is None else load_space(self.space)
            reader = Reader.of_report(self.report, space=opened, block=self.block, **how)
        texts = cells.ravel().tolist()
        if not self.force and reader.looks_veiled(texts[:_LOOKED_AT]) is False:
            raise InputError(
                "these texts do not look veiled with these settings: their words are as frequent as in ordinary text, "
                "and guesses at an original would be meaningless; set force to read them anyway."
            )
        self.reader_ = reader.fit(texts)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the vectors of veiled texts, of shape (n_texts, d), or (n_texts, n_columns · d) for a table."""
        check_is_fitted(self)
        cells = self._check(X, reset=False)
        return self.reader_.transform(cells.ravel().tolist()).reshape(len(cells), -1)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a name for each coordinate: its column's name and a number."""
        columns = self._columns(input_features)
        names = [f"{column}_{number}" for column in columns for number in range(self.reader_.dimension)]
        return np.array(names, dtype=object)


def _options_of_reader(given: object) -> dict[str, Any]:
    """Return the options of a kind of reader; refuse anything else, such as what has a parameter of its own."""
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise OptionError("reader_options must be a dict, such as {'model': 'smollm2'}.")
    own = [name for name in given if name in (*ReadVeiled().get_params(deep=False), "mechanism")]
    if own:
        raise OptionError(f"{own[0]} is a parameter of ReadVeiled: set it there, and not in reader_options.")
    return given
