"""Hooks for the build of the documentation site.

The page of the command line is filled with the current output of ``wordveil COMMAND --help``, and the page of Python
with the mechanisms of the registry, so that neither can go stale. The security policy and the changelog are included
from the root of the repository. The build stops at a page that fetches anything from another host.
``python tools/docs_hooks.py`` prints the help as the page shows it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HELP = "<!-- the help of every command -->"
MECHANISMS = "<!-- every mechanism -->"
_FILE = re.compile(r"<!-- the file (\w+\.md) -->")
_ROOT = Path(__file__).parent.parent
_WIDTH = "100"
_PRINT = """
import json, sys
from wordveil.cli.main import main
for command in json.loads(sys.argv[1]):
    try:
        main([*command, "--help"])
    except SystemExit as done:
        assert done.code == 0, command
    print(end="\\f")
"""
# What a browser fetches by itself, unlike links that a reader may follow. For a Mermaid diagram, the theme's own script
# would fetch the library that draws it.
_FETCHED = re.compile(
    r"<(?!a\b)[a-z]+\b[^>]*?\s(?:src|srcset|href|data|action|poster)\s*=\s*[\"']?\s*(?:[a-z]+:)?//"
    r"|url\(\s*[\"']?\s*(?:[a-z]+:)?//"
    r"|@import\s+[\"'](?:[a-z]+:)?//"
    r"|\bclass=[\"']?[^\"'>]*\bmermaid\b",
    re.IGNORECASE,
)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the marks in a page with what they stand for."""
    for mark, made in ((HELP, all_help), (MECHANISMS, all_mechanisms)):
        if mark in markdown:
            markdown = markdown.replace(mark, made())
    return _FILE.sub(lambda named: whole_file(named[1]), markdown)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Stop at a page that would fetch something from another host."""
    found = _FETCHED.search(output)
    if found:
        sys.exit(f"{page.file.src_uri} fetches from another host: {output[found.start() : found.end() + 60]}")
    return output


def all_help() -> str:
    """Return the help of `wordveil` and of each of its commands, as Markdown."""
    from typer.main import get_command  # noqa: PLC0415 - a broken command fails here, not when the build starts

    from wordveil.cli.commands import app  # noqa: PLC0415

    names: list[tuple[str, ...]] = []
    groups: list[tuple[str, ...]] = []
    for name, command in vars(get_command(app))["commands"].items():
        inner = vars(command).get("commands", {})
        (groups if inner else names).append((name,))
        groups += [(name, below) for below in inner]
    names += groups
    titles = ["## wordveil", *(f"{'#' * (len(name) + 1)} wordveil {' '.join(name)}" for name in names)]
    shown = [f"{title}\n\n{_block(told)}" for title, told in zip(titles, _helps([(), *names]), strict=True)]
    return "\n\n".join(shown)


def _block(text: str) -> str:
    return f"```text\n{text}\n```"


def whole_file(name: str) -> str:
    """Return a file at the root of the repository, with its links adjusted to the folder of the pages."""
    return (_ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")


def all_mechanisms() -> str:
    """Return directives that make mkdocstrings describe every mechanism of the registry."""
    from wordveil._mechanisms import MECHANISMS  # noqa: PLC0415

    return "\n\n".join(f"::: {kind.__module__}.{kind.__qualname__}" for kind in MECHANISMS.values())


def _helps(commands: list[tuple[str, ...]]) -> list[str]:
    """Return what each command prints for --help. One process runs them all, since the width is read at its start."""
    settings = {"COLUMNS": _WIDTH, "TERMINAL_WIDTH": _WIDTH, "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "1"}
    printed = subprocess.run(
        [sys.executable, "-c", _PRINT, json.dumps(commands)],
        env={**os.environ, **settings},
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    pages = printed.split("\f")[:-1]
    return ["\n".join(line.rstrip() for line in page.strip("\n").splitlines()).strip("\n") for page in pages]


if __name__ == "__main__":
    print(all_help())
