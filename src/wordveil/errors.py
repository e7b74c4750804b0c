"""The one error that people see."""

__all__ = ["WordveilError"]


class WordveilError(ValueError):
    """A mistake in what was asked for, told in one sentence that says what to do.

    The command line prints the sentence and exits with 2. The sentence never quotes private text:
    it may name a file, a line number, a column or an option, but not what stands in a record.
    """
