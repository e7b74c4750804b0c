"""Recreates the mechanism of a release from its report, and tells whether a file is that release."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from wordveil._mechanisms import Mechanism, blocked_words
from wordveil._mechanisms import block as block_words
from wordveil._mechanisms import mechanism as make_mechanism
from wordveil.errors import FileError, InputError, OptionError, SpaceError, WordveilError
from wordveil.files import digest_of_file
from wordveil.spaces import BUNDLED, Space, load_space

__all__ = ["doubt_of", "mechanism_of", "read_report"]

_NOTHING = "the result means nothing if the report is that of another release."
_NEEDED = ("mechanism", "epsilon", "options", "space")


def read_report(report: Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
    """Return a report as a mapping, reading it from a file if a path is given."""
    if isinstance(report, Mapping):
        return report
    if not isinstance(report, str | Path):
        raise InputError("report must be a mapping, or the path of a JSON file.")
    try:
        read = json.loads(Path(report).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FileError(f"cannot read the report {report}: {error.strerror or type(error).__name__}.") from None
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise FileError(f"{report} is not the report of a release: it is not a JSON object.")
    return read


def doubt_of(report: Mapping[str, Any], path: Path | None) -> str:
    """Return what to say of a file, or of the files of a folder, that may not be what a report was written with.

    "" if they are. A report of several files has the digest of each, and any of them may be read without the others.
    """
    job = report.get("job")
    told = job.get("output_sha256") if isinstance(job, Mapping) else None
    known = set(told) if isinstance(told, list) else {told}
    if path is None or not isinstance(told, (str, list)):
        return f"cannot be checked against this report, which does not say which files it belongs to: {_NOTHING}"
    files = [one for one in sorted(path.rglob("*")) if one.is_file()] if path.is_dir() else [path]
    found = [one for one in files if not one.name.startswith((".", "_"))]
    if all(digest_of_file(one) in known for one in found):
        return ""
    what = "the file" if isinstance(told, str) else "one of the files" if len(found) == 1 else "the files"
    return f"is not {what} that this report was written with, or has been changed: {_NOTHING}"


def mechanism_of(
    described: Mapping[str, Any], space: Space | str | Path | None = None, block: Collection[str] | None = None
) -> Mechanism[Any]:
    """Make the mechanism that a release describes.

    `described` is the output of `Mechanism.describe`, which a report repeats. `space` is needed if the release used an
    embedding that is not bundled, and `block` if its blocked words are not the bundled list.
    """
    missing = [name for name in _NEEDED if name not in described]
    if missing or not isinstance(described["options"], Mapping) or not isinstance(described["space"], Mapping):
        raise InputError(
            f"this is not the report of a release: it does not give the {missing[0] if missing else 'options'}. Give "
            "the report, or the mechanism, epsilon and space of the release."
        )
    epsilon, facts = described["epsilon"], described["space"]
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)) or not 0.0 < epsilon < math.inf:
        raise OptionError("the epsilon of the release must be a finite number above 0.")
    opened = space if isinstance(space, Space) else load_space(_where(facts) if space is None else space, **_how(facts))
    options = dict(described["options"])
    if isinstance(space, Space) and space.checksum == facts.get("checksum"):
        options.pop("k", None)  # the space is a graph already, which fixes k
    try:
        made = make_mechanism(str(described["mechanism"]), opened, epsilon=float(epsilon), **options)
    except OptionError:
        raise
    except WordveilError as error:
        raise OptionError(f"the settings of the release do not fit: {error}") from None
    if made.space.checksum != facts.get("checksum"):
        raise SpaceError(
            "the release was made with another space (the checksums differ); give the embedding that it was made with "
            "as `space`."
        )
    return _never_drawing(made, described, block)


def _never_drawing(made: Mechanism[Any], described: Mapping[str, Any], block: Collection[str] | None) -> Mechanism[Any]:
    """Return the mechanism with the blocked words of the release."""
    count, checksum = described.get("blocked_words", 0), described.get("blocked_checksum")
    if not count:
        if block is not None:
            raise OptionError("the report says that the release may draw any word; leave out `block`.")
        return made
    found = block_words(made, blocked_words() if block is None else block)
    if len(found.blocked) != count or checksum not in (None, found.blocked_checksum):
        raise OptionError(
            "the release was veiled with another list of blocked words, and cannot be read without it; give that list "
            "as `block`."
        )
    return found


def _where(facts: Mapping[str, Any]) -> str:
    """Return the bundled space whose name the description starts with."""
    name = str(facts.get("name", ""))
    for bundled in BUNDLED:
        if name == bundled or name.startswith(f"{bundled} "):
            return bundled
    raise SpaceError("the release was made with an embedding that is not bundled; give its file as `space`.")


def _how(facts: Mapping[str, Any]) -> dict[str, bool]:
    return {"normalise": "unit vectors" in str(facts.get("metric", ""))}
