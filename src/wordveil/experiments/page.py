"""The page of results: a section for each experiment, written by the experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wordveil.errors import WordveilError
from wordveil.experiments.registry import EXPERIMENTS
from wordveil.experiments.result import Result
from wordveil.io.checkpoint import write_whole

__all__ = ["put_section"]

_HEAD = """# Results

Every table and figure of the papers, done again. Each section was written by the command that it names; run it to get
the figures again. `wordveil reproduce --list` lists the experiments. A changed task is called changed.

The data sets are not part of the project. `--data` is a folder with a folder for each collection in it: `senteval`,
`sts`, `word-similarity`, `odd-man-out`, `imdb`, `insuranceqa`, `snips`, `pan11`, `pang-lee-scale`, `sotu`, `wordnet`.
"""


def put_section(page: Path, result: Result, facts: dict[str, Any], pictures: list[str]) -> None:
    """Write an experiment's section, in its place among the others or instead of an older one.

    Parameters
    ----------
    page : Path
        The page; made if it is not there.
    result : Result
        What was found.
    facts : dict
        From `run_experiment`.
    pictures : list of str
        Where its pictures lie, as seen from the page.
    """
    try:
        text = page.read_text(encoding="utf-8") if page.exists() else _HEAD
    except OSError:
        raise WordveilError(f"cannot read the page {page}.") from None
    sections = {name: _cut(text, name) for name in EXPERIMENTS}
    sections[facts["name"]] = _section(result, facts, pictures)
    parts = [_HEAD.rstrip("\n"), *(section for section in sections.values() if section)]
    write_whole(page, "\n\n".join(parts) + "\n")


def _cut(text: str, name: str) -> str | None:
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if begin not in text or end not in text:
        return None
    return text[text.index(begin) : text.index(end) + len(end)]


def _section(result: Result, facts: dict[str, Any], pictures: list[str]) -> str:
    name = facts["name"]
    needs = " --data ../shared/data" if EXPERIMENTS[name].needs_data else ""
    quick = " --quick" if facts["quick"] else ""
    parts = [
        f"<!-- {name} -->",
        f"## {name}",
        f"{facts['paper']}. {facts['title']}.",
        f"```text\nwordveil reproduce {name}{needs}{quick} --seed {facts['seed']}\n```",
    ]
    if result.changed:
        parts.append(f"*Changed.* {result.changed}")
    parts += [table.markdown() for table in result.tables]
    parts += [f"![{facts['title']}]({picture})" for picture in pictures]
    parts += [result.reading, f"Took {facts['seconds']:,.0f} s, less what the cache held already."]
    parts.append(f"<!-- end of {name} -->")
    return "\n\n".join(parts)
