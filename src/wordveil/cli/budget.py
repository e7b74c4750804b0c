"""``wordveil budget``: the privacy budgets of the service's keys and of their end users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from wordveil.cli.help import App
from wordveil.cli.options import Json, print_facts, print_table
from wordveil.errors import OptionError
from wordveil.extras import needs

if TYPE_CHECKING:
    from wordveil.service import Key
    from wordveil.service.budgets import Budgets

app = App(
    help="Show and change the budgets of the service's keys and of their end users. Works while the service is "
    "running: a change takes effect with the next request.",
)

_Config = Annotated[Path | None, Option("--config", "-c", help="The TOML file of the service's settings.")]
_User = Annotated[str | None, Option("--user", metavar="NAME", help="An end user of the key, as requests name them.")]
_KeyName = Annotated[str, Argument(metavar="KEY", help="The name of the key.")]


@app.command()
def show(
    key: Annotated[str | None, Argument(metavar="KEY", help="The name of a key. Default: all keys.")] = None,
    user: _User = None,
    config: _Config = None,
    as_json: Json = False,
) -> None:
    """Show what has been spent and what is left, in this period and in total.

    Examples:

      wordveil budget show --config service.toml

      wordveil budget show app --user jane --json
    """
    with _opened(config) as (budgets, keys):
        chosen = list(keys.values()) if key is None else [_key(keys, key)]
        _print([(one, part) for one in chosen for part in budgets.balances(one, user)], as_json)


@app.command()
def add(
    key: _KeyName,
    amount: Annotated[float, Argument(help="How much to add, to this period's budget if there are periods.")],
    user: _User = None,
    config: _Config = None,
    as_json: Json = False,
) -> None:
    """Let a key, or one of its end users, spend more than the settings say.

    Examples:

      wordveil budget add app 500 --config service.toml

      wordveil budget add app 100 --user jane
    """
    with _opened(config) as (budgets, keys):
        one = _key(keys, key)
        _print([(one, budgets.change(one, user, amount))], as_json)


@app.command()
def reset(key: _KeyName, user: _User = None, config: _Config = None, as_json: Json = False) -> None:
    """Let a key, or one of its end users, spend its whole budget again.

    What was released stays released: for anyone who kept it, the losses before and after add up. The account keeps the
    total ever spent and a dated record of every change.

    Examples:

      wordveil budget reset app --user jane --config service.toml
    """
    with _opened(config) as (budgets, keys):
        one = _key(keys, key)
        told = budgets.change(one, user, None)
        typer.echo(
            f"wordveil: this does not undo earlier releases: {told['ever']:g} have been spent in total.", err=True
        )
        _print([(one, told)], as_json)


@contextmanager
def _opened(config: Path | None) -> Iterator[tuple[Budgets, dict[str, Key]]]:
    """Open the accounts in the ledgers that the settings name."""
    for module in ("fastapi", "uvicorn"):
        needs(module, "serve", "the service")
    from wordveil.service import Settings
    from wordveil.service.budgets import Budgets

    settings = Settings.load(config)
    keys = {key.name: key for key in settings.keys if key.is_charged}
    if not keys:
        raise OptionError("no key of these settings has a budget; name the service's settings with --config.")
    budgets = Budgets(settings)
    try:
        yield budgets, keys
    finally:
        budgets.close()


def _key(keys: dict[str, Key], name: str) -> Key:
    if name not in keys:
        raise OptionError(f"no key of that name has a budget; choose one of {', '.join(keys)}.")
    return keys[name]


def _print(parts: list[tuple[Key, dict[str, Any]]], as_json: bool) -> None:
    if as_json:
        print_facts([{"key": key.name, **part} for key, part in parts])
        return
    rows = [
        (
            key.name,
            part["of"],
            part["period"] or "-",
            *(f"{part[name]:g}" for name in ("budget", "spent", "left", "ever")),
        )
        for key, part in parts
    ]
    print_table("Budgets", ("key", "of", "period", "budget", "spent", "left", "spent ever"), rows, left=3)
