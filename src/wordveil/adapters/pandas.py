"""Veil the texts of a pandas Series or of some columns of a DataFrame."""
# ruff: noqa: E402 - a missing package is reported before it is imported

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, overload

from wordveil.errors import InputError, OptionError
from wordveil.extras import needs

needs("pandas", "pandas", "wordveil.adapters.pandas")
import pandas as pd

from wordveil.adapters._cells import check_given, veil_rows
from wordveil.text import Veil

__all__ = ["privatize"]


@overload
def privatize(data: pd.Series, veil: Veil) -> pd.Series: ...
@overload
def privatize(
    data: pd.DataFrame, veil: Veil, columns: Hashable | Sequence[Hashable], *, person: Hashable | None = None
) -> pd.DataFrame: ...
def privatize(
    data: pd.Series | pd.DataFrame,
    veil: Veil,
    columns: Hashable | Sequence[Hashable] | None = None,
    *,
    person: Hashable | None = None,
) -> pd.Series | pd.DataFrame:
    """Return a copy with its texts veiled. Every call draws again, so keep the result and release it once.

    The index, the other columns and the dtype stay the same. Missing cells (None, NaN, NA, NaT) stay missing. A
    categorical column gets the veiled texts as its categories, because the old ones would reveal the originals.

    Parameters
    ----------
    data : Series or DataFrame
        The texts.
    veil : Veil
        Veils them.
    columns : label or sequence of labels, optional
        Which columns of a DataFrame to veil.
    person : label, optional
        For a veil with ``once="person"``: the column of a DataFrame that says whose each row is. A row without a value
        there counts as a person of its own.

    Raises
    ------
    InputError
        If a cell is neither text nor missing.
    OptionError
        If `data` or `veil` has the wrong type, or `columns` are missing from the table, ambiguous, or not given for a
        DataFrame.

    Examples
    --------
    >>> import pandas as pd, wordveil
    >>> table = pd.DataFrame({"id": [1, 2], "answer": ["The nurses were kind.", None]})
    >>> veiled = privatize(table, wordveil.Veil(epsilon=4), "answer")
    >>> veiled["answer"].isna().tolist()
    [False, True]
    """
    if isinstance(data, pd.Series):
        if columns is not None or person is not None:
            raise OptionError("a Series has no columns to choose from: leave columns and person out.")
        check_given(veil, [data])
        return _veiled([data], veil, None)[0]
    if not isinstance(data, pd.DataFrame):
        raise OptionError(f"a {type(data).__name__} is neither a Series nor a DataFrame.")
    if columns is None:
        raise OptionError("columns must name the columns of the DataFrame to veil.")
    chosen = [columns] if isinstance(columns, (str, tuple)) or not isinstance(columns, Sequence) else list(columns)
    check_given(veil, chosen)
    for column in [*chosen, *([] if person is None else [person])]:
        found = (
            int((data.columns == column).sum()) if not isinstance(column, tuple) else list(data.columns).count(column)
        )
        if not found:
            raise OptionError(f"the table has no column {column!r}; name columns that it has.")
        if found > 1:
            raise OptionError(f"the table has {found} columns {column!r}; rename them, so that none stays unveiled.")
    people = None if person is None else data[person].astype(object).where(data[person].notna(), None).tolist()
    veiled = data.copy(deep=False)
    for column, texts in zip(chosen, _veiled([data[column] for column in chosen], veil, people), strict=True):
        veiled[column] = texts
    return veiled


def _veiled(columns: list[pd.Series], veil: Veil, people: list[Any] | None) -> list[pd.Series]:
    names = ["the series" if texts.name is None else f"the column {texts.name!r}" for texts in columns]
    plain = [_plain(texts, name) for texts, name in zip(columns, names, strict=True)]
    cells = veil_rows(
        veil,
        [texts.tolist() for texts in plain],
        names,
        missing=[texts.isna().tolist() for texts in plain],
        people=people,
    )
    veiled = [
        pd.Series(values, index=texts.index, name=texts.name, dtype=texts.dtype)
        for values, texts in zip(cells, plain, strict=True)
    ]
    return [
        one.astype("category") if isinstance(texts.dtype, pd.CategoricalDtype) else one
        for one, texts in zip(veiled, columns, strict=True)
    ]


def _plain(texts: pd.Series, name: str) -> pd.Series:
    """Return the cells of a column without its categories."""
    if isinstance(texts.dtype, pd.CategoricalDtype):
        texts = texts.astype(object)
    is_text = pd.api.types.is_object_dtype(texts.dtype) or pd.api.types.is_string_dtype(texts.dtype)
    if not is_text and texts.notna().any():
        raise InputError(f"{name} has the dtype {texts.dtype}; it must hold text.")
    return texts
