"""Settings from a file, the environment and the caller."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from wordveil.errors import FileError, OptionError, WordveilError
from wordveil.service import Key, Settings
from wordveil.service.keys import hash_key

HASH = hash_key("a key")


def test_what_is_said_last_counts(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    file.write_text(
        f"""
        port = 9000
        timeout = 5
        mechanisms = ["graph", "ring"]
        access_log = true
        ledgers = "ledgers"
        [[keys]]
        name = "ann"
        hash = "{HASH}"
        budget = 100
        """,
        encoding="utf-8",
    )
    environment = {
        "WORDVEIL_SERVE_CONFIG": str(file),
        "WORDVEIL_SERVE_PORT": "9001",
        "WORDVEIL_SERVE_MECHANISMS": "graph, laplace",
        "WORDVEIL_SERVE_TIMEOUT": "7.5",
    }
    told = Settings.load(environment=environment, port=9002, host=None)
    assert (told.port, told.host, told.timeout, told.access_log) == (9002, "127.0.0.1", 7.5, True)
    assert told.mechanisms == ("graph", "laplace")
    assert told.keys == (Key("ann", HASH, 100),)
    assert Settings.load(file, {}).timeout == 5.0
    assert Settings.load(environment={"WORDVEIL_SERVE_KEYS": f"ann:{HASH}"}).keys == (Key("ann", HASH),)
    truths = [("1", True), ("yes", True), ("False", False), ("0", False), ("", False)]
    for text, truth in truths:
        assert Settings.load(environment={"WORDVEIL_SERVE_UNPROVEN": text}).unproven is truth


@pytest.mark.parametrize(
    ("chosen", "named"),
    [
        ({"host": "0.0.0.0"}, "key"),  # noqa: S104 - that is the point
        ({"host": "example.org"}, "key"),
        ({"host": "::"}, "key"),
        ({"port": 0}, "port"),
        ({"workers": 0}, "workers"),
        ({"largest_epsilon": float("inf")}, "largest_epsilon"),
        ({"timeout": 0.0}, "timeout"),
        ({"smallest_epsilon": 5.0, "largest_epsilon": 2.0}, "smallest_epsilon"),
        ({"mechanisms": ("nonsense",)}, "mechanisms"),
        ({"mechanisms": ("graph", "nadp")}, "unproven"),
        ({"spaces": ()}, "spaces"),
        ({"spaces": ("a/x.txt", "b/x.txt")}, "spaces"),
        ({"keys": (Key("ann", HASH), Key("ann", HASH))}, "keys"),
        ({"keys": (Key("ann", HASH, 1.0),)}, "ledgers"),
        ({"metrics_hash": "a key"}, "metrics_hash"),
        ({"keys": (Key("ann", HASH),), "metrics_hash": HASH}, "metrics_hash"),
    ],
)
def test_what_makes_no_sense_is_refused(chosen: dict[str, Any], named: str) -> None:
    for make in (Settings, partial(Settings.load, environment={})):
        with pytest.raises(OptionError) as refused:
            make(**chosen)
        assert named in str(refused.value)


def test_unproven_mechanisms_are_left_out_unless_they_are_allowed() -> None:
    assert "nadp" not in Settings().allowed
    assert "nadp" in Settings(unproven=True).allowed
    assert Settings(mechanisms=("nadp",), unproven=True).allowed == ["nadp"]


def test_hashes_are_not_printed() -> None:
    settings = Settings(keys=(Key("ann", HASH),), metrics_hash=hash_key("another"))
    assert "ann" in repr(settings)
    assert HASH not in repr(settings) + str(settings)
    assert settings.metrics_hash not in repr(settings) + str(settings)


def test_an_address_of_this_machine_needs_no_key() -> None:
    for host in ("127.0.0.1", "localhost", "::1", "127.8.8.8"):
        assert Settings(host=host).is_local
    assert not Settings(host="0.0.0.0", keys=(Key("ann", HASH),)).is_local  # noqa: S104


@pytest.mark.parametrize(
    ("content", "kind", "named"),
    [
        ("port = ", FileError, "service.toml"),
        ("nonsense = 1", OptionError, "nonsense"),
        ("port = '80'", OptionError, "port"),
        ("port = true", OptionError, "port"),
        ("timeout = true", OptionError, "timeout"),
        ("access_log = 1", OptionError, "access_log"),
        ("mechanisms = ['graph', 1]", OptionError, "mechanisms"),
        ("mechanisms = 'graph'", OptionError, "mechanisms"),
        ("keys = 5", OptionError, "key"),
        ("keys = ['ann']", OptionError, "key"),
        ("[[keys]]\nname = 'ann'", OptionError, "hash"),
        ("[[keys]]\nname = 'ann'\nhash = 'x'", OptionError, "hash"),
        ("[[keys]]\nname = 7\nhash = 'x'", OptionError, "key"),
        (f"[[keys]]\nname = 'Ann B'\nhash = '{HASH}'", OptionError, "name"),
        (f"[[keys]]\nname = 'ann'\nhash = '{HASH}'\nbudget = -1", OptionError, "budget"),
        (f"[[keys]]\nname = 'ann'\nhash = '{HASH}'\nsecret = 1", OptionError, "key"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(
    tmp_path: Path, content: str, kind: type[WordveilError], named: str
) -> None:
    file = tmp_path / "service.toml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(kind) as refused:
        Settings.load(file, {})
    assert named in str(refused.value)
    assert HASH not in str(refused.value)
    with pytest.raises(FileError):
        Settings.load(tmp_path / "nowhere.toml", {})


@pytest.mark.parametrize(
    ("name", "told"),
    [("PORT", "many"), ("TIMEOUT", "x"), ("ACCESS_LOG", "perhaps"), ("KEYS", f"ann:{HASH}:much"), ("PROT", "80")],
)
def test_a_variable_that_makes_no_sense_is_refused(name: str, told: str) -> None:
    with pytest.raises(OptionError) as refused:
        Settings.load(environment={f"WORDVEIL_SERVE_{name}": told})
    assert f"WORDVEIL_SERVE_{name}" in str(refused.value)
    assert HASH not in str(refused.value)
