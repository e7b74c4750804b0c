"""What is slow to load is loaded by what needs it, and by nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = {"matplotlib", "pandas", "pyarrow", "sklearn", "torch"}
#: The bare package scipy is quick; its parts, which it loads on first use, are not.
_TELL = """
import sys
loaded = {name if name.startswith("scipy.") else name.partition(".")[0] for name in sys.modules}
print(*sorted(loaded - {"scipy.version"}))
"""
VEIL = """
import wordveil
veil = wordveil.Veil(wordveil.mechanism("graph", wordveil.load_space("glove-50k"), epsilon=6.0))
veil("The committee met in Paris.")
"""
PRIVATIZE = """
import io, os, sys
from wordveil.cli.main import main
sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"The committee met in Paris.")))
try:
    main(["privatize", "--epsilon", "4", "--quiet", "--output", os.devnull])
except SystemExit as done:
    assert done.code == 0
"""
LIST = """
from wordveil.cli.main import main
try:
    main(["mechanisms"])
except SystemExit as done:
    assert done.code == 0
"""


def loaded_by(code: str) -> set[str]:
    """Run code in a process of its own and return the packages, and the public parts of scipy, that it loads."""
    done = subprocess.run([sys.executable, "-c", code + _TELL], capture_output=True, encoding="utf-8", check=True)
    return {name for name in done.stdout.splitlines()[-1].split() if not name.startswith("scipy._")}


def slow_parts(loaded: set[str]) -> set[str]:
    return {name for name in loaded if name in SLOW or name.startswith("scipy.")}


def test_the_command_line_is_there_before_numpy() -> None:
    # An older typer loads rich at once.
    ours = loaded_by("import wordveil.cli.commands\n") - loaded_by("import typer\n")
    assert "wordveil" in ours
    assert {"numpy", "rich", "scipy", *SLOW} & ours == set()


@pytest.mark.parametrize(
    "code",
    [VEIL, "import wordveil.io, wordveil.audit, wordveil.calibration, wordveil.engines, wordveil.lac\n", LIST],
    ids=["a veil", "what a job and the service stand on", "the list of mechanisms"],
)
def test_no_slow_package_is_loaded_by(code: str) -> None:
    loaded = loaded_by(code)
    assert "numpy" in loaded
    assert slow_parts(loaded) == set()


def test_a_sentence_needs_no_more_than_numpy_and_regex() -> None:
    loaded = loaded_by(PRIVATIZE)
    assert "regex" in loaded
    # An older typer loads rich at once.
    assert {"rich", "pydantic", "multiprocessing"} & loaded - loaded_by("import typer\n") == set()
    assert slow_parts(loaded) == set()


def test_a_slow_part_would_be_seen() -> None:
    assert "scipy.special" in slow_parts(loaded_by("import scipy\nscipy.special.gammainc(1.0, 1.0)\n"))


@pytest.mark.parametrize("chosen", ["", "20"])
def test_idle_threads_of_blas_sleep_unless_told_otherwise(chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_THREAD_TIMEOUT", raising=False)
    if chosen:
        monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", chosen)
    watch = (
        "import os, sys\n"
        "def watch(event, args):\n"
        "    if event == 'import' and args[0] == 'numpy':\n"
        "        print(os.environ.get('OPENBLAS_THREAD_TIMEOUT'), file=sys.stderr)\n"
        "sys.addaudithook(watch)\n"
    )
    done = subprocess.run([sys.executable, "-c", watch + PRIVATIZE], capture_output=True, text=True, check=True)
    assert set(done.stderr.split()) == {chosen or "16"}
