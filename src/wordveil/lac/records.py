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
    """

    text: str
    user: str | None = None
    label: str | None = None
