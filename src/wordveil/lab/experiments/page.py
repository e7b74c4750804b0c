"""A folder of results, JSON beside pictures, and the page written from it. Nothing on the page is written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wordveil.errors import FileError
from wordveil.extras import check_can_draw, save
from wordveil.files import write_whole
from wordveil.lab.experiments.registry import EXPERIMENTS
from wordveil.lab.experiments.run import USUAL_ATTACKER, Result, Table

_HEAD = """# Results

This page reproduces the measured tables and figures of the [four papers](references.md#the-four-papers). `wordveil
reproduce --page` writes it from the results of the experiments, and each section names the command that prints its
figures. *Changed* says how a task differs from the paper's. A quick run uses fewer words, examples and repetitions
than a full one.

The ICDM paper's Table I is in [hyperbolic space](hyperbolic.md#generalising-not-only-swapping). Its Tables II and V,
which list properties of geometries and names of tasks, are not reproduced, and neither are the drawings: its Figs. 1
and 2, the NADP paper's Fig. 1 and the challenges paper's Fig. 1.

The data sets are not part of the project. `--data` names a folder that holds one folder for each collection;
[data sets](data.md) lists them and their files.

**Terms**

- *N_w*: how often a word stays itself in 1,000 draws. *S_w*: how many different words come out in 1,000 draws. *Worst*
  is the word that stays most, or has the fewest outputs, of the words that were measured.
- *Level*: how often the attacker's best guess of a word is right. Mechanisms are compared at equal levels, because
  their ε cannot be compared. The attacker looks at one word at a time, or reads the whole release in context; each
  table says which.
- *Share*: how far a score is on the way from random words (0) to clean text (1).
- *As it stands*: learnt from the drawn words. *Table*, *population*, *release* and *context*: learnt through a
  [reader](reading.md) of this kind, which costs no privacy.
- *Near loss*: how well a word can be told from its most similar words, ten if no number is given. It is the largest
  log-ratio over all outputs, as the median over a sample of words. With ≤ it is what the mechanism promises, and was
  not measured.
- *Static* attacker: knows clean texts. *Adaptive* attacker: veils the texts they know in the same way before learning
  from them. *Asked about released* texts: they see what was released. *Original*: they see what was written.
- Figures in brackets are 95% intervals, and ± is a standard error unless the section says otherwise. The interval of a
  task covers the choice of examples. It covers the noise of veiling only as far as the runs show it, one to three of
  them. If only training or only test is veiled (tasks, wsdm-fig5), another run may well lie outside. Intervals of
  authorship hold for texts of these authors: for others they would be wider."""


class ResultFolder:
    """Keeps one run of each experiment by each attacker. A quick run replaces a full one only on request."""

    def __init__(self, path: Path) -> None:
        check_can_draw()
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError:
            raise FileError(f"cannot make the folder {path}.") from None

    def keep(self, result: Result, facts: dict[str, Any], *, replace: bool = False) -> bool:
        """Write the result of an experiment, unless a full run is there already. Return whether it was written."""
        label = label_of(facts)
        if facts["quick"] and not replace and not self._is_quick(label):
            return False
        for part, figure in sorted(result.figures.items()):
            save(figure, self.picture(label, part))
        write_whole(self._file(label), json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
        return True

    def found(self) -> dict[str, dict[str, Any]]:
        """Return the facts of every run that was kept, by label, in the order of the papers."""
        labels = [f"{name}{ending}" for name in EXPERIMENTS for ending in _ENDINGS.values()]
        return {label: self._read(label) for label in labels if self._file(label).exists()}

    def picture(self, label: str, part: str) -> Path:
        """Return the path of an experiment's picture."""
        return self.path / f"{label}{f'-{part}' if part else ''}.png"

    def _file(self, label: str) -> Path:
        return self.path / f"{label}.json"

    def _is_quick(self, label: str) -> bool:
        return not self._file(label).exists() or bool(self._read(label)["quick"])

    def _read(self, label: str) -> dict[str, Any]:
        try:
            facts = json.loads(self._file(label).read_text(encoding="utf-8"))
            if label_of(facts) == label and isinstance(facts["quick"], bool):
                return dict(facts)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        raise FileError(f"{self._file(label)} was not written by an experiment; remove it or run the experiment again.")


#: What ends the label of a run, by the attacker at whose success mechanisms were compared.
_ENDINGS = {USUAL_ATTACKER: "", "context": "-context", "shipped": "-shipped"}


def label_of(facts: dict[str, Any]) -> str:
    """Return the label of a run.

    Mechanisms matched by another attacker count as another run: in context, by a network that is fitted on each release
    or by the one that comes with the package.
    """
    name, attacker = facts["name"], facts.get("attacker", USUAL_ATTACKER)
    who = "shipped" if attacker != USUAL_ATTACKER and facts.get("reader") == "shipped" else attacker
    return f"{name}{_ENDINGS[who]}"


def write_page(page: Path, folder: ResultFolder) -> None:
    """Write a page with a section for every experiment of the folder."""
    found = folder.found()
    sections = [_section(label, facts, _pictures(label, facts, folder, page)) for label, facts in found.items()]
    write_whole(page, "\n\n".join([_HEAD, _contents(found), *sections]) + "\n")


def _contents(found: dict[str, dict[str, Any]]) -> str:
    rows = [
        (f"[{label}](#{label})", facts["title"], "quick" if facts["quick"] else "full", f"{facts['seconds']:,.0f} s")
        for label, facts in found.items()
    ]
    missing = sorted(set(EXPERIMENTS) - {facts["name"] for facts in found.values()}, key=list(EXPERIMENTS).index)
    told = f"\n\nNot run: {', '.join(missing)}." if missing else ""
    return Table("What was run", ("experiment", "what it shows", "run", "time"), rows).markdown() + told


def _pictures(label: str, facts: dict[str, Any], folder: ResultFolder, page: Path) -> list[str]:
    """Return the paths of the pictures relative to the page, without those outside its folder."""
    here = page.resolve().parent
    paths = [folder.picture(label, part).resolve() for part in facts["figures"]]
    return [path.relative_to(here).as_posix() for path in paths if path.is_relative_to(here)]


_USUAL = {"attacker": USUAL_ATTACKER, "reader": "population", "rows": None}


def _section(label: str, facts: dict[str, Any], pictures: list[str]) -> str:
    name = facts["name"]
    needs = " --data FOLDER" if EXPERIMENTS[name].needs_data else ""
    quick = " --quick" if facts["quick"] else ""
    chosen = "".join(f" --{name} {facts[name]}" for name, usual in _USUAL.items() if facts.get(name, usual) != usual)
    chosen += "".join(f" --level {level:g}" for level in facts.get("levels") or ())
    chosen += "".join(f" --mechanism {label}" for label in facts.get("only") or ())
    parts = [
        f"## {label}",
        f"{facts['paper']}. {facts['title']}.",
        f"```text\nwordveil reproduce {name}{needs}{quick}{chosen} --seed {facts['seed']}\n```",
    ]
    if facts["changed"]:
        parts.append(f"*Changed.* {facts['changed']}")
    parts += [Table(one["title"], one["columns"], one["rows"]).markdown() for one in facts["tables"]]
    parts += [f"![{facts['title']}]({picture})" for picture in pictures]
    parts += [facts["reading"], _how_run(facts)]
    return "\n\n".join(parts)


def _how_run(facts: dict[str, Any]) -> str:
    """Say how much was done, when, where and for how long."""
    told = ["A quick run" if facts["quick"] else "A full run"]
    if facts.get("rows"):
        told.append(f"of at most {facts['rows']:,} examples of each task")
    found = facts["facts"]
    repeats = found.get("repeats") or found.get("chosen", {}).get("repeats")
    if repeats:
        told.append(f"veiled {'once' if repeats == 1 else f'{repeats} times'}")
    if facts.get("date"):
        told.append(f"on {facts['date']}")
    if facts["cuda"]:
        told.append("on a machine with a CUDA device")
    return f"{', '.join(told)}; it took {facts['seconds']:,.0f} s, apart from what was already cached."
