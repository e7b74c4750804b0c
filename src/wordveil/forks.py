"""What must be made anew in a forked process, before any thread of it can use what was copied.

A fork copies locks as they were, perhaps held by a thread that the child does not have, and whatever that thread had
half written. To notice this at the next use is too late: several threads of the child may come at once, and one of them
would be at work already while another still begins anew.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol

__all__ = ["Forked", "renew_after_fork"]


class Forked(Protocol):
    """Something that a forked process must not go on with as it is."""

    def after_fork(self) -> None:
        """Begin anew; called in the child, while it has one thread."""


_WATCHED: weakref.WeakSet[Forked] = weakref.WeakSet()


def renew_after_fork(thing: Forked) -> None:
    """Have ``thing.after_fork`` called in every process that is forked from now on, as long as the thing lives.

    Parameters
    ----------
    thing : Forked
        To be told; it must be whole already.
    """
    _WATCHED.add(thing)


def _renew_in_child() -> None:
    for thing in list(_WATCHED):
        thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_in_child)
