"""Several processes: what is killed is replaced, and what the dead had begun keeps nobody waiting."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.service.conftest import Service
from tests.service.raw import served
from tests.serving import PATIENCE, free_port, until
from wordveil.service.jobs import Jobs
from wordveil.service.problems import Problem
from wordveil.service.processes import is_running
from wordveil.service.sticky import Sticky

ASK = {"text": "zqa", "epsilon": 2.0}


def workers(one: Service) -> set[int]:
    """Return the processes that answer."""
    return {int(number) for number in re.findall(r'process_open_fds{pid="(\d+)"}', one.get("/metrics").body.decode())}


def test_killed_processes_are_replaced_and_end_with_the_first(tmp_path: Path, toy_file: Path) -> None:
    with served(tmp_path, toy_file, "workers = 2") as (one, process, log):
        until(lambda: len(workers(one)) == 2)
        dead = set[int]()
        for _ in range(2):  # the second time while one of those that replace them is starting
            now = workers(one) - dead
            dead |= now
            for number in now:
                os.kill(number, signal.SIGKILL)
            assert one.post("/v1/privatize", ASK).status == 200  # it waited in the socket's queue
        until(lambda: len(workers(one) - dead) == 2)
        figures = one.get("/metrics").body.decode()
        assert "wordveil_connections 1.0" in figures  # and none of the dead
        assert re.search(r"process \d+ ended \(-9\)", log.read_text())
        process.kill()

        def is_closed() -> bool:
            with suppress(OSError):
                one.get("/healthz")
                return False
            return True

        until(is_closed)


def test_what_a_process_maps_into_memory_has_its_room_on_the_disk(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from wordveil.service import Key\n"
        "from wordveil.service.keys import Rates\n"
        "from wordveil.service.metrics import IN_PROGRESS, REQUESTS, SECONDS\n"
        "for number in range(30):\n"
        "    SECONDS.labels(f'/route/{number}').observe(1.0)\n"
        "    REQUESTS.labels(f'/route/{number}', '200').inc()\n"
        "IN_PROGRESS.inc()\n"
        "Rates(Path(sys.argv[1]), [Key(f'k{number}', '0' * 64, rate=1.0) for number in range(1000)])\n"
    )
    where = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "metrics")}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=where, check=True)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) == 4
    for path in written:  # the system ends a process that writes into a hole on a full disk
        assert 512 * path.stat().st_blocks >= path.stat().st_size > 0


def test_a_service_that_cannot_be_started_says_so(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from wordveil.service import processes\n"
        "from wordveil.errors import WordveilError\n"
        "if __name__ == '__main__':\n"
        "    try:\n"
        "        processes.serve({'app': 'nothing.there:app', 'port': 0}, 2)\n"
        "    except WordveilError:\n"
        "        sys.exit(7)\n"
    )
    script = tmp_path / "start.py"
    script.write_text(code)
    assert subprocess.run([sys.executable, str(script)], stderr=subprocess.DEVNULL, check=False).returncode == 7


class Family:
    """Two processes that answer with their numbers."""

    def __init__(self, folder: Path, *lines: str) -> None:
        made = (
            "import os, time\n"
            "from pathlib import Path\n"
            "def make():\n"
            "    while Path('wait').exists():\n"
            "        time.sleep(0.05)\n"
            "    if Path('broken').exists():\n"
            "        Path('tried').touch()\n"
            "        raise RuntimeError\n"
            "    async def app(scope, receive, send):\n"
            "        if scope['type'] == 'http':\n"
            "            await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n"
            "            await send({'type': 'http.response.body', 'body': str(os.getpid()).encode()})\n"
            "    return app\n"
        )
        (folder / "made.py").write_text(made)
        port = free_port()
        options = {"app": "made:make", "factory": True, "port": port, "lifespan": "off", "log_level": "critical"}
        start = ("from wordveil.service import processes", *lines, "if __name__ == '__main__':")
        (folder / "start.py").write_text("\n".join((*start, f"    processes.serve({options!r}, 2)\n")))
        self.port = port
        self.one, self.folder, self.seen = Service(f"http://127.0.0.1:{port}"), folder, set[int]()

    def answers(self) -> bool:
        with suppress(OSError):
            self.seen.add(int(self.one.get("/").body))
            return True
        return False

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "start.py"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=self.folder) as process:
            try:
                until(lambda: self.answers() and len(self.seen) == 2)
                yield process
                process.terminate()
                assert process.wait(PATIENCE) == 0
            finally:
                process.kill()


def test_one_that_cannot_be_replaced_does_not_end_the_others(tmp_path: Path) -> None:
    family = Family(tmp_path)
    with family.running() as process:
        (tmp_path / "broken").touch()
        os.kill(family.seen.pop(), signal.SIGKILL)
        until((tmp_path / "tried").exists)
        time.sleep(2.0)  # for what tried to end, and for the others to be told so
        assert process.poll() is None
        assert family.answers()


def test_two_services_that_start_on_one_address_are_not_both_taken_to_run(tmp_path: Path) -> None:
    family = Family(tmp_path)
    wait = tmp_path / "wait"
    wait.touch()

    def is_listening() -> bool:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", family.port), PATIENCE).close()
            return True
        return False

    command = [sys.executable, "start.py"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=tmp_path) as first:
        until(is_listening)
        second = subprocess.run(command, stderr=subprocess.DEVNULL, cwd=tmp_path, timeout=PATIENCE, check=False)
        assert second.returncode > 0
        wait.unlink()
        until(family.answers)
        first.terminate()
        assert first.wait(PATIENCE) == 0


def test_processes_that_were_paused_with_the_first_are_not_taken_to_hang(tmp_path: Path) -> None:
    family = Family(tmp_path, "processes._BEAT, processes._SILENT = 0.5, 4.0")
    with family.running() as process:
        all_of_them = (process.pid, *family.seen)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for one in all_of_them:
                os.kill(one, number)
            time.sleep(5.0)
        assert all(is_running(one) for one in all_of_them)


def test_processes_that_are_started_later_have_the_settings_of_the_first(tmp_path: Path, toy_file: Path) -> None:
    with served(tmp_path, toy_file, "workers = 2") as (one, _, _):
        until(lambda: len(workers(one)) == 2)
        (tmp_path / "service.toml").write_text("half of a fi")
        dead = workers(one)
        for number in dead:
            os.kill(number, signal.SIGKILL)
        until(lambda: len(workers(one) - dead) == 2)


def test_a_signal_that_reaches_all_processes_is_not_a_second_one(tmp_path: Path, toy_file: Path) -> None:
    with served(tmp_path, toy_file, "workers = 2", "drain = 3.0") as (one, process, _):
        until(lambda: len(workers(one)) == 2)
        begun = time.monotonic()
        for number in (process.pid, *workers(one)):
            os.kill(number, signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert time.monotonic() - begun > 3.0


def _ended() -> int:
    """Return the number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_on_a_full_disk_what_is_kept_is_found_and_nothing_new_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def small(*given: Any, **named: Any) -> sqlite3.Connection:
        made = connect(*given, **named)
        made.execute("PRAGMA max_page_count = 20")
        return made

    monkeypatch.setattr(sqlite3, "connect", small)
    sticky = Sticky(tmp_path, b"k" * 32, 60.0, 1 << 30)
    first = sticky.digest(0)
    for number in range(100):
        sticky.put({sticky.digest(number): {"text": "x" * 2000}})
    assert not sticky.get([sticky.digest(99)])
    for _ in range(2):  # nothing is left over of the first try
        with pytest.raises(Problem) as told:
            sticky.claim([sticky.digest("new", number) for number in range(1000)], b"me")
        assert told.value.code == "draws-unavailable"
        assert sticky.get([first])
        assert sticky.claim([first], b"me")
    sticky.close()


def test_what_the_dead_had_begun_keeps_nobody_waiting(tmp_path: Path) -> None:
    claim = (
        "import sys; from pathlib import Path; from wordveil.service.sticky import Sticky\n"
        "sticky = Sticky(Path(sys.argv[1]), b'secret', 60.0, 1 << 20)\n"
        "sticky.claim([sticky.digest('one')], b'dead')\n"
    )
    subprocess.run([sys.executable, "-c", claim, str(tmp_path)], check=True)
    sticky = Sticky(tmp_path, b"secret", 60.0, 1 << 20)
    assert sticky.claim([sticky.digest("one")], b"alive") == {}
    sticky.close()
    name = "a" * 22
    state = {"id": name, "status": "running", "progress": 0.5, "doing": "drawing", "process": _ended()}
    (tmp_path / f"{name}.json").write_text(json.dumps(state))
    told = Jobs(tmp_path, 1, 60.0).state(name)
    assert (told["status"], "process" in told) == ("failed", False)
