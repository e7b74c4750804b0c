"""Errors, grouped by who can fix them.

Every error is one sentence that says what is wrong and what to do. The command line prints it and exits with 2. No
sentence quotes private text: it may name a file, a line number, a column or an option, but not what stands in a record.
"""

__all__ = [
    "BudgetError",
    "ExtraError",
    "FileError",
    "InputError",
    "OptionError",
    "SpaceError",
    "UnprovenError",
    "WordveilError",
]


class WordveilError(ValueError):
    """A mistake in what was asked for; the root of all errors that people see."""


class OptionError(WordveilError):
    """An argument, option or setting that makes no sense, alone or with another."""


class InputError(WordveilError):
    """A text, record, column or request that cannot be used as it is."""


class FileError(WordveilError):
    """A file or folder that cannot be read, or must not be written."""


class SpaceError(WordveilError):
    """A space of words that cannot be opened, or that does not fit what is asked of it."""


class ExtraError(WordveilError):
    """A feature whose optional package is not installed."""


class BudgetError(WordveilError):
    """A release that costs more than is left of a budget."""


class UnprovenError(WordveilError):
    """A mechanism that promises nothing, or leaves some words bare, and that the caller has not allowed."""
