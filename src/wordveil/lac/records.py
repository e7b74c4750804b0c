"""What travels through a pipeline."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Record"]


class Record(NamedTuple):
    """One thing that one user says.

    Attributes
    ----------
    text : str
        The text; after the localizer, the veiled one.
    user : str or None
        Who said it; None once an amplifier has taken it off.
    label : str or None
        A class that is released as it is, for a curator that trains a classifier.
    shape : bytes or None
        After the localizer, a digest of all that is released of the record as it is, its label included: records hide
        among those of their own shape only. Empty where no word of the vocabulary was drawn anew. None elsewhere.
    """

    text: str
    user: str | None = None
    label: str | None = None
    shape: bytes | None = None
