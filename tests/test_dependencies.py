"""The page of dependencies and licences fits pyproject.toml and what is installed; the lowest versions are stated."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TOOLS = Path(__file__).parent.parent / "tools"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOLS))
    return import_module("build_dependencies")


def test_everything_that_is_asked_for_is_listed(tool: ModuleType) -> None:
    listed = tool.listed(tool.PAGE.read_text(encoding="utf-8"))
    declared = import_module("declared")
    asked = {
        canonicalize_name(requirement.name)
        for extra in ("", *declared.extras())
        for requirement in declared.requirements(extra)
        if requirement.marker is None or "python_version" not in str(requirement.marker)
    }
    assert asked - listed.keys() == set()


def is_for_newer(requirement: Requirement) -> bool:
    """Whether it is asked for on later Pythons too; what an older one needs besides is not on the page."""
    later = {"python_version": "3.14", "python_full_version": "3.14.0"}
    return requirement.marker is None or requirement.marker.evaluate(later)


def test_what_is_installed_is_listed_with_its_licence(tool: ModuleType) -> None:
    """As far as can be told here: where a version is the listed one, its licence and what it brings are listed too."""
    listed = tool.listed(tool.PAGE.read_text(encoding="utf-8"))
    compared = 0
    for package in listed.values():
        found = tool.installed(package.name)
        if found is not None and found.version == package.version:
            assert tool.licence(found) == package.licence, package.name
            brought = {canonicalize_name(line.name) for line in tool.brings(found) if is_for_newer(line)}
            assert brought - listed.keys() == set(), f"{package.name} brings them: run `make dependencies`"
            compared += 1
    if not compared:
        pytest.skip("no package is installed in the version that the page lists")


def test_each_dependency_has_one_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    lines = import_module("lowest").constraints()
    names = [line.partition("==")[0] for line in lines]
    assert len(names) == len(set(names)), "two lower bounds for one package"
    assert {requirement.name for requirement in import_module("declared").requirements()} <= set(names)
