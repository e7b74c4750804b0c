"""The page of results, written from a folder of them: nothing on it is put together by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wordveil.experiments.registry import EXPERIMENTS
from wordveil.experiments.result import Table
from wordveil.experiments.results import ResultFolder
from wordveil.io.checkpoint import write_whole

__all__ = ["write_page"]

_HEAD = """# Results

Every table and figure of the papers, done again. The page is written by `wordveil reproduce --page` from what the
experiments left; each section names the command that gives its figures again. A changed task is called changed. A quick
run uses fewer words, examples and repetitions than a full one.

The data sets are not part of the project. `--data` is a folder with a folder for each collection in it: `senteval`,
`sts`, `word-similarity`, `odd-man-out`, `imdb`, `insuranceqa`, `snips`, `pan11`, `pang-lee-scale`, `sotu`, `wordnet`,
`hearst`."""


def write_page(page: Path, folder: ResultFolder) -> None:
    """Write a section for every experiment of the folder.

    Parameters
    ----------
    page : Path
        The page; replaced if it is there.
    folder : ResultFolder
        What was found.
    """
    found = folder.found()
    sections = [_section(facts, _pictures(facts, folder, page)) for facts in found.values()]
    write_whole(page, "\n\n".join([_HEAD, _contents(found), *sections]) + "\n")


def _contents(found: dict[str, dict[str, Any]]) -> str:
    rows = [
        (f"[{name}](#{name})", facts["title"], "quick" if facts["quick"] else "full", f"{facts['seconds']:,.0f} s")
        for name, facts in found.items()
    ]
    missing = [name for name in EXPERIMENTS if name not in found]
    told = f"\n\nNot run: {', '.join(missing)}." if missing else ""
    return Table("What was run", ("experiment", "what it shows", "run", "time"), rows).markdown() + told


def _pictures(facts: dict[str, Any], folder: ResultFolder, page: Path) -> list[str]:
    """Return where the pictures lie as seen from the page; those outside its folder are left out."""
    here = page.resolve().parent
    paths = [folder.picture(facts["name"], part).resolve() for part in facts["figures"]]
    return [path.relative_to(here).as_posix() for path in paths if path.is_relative_to(here)]


def _section(facts: dict[str, Any], pictures: list[str]) -> str:
    name = facts["name"]
    needs = " --data ../shared/data" if EXPERIMENTS[name].needs_data else ""
    quick = " --quick" if facts["quick"] else ""
    parts = [
        f"## {name}",
        f"{facts['paper']}. {facts['title']}.",
        f"```text\nwordveil reproduce {name}{needs}{quick} --seed {facts['seed']}\n```",
    ]
    if facts["changed"]:
        parts.append(f"*Changed.* {facts['changed']}")
    parts += [Table(one["title"], one["columns"], one["rows"]).markdown() for one in facts["tables"]]
    parts += [f"![{facts['title']}]({picture})" for picture in pictures]
    run = "A quick run" if facts["quick"] else "A full run"
    where = " on a machine with a CUDA device" if facts["cuda"] else ""
    parts += [facts["reading"], f"{run}{where}; it took {facts['seconds']:,.0f} s, less what the cache held already."]
    return "\n\n".join(parts)
