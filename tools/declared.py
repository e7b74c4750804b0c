"""The requirements that pyproject.toml declares, for the package and for its extras."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent


def project() -> dict[str, Any]:
    """Return the table ``project``."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def requirements(extra: str = "") -> list[Requirement]:
    """Return the requirements of every install, or those that an extra adds."""
    told = project()
    lines = told["optional-dependencies"][extra] if extra else told["dependencies"]
    asked = [Requirement(line) for line in lines]
    return [requirement for requirement in asked if requirement.name != told["name"]]


def extras() -> list[str]:
    """Return the names of the extras."""
    return list(project()["optional-dependencies"])
