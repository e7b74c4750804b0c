"""Print the lowest version of every dependency that pyproject.toml allows, as constraints for pip.

    python tools/lowest.py > lowest.txt
    pip install --constraint lowest.txt '.[test]'

``make lowest`` runs the suite with them. A dependency without a lower bound is left to pip.
"""

from __future__ import annotations

from declared import extras, requirements


def constraints() -> list[str]:
    """Return a line for each dependency that has a lower bound."""
    lines = set()
    for extra in ("", *extras()):
        for requirement in requirements(extra):
            marker = f"; {requirement.marker}" if requirement.marker else ""
            bounds = [bound.version for bound in requirement.specifier if bound.operator == ">="]
            lines |= {f"{requirement.name}=={bound}{marker}" for bound in bounds}
    return sorted(lines)


if __name__ == "__main__":
    print("\n".join(constraints()))
