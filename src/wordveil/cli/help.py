"""How commands are declared, and how ``--help`` looks: plain text that fits any terminal, examples to be copied."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

CommandT = TypeVar("CommandT", bound=Callable[..., Any])

_WHOLE = 1000  # letters: longer than any first sentence
_GO_ON = " \\"
_PLAIN_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


class _Command(TyperCommand):
    """A command whose examples are broken only where a shell goes on reading."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return _trusting(super().get_params(ctx))

    def get_short_help_str(self, limit: int = _WHOLE) -> str:  # noqa: ARG002 - a list of commands wraps, and cuts nothing
        """Return the first sentence of the help."""
        return super().get_short_help_str(_WHOLE)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as typer calls it
        """Write the help; an indented paragraph of it is an example."""
        for paragraph in inspect.cleandoc(self.help or "").split("\n\n"):
            formatter.write_paragraph()
            with formatter.indentation():
                if paragraph.startswith("  "):
                    _write_example(paragraph, formatter)
                else:
                    formatter.write_text(paragraph)


def _trusting(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "_runtime_param", 0) is None:
            param._runtime_param = _Trusting()
    return params


class _Trusting:
    """Takes values as they are that need no check: defaults, and text where text is asked for.

    Newer versions of typer have every value checked by pydantic, which takes a tenth of a second to load.
    """

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:
        """Return a value as the command takes it."""
        source = ctx.get_parameter_source(param.name)
        if source is not None and source.name == "DEFAULT":
            return value
        wanted, told = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        if all(getattr(told, limit, None) is None for limit in ("min", "max", "parser")):
            if wanted is str and isinstance(value, str):
                return value
            if wanted == list[str] and isinstance(value, (list, tuple)):
                return list(value)
            if wanted is float and isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value):
                return float(value)
        from typer._coercion import build_runtime_param

        return build_runtime_param(param.type_descriptor).coerce(value, param=param, ctx=ctx)


def _write_example(example: str, formatter: Any) -> None:
    margin = " " * (formatter.current_indent + 2)
    line = margin
    for part in _parts(shlex.split(example, posix=False)):
        if not line.isspace() and len(f"{line} {part}{_GO_ON}") > formatter.width:
            formatter.write(f"{line}{_GO_ON}\n")
            line = f"{margin}  "
        line += part if line.isspace() else f" {part}"
    formatter.write(f"{line}\n")


def _parts(words: list[str]) -> list[str]:
    """Put every option together with its value."""
    parts: list[str] = []
    for word in words:
        if parts and parts[-1].startswith("-") and " " not in parts[-1] and not word.startswith("-"):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return _trusting(super().get_params(ctx))

    def get_short_help_str(self, limit: int = _WHOLE) -> str:  # noqa: ARG002 - as above
        """Return the first sentence of the help."""
        return super().get_short_help_str(_WHOLE)


class App(typer.Typer):
    """A command with commands below it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=_Group, no_args_is_help=True, rich_markup_mode=None, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[CommandT], CommandT]:
        """Add a command, as `typer.Typer.command` does; a parameter that is a dataclass stands for all its fields."""
        add = super().command(name, cls=_Command, **options)

        def added(command: CommandT) -> CommandT:
            add(_unfolded(command))
            return command

        return added


def _unfolded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with an option for each field of its dataclasses, whose defaults are those of the default."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for one in inspect.signature(command, eval_str=True).parameters.values():
        if not is_dataclass(one.annotation):
            parameters.append(one.replace(kind=one.KEYWORD_ONLY))
            continue
        told: dict[str, Any] = {}
        for kind in reversed(one.annotation.__mro__):  # type: ignore[union-attr]  # a class, as its annotation is
            told |= inspect.get_annotations(kind, eval_str=True)
        groups[one.name] = one.annotation
        parameters += [
            inspect.Parameter(
                each.name, one.KEYWORD_ONLY, default=getattr(one.default, each.name), annotation=told[each.name]
            )
            for each in fields(one.annotation)
        ]
    if not groups:
        return command

    @wraps(command)
    def run(**given: Any) -> Any:
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        return command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # where `inspect` looks first
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run
