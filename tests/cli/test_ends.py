"""How the process ends: stopped, with nobody reading, with streams that are closed, or with a mistake."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wordveil.cli import main

WORDVEIL = f'"{sys.executable}" -m wordveil'
SHELL = pytest.mark.skipif(sys.platform == "win32", reason="a shell's redirections, and POSIX signals")


def shell(script: str) -> tuple[int, str, str]:
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


@SHELL
@pytest.mark.parametrize("command", ["explain sea -e 3", "demo", "calibrate --help", "--help", ""])
def test_a_reader_who_leaves_ends_it_quietly(command: str) -> None:
    # The reader is gone before anything is written.
    code, out, err = shell(f"exec 3> >(true); sleep 0.3; {WORDVEIL} {command} >&3")
    assert (code, out, err) == (141, "", "")


@SHELL
@pytest.mark.parametrize("command", ["explain sea -e 3 --json", "mechanisms --json", "spaces --json"])
def test_a_reader_of_json_who_leaves_ends_it_quietly(command: str) -> None:
    code, out, err = shell(f"exec 3> >(true); sleep 0.3; {WORDVEIL} {command} >&3")
    assert (code, out, err) == (141, "", "")


@SHELL
@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full", "2>&- >&-"])
def test_a_mistake_is_a_mistake_even_if_nobody_can_be_told(streams: str) -> None:
    assert shell(f"{WORDVEIL} explain sea --epsilon 0 {streams}") == (2, "", "")


@SHELL
@pytest.mark.parametrize(
    "command",
    ["serve --new-key x", "explain sea -e 3 --json", "explain sea -e 3", "demo", "--version", "calibrate", "audit"],
)
def test_what_would_be_printed_nowhere_is_refused_at_once(command: str) -> None:
    if command.startswith("serve"):
        pytest.importorskip("fastapi")
    code, _, err = shell(f"{WORDVEIL} {command} >&-")
    assert (code, err) == (2, "wordveil: standard output is closed, so there is nowhere to print to.\n")


@SHELL
def test_what_prints_nothing_needs_no_output(tmp_path: Path) -> None:
    assert shell(f'{WORDVEIL} demo --save "{tmp_path}/sample.csv" >&-') == (0, "", "")
    assert (tmp_path / "sample.csv").is_file()


def test_no_key_is_made_that_nobody_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = pytest.importorskip("wordveil.service.keys")
    made: list[object] = []
    monkeypatch.setattr(keys, "new_key", lambda: made.append(0))
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as left:
        main(["serve", "--new-key", "x"])
    assert (left.value.code, made) == (2, [])


def heeding(code: str) -> list[str]:
    """Return a command that runs code to which Ctrl-C is one, also where tests run in the background."""
    heeded = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    return [sys.executable, "-c", f"{heeded}\nimport sys\n{code}"]


def interrupted(code: str) -> tuple[int, bytes]:
    done = subprocess.run(heeding(code), capture_output=True, check=False, timeout=120)
    return done.returncode, done.stderr


@SHELL
def test_ctrl_c_while_it_loads() -> None:
    finder = """
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Stop())
from wordveil.cli import main
main(["--version"])
"""
    assert interrupted(finder) == (130, b"wordveil: stopped.\n")


@SHELL
def test_ctrl_c_of_which_an_import_makes_another_error() -> None:
    finder = """
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            try:
                exec("signal.raise_signal(signal.SIGINT)", {"signal": signal})
            except KeyboardInterrupt:
                raise ImportError("from an extension module") from None
sys.meta_path.insert(0, Stop())
from wordveil.cli import main
main(["explain", "sea", "-e", "3"])
"""
    assert interrupted(finder) == (130, b"wordveil: stopped.\n")


@SHELL
@pytest.mark.parametrize(
    "command", [["audit", "--all"], ["calibrate", "-m", "laplace"], ["match", "-m", "graph", "-e", "1", "-m", "ring"]]
)
def test_ctrl_c_at_work(command: list[str]) -> None:
    """The signal comes when the space is opened, after the command has begun."""
    code = f"""
import wordveil.spaces
wordveil.spaces.load_space = lambda *_, **__: signal.raise_signal(signal.SIGINT)
from wordveil.cli import main
main({command!r})
"""
    assert interrupted(code) == (130, b"wordveil: stopped.\n")


@SHELL
def test_ctrl_c_from_outside() -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = heeding('from wordveil.cli import main; main(["audit", "--all"])')
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as process:
        loaded = Path(f"/proc/{process.pid}/maps")
        while loaded.exists() and process.poll() is None and b"/kernels/" not in loaded.read_bytes():
            time.sleep(0.01)
        time.sleep(0.5 if loaded.exists() else 3)  # it is at work, or soon will be
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"wordveil: stopped.\n")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("calibrate --words ²", "--words"),
        ("calibrate --words 99999999999999999999999", "--words"),
        ("geometry --words ²", "--words"),
        ("match -m graph -e 1 -m ring --words ²", "--words"),
        ("vectors --seed=-1 -e 1 -o x.npz", "--seed"),
        ("demo --seed=-1", "--seed"),
        ("privatize --seed=-1 -e 1", "--seed"),
        ("audit --seed=-1 -e 1", "--seed"),
        ("audit --draws=99999999999999999999 -e 1", "draws"),
        ("plot disk dog --cloud dog --draws=99999999999999999999 -o x.svg", "--draws"),
        ("explain sea -e 3 -O epsilon=3", "--epsilon"),
        ("explain sea -e 3 -O space=x", "--space"),
        ("calibrate -O name=x", "--mechanism"),
        ("plot density -e nan -o x.svg", "finite"),
        ("plot density -e inf -o x.svg", "finite"),
        ("plot density -e 1e308 -o x.svg", "1e+308"),
        ("vectors --grid=inf -e 1 -o x.npz", "--grid"),
        ("vectors --grid=nan -e 1 -o x.npz", "--grid"),
        ("lac promise -e 1 -O clip=6 --threshold-rate=nan", "--threshold-rate"),
        ("calibrate --share=nan", "--share"),
        ("geometry --k=-1", "--k"),
        ("privatize text.txt -e 1 --select=", "''"),
    ],
)
def test_mistakes_are_mistakes_of_who_asked(
    command: str, said: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("sea\n", encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(command.split())
    out, err = capfd.readouterr()
    assert (left.value.code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]
