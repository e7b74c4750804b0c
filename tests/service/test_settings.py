"""Settings from a file, the environment and the caller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wordveil.errors import WordveilError
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


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ({"host": "0.0.0.0"}, "configure a key first"),  # noqa: S104 - that is the point
        ({"host": "example.org"}, "configure a key first"),
        ({"host": "::"}, "configure a key first"),
        ({"port": 0}, "port"),
        ({"largest_epsilon": float("inf")}, "largest_epsilon"),
        ({"smallest_epsilon": 5.0, "largest_epsilon": 2.0}, "must not exceed"),
        ({"mechanisms": ("nonsense",)}, "must name some of"),
        ({"spaces": ()}, "at least one space"),
        ({"spaces": ("a/x.txt", "b/x.txt")}, "two spaces alike"),
        ({"keys": (Key("ann", HASH), Key("ann", HASH))}, "the same name"),
        ({"keys": (Key("ann", HASH, 1.0),)}, "ledgers"),
        ({"metrics_hash": "a key"}, "metrics_hash must be 64"),
        ({"keys": (Key("ann", HASH),), "metrics_hash": HASH}, "that of a caller's key"),
    ],
)
def test_what_makes_no_sense_is_refused(chosen: dict[str, Any], sentence: str) -> None:
    with pytest.raises(WordveilError, match=sentence):
        Settings.load(environment={}, **chosen)


def test_an_address_of_this_machine_needs_no_key() -> None:
    for host in ("127.0.0.1", "localhost", "::1", "127.8.8.8"):
        assert Settings(host=host).is_local
    assert not Settings(host="0.0.0.0", keys=(Key("ann", HASH),)).is_local  # noqa: S104


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("port = ", "as TOML"),
        ("nonsense = 1", "nonsense"),
        ("port = '80'", "port has a value of the wrong kind"),
        ("port = true", "port has a value of the wrong kind"),
        ("mechanisms = ['graph', 1]", "mechanisms has a value of the wrong kind"),
        ("[[keys]]\nname = 'ann'", "a name and a hash"),
        ("[[keys]]\nname = 'ann'\nhash = 'x'", "64 hexadecimal"),
        (f"[[keys]]\nname = 'Ann B'\nhash = '{HASH}'", "small letters"),
        (f"[[keys]]\nname = 'ann'\nhash = '{HASH}'\nbudget = -1", "above 0"),
        (f"[[keys]]\nname = 'ann'\nhash = '{HASH}'\nsecret = 1", "nothing else"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "service.toml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(WordveilError, match=sentence):
        Settings.load(file, {})


@pytest.mark.parametrize(("name", "told"), [("PORT", "many"), ("TIMEOUT", "x"), ("ACCESS_LOG", "perhaps")])
def test_a_variable_that_makes_no_sense_is_refused(name: str, told: str) -> None:
    with pytest.raises(WordveilError, match=f"WORDVEIL_SERVE_{name}"):
        Settings.load(environment={f"WORDVEIL_SERVE_{name}": told})
