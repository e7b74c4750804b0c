"""Run the suite on the built package, under a Python of your choice, outside the source tree.

    python tools/build_dist.py --once
    python tools/run_suite.py python3.12
    python tools/run_suite.py python3.10 --lowest       # with the lowest versions of all dependencies
    python tools/run_suite.py python3.13 -- -x tests/text

A new environment gets the package in dist/ (the wheel, or the sdist if the wheel is for later Pythons) with the extra
``test``, which leaves torch out. The tests and what they read are copied to an empty folder and run there, after a
check that they would import the installed package.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lowest import constraints

ROOT = Path(__file__).parent.parent
COPIED = (
    "tests",
    "docs",
    "examples",
    "benchmarks/*.py",
    "benchmarks/frontier_search",
    "tools",
    "*.md",
    "LICENSE",
    "pyproject.toml",
    "Makefile",
    "mkdocs.yml",
)
_FACTS = """
import json, sys, sysconfig, wordveil
print(json.dumps([sys.version.split()[0], wordveil.__file__, sysconfig.get_path("platlib")]))
"""


def main() -> None:
    """Make the environment, copy the tests and run them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="the Python to run on")
    parser.add_argument("--lowest", action="store_true", help="install the lowest versions that pyproject.toml allows")
    parser.add_argument("--keep", type=Path, help="a folder for the environment, to use it again")
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)  # the rest is for pytest
    asked = parser.parse_args(sys.argv[1:cut])
    with tempfile.TemporaryDirectory() as scratch:
        environment = asked.keep or Path(scratch) / "environment"
        python = install(asked.python, environment, lowest=asked.lowest)
        tests = copy_tests(Path(scratch) / "suite")
        check_installed(python, tests)
        command = [python, "-m", "pytest", "-q", "-n", "auto", *sys.argv[cut + 1 :]]
        sys.exit(subprocess.run(command, cwd=tests, env=clean(python), check=False).returncode)


def install(interpreter: str, environment: Path, *, lowest: bool) -> str:
    """Install the built package with the extra ``test`` into an environment, and return its Python."""
    built = ROOT / "dist"
    later = subprocess.run([interpreter, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"], check=False)
    found = list(built.glob("*.whl" if later.returncode == 0 else "*.tar.gz"))
    if len(found) != 1:
        sys.exit("Build the package first: make dist.")
    subprocess.run([interpreter, "-m", "venv", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    bounds = environment / "lowest.txt"
    bounds.write_text("\n".join(constraints()) + "\n", encoding="utf-8")
    limits = ["--constraint", str(bounds)] if lowest else ["--upgrade", "--upgrade-strategy", "eager"]
    pip = [python, "-m", "pip", "install", "--quiet", *limits]
    subprocess.run([*pip, f"{found[0]}[test]"], env=clean(python), check=True)
    # the package under development may have changed without a new version number
    again = [python, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", str(found[0])]
    subprocess.run(again, env=clean(python), check=True)
    return python


def copy_tests(target: Path) -> Path:
    """Copy the tests and the files they read, but not the package."""
    for pattern in COPIED:
        for source in ROOT.glob(pattern):
            copy = target / source.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy)
    return target


def check_installed(python: str, folder: Path) -> None:
    """Stop unless the tests would import the package from the environment."""
    told = subprocess.run(
        [python, "-c", _FACTS], cwd=folder, env=clean(python), capture_output=True, text=True, check=True
    )
    version, package, installed = json.loads(told.stdout)
    if not Path(package).is_relative_to(installed):
        sys.exit(f"The tests would run on {package}, which is not installed under {installed}.")
    print(f"Python {version}, wordveil from {package}", flush=True)


def clean(python: str) -> dict[str, str]:
    """Return this environment without variables that lead to other packages, with that Python's commands first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return {**kept, "PATH": str(Path(python).parent) + os.pathsep + kept["PATH"]}


if __name__ == "__main__":
    main()
