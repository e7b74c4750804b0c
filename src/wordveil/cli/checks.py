"""Checks before any work: output files, options given twice, and options without effect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from wordveil.errors import FileError, OptionError

Overwrite = Annotated[bool, Option("--overwrite", help="Replace existing files.")]

#: The flags of the running command's parameters that were given on the command line.
_GIVEN: ContextVar[dict[str, str]] = ContextVar("given", default={})  # noqa: B039 - replaced, and never written to


def check_writable(*files: Path | None, inputs: Iterable[str | Path | None] = (), overwrite: bool) -> None:
    """Refuse before the work what could not or must not be written after it.

    `inputs` is everything that the command was given to read, including the space, which may be a file. An input is
    never replaced.
    """
    given = list(inputs)
    written = [path for path in files if path is not None]
    if overwrite and not written:
        refuse_given("has no effect where no file is written", "overwrite")
    for path in written:
        check_no_input(path, given)
        if path.is_dir():
            raise FileError(f"{path} is a folder; give the name of a file.")
        if not path.resolve().parent.is_dir():
            raise FileError(f"cannot write {path}: its folder does not exist.")
        if path.is_file() and not overwrite:
            raise FileError(f"{path} already exists; choose another name or add --overwrite.")
    places = [path.resolve() for path in written if path.is_file() or not path.exists()]
    if len(set(places)) < len(places):
        raise OptionError("two of the output files have the same name; give each its own.")


def check_no_input(path: Path, inputs: Iterable[str | Path | None]) -> None:
    """Refuse an output that is one of the inputs, or an existing file in a folder among them."""
    from wordveil.files import file_errors, name_before

    with file_errors("write", path):
        written = [one for one in (path, name_before(path.resolve())) if one.exists()]
    for given in (Path(one) for one in inputs if one is not None):
        with file_errors("read", given):
            is_replaced = given.exists() and any(
                one.samefile(given) or given.resolve() in one.resolve().parents for one in written
            )
        if is_replaced:
            raise FileError(f"{path} would replace an input of this command; give another name.")


def pictures_of(name: Path | None, *parts: str) -> list[Path]:
    """Return the files of a figure: NAME.svg for the part "", and NAME-PART.svg for others. Check the format first."""
    if name is None:
        return []
    from wordveil.extras import check_target

    check_target(name)
    return [name.with_name(f"{name.stem}-{part}{name.suffix}") if part else name for part in parts or ("",)]


def remember(order: Sequence[Any]) -> None:
    """Remember which options were on the command line. Refuse a single-valued option that was given twice."""
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
    """Refuse parameters that have no effect on what the command was asked to do.

    `why` continues the sentence after the flag, such as "is only for tables". `names` are the parameters.
    """
    given = _GIVEN.get()
    for name in names:
        if name in given:
            raise OptionError(f"{given[name]} {why}: leave it out.")
