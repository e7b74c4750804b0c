"""Every snippet of the documents runs and prints what they show, and every link leads somewhere."""

from __future__ import annotations

import doctest
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

import wordveil
from wordveil.cli.main import app
from wordveil.mechanisms import MECHANISMS

ROOT = Path(__file__).parent.parent
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
RUN = ("python", "pycon", "sh", "console")
SHOWN_ONLY = ("text", "json", "yaml", "toml")

_FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>\S*)[^\n]*\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\((?!\w+:)([^)#\s]*)(#[^)\s]*)?\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block of a page."""

    line: int
    kind: str
    body: str


def blocks(page: str) -> Iterator[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    for fence in _FENCE.finditer(text):
        body = re.sub(f"^{fence['indent']}", "", fence["body"], flags=re.MULTILINE)
        yield Block(text.count("\n", 0, fence.start()) + 1, fence["kind"], body)


@pytest.mark.parametrize("page", [page for page in PAGES if any(block.kind in RUN for block in blocks(page))])
def test_the_snippets_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("COLUMNS", "100")
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        where = f"{page}, line {block.line}"
        if block.kind == "python":
            exec(compile(block.body, where, "exec"), names)  # noqa: S102
        elif block.kind == "pycon":
            run_session(block.body, names, where)
        elif block.kind == "sh":
            run_script(block.body, where)
        elif block.kind == "console":
            run_console(block.body, where)


def run_session(body: str, names: dict[str, Any], where: str) -> None:
    """Run what a Python prompt was given and compare what it is shown to print."""
    example = doctest.DocTestParser().get_doctest(body.replace("…", "..."), names, where, where, 0)
    example.globs = names  # not a copy: the next block goes on with what this one made
    told: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=told.append, clear_globs=False)
    assert not failed, "".join(told)


def run_script(script: str, where: str) -> None:
    done = _bash(f"set -euo pipefail\n{script}")
    assert done.returncode == 0, f"{where}\n{done.stdout}"


def run_console(body: str, where: str) -> None:
    """Run the lines after a prompt and compare what they are shown to print. Only a refusal may fail."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        done = _bash(command)
        printed = "\n".join(line.rstrip() for line in done.stdout.rstrip().splitlines())
        pattern = ".*?".join(re.escape(piece) for piece in shown.rstrip().split("…"))
        assert re.fullmatch(pattern, printed, re.DOTALL), f"{where}: {command}\nprints\n{printed}"
        assert done.returncode == (2 if printed.startswith("wordveil: ") else 0), f"{where}: {command}"


def _bash(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("page", PAGES)
def test_each_block_says_whether_it_is_run(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text.count("```") == 2 * len(list(blocks(page)))
    assert {block.kind for block in blocks(page)} <= {*RUN, *SHOWN_ONLY}


@pytest.mark.parametrize("page", PAGES)
def test_each_link_leads_somewhere(page: str) -> None:
    text = _FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    for target, anchor in _LINK.findall(text):
        file = (ROOT / page).parent / target if target else ROOT / page
        assert file.exists(), target
        if anchor:
            headings = _HEADING.findall(file.read_text(encoding="utf-8"))
            assert anchor in {"#" + re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.fixture(scope="module")
def hooks() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "docs_hooks.py"))


def test_the_page_of_the_command_line_has_every_command_and_option(hooks: dict[str, Any]) -> None:
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    filled = hooks["on_page_markdown"](page)
    options: dict[str, list[str]] = {
        name: [option for parameter in command.params for option in parameter.opts if option.startswith("--")]
        for name, command in vars(typer.main.get_command(app))["commands"].items()
    }
    assert "--epsilon" in options["privatize"]
    for name, expected in options.items():
        section = filled.split(f"## wordveil {name}\n")[1].split("\n## ")[0]
        assert [option for option in expected if option not in section] == []


def test_a_page_that_fetches_from_another_host_is_refused(hooks: dict[str, Any]) -> None:
    class Page:
        class file:  # noqa: N801
            src_uri = "some.md"

    harmless = '<a href="https://example.org/">read</a> <img src="demo.svg"> <link href="assets/main.css">'
    assert hooks["on_post_page"](harmless, page=Page) == harmless
    for fetching in (
        '<script src="https://example.org/x.js"></script>',
        "<link rel=stylesheet href=//example.org/x.css>",
        "<style>body { background: url('http://example.org/x.png') }</style>",
    ):
        with pytest.raises(SystemExit, match=r"some\.md"):
            hooks["on_post_page"](fetching, page=Page)


def test_the_pictures_fetch_nothing() -> None:
    for picture in ROOT.glob("docs/**/*.svg"):
        assert not re.search(r"url\(\W*http|href=\W*http", picture.read_text(encoding="utf-8"))


def test_the_page_of_python_has_every_public_name_and_mechanism(hooks: dict[str, Any]) -> None:
    page = hooks["on_page_markdown"]((ROOT / "docs/reference/python.md").read_text(encoding="utf-8"))
    described = {path.rpartition(".")[2] for path in re.findall(r"^::: (\S+)$", page, re.MULTILINE)}
    assert {name for name in wordveil.__all__ if not name.startswith("_")} <= described
    assert {kind.__name__ for kind in MECHANISMS.values()} <= described


def test_the_page_of_guarantees_speaks_of_every_mechanism() -> None:
    page = (ROOT / "docs/guarantees.md").read_text(encoding="utf-8")
    assert [name for name in MECHANISMS if f"`{name}`" not in page] == []
