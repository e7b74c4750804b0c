"""Sends a space once to each executor, with what was made from it, to be mapped into memory there."""

from __future__ import annotations

import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordveil._mechanisms import Mechanism
from wordveil.files import digest_of, home, lend
from wordveil.spaces import BUNDLED
from wordveil.spaces.files import load_vectors, write_vectors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Sent", "send_space"]

#: What takes long to make from a space: the kinds of cache entries that mechanisms draw with.
_MADE = ("graph-2-", "ring-1-", "neighbours-2-", "density-1-", "smooth-1-")
_SENT: set[tuple[str, str]] = set()  # application and archive


@dataclass(frozen=True)
class Sent:
    """A space that was sent to the executors."""

    archive: str
    name: str  # of a bundled space, or of a folder in the archive

    def opened(self) -> str:
        """Return the name to open it by on an executor, where what was made from it is found, too."""
        from pyspark import SparkFiles  # noqa: PLC0415 - an extra

        place = Path(SparkFiles.get(self.archive))
        lend(place / "made")
        return self.name if self.name in BUNDLED else str(place / "space" / self.name)


def send_space(session: SparkSession, mechanism: Mechanism[Any], space: str) -> str | Sent:
    """Send the space of a mechanism, and what the cache has made from it, to the executors that need it.

    On one machine nothing is sent. A bundled space comes with the package, but perhaps not its graph.
    """
    context = session.sparkContext
    if (context.master or "").split("[")[0] == "local":
        return space
    embedding = getattr(mechanism.space, "embedding", None) or mechanism.space
    sums = {embedding.checksum, mechanism.space.checksum, getattr(embedding, "base", embedding).checksum}
    made = sorted(
        entry for entry in (home().iterdir() if home().is_dir() else ())
        if entry.name.startswith(_MADE) and entry.name.rpartition("-")[2] in sums
    )  # fmt: skip
    if space in BUNDLED and not made:
        return space
    content = digest_of([space, sorted(sums), [entry.name for entry in made]])
    archive = f"wordveil-{content[:32]}"
    name = space if space in BUNDLED else Path(space).name
    if (context.applicationId, archive) not in _SENT:
        from pyspark import SparkFiles  # noqa: PLC0415 - an extra

        # Executors that start later fetch it, too, so it stays until Spark removes its temporary folder.
        packed = Path(tempfile.mkdtemp(prefix="wordveil-", dir=SparkFiles.getRootDirectory())) / f"{archive}.tar"
        with tarfile.open(packed, "w") as tar:
            for entry in made:
                tar.add(entry, f"made/{entry.name}", filter=_plain)
            if space not in BUNDLED:
                _add_space(tar, Path(space), f"space/{name}")
        context.addArchive(f"{packed}#{archive}")
        _SENT.add((context.applicationId, archive))
    return Sent(archive, name)


def _add_space(tar: tarfile.TarFile, space: Path, name: str) -> None:
    """Add a space as a folder whose vectors can be mapped into memory."""
    if space.is_dir():
        tar.add(space, name, filter=_plain)
        return
    words, vectors = load_vectors(space)  # the parsed form, from the cache
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "folder"
        write_vectors(folder, words, vectors, format="folder")
        tar.add(folder, name, filter=_plain)


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove a file's owner, and let only the owner write it."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.isdir() else 0o644
    return entry
