"""The folder of public data sets: its files read as lines and columns, or a clear word on what is missing."""

from __future__ import annotations

import csv
import gzip
import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from wordveil.errors import WordveilError

__all__ = ["DataFolder"]

_ENCODINGS = ("utf-8-sig", "cp1252")


class DataFolder:
    """Reads the files of a folder of data sets.

    Parameters
    ----------
    path : str or Path
        The folder, with a folder for each collection in it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise WordveilError(f"there is no folder {self.path}; give the folder of data sets with --data.")

    def text(self, name: str) -> str:
        """Return a file's text; of a name that ends in .gz, what is packed in it."""
        try:
            raw = (self.path / name).read_bytes()
            raw = gzip.decompress(raw) if name.endswith(".gz") else raw
        except FileNotFoundError:
            raise WordveilError(
                f"the data folder {self.path} has no file {name}; docs/data.md says what it needs."
            ) from None
        except (OSError, EOFError):
            raise WordveilError(f"cannot read {name} in the data folder {self.path}.") from None
        for encoding in _ENCODINGS:
            with suppress(UnicodeDecodeError):
                return raw.decode(encoding)
        return raw.decode("latin-1")  # reads anything

    def lines(self, name: str) -> list[str]:
        """Return the lines that are not empty, however they end."""
        text = self.text(name).replace("\r\n", "\n").replace("\r", "\n")
        return [line.strip() for line in text.split("\n") if line.strip()]

    def columns(self, name: str, count: int) -> list[list[str]]:
        """Return the lines cut at tabs; each must have at least so many columns."""
        text = self.text(name).replace("\r\n", "\n").replace("\r", "\n")
        rows = [line.split("\t") for line in text.split("\n") if line.strip()]
        if any(len(row) < count for row in rows):
            raise WordveilError(f"a line of {name} has fewer than {count} columns between tabs.")
        return rows

    def table(self, name: str) -> list[list[str]]:
        """Return the rows of a file of comma-separated values."""
        return [row for row in csv.reader(io.StringIO(self.text(name), newline="")) if row]

    def json(self, name: str) -> Any:
        """Return what a JSON file holds."""
        try:
            return json.loads(self.text(name))
        except ValueError:
            raise WordveilError(f"{name} in the data folder is not JSON.") from None

    def files(self, folder: str, ending: str) -> list[str]:
        """Return the names of the files of a folder that end so, in order."""
        found = sorted(path.name for path in (self.path / folder).glob(f"*{ending}"))
        if not found:
            raise WordveilError(f"the data folder {self.path} has no file *{ending} in {folder}.")
        return [f"{folder}/{name}" for name in found]
