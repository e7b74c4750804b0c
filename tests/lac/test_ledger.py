"""The ledger: exact, atomic, alone in its file or not, and there again after a crash."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from wordveil.errors import BudgetError, FileError, OptionError
from wordveil.lac import Ledger


def test_spends_add_up_exactly(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db", budget=1.0)
    for _ in range(10):
        ledger.spend("ann", 0.1)
    assert ledger.spent("ann") == 1.0
    assert ledger.left("ann") == 0.0
    with pytest.raises(BudgetError):
        ledger.spend("ann", 1e-9)
    assert ledger.left("bob") == 1.0


def test_a_full_disk_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(tmp_path / "ledger.db", budget=1.0)
    ledger.spend("ann", 0.5)
    connect = ledger._database._connect  # type: ignore[attr-defined]

    def full() -> sqlite3.Connection:
        database: sqlite3.Connection = connect()
        (pages,) = database.execute("PRAGMA page_count").fetchone()
        database.execute(f"PRAGMA max_page_count = {pages}")
        return database

    monkeypatch.setattr(ledger._database, "_connect", full)
    with pytest.raises(FileError, match="SQLITE_FULL" if sys.version_info >= (3, 11) else "OperationalError"):
        ledger.spend_all({f"user {number}": 0.5 for number in range(1000)})
    monkeypatch.undo()
    assert ledger.spent("ann") == 0.5
    assert ledger.spent("user 0") == 0.0


def test_amounts_are_rounded_up_and_no_further(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db", budget=1.0)
    for user, (amount, spent) in enumerate(
        [
            (4e-13, 1e-9),
            (1e-300, 1e-9),
            (1.0000000004e-9, 2e-9),
            (0.1, 0.1),
            (3 * 0.1, 0.3),
            (0.07, 0.07),
            (1 / 3, 0.333333334),
        ]
    ):
        ledger.spend(str(user), amount)
        assert ledger.spent(str(user)) == spent
    tiny = Ledger(tmp_path / "tiny.db", budget=5e-10)
    with pytest.raises(BudgetError):
        tiny.spend("ann", 1e-12)


def test_all_or_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db", budget=1.0)
    ledger.spend("bob", 0.9)
    with pytest.raises(BudgetError) as caught:
        ledger.spend_all({"ann": 0.5, "bob": 0.5})
    assert ledger.spent("ann") == 0.0
    assert ledger.spent("bob") == 0.9
    assert "bob" not in str(caught.value)


def test_names_are_not_in_the_file(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db", budget=1.0)
    ledger.spend("a-very-special-name", 0.5)
    assert b"a-very-special-name" not in (tmp_path / "ledger.db").read_bytes()


def test_it_is_there_when_opened_again(tmp_path: Path) -> None:
    Ledger(tmp_path / "ledger.db", budget=1.0).spend("ann", 0.25)
    assert Ledger(tmp_path / "ledger.db", budget=1.0).spent("ann") == 0.25
    with pytest.raises(OptionError):
        Ledger(tmp_path / "ledger.db", budget=2.0)


def _spend_until_refused(path: str) -> int:
    ledger, done = Ledger(path, budget=1.0), 0
    while True:
        try:
            ledger.spend("ann", 0.02)
        except BudgetError:
            return done
        done += 1


def test_many_writers_never_overspend(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.db")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        done = list(pool.map(_spend_until_refused, [path] * 2))
    assert sum(done) == 50
    assert Ledger(path, budget=1.0).left("ann") == 0.0


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_it_survives_a_kill(tmp_path: Path) -> None:
    """What the killed process was told is counted is counted; at most the spend in flight is counted besides."""
    path = tmp_path / "ledger.db"
    script = (
        "import sys; from wordveil.lac import Ledger\n"
        "ledger = Ledger(sys.argv[1], budget=1000.0)\n"
        "while True:\n    ledger.spend('ann', 0.001); print('.', end='', flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(20)
        time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        told = 20 + len(process.stdout.read())
    counted = round(Ledger(path, budget=1000.0).spent("ann") * 1000)
    assert told <= counted <= told + 1


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("nothing of the kind, " * 100)
    with pytest.raises(FileError):
        Ledger(tmp_path / "other", budget=1.0)
    with pytest.raises(OptionError):
        Ledger(tmp_path / "new.db", budget=0.0)
