"""Files that commands write: never over an input, and over another file only if told to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from typer import Option

from wordveil.cli.given import refuse_given
from wordveil.errors import FileError, OptionError

Overwrite = Annotated[bool, Option("--overwrite", help="Replace existing files.")]


def check_writable(*files: Path | None, inputs: Iterable[str | Path | None] = (), overwrite: bool) -> None:
    """Refuse at the beginning what cannot or must not be written at the end.

    `inputs` is everything the command was given to read, spaces included, which may be the name of a file; no input is
    ever replaced.
    """
    given = list(inputs)
    written = [path for path in files if path is not None]
    if overwrite and not written:
        refuse_given("has no effect where no file is written", "overwrite")
    for path in written:
        check_no_input(path, given)
        if path.is_dir() or not path.resolve().parent.is_dir():
            raise FileError(f"cannot write {path}: it is a folder, or its folder does not exist.")
        if path.is_file() and not overwrite:
            raise FileError(f"{path} already exists; choose another name or add --overwrite.")
    places = [path.resolve() for path in written if path.is_file() or not path.exists()]
    if len(set(places)) < len(places):
        raise OptionError("two of the output files have the same name; give each its own.")


def check_no_input(path: Path, inputs: Iterable[str | Path | None]) -> None:
    """Refuse a file that is one of the inputs, or a file that is there already in a folder among them."""
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
    """Return the files of a picture, NAME.svg for the part "" and NAME-PART.svg for others, if they can be drawn."""
    if name is None:
        return []
    from wordveil.extras import check_target

    check_target(name)
    return [name.with_name(f"{name.stem}-{part}{name.suffix}") if part else name for part in parts or ("",)]
