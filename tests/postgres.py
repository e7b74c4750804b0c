"""A real PostgreSQL, private to the tests: a cluster in a temporary folder, reached by a socket in it alone."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))  # where Debian has them


class Cluster:
    """A server that can be killed and started again."""

    def __init__(self, folder: Path, user: str | None) -> None:
        self._folder, self._user = folder, user
        self.address = f"postgresql://tester@/postgres?host={folder}"
        self._run("initdb", "--no-sync", "--auth=trust", "--username=tester", "--pgdata", str(folder / "data"))
        self.start()

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories='{self._folder}'"
        self._control("start", "-w", "-l", str(self._folder / "log"), "-o", options)

    def kill(self) -> None:
        """End it as a crash does."""
        process = int((self._folder / "data" / "postmaster.pid").read_text().splitlines()[0])
        os.kill(process, signal.SIGKILL)
        self._control("stop", "-m", "immediate", check=False)
        (self._folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def stop(self) -> None:
        self._control("stop", "-m", "fast")

    def _control(self, *arguments: str, check: bool = True) -> None:
        self._run("pg_ctl", "--pgdata", str(self._folder / "data"), *arguments, check=check)

    def _run(self, program: str, *arguments: str, check: bool = True) -> None:
        command = [str(_PROGRAMS[-1] / program), *arguments]
        subprocess.run(
            command,
            check=check,
            user=self._user,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Run a server until the end of the block; it refuses to run as root, so root lends it another name."""
    pytest.importorskip("psycopg", reason="there is no psycopg (the extra postgres)")
    if not _PROGRAMS:
        pytest.skip("there is no PostgreSQL (Debian's package postgresql)")
    user = None
    folder = Path(tempfile.mkdtemp(prefix="wordveil-postgres-", dir="/tmp"))
    try:
        if os.getuid() == 0:
            user = "postgres"
            owner = pwd.getpwnam(user)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        made = Cluster(folder, user)
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder)
