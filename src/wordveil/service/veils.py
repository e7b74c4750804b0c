"""Spaces, mechanisms and veils, kept ready between requests."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

from wordveil._mechanisms import MECHANISMS, Mechanism, mechanism, option_names
from wordveil.errors import WordveilError
from wordveil.service.fitting import kind_of, kinds_for
from wordveil.service.problems import Problem
from wordveil.service.schemas import MechanismChoice, Way
from wordveil.service.settings import Settings
from wordveil.spaces import EuclideanSpace, PoincareSpace, load_space
from wordveil.text import Veil

__all__ = ["Kept", "Workshop", "choice_key", "veil_key"]

Thing = TypeVar("Thing")


class Kept:
    """Things that take time to make: the most recently used are kept, and each is made by one thread only.

    Parameters
    ----------
    most : int
        How many to keep.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._things: OrderedDict[Any, Any] = OrderedDict()
        self._making: dict[Any, threading.Lock] = {}
        self._lock = threading.Lock()

    def ready(self, key: Any) -> Any | None:
        """Return a thing if it is there already."""
        with self._lock:
            if key in self._things:
                self._things.move_to_end(key)
                return self._things[key]
        return None

    def get(self, key: Any, make: Callable[[], Thing]) -> Thing:
        """Return a thing, made now if it is not there."""
        found: Thing | None = self.ready(key)
        if found is not None:
            return found
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            found = self.ready(key)
            try:
                if found is None:
                    found = make()
                    with self._lock:
                        self._things[key] = found
                        while len(self._things) > self._most:
                            self._things.popitem(last=False)
            finally:
                with self._lock:
                    self._making.pop(key, None)
        return found


class Workshop:
    """Makes what requests ask for, within what the settings allow.

    Parameters
    ----------
    settings : Settings
        What is allowed.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._paths = {Path(space).name: space for space in settings.spaces}
        self._spaces = Kept(len(self._paths))
        self._mechanisms = Kept(settings.veils)

    @property
    def space_names(self) -> list[str]:
        """The names of the spaces, the default first."""
        return list(self._paths)

    def path(self, name: str | None) -> str:
        """Return the bundled name or the path of a space."""
        chosen = name or next(iter(self._paths))
        if chosen not in self._paths:
            raise Problem(422, f"the space must be one of {', '.join(self._paths)}.")
        return self._paths[chosen]

    def space(self, name: str | None) -> EuclideanSpace | PoincareSpace:
        """Open a space by its name."""
        path = self.path(name)
        return self._spaces.get(path, lambda: load_space(path))

    def check(self, choice: MechanismChoice) -> None:
        """Refuse what the settings do not allow."""
        self.check_mechanism(choice.mechanism, choice.options)
        self.check_epsilon(choice.epsilon)
        self.path(choice.space)

    def check_epsilon(self, epsilon: float) -> None:
        """Refuse an ε that the settings do not allow."""
        if not self.settings.smallest_epsilon <= epsilon <= self.settings.largest_epsilon:
            raise Problem(
                422,
                f"epsilon must lie between {self.settings.smallest_epsilon:g} and {self.settings.largest_epsilon:g} "
                "here.",
            )

    def check_fit(self, name: str, space: str | None) -> None:
        """Refuse a mechanism that does not go with the kind of a space."""
        if kind_of(self.space(space)) not in kinds_for(name):
            raise Problem(
                409,
                f"the mechanism {name} does not go with this space; see the kinds of /v1/mechanisms and /v1/spaces.",
            )

    def check_mechanism(self, name: str, options: dict[str, Any]) -> None:
        """Refuse a mechanism, or options, that the settings do not allow."""
        if options and not self.settings.options:
            raise Problem(422, "this service takes mechanisms with their usual options only; see the setting options.")
        if name not in self.settings.mechanisms:
            raise Problem(422, f"this service allows the mechanisms {', '.join(self.settings.mechanisms)}.")
        known = option_names(MECHANISMS[name])
        if not set(options) <= set(known):  # said without the name that was sent, which the registry would quote
            takes = f"takes only the options {', '.join(known)}" if known else "takes no options"
            raise Problem(422, f"the mechanism {name} {takes}.")

    def mechanism(self, choice: MechanismChoice) -> Mechanism[Any]:
        """Make a mechanism, or take the one that is kept."""
        self.check(choice)
        return self._mechanisms.get(choice_key(choice), lambda: self._make(choice))

    def _make(self, choice: MechanismChoice) -> Mechanism[Any]:
        space = self.space(choice.space)
        try:
            return mechanism(choice.mechanism, space, epsilon=choice.epsilon, **choice.options)
        except WordveilError as error:
            raise Problem(409, str(error)) from None
        except (TypeError, ValueError):
            raise Problem(409, f"an option of the mechanism {choice.mechanism} has a value it cannot take.") from None

    def veil(self, way: Way, words: Collection[str] | None = None) -> Veil:
        """Make a veil."""
        return Veil(self.mechanism(way), select=way.select, words=words, oov=way.oov, case=way.case)


def choice_key(choice: MechanismChoice) -> tuple[Any, ...]:
    """Say all that a mechanism depends on."""
    options = tuple(sorted((name, type(value).__name__, value) for name, value in choice.options.items()))
    return (choice.space, choice.mechanism, choice.epsilon, options)


def veil_key(way: Way) -> tuple[Any, ...]:
    """Say all that a veil without a list of words depends on."""
    return (*choice_key(way), way.select, way.oov, way.case)
