"""Errors, grouped by what is at fault.

Every message is one sentence that says what is wrong and what to do. The command line prints it and exits with 2. A
message may name a file, a line number, a column or an option, but never quotes private text.
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
    """The base class of all errors that wordveil raises on purpose."""


class OptionError(WordveilError):
    """An argument, option or setting is invalid, or conflicts with another."""


class InputError(WordveilError):
    """A text, record, column or request cannot be used as it is."""


class FileError(WordveilError):
    """A file or folder cannot be read or written."""


class SpaceError(WordveilError):
    """A space cannot be opened, or does not fit the mechanism or option."""


class ExtraError(WordveilError):
    """A feature needs an optional package that is not installed."""


class BudgetError(WordveilError):
    """A release would cost more than is left of a budget."""


class UnprovenError(WordveilError):
    """A mechanism guarantees nothing or leaves some words unprotected, and was not explicitly allowed."""
