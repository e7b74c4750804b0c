"""The ledger in PostgreSQL: as exact and as lasting as the file, for several machines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import Cluster
from wordveil.errors import BudgetError, FileError, OptionError
from wordveil.lac import Ledger
from wordveil.lac.ledger import Account


def test_spends_add_up_exactly_all_or_nothing(postgres: Cluster) -> None:
    ledger = Ledger(postgres.address, budget=1.0, schema="exact")
    for _ in range(9):
        ledger.spend("ann", 0.1)
    with pytest.raises(BudgetError):
        ledger.spend_all({"bob": 0.5, "ann": 0.2})
    assert (ledger.spent("ann"), ledger.spent("bob")) == (0.9, 0.0)
    ledger.close()
    again = Ledger(postgres.address, budget=1.0, schema="exact")
    assert again.left("ann") == 0.1
    again.close()
    with pytest.raises(OptionError):
        Ledger(postgres.address, budget=2.0, schema="exact")


def test_periods_additions_and_resets(postgres: Cluster) -> None:
    ledger = Ledger(postgres.address, schema="renewed")
    monday, tuesday = Account("ann", 1.0, 86_400), Account("ann", 1.0, 2 * 86_400)
    assert ledger.charge([(monday, 0.75)]) == [0.25]
    assert ledger.add(monday, 0.5).left == 0.75
    assert ledger.balance(tuesday).left == 1.0  # what was added was for the period
    assert ledger.charge([(tuesday, 0.25)]) == [0.75]
    assert ledger.balance(monday).left == 0.75  # a clock that is behind begins no older period
    told = ledger.reset(tuesday)
    assert (told.spent, told.left, told.ever) == (0.0, 1.0, 1.0)
    ledger.close()


def _spend_until_refused(address: str) -> int:
    ledger, done = Ledger(address, budget=1.0, schema="raced"), 0
    while True:
        try:
            ledger.spend("ann", 0.02)
        except BudgetError:
            return done
        done += 1


def test_many_writers_never_overspend(postgres: Cluster) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:  # they make the tables at once, too
        done = list(pool.map(_spend_until_refused, [postgres.address] * 2))
    assert sum(done) == 50


def test_writers_of_the_same_accounts_never_wait_for_each_other_for_ever(postgres: Cluster) -> None:
    ledger = Ledger(postgres.address, budget=10.0, schema="crossed")
    names = [["ann", "bob", "eve"], ["eve", "bob", "ann"]]

    def spend(users: list[str]) -> None:
        for _ in range(30):
            ledger.spend_all(dict.fromkeys(users, 0.01))

    threads = [threading.Thread(target=spend, args=(users,)) for users in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [ledger.spent(user) for user in names[0]] == [0.6] * 3
    ledger.close()


_SPENDER = (
    "import sys; from wordveil.lac import Ledger\n"
    "ledger = Ledger(sys.argv[1], budget=1000.0, schema='killed')\n"
    "while True:\n    ledger.spend(sys.argv[2], 0.001); print('.', end='', flush=True)"
)


@pytest.mark.parametrize("who", ["writer", "server"])
def test_it_survives_a_kill(postgres: Cluster, who: str) -> None:
    """What the spender was told is counted is counted; at most the spend in flight is counted besides."""
    command = [sys.executable, "-c", _SPENDER, postgres.address, who]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.read(20)
        if who == "writer":
            os.kill(process.pid, signal.SIGKILL)
        else:
            postgres.kill()
        told = 20 + len(process.stdout.read())
    if who == "server":
        assert process.returncode != 0  # it was told, and went no further
        postgres.start()
    ledger = Ledger(postgres.address, budget=1000.0, schema="killed")
    counted = round(ledger.spent(who) * 1000)
    ledger.close()
    assert told <= counted <= told + 1


def test_a_connection_that_the_server_closed_is_made_anew(postgres: Cluster) -> None:
    ledger = Ledger(postgres.address, budget=1.0, schema="restarted")
    ledger.spend("ann", 0.5)
    postgres.stop()
    with pytest.raises(FileError):
        ledger.spend("ann", 0.25)
    postgres.start()
    assert ledger.spend("ann", 0.25) == 0.25
    ledger.close()


def test_a_server_that_vanished_is_given_up_as_soon_as_the_address_says(monkeypatch: pytest.MonkeyPatch) -> None:
    psycopg = pytest.importorskip("psycopg", reason="there is no psycopg (the extra postgres)")
    asked: list[dict[str, Any]] = []

    def connect(*_: Any, **how: Any) -> None:
        asked.append(how)
        raise psycopg.OperationalError

    monkeypatch.setattr(psycopg, "connect", connect)
    for address in ("postgresql://ann@db/x", "postgresql://ann@db/x?tcp_user_timeout=1000&connect_timeout=3"):
        with pytest.raises(FileError):
            Ledger(address, budget=1.0)
    usual, chosen = asked
    assert (usual["host"], usual["user"], usual["dbname"]) == ("db", "ann", "x")
    assert 0 < usual["keepalives_idle"] + usual["keepalives_interval"] * usual["keepalives_count"] <= 30
    assert 0 < usual["tcp_user_timeout"] <= 30_000
    assert (chosen["tcp_user_timeout"], chosen["connect_timeout"]) == ("1000", "3")


def test_a_refusal_holds_no_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="there is no psycopg (the extra postgres)")
    with pytest.raises(FileError) as refused:
        Ledger(f"postgresql://ann:hunter2@/x?host={tmp_path}", budget=1.0)
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None
