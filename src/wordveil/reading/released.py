"""What a release says of itself, in its report: its mechanism, ε, options, space and selection, and its file."""

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

__all__ = ["OF_ANOTHER", "is_of_file", "mechanism_of", "read_report"]

#: What to say of a file that is not the one that the report was written with.
OF_ANOTHER = (
    "is not the file that this report was written with, or has been changed: the result means nothing if the report is "
    "that of another release."
)
_NEEDED = ("mechanism", "epsilon", "options", "space")


def read_report(report: Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
    """Return a report as a mapping, read from its file where that is given."""
    if isinstance(report, Mapping):
        return report
    if not isinstance(report, str | Path):
        raise InputError("a report is a mapping, or the path of a file that holds one.")
    try:
        read = json.loads(Path(report).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read the report {report}: {error.strerror or type(error).__name__}.") from None
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise FileError(f"{report} is not the report of a release: it holds no JSON object.")
    return read


def is_of_file(report: Mapping[str, Any], path: object) -> bool | None:
    """Whether a report was written with this very file; None if it says nothing of a file, or there is none."""
    job = report.get("job")
    told = job.get("output_sha256") if isinstance(job, Mapping) else None
    return digest_of_file(path) == told if isinstance(told, str) and isinstance(path, Path) else None


def mechanism_of(
    described: Mapping[str, Any], space: Space | str | Path | None = None, block: Collection[str] | None = None
) -> Mechanism[Any]:
    """Make the mechanism that a release describes.

    `described`: what `Mechanism.describe` has said, as a report repeats it. `space`: the words, where the release used
    an embedding that does not come with the package. `block`: the words that the release never draws, if they are not
    those of the bundled list.
    """
    missing = [name for name in _NEEDED if name not in described]
    if missing or not isinstance(described["options"], Mapping) or not isinstance(described["space"], Mapping):
        raise InputError(
            "the settings of the release are unknown: its report does not give the "
            f"{missing[0] if missing else 'options'}. Give the report of a release, or its mechanism, epsilon and "
            "space."
        )
    epsilon, told = described["epsilon"], described["space"]
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)) or not 0.0 < epsilon < math.inf:
        raise OptionError("the epsilon of the release must be a finite number above 0.")
    opened = space if isinstance(space, Space) else load_space(_where(told) if space is None else space, **_how(told))
    options = dict(described["options"])
    if isinstance(space, Space) and space.checksum == told.get("checksum"):
        options.pop("k", None)  # which a graph that is given as one has already
    try:
        made = make_mechanism(str(described["mechanism"]), opened, epsilon=float(epsilon), **options)
    except OptionError:
        raise
    except WordveilError as error:
        raise OptionError(f"the settings of the release do not fit: {error}") from None
    if made.space.checksum != told.get("checksum"):
        raise SpaceError(
            "the release was made with another space than this one (their checksums differ); give the embedding that "
            "it was made with as space."
        )
    return _never_drawing(made, described, block)


def _never_drawing(made: Mechanism[Any], described: Mapping[str, Any], block: Collection[str] | None) -> Mechanism[Any]:
    """Return the mechanism without the words that the release never draws: their own probability goes to others."""
    count, checksum = described.get("blocked_words", 0), described.get("blocked_checksum")
    if not count:
        if block is not None:
            raise OptionError("the release may draw any word, by its report; leave out `block`.")
        return made
    found = block_words(made, blocked_words() if block is None else block)
    if len(found.blocked) != count or checksum not in (None, found.blocked_checksum):
        raise OptionError(
            "the release never draws the words of another list, and cannot be read without that list: give the "
            "list that it was veiled with as `block`."
        )
    return found


def _where(told: Mapping[str, Any]) -> str:
    """Return the bundled space that a description begins with the name of."""
    name = str(told.get("name", ""))
    for bundled in BUNDLED:
        if name == bundled or name.startswith(f"{bundled} "):
            return bundled
    raise SpaceError("the release was made with an embedding that is not bundled; give its file as space.")


def _how(told: Mapping[str, Any]) -> dict[str, bool]:
    return {"normalise": "unit vectors" in str(told.get("metric", ""))}
