"""Folders that are written once: they are complete, or are cleared and begun again.

Spark writes a job's output into ``_temporary`` and moves it out when the whole job is done (version 1 of its commit
algorithm, which we ask for). Then it leaves a file ``_SUCCESS``. A folder without it was never released, and its
content is removed before anything is drawn again. A file of ours marks the folders that are ours; no other is cleared.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wordveil import errors
from wordveil.errors import FileError, OptionError, WordveilError
from wordveil.files import digest_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Folder", "digests", "write_once"]

_OURS = "_wordveil.json"
_DONE = "_SUCCESS"
_TEMPORARY = "_temporary"
_COMMIT = {
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "true",
}
_PART = re.compile(r"part-\d+-([0-9a-f-]{36})")  # a file, with the id that all files of one job share
_TOLD = re.compile(r"wordveil\.errors\.(\w+): ([^\n]*)")


class Folder:
    """A folder in whatever file system Spark writes to.

    Parameters
    ----------
    session : SparkSession
        The session, in a driver that runs here: a client of Spark Connect cannot reach the file system.
    path : str
        The folder.
    """

    def __init__(self, session: SparkSession, path: str) -> None:
        jvm = getattr(session, "_jvm", None)
        if jvm is None:
            raise OptionError("Spark Connect does not give access to the folder of the draws; run this in the driver.")
        self._jvm: Any = jvm
        self.path = path
        self._place = jvm.org.apache.hadoop.fs.Path(path)
        self._system = self._place.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())

    def names(self) -> set[str]:
        """Return the names in the folder; an empty set if it does not exist."""
        if not self._system.exists(self._place):
            return set()
        return {found.getPath().getName() for found in self._system.listStatus(self._place)}

    def read(self, name: str) -> dict[str, Any]:
        """Return the content of a file that `write` has made; empty if there is none or it is not valid."""
        place = self._jvm.org.apache.hadoop.fs.Path(self._place, name)
        if not self._system.exists(place):
            return {}
        stream = self._system.open(place)
        try:
            content = json.loads(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        except ValueError:
            return {}
        finally:
            stream.close()
        return content if isinstance(content, dict) else {}

    def write(self, name: str, content: dict[str, Any]) -> None:
        """Create a file, and the folder if needed. The file must not exist yet."""
        stream = self._system.create(self._jvm.org.apache.hadoop.fs.Path(self._place, name), False)
        try:
            stream.write(bytearray(json.dumps(content).encode()))
        finally:
            stream.close()

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        self._system.delete(self._jvm.org.apache.hadoop.fs.Path(self._place, name), False)

    def clear(self) -> None:
        """Remove the folder with everything in it."""
        self._system.delete(self._place, True)

    def digest(self, path: str) -> str:
        """Return the SHA-256 of a file, whose path is one of `files`, in constant memory."""
        stream = self._system.open(self._jvm.org.apache.hadoop.fs.Path(path))
        try:
            return str(self._jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))
        finally:
            stream.close()

    def files(self) -> list[tuple[str, int, int]]:
        """Return paths, sizes and times of the file, or of the files that Spark reads from the folder."""
        found = []
        for top in self._system.globStatus(self._place) or ():
            walk, start = self._system.listFiles(top.getPath(), True), len(str(top.getPath().toString()))
            while walk.hasNext():
                state = walk.next()
                path = str(state.getPath().toString())
                if not any(name.startswith(("_", ".")) for name in path[start:].split("/")):
                    found.append((path, int(state.getLen()), int(state.getModificationTime())))
        return sorted(found)


def digests(session: SparkSession, store: str) -> list[str]:
    """Return the SHA-256 of each file of a complete folder, in no order that tells of their names.

    The driver reads them as streams: whatever Spark reads whole, several tasks hold several times, and an executor with
    Spark's usual gigabyte died of it after the release was complete.
    """
    folder = Folder(session, store)
    return sorted(folder.digest(path) for path, *_ in folder.files())


def write_once(
    session: SparkSession, store: str, work: Any, make: Callable[[], DataFrame], *, resume: bool = False
) -> tuple[DataFrame, bool]:
    """Write a DataFrame to a folder. Return what is read from there, and whether this call wrote it.

    Parameters
    ----------
    session : SparkSession
        The session.
    store : str
        The folder. A complete one is refused, and one that a job left unfinished is cleared.
    work : plain value
        What is done, and to what. A digest of it is kept.
    make : callable
        Returns the DataFrame to compute once. Not called if the folder is complete.
    resume : bool
        Return a complete folder if the same work was done, and compute nothing.
    """
    from pyspark.sql import Observation, functions  # noqa: PLC0415 - an extra

    folder, told = Folder(session, store), digest_of(work)
    if _is_complete(folder, told, resume=resume):
        return session.read.parquet(store), False
    frame, job = make(), secrets.token_hex(16)
    folder.write(_OURS, {"job": job, "work": told})
    seen = Observation()
    try:
        with _task_errors():
            rows = functions.count(functions.lit(1)).alias("rows")
            frame.observe(seen, rows).write.options(**_COMMIT).parquet(store, mode="append")  # keeps our own file
    except Exception:
        if folder.read(_OURS).get("job") != job:
            raise _two_jobs(folder) from None
        if _DONE not in folder.names():
            folder.clear()
        raise
    written = session.read.parquet(store)
    of = {found[1] for name in folder.names() if (found := _PART.match(name))}
    # If two jobs write into one temporary folder, either may release or lose the other's files.
    if folder.read(_OURS).get("job") != job or len(of) > 1 or written.count() != (seen.get.get("rows") or 0):
        folder.remove(_DONE)
        raise _two_jobs(folder)
    return written, True


def _two_jobs(folder: Folder) -> FileError:
    return FileError(
        f"two jobs wrote to the folder {folder.path} at the same time; delete it when both have ended, and draw once "
        "more."
    )


def _is_complete(folder: Folder, work: str, *, resume: bool) -> bool:
    """Return whether to use a folder as it is. Clear what a job of ours left unfinished, and refuse all others."""
    names = folder.names()
    if _DONE in names:
        if resume and folder.read(_OURS).get("work") == work:
            return True
        if resume:
            raise FileError(f"the folder {folder.path} is complete, but has other data or settings; give another name.")
        raise FileError(
            f"the folder {folder.path} is complete, and a record is drawn only once; use it as it is (`resume`), or "
            "give another name."
        )
    if _OURS not in names and not names <= {_TEMPORARY}:
        raise FileError(f"the folder {folder.path} already exists and is not empty; give another name.")
    if names:
        folder.clear()
    return False


@contextmanager
def _task_errors() -> Iterator[None]:
    """Report a task's refusal in its own words, without the traces of two languages around it."""
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - comes with pyspark, an extra
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
        return
    except (PySparkException, Py4JJavaError) as error:
        told = _TOLD.search(str(error))
        if told is None:
            raise
    kind = getattr(errors, told[1], WordveilError)
    raise kind(told[2])
