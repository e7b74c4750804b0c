"""Declares commands and formats ``--help``: plain text that fits any terminal, with examples to copy."""

from __future__ import annotations

import inspect
import re
import shlex
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, get_args

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import ArgumentInfo, ParameterInfo

from wordveil.cli.checks import remember

CommandT = TypeVar("CommandT", bound=Callable[..., Any])

#: An error of the command-line library, such as an unknown option. Its class has moved between versions.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]

_WHOLE = 1000  # letters; longer than any first sentence
_GO_ON = " \\"
_PLAIN_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_NAMES_END = 24  # the widest column of option names; a longer name gets a line of its own
_KEPT_WHOLE = re.compile(r"`[^`]*`|\[\[[^]]*\]+|\[[^]]*\]|'[^']*'|<[^>]*>|\{[^}]*\}|\b\w = \S+")
_HARD_SPACE = "\N{NO-BREAK SPACE}"
#: The placeholder for an option's value, by type, if the option names none.
_VALUES: dict[object, str] = {float: "X", int: "N", Path: "FILE", str: "NAME"}


class _Shown:
    """How a command is shown and parses its options, with any supported version of typer."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return _trusting(super().get_params(ctx))  # type: ignore[misc]

    def get_short_help_str(self, limit: int = _WHOLE) -> str:  # noqa: ARG002 - our lists wrap, so nothing is cut
        """Return the first sentence of the help."""
        return str(super().get_short_help_str(_WHOLE))  # type: ignore[misc]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the command's name in the usage line."""
        named = [_usage(one) for one in self.get_params(ctx) if one.param_type_name == "argument"]
        inner = ["COMMAND [ARGS]..."] if isinstance(self, TyperGroup) else []
        return ["[OPTIONS]", *named, *inner]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options and the subcommands."""
        shown = [one for one in self.get_params(ctx) if not getattr(one, "hidden", False)]
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            _write_list(title, [(_names(one), _told(one)) for one in shown if one.param_type_name == kind], formatter)
        if isinstance(self, TyperGroup):
            self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the subcommands."""
        names = self.list_commands(ctx) if isinstance(self, TyperGroup) else []
        below = [(name, self.get_command(ctx, name)) for name in names]  # type: ignore[attr-defined]
        _write_list("Commands", [(name, one.get_short_help_str()) for name, one in below], formatter)


def _usage(argument: Any) -> str:
    name = _value(argument) if argument.required else f"[{_value(argument)}]"
    return f"{name}..." if argument.nargs < 0 else name


def named(parameter: Any) -> str:
    """Return a parameter's name, as used in a sentence."""
    return _value(parameter) if parameter.param_type_name == "argument" else max(parameter.opts, key=len)


def wanted(parameter: Any) -> str:
    """Describe the values that a parameter takes: a kind of number, and its limits."""
    descriptor = getattr(parameter, "type_descriptor", None)  # in newer versions of typer
    kind = str(getattr(getattr(parameter, "type", None), "name", "") if descriptor is None else descriptor.annotation)
    what = "a whole number" if "int" in kind else "a number"  # only numbers are refused for their type
    low, high = _limit(parameter, "min"), _limit(parameter, "max")
    if low is not None and high is not None:
        return f"{what} from {low:g} to {high:g}"
    return f"{what}, {low:g} or more" if low is not None else f"{what}, {high:g} at most" if high is not None else what


def _value(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _names(parameter: Any) -> str:
    """Return an option's names and the placeholder for its value."""
    if parameter.param_type_name == "argument":
        return _value(parameter)
    names = ", ".join(sorted(parameter.opts, key=len))
    if parameter.secondary_opts:
        return " / ".join([names, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} {_value(parameter)}"


def _told(parameter: Any) -> str:
    """Return an option's help, default and limits."""
    default, notes = parameter.default, []
    is_told = default != "" and not isinstance(default, bool) and parameter.show_default
    if isinstance(default, (str, int, float)) and is_told:
        notes.append(f"default: {default:g}" if isinstance(default, float) else f"default: {default}")
    low, high = (_limit(parameter, name) for name in ("min", "max"))
    if high is not None:
        notes.append(f"at most {high:g}" if low is None else f"{low:g} to {high:g}")
    elif low is not None and low > 1:  # a minimum of 0 or 1 goes without saying
        notes.append(f"at least {low:g}")
    if parameter.required and parameter.param_type_name == "option":
        notes.append("required")
    return " ".join(filter(None, [parameter.help, f"[{'; '.join(notes)}]" if notes else ""]))


def _limit(parameter: Any, name: str) -> Any:
    found = getattr(parameter, name, None)
    return getattr(getattr(parameter, "type", None), name, None) if found is None else found


def _write_list(title: str, rows: Sequence[tuple[str, str]], formatter: Any) -> None:
    """Write two columns. Never break a word, a bracket or a quoted example at the end of a line."""
    if not rows:
        return
    with formatter.section(title):
        margin = " " * formatter.current_indent
        start = min(max(len(name) for name, _ in rows), _NAMES_END) + 2
        for name, told in rows:
            whole = _KEPT_WHOLE.sub(lambda found: found[0].replace(" ", _HARD_SPACE), told)
            lines = textwrap.wrap(whole, formatter.width - len(margin) - start, break_on_hyphens=False)
            lines = [line.replace(_HARD_SPACE, " ") for line in lines] or [""]
            if len(name) + 2 > start:
                lines.insert(0, "")
            for number, line in enumerate(lines):
                formatter.write(f"{margin}{'' if number else name:<{start}}{line}".rstrip() + "\n")


class _Command(_Shown, TyperCommand):
    """A command whose examples are broken only where a shell continues the line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, and remember which options were among them."""
        if not ctx.resilient_parsing:
            try:
                remember(self.make_parser(ctx).parse_args(list(args))[2])
            except USAGE_ERROR as error:
                error.ctx = error.ctx or ctx  # type: ignore[attr-defined]  # whose help tells more
                raise
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as typer calls it
        """Write the help. An indented paragraph is an example."""
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
    """Accepts values that need no check as they are: defaults, and text for a text parameter.

    Newer versions of typer have pydantic check every value, and loading pydantic takes a tenth of a second.
    """

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:
        """Return the value to pass to the command."""
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
    """Join every option with its value."""
    parts: list[str] = []
    for word in words:
        if parts and parts[-1].startswith("-") and " " not in parts[-1] and not word.startswith("-"):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts


class _Group(_Shown, TyperGroup):
    """A command with subcommands."""


class App(typer.Typer):
    """A command with subcommands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=_Group, no_args_is_help=True, rich_markup_mode=None, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[CommandT], CommandT]:
        """Add a command, like `typer.Typer.command`. A parameter that is a dataclass stands for all its fields."""
        add = super().command(name, cls=_Command, **options)

        def added(command: CommandT) -> CommandT:
            unfolded = _unfolded(command)
            _name_values(unfolded)
            add(unfolded)
            return command

        return added


def _name_values(command: Callable[..., Any]) -> None:
    """Name the values of options by their types, unless the options name them."""
    for one in inspect.signature(command, eval_str=True).parameters.values():
        type_, *told = get_args(one.annotation) if hasattr(one.annotation, "__metadata__") else (one.annotation,)
        while get_args(type_):  # `list[float] | None`
            type_ = get_args(type_)[0]
        for info in told:
            if isinstance(info, ParameterInfo) and info.metavar is None and type_ in _VALUES:
                info.metavar = one.name.upper() if isinstance(info, ArgumentInfo) else _VALUES[type_]


def _unfolded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with one option for each field of its dataclasses. The default's fields are the defaults.

    The annotations are evaluated once and stay the same objects; from strings, typer would make new ones.
    """
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

    @wraps(command)
    def run(**given: Any) -> Any:
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        return command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # `inspect` looks here first
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run
