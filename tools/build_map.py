"""Writes the map of the packages in CONTRIBUTING.md: ``python tools/build_map.py``.

The order is that of the layers in pyproject.toml, which import-linter enforces. The descriptions are the first lines of
the docstrings.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- map: written by tools/build_map.py -->\n", "<!-- end of the map -->\n"
_PACKAGE = ROOT / "src" / "wordveil"


def main() -> None:
    """Replace the map in CONTRIBUTING.md."""
    PAGE.write_text(with_map(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def with_map(page: str) -> str:
    """Return the page with the map of the layers between its two marks."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}{_table()}{END}{after}"


def _table() -> str:
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers, protected = _contract(configured, "layers"), _contract(configured, "protected")
    lines = ["| layer | place | what lives there |", "|---|---|---|"]
    number = 0
    for layer in layers["layers"]:
        places = [found for name in re.split(r"[|:]", layer) if (found := _place(name.strip(" ()"))) is not None]
        number += bool(places)
        apart = " (apart)" if "|" in layer and len(places) > 1 else ""
        lines += [f"| {number}{apart} | `{shown}` | {_about(path)} |" for shown, path in places]
    importers = ", ".join(f"`{one.removeprefix('wordveil.')}`" for one in protected["allowed_importers"])
    lab = ", ".join(f"`{one.removeprefix('wordveil.')}`" for one in protected["protected_modules"])
    return "\n".join(
        [
            "",
            *lines,
            "",
            "A place may import what has a larger number. Places marked *apart* do not import each other. Only "
            f"{importers} import {lab}.",
            "",
            "",
        ]
    )


def _contract(configured: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(one for one in configured["contracts"] if one["type"] == kind)


def _place(name: str) -> tuple[str, Path] | None:
    """Return how to show a package or module, and the file that describes it, or None if it does not exist."""
    if (_PACKAGE / name).is_dir():
        return f"{name}/", _PACKAGE / name / "__init__.py"
    return (f"{name}.py", path) if (path := _PACKAGE / f"{name}.py").exists() else None


def _about(path: Path) -> str:
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return said.partition("\n")[0].rstrip(".").replace("|", "\\|").replace("``", "`")


if __name__ == "__main__":
    main()
