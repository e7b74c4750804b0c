"""Conversations with a language model: which texts are veiled, which are left alone, and what is refused.

Messages are plain values in OpenAI's format. Anything not known to be harmless, such as an unknown role, a picture or
an unknown field, is refused or dropped, never passed on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from wordveil.errors import InputError, OptionError

__all__ = ["CHOICES", "Policy", "Writer", "is_token", "listed", "schema_names", "token"]

#: The choices for each part of a `Policy`, the default first.
CHOICES = {
    "system": ("leave", "veil", "refuse"),
    "assistant": ("veil", "leave"),
    "results": ("veil", "leave", "refuse"),
    "tools": ("leave", "refuse"),
    "other": ("refuse", "drop"),
}
#: The part of the policy that applies to messages of each role; what users write is always veiled.
_ROLES = {
    "user": None, "system": "system", "developer": "system", "assistant": "assistant", "tool": "results",
    "function": "results",
}  # fmt: skip
_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "summary_text": "text", "refusal": "refusal"}
_TOKEN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@+\-]{0,127}")
_DEEPEST = 32  # levels of nested objects


class Policy(NamedTuple):
    """What to do with the parts of a conversation. What users write is always veiled."""

    system: str = "leave"  # messages of the roles ``system`` and ``developer``, and instructions: leave, veil, refuse
    assistant: str = "veil"  # earlier answers of the model, as the request repeats them: veil, leave
    results: str = "veil"  # results of tools: veil, leave, refuse
    tools: str = "leave"  # descriptions and schemas of tools and answers, and stop sequences: leave, refuse
    other: str = "refuse"  # pictures, sound, files, and unknown fields: refuse, drop

    def check(self) -> Policy:
        """Return the policy; raise an OptionError if a choice is not one of `CHOICES`."""
        for part, choices in CHOICES.items():
            if getattr(self, part) not in choices:
                raise OptionError(f"{part} must be one of {', '.join(choices)}.")
        return self


class _Gap(NamedTuple):
    holder: Any
    key: Any
    text: str
    way: str  # veil, known, or json: the known arguments of a call


class Writer:
    """Rewrites messages with gaps for texts that must not be sent as they are, and fills the gaps later.

    `keys` are the argument names of the request's tools, which may be sent as they are. ``is_known(text, is_json)``
    returns whether a text of the assistant need not be veiled; `is_json` marks the arguments of a call. `fill` takes
    the function that returns what is sent for such a text.
    """

    def __init__(
        self, policy: Policy, keys: Collection[str] = (), is_known: Callable[[str, bool], bool] | None = None
    ) -> None:
        self.policy = policy
        self._keys, self._is_known = frozenset(keys), is_known
        self._gaps: list[_Gap] = []
        self._calls: list[tuple[dict[str, Any], str, list[Any]]] = []

    @property
    def texts(self) -> list[str]:
        """The texts to veil, in order."""
        return [gap.text for gap in self._gaps if gap.way == "veil"]

    def fill(self, veiled: Iterable[str], sent: Callable[[str, bool], str] | None = None) -> None:
        """Fill the gaps, in order: with veiled texts, and with what `sent` returns for known ones."""
        one_by_one = iter(veiled)
        for holder, key, text, way in self._gaps:
            if way == "veil":
                holder[key] = next(one_by_one)
            elif sent is not None:
                holder[key] = sent(text, way == "json")
        for holder, key, value in self._calls:
            holder[key] = json.dumps(value[0], ensure_ascii=False)

    def message(self, given: Any) -> dict[str, Any]:
        """Rewrite a message of a chat."""
        role = given.get("role") if isinstance(given, dict) else None
        if not isinstance(role, str) or role not in _ROLES:
            raise InputError(f"a message must have one of the roles {', '.join(_ROLES)}.")
        way = self.way(_ROLES[role])
        made: dict[str, Any] = {"role": role}
        for key, value in given.items():
            if key == "role" or (value in (None, "", [], {}) and key != "content"):
                continue
            if key == "content":
                self.content(made, key, value, way)
            elif key == "refusal" and role == "assistant":
                self.text(made, key, value, way)
            elif key == "name" and role == "function":
                made[key] = token(value, key)
            elif key == "name":
                self.other("the name of a participant")
            elif key == "tool_call_id" and role == "tool":
                made[key] = token(value, key)
            elif key == "function_call" and role == "assistant":
                made[key] = self._call(value, way)
            elif key == "tool_calls" and role == "assistant":
                made[key] = [self._tool_call(call, way) for call in listed(value, key)]
            else:
                self.other("a field of a message")
        return made

    def way(self, part: str | None) -> str:
        """Return what to do with a part of the conversation; raise an InputError if it is not allowed."""
        way = "veil" if part is None else str(getattr(self.policy, part))
        if way == "refuse":
            raise InputError(f"messages of this kind are not allowed here ({part}).")
        return "known" if part == "assistant" and way == "veil" else way

    def content(self, holder: dict[str, Any], key: str, value: Any, way: str) -> None:
        """Rewrite the content of a message: nothing, a text, or parts."""
        if value is None or isinstance(value, str):
            self.text(holder, key, value, way)
            return
        holder[key] = parts = []
        for part in listed(value, key):
            kind = part.get("type") if isinstance(part, dict) else None
            inside = _TEXTS.get(kind) if isinstance(kind, str) else None
            if inside is None:
                self.other("a part that is not text")
                continue
            made = {"type": kind}
            self.text(made, inside, part.get(inside), way)
            parts.append(made)
            if any(value for name, value in part.items() if name not in ("type", inside)):
                self.other("a field of a part")

    def text(self, holder: Any, key: Any, value: Any, way: str) -> None:
        """Write a text that is empty or left alone, or leave a gap for it."""
        if value is not None and not isinstance(value, str):
            raise InputError("a text of a message must be a string.")
        if not value or way == "leave":
            holder[key] = value
        else:
            self._gap(holder, key, value, "known" if way == "known" and self.is_known(value) else "veil")

    def arguments(self, holder: dict[str, Any], key: str, value: Any, way: str) -> None:
        """Rewrite the JSON arguments of a call: texts and numbers are veiled, known names are kept."""
        if not isinstance(value, str):
            raise InputError("the arguments of a call must be a string.")
        if not value or way == "leave":
            holder[key] = value
            return
        if way == "known" and self.is_known(value, is_json=True):
            self._gap(holder, key, value, "json")
            return
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            self._gap(holder, key, value, "veil")
            return
        holder[key], made = None, [None]
        self._value(made, 0, parsed, 0)
        self._calls.append((holder, key, made))

    def is_known(self, value: Any, *, is_json: bool = False) -> bool:
        """Whether a value is a text of the assistant that need not be veiled."""
        return self._is_known is not None and isinstance(value, str) and self._is_known(value, is_json)

    def _gap(self, holder: Any, key: Any, text: str, way: str) -> None:
        holder[key] = None
        self._gaps.append(_Gap(holder, key, text, way))

    def other(self, what: str) -> None:
        """Raise an InputError, unless the policy is to drop such parts."""
        if self.policy.other == "refuse":
            raise InputError(f"{what} cannot be veiled, so the request was refused.")

    def _value(self, holder: Any, key: Any, value: Any, depth: int) -> None:
        if depth > _DEEPEST:
            raise InputError("the arguments of a call are nested too deeply.")
        if value is None or isinstance(value, bool):
            holder[key] = value
        elif isinstance(value, list):
            holder[key] = made = [None] * len(value)
            for place, one in enumerate(value):
                self._value(made, place, one, depth + 1)
        elif isinstance(value, dict):
            holder[key] = fields = dict[str, Any]()
            for name, one in value.items():
                if name in self._keys:
                    self._value(fields, name, one, depth + 1)
                else:
                    self.other("an argument that no tool of the request declares")
        else:
            self.text(holder, key, value if isinstance(value, str) else str(value), "veil")

    def _tool_call(self, given: Any, way: str) -> dict[str, Any]:
        if not isinstance(given, dict):
            raise InputError("a call of a tool must be an object.")
        made: dict[str, Any] = {}
        for key, value in given.items():
            if key in ("id", "type"):
                made[key] = token(value, key)
            elif key == "function":
                made[key] = self._call(value, way)
            elif key == "custom" and isinstance(value, dict):
                made[key] = {"name": token(value.get("name"), "name")}
                self.text(made[key], "input", value.get("input"), way)
            elif key == "index" and isinstance(value, int):
                made[key] = value
            elif value:
                self.other("a field of a call")
        return made

    def _call(self, given: Any, way: str) -> dict[str, Any]:
        if not isinstance(given, dict):
            raise InputError("a call of a function must be an object.")
        made: dict[str, Any] = {"name": token(given.get("name"), "name")}
        self.arguments(made, "arguments", given.get("arguments"), way)
        if any(value for key, value in given.items() if key not in made):
            self.other("a field of a call")
        return made


def is_token(value: Any) -> bool:
    """Whether a value is a short name without spaces, such as the name of a model, tool or call."""
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


def token(value: Any, field: str) -> str:
    """Return a value; raise an InputError if it is not a short name without spaces."""
    if not is_token(value):
        raise InputError(f"{field} must be a short name without spaces.")
    return str(value)


def listed(value: Any, field: str) -> list[Any]:
    """Return a value; raise an InputError if it is not a list."""
    if not isinstance(value, list):
        raise InputError(f"{field} must be a list.")
    return value


def schema_names(tools: Any) -> set[str]:
    """Return the argument names that tools declare: the keys of every ``properties``."""
    found: set[str] = set()
    waiting = [tools]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            if isinstance(properties := one.get("properties"), Mapping):
                found.update(properties)
            waiting += one.values()
        elif isinstance(one, (list, tuple)):
            waiting += one
    return found
