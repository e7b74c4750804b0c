"""Veil columns of a Hugging Face dataset, in memory or streamed."""
# ruff: noqa: E402 - a missing package is reported before it is imported

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, TypeVar

from wordveil.errors import OptionError
from wordveil.extras import needs

needs("datasets", "datasets", "wordveil.adapters.datasets")
from datasets import Dataset, IterableDataset

from wordveil.adapters._cells import check_given, veil_rows
from wordveil.text import Veil

__all__ = ["VeilBatch", "privatize"]

DatasetT = TypeVar("DatasetT")


class VeilBatch:
    """A function for ``dataset.map(…, batched=True)`` that veils columns. Missing cells (None) stay missing.

    Prefer `privatize`, which also prevents the library from answering a second call with the cached draws of the first.

    Parameters
    ----------
    veil : Veil
        Veils the texts.
    columns : str or sequence of str
        The columns to veil.
    person : str, optional
        For a veil with ``once="person"``: the column that says whose each row is. None means a person of its own.
    """

    def __init__(self, veil: Veil, columns: str | Sequence[str], person: str | None = None) -> None:
        check_given(veil, columns)
        self.veil, self.person = veil, person
        self.columns = [columns] if isinstance(columns, str) else list(columns)

    def __call__(self, batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """Return the veiled columns of a batch."""
        cells = [batch[column] for column in self.columns]
        veiled = veil_rows(
            self.veil,
            cells,
            [f"the column {column!r}" for column in self.columns],
            missing=[[cell is None for cell in column] for column in cells],
            people=None if self.person is None else batch[self.person],
        )
        return dict(zip(self.columns, veiled, strict=True))


def privatize(
    dataset: DatasetT,
    veil: Veil,
    columns: str | Sequence[str],
    *,
    person: str | None = None,
    batch_size: int = 1000,
    keep_in_memory: bool = True,
) -> DatasetT:
    """Return the dataset with some columns veiled. Other columns and all types stay the same.

    Every call draws again, and so does every pass over a streamed dataset. So write a stream to a file once, and
    release that file.

    Parameters
    ----------
    dataset : Dataset, IterableDataset, DatasetDict or IterableDatasetDict
        The texts.
    veil : Veil
        Veils them.
    columns : str or sequence of str
        The columns to veil.
    person : str, optional
        For a veil with ``once="person"``: the column that says whose each row is. None means a person of its own.
    batch_size : int
        How many rows to veil together.
    keep_in_memory : bool
        Keep the result in memory and not in the library's cache folder. A streamed dataset is in neither.

    Examples
    --------
    >>> import wordveil
    >>> from datasets import Dataset
    >>> reviews = Dataset.from_dict({"text": ["The ship left.", None], "label": [0, 1]})
    >>> veiled = privatize(reviews, wordveil.Veil(epsilon=4), "text")  # doctest: +SKIP
    """
    if isinstance(dataset, dict):
        parts = {
            name: privatize(part, veil, columns, person=person, batch_size=batch_size, keep_in_memory=keep_in_memory)
            for name, part in dataset.items()
        }
        return type(dataset)(parts)
    function = VeilBatch(veil, columns, person)
    if not isinstance(dataset, (Dataset, IterableDataset)):
        raise OptionError(f"a {type(dataset).__name__} is not a dataset of the package datasets.")
    known = dataset.column_names
    for column in [*function.columns, *([] if person is None else [person])]:
        if known is not None and column not in known:
            raise OptionError(f"the dataset has no column {column!r}; it has {', '.join(known)}.")
    if isinstance(dataset, IterableDataset):
        return dataset.map(function, batched=True, batch_size=batch_size, features=dataset.features)
    return dataset.map(
        function,
        batched=True,
        batch_size=batch_size,
        features=dataset.features,
        keep_in_memory=keep_in_memory,
        load_from_cache_file=False,
        new_fingerprint=secrets.token_hex(8),  # the default, a hash of the function, would be the same for every call
    )
