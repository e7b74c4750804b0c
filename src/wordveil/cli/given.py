"""Which options a command was given: a single one is given once, and one that would have no effect is refused."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from wordveil.errors import OptionError

#: Of the command that runs: the flag of every parameter that was on the command line.
_GIVEN: ContextVar[dict[str, str]] = ContextVar("given", default={})  # noqa: B039 - replaced, and never written to


def remember(order: Sequence[Any]) -> None:
    """Keep what was on the command line, in its order; refuse a single option that is there twice."""
    given: dict[str, str] = {}
    for parameter in order:
        if parameter.param_type_name != "option":
            continue
        flag = max(parameter.opts, key=len)
        is_many = parameter.multiple or (parameter.is_flag and not parameter.secondary_opts)
        if parameter.name in given and not is_many:
            both = " and ".join([flag, *parameter.secondary_opts])
            raise OptionError(
                f"{both} contradict each other: give one of them, once."
                if parameter.secondary_opts
                else f"{flag} is given more than once: give it once."
            )
        given[parameter.name] = flag
    _GIVEN.set(given)


def refuse_given(why: str, *names: str) -> None:
    """Refuse parameters of the command that have no effect on what it was asked.

    Parameters
    ----------
    why : str
        What the flag is followed by in the sentence, such as "is for a table alone".
    *names : str
        The parameters.
    """
    given = _GIVEN.get()
    for name in names:
        if name in given:
            raise OptionError(f"{given[name]} {why}: leave it out.")
