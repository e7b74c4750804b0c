"""Every snippet of the documents runs and prints what they show, and every link leads somewhere."""

from __future__ import annotations

import doctest
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch
from urllib.request import urlopen

import pytest
import typer

import wordveil
from tests.serving import free_port
from wordveil._mechanisms import MECHANISMS
from wordveil.cli import main
from wordveil.cli.commands import app

ROOT = Path(__file__).parent.parent
PACKAGES = Path(wordveil.__file__).parent.parent
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
RUN = ("python", "pycon", "sh", "console")
SHOWN_ONLY = ("text", "json", "yaml", "toml")
#: How commands begin that are shown in a block of the kind text, and so not run, with the reason.
NOT_RUN = {
    "make ": "would set up another environment; that the target is there is tested",
    "pip install": "installs from a package index",
    "pip-audit": "asks a service for advisories",
    "wordveil reproduce ": "takes minutes to hours, some with data sets of others; tests/experiments runs each, small",
    "wordveil privatize letters.txt -o veiled.txt --mechanism laplace --epsilon 12 --engine gpu": "needs a CUDA device",
    "wordveil calibrate --mechanism laplace --engine gpu": "needs a CUDA device",
    "wordveil compare ": "needs data sets of others; tests/cli/test_compare.py runs it on small ones",
    "python -m benchmarks.frontier_search ": "needs data sets of others; tests/experiments tests what it is made of",
    "spark-submit": "needs a cluster",
    "wordveil privatize letters.parquet -o by-command ": "starts another Java; tests/spark/test_files.py runs the like",
    "wordveil budget ": "needs the settings of a service; tests/cli/test_budget.py runs it",
    "cat FOLDER/": "needs data sets of others",
    "python -m tests.plan.desk ": "its file is made for the plan beside it, which takes a minute",
    "pip download": "downloads from a package index",
    "python examples/vectors_of_navec.py": "needs an embedding of Navec; tests/test_examples.py runs it on a small one",
    "python examples/vectors_of_spacy.py": "needs a model of spaCy; tests/test_examples.py runs it on a small one",
    "wordveil privatize avis.txt -o voile.txt --space francais.vec": "needs the embedding made before",
    "wordveil privatize pismo.txt -o veiled.txt --space russian.vec": "likewise",
    "wordveil proxy ": "needs an upstream; tests/cli/test_proxy.py starts it before one",
    "wordveil plan ": "takes a minute; tests/cli/test_plan.py runs it on a small space",
    "wordveil privatize tickets.csv -o veiled.csv --column body --epsilon 4 --require ": "likewise",
}
#: What a page needs beside the package; without it its snippets are not run.
NEEDS = {
    "docs/service.md": ("fastapi", "uvicorn"),
    "docs/spark.md": ("pyspark", "pandas"),
    "docs/csv-column.md": ("pandas",),
    "docs/adapters.md": ("pandas", "sklearn", "datasets", "presidio_anonymizer"),
    "docs/language-models.md": ("fastapi", "uvicorn", "langchain", "presidio_anonymizer"),
    "docs/reading.md": ("sklearn",),
}

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>\S*)(?P<title>[^\n]*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
_COMMAND = re.compile(r"(?:\$ )?((?:wordveil|make|pip|pip-audit|python3?|curl|spark-submit|sh|bash|git|apt-get) .*)")
_LINK = re.compile(r"!?\[[^\]]*\]\((?!\w+:)([^)#\s]*)(#[^)\s]*)?\)")
#: What a command says now and then on a busy machine.
_SIGN_OF_LIFE = re.compile(r"wordveil: .+ \d+%(, about \d+ min left)?( \(.*\))?")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block of a page."""

    line: int
    kind: str
    title: str
    body: str


def blocks(page: str) -> Iterator[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    for fence in _FENCE.finditer(text):
        body = re.sub(f"^{fence['indent']}", "", fence["body"], flags=re.MULTILINE)
        yield Block(text.count("\n", 0, fence.start()) + 1, fence["kind"], fence["title"], body)


def runnable() -> Iterator[str]:
    for page in PAGES:
        if any(block.kind in RUN for block in blocks(page)):
            yield page


@pytest.mark.parametrize("page", list(runnable()))
def test_the_snippets_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in NEEDS.get(page, ()):
        pytest.importorskip(package, reason=f"the snippets of {page} did not run: {package} is not installed")
    if page == "docs/spark.md" and shutil.which("java") is None:
        pytest.skip("the snippets of docs/spark.md did not run: there is no Java")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("WORDVEIL_SERVE_PORT", str(free_port()))
    names: dict[str, Any] = {"__name__": "__main__"}
    with ExitStack() as until_the_end:
        until_the_end.enter_context(patch.dict(MECHANISMS))  # forgets what a page registers
        for block in blocks(page):
            where = f"{page}, line {block.line}"
            body = block.body.replace("8765", os.environ["WORDVEIL_SERVE_PORT"])
            if "left running" in block.title:
                until_the_end.enter_context(left_running(body))
            elif block.kind == "python" and "pyspark" in body:
                # A Java machine that another test started would take names of files to lie where that test ran.
                Path("snippet.py").write_text(body, encoding="utf-8")
                run_script("python snippet.py", where)
            elif block.kind == "python":
                exec(compile(body, where, "exec"), names)  # noqa: S102
            elif block.kind == "pycon":
                run_session(body, names, where)
            elif block.kind == "sh":
                run_script(body, where)
            elif block.kind == "console":
                run_console(body, where)


@contextmanager
def left_running(command: str) -> Iterator[None]:
    """Run a service until the end of the block, which begins when it answers."""
    told = tempfile.TemporaryFile()  # noqa: SIM115 - closed below
    with told, subprocess.Popen(["bash", "-c", f"exec {command}"], stdout=told, stderr=told) as service:
        try:
            deadline = time.monotonic() + 120
            while not answers():
                assert service.poll() is None, "the service stopped by itself"
                assert time.monotonic() < deadline, "the service did not answer"
                time.sleep(0.2)
            yield
        finally:
            service.terminate()


def answers() -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{os.environ['WORDVEIL_SERVE_PORT']}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def run_session(body: str, names: dict[str, Any], where: str) -> None:
    """Run what a Python prompt was given and compare what it is shown to print."""
    example = doctest.DocTestParser().get_doctest(body.replace("…", "..."), names, where, where, 0)
    example.globs = names  # not a copy: the next block goes on with what this one made
    told: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=told.append, clear_globs=False)
    assert not failed, "".join(told)


def run_script(script: str, where: str) -> None:
    """Run a script; where each of its lines stands by itself, those that only call our command run in this process."""
    lines = script.splitlines()
    parts = lines if all(map(_stands_alone, lines)) else [script]
    for part in parts:
        code, told = _run(part)
        assert code == 0, f"{where}\n{told}"


def run_console(body: str, where: str) -> None:
    """Run the lines after a prompt and compare what they are shown to print. Only a refusal may fail."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        code, told = _run(command)
        lines = (line.rstrip() for line in told.rstrip().splitlines())
        printed = "\n".join(line for line in lines if not _SIGN_OF_LIFE.fullmatch(line))
        pattern = ".*?".join(re.escape(piece) for piece in shown.rstrip().split("…"))
        assert re.fullmatch(pattern, printed, re.DOTALL), f"{where}: {command}\nprints\n{printed}"
        assert code == (2 if printed.startswith("wordveil: ") else 0), f"{where}: {command}"


def _stands_alone(line: str) -> bool:
    """Whether a line of a script is a whole command that changes nothing for the next but files."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return False
    return not line.startswith((" ", "cd ", "export ")) and not (words and "=" in words[0]) and "<<" not in line


def _run(command: str) -> tuple[int, str]:
    """Run a command and return its exit status and what it printed.

    Where it is our command and nothing else, it runs in this process, which has loaded what it needs: so started are
    those in pipes and scripts.
    """
    if not re.fullmatch(r"wordveil [^|&;<>$`*?~#()\n]+", command):
        done = _bash(f"set -euo pipefail\n{command}")
        return done.returncode, done.stdout
    with tempfile.TemporaryFile("w+", encoding="utf-8") as told, ExitStack() as stack:
        stack.enter_context(redirect_stdout(told))
        stack.enter_context(redirect_stderr(told))
        nothing = stack.enter_context(Path(os.devnull).open(encoding="utf-8"))
        stack.enter_context(patch.object(sys, "stdin", nothing))
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(command)[1:])
        told.flush()
        told.seek(0)
        return int(ended.value.code or 0), told.read()


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
def test_a_command_that_is_not_run_has_a_reason(page: str) -> None:
    for block in blocks(page):
        if block.kind in SHOWN_ONLY:
            for line in block.body.splitlines():
                command = _COMMAND.match(line)
                if command:
                    assert command[1].startswith(tuple(NOT_RUN)), f"{page}, line {block.line}: {line}"
            assert not re.match(r"(?:from \w+ )?import |>>> ", block.body), f"{page}, line {block.line}: is Python"


def test_each_reason_is_needed() -> None:
    shown = "\n".join(block.body for page in PAGES for block in blocks(page) if block.kind in SHOWN_ONLY)
    assert [begins for begins in NOT_RUN if begins not in shown] == []


@pytest.mark.parametrize("page", PAGES)
def test_each_command_that_is_shown_or_spoken_of_is_there(page: str, options: dict[str, set[str]]) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for command in commands(page):
        first, *words = command.split()
        if first == "make":
            wanted = {word for word in words if word.isalpha()}
            assert wanted <= targets, command
        elif first == "wordveil" and words[0] != "COMMAND":
            name = " ".join(words[:2]) if " ".join(words[:2]) in options else words[0]
            assert name in options, command
            used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
            assert used <= options[name], command
        elif first == "python" and words[0] == "-m":
            module = words[1].replace(".", "/")
            places = (ROOT / f"{module}.py", *(root / module / "__main__.py" for root in (ROOT, PACKAGES)))
            assert any(place.exists() for place in places), command
        elif first == "python":
            assert (ROOT / words[0]).exists(), command


def commands(page: str) -> Iterator[str]:
    """Yield what is shown in a block and not run, and what is spoken of in a line."""
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = [line for block in blocks(page) if block.kind in SHOWN_ONLY for line in block.body.splitlines()]
    spoken = [" ".join(words.split()) for words in re.findall(r"`([^`]+)`", _FENCE.sub("", text))]
    for line in shown + spoken:
        command = _COMMAND.match(line)
        if command and "|" not in line:
            yield re.split(r"  +|#", command[1])[0].strip()


@pytest.fixture(scope="module")
def options() -> dict[str, set[str]]:
    """The options of each command, by its name."""
    return dict(options_below(typer.main.get_command(app), ""))


def options_below(command: Any, name: str) -> Iterator[tuple[str, set[str]]]:
    inner = vars(command).get("commands", {})
    if name:
        yield (
            name,
            {"--help", *(o for parameter in command.params for o in (*parameter.opts, *parameter.secondary_opts))},
        )
    for word, below in inner.items():
        yield from options_below(below, f"{name} {word}".strip())


@pytest.mark.parametrize("page", PAGES)
def test_each_link_leads_somewhere(page: str) -> None:
    text = _FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    for target, anchor in _LINK.findall(text):
        file = (ROOT / page).parent / target if target else ROOT / page
        if target.startswith("src/wordveil/"):  # also where the package is installed and the tree is not there
            file = Path(wordveil.__file__).parent / target.removeprefix("src/wordveil/")
        assert file.exists(), target
        if anchor:
            headings = _HEADING.findall(file.read_text(encoding="utf-8"))
            assert anchor in {"#" + re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.fixture(scope="module")
def hooks() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "docs_hooks.py"))


def test_the_page_of_the_command_line_has_every_command_and_option(
    hooks: dict[str, Any], options: dict[str, set[str]]
) -> None:
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    filled = hooks["on_page_markdown"](page)
    assert "--epsilon" in options["privatize"]
    for name, expected in options.items():
        section = filled.split(f"# wordveil {name}\n")[1].split("\n## ")[0]
        assert [option for option in expected if option.startswith("--") and option not in section] == []


@pytest.mark.parametrize(("page", "file"), [("security.md", "SECURITY.md"), ("changelog.md", "CHANGELOG.md")])
def test_a_page_that_stands_for_a_file_holds_it(hooks: dict[str, Any], page: str, file: str) -> None:
    filled = hooks["on_page_markdown"]((ROOT / "docs" / page).read_text(encoding="utf-8"))
    assert filled.strip() == (ROOT / file).read_text(encoding="utf-8").strip().replace("](docs/", "](")
    for target, _ in _LINK.findall(_FENCE.sub("", filled)):
        assert (ROOT / "docs" / target).exists(), target


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
        '<pre class="mermaid"><code>graph LR</code></pre>',
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


def test_the_page_of_python_names_only_what_is_there(hooks: dict[str, Any]) -> None:
    page = hooks["on_page_markdown"]((ROOT / "docs/reference/python.md").read_text(encoding="utf-8"))
    for path in re.findall(r"^::: (\S+)$", page, re.MULTILINE):
        module, _, name = path.rpartition(".")
        with suppress(wordveil.ExtraError):  # what it needs is not installed here
            assert hasattr(import_module(module), name), path


def test_the_page_of_guarantees_speaks_of_every_mechanism() -> None:
    page = (ROOT / "docs/guarantees.md").read_text(encoding="utf-8")
    assert [name for name in MECHANISMS if f"`{name}`" not in page] == []
