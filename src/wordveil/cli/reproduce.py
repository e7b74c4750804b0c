"""``wordveil reproduce``: the tables and figures of the papers."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from wordveil.cli.checks import check_no_input, check_writable, refuse_given
from wordveil.cli.options import Compared, Json, Quiet, print_facts, print_table, stderr, stdout
from wordveil.cli.progress import ProgressBar
from wordveil.errors import FileError, OptionError

if TYPE_CHECKING:
    from wordveil.lab.experiments.page import ResultFolder
    from wordveil.lab.experiments.run import Result


#: Options that have an effect only when an experiment runs.
_RUN = (
    "data", "quick", "replace", "attacker", "reader", "seed", "workers", "engine", "device", "rows", "level",
    "mechanism", "minutes", "parts",
)  # fmt: skip


def reproduce(
    name: Annotated[
        list[str] | None, Argument(metavar="NAME", help="Tables and figures; --list shows their names.")
    ] = None,
    data: Annotated[Path | None, Option(metavar="FOLDER", help="The folder of data sets.")] = None,
    listed: Annotated[bool, Option("--list", help="List what can be reproduced, and stop.")] = False,
    everything: Annotated[bool, Option("--all", help="Reproduce everything.")] = False,
    quick: Annotated[bool, Option("--quick", help="Use fewer words, examples and repetitions.")] = False,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FOLDER", help="Write NAME.json and NAME.png to this folder.")
    ] = None,
    replace: Annotated[
        bool, Option("--replace", help="Let a quick run replace the results of a full run in --output.")
    ] = False,
    compared: Compared = Compared(),
    device: Annotated[
        str | None, Option(help="Where to fit networks: cpu or cuda. Default: the GPU if there is one.")
    ] = None,
    rows: Annotated[
        int | None, Option(min=50, help="At most this many examples of each task, for a first look or a slow machine.")
    ] = None,
    level: Annotated[
        list[float] | None,
        Option(metavar="P", help="A success rate of the attacker at which to compare mechanisms; may be repeated."),
    ] = None,
    mechanism: Annotated[
        list[str] | None,
        Option(
            "--mechanism",
            "-m",
            metavar="NAME[:OPTION=VALUE,…][@SPACE]",
            help="A mechanism to compare in `mechanisms`; may be repeated. Default: all.",
        ),
    ] = None,
    minutes: Annotated[
        float | None, Option(min=0.0, help="Start no further part of a long experiment after this many minutes.")
    ] = None,
    parts: Annotated[
        Path | None,
        Option(metavar="FILE", help="Keep the parts of a long experiment in this file, and continue from those in it."),
    ] = None,
    page: Annotated[
        Path | None, Option(metavar="FILE", help="Write a Markdown page of all results in the folder --output.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Reproduce a table or figure of a paper, and show the paper's own numbers beside it.

    Examples:

      wordveil reproduce --list

      wordveil reproduce icdm-fig3 wsdm-table1 --output results

      wordveil reproduce --all --quick --data FOLDER --output docs/results --page docs/results.md

      wordveil reproduce mechanisms frontier --data FOLDER --workers 8 --engine gpu

      wordveil reproduce reading frontier --data FOLDER --attacker context --reader context --output docs/results

      wordveil reproduce mechanisms --data FOLDER --attacker context --reader shipped --level 0.25 --rows 500

      wordveil reproduce --output docs/results --page docs/results.md
    """
    from wordveil.lab.experiments.registry import EXPERIMENTS, run_experiment
    from wordveil.lab.experiments.run import Parts, Run

    if listed:
        refuse_given("has no effect with --list", *_RUN, "everything", "output", "page", "quiet")
        _list(as_json)
        return
    names = _names(list(EXPERIMENTS) if everything else name or [], data, page)
    _check_effects(names, is_named=bool(name), everything=everything, output=output)
    compared.check()
    shared = dataclasses.asdict(compared) | {
        "rows": rows,
        "levels": tuple(sorted(set(level))) if level else None,
        "only": tuple(dict.fromkeys(mechanism)) if mechanism else None,
    }
    run = Run(data, "quick" if quick else "full", device=device, minutes=minutes, parts=Parts(parts), **shared)
    for one in names:
        EXPERIMENTS[one].check(run)
    check_writable(parts, inputs=(data,), overwrite=True)
    folder = _folder(output, page, data)
    done = []
    for number, one in enumerate(names):
        if not quiet:
            stderr().print(f"{one} ({number + 1} of {len(names)})")
        with ProgressBar("reproducing", quiet=quiet) as progress:
            result, facts = run_experiment(one, dataclasses.replace(run, watch=progress.watch))
        if folder is not None and not folder.keep(result, facts, replace=replace) and not quiet:
            stderr().print(
                f"{folder.path} keeps the full run of {one}; use --replace to put this quick run in its place.",
                markup=False,
            )
        done.append(facts)
        if not as_json:
            _show(result, facts)
    if folder is not None and page is not None:
        from wordveil.lab.experiments.page import write_page

        write_page(page, folder)
    if as_json:
        print_facts(done[0] if len(done) == 1 else done)
    elif len(done) > 1:
        stdout().print(f"{len(done)} experiments took {sum(one['seconds'] for one in done):,.0f} s.")


def _check_effects(names: list[str], *, is_named: bool, everything: bool, output: Path | None) -> None:
    """Refuse options that have no effect with the others."""
    from wordveil.lab.experiments.registry import AT_LEVELS

    if everything and is_named:
        raise OptionError("name tables and figures or use --all, not both.")
    if not names:
        refuse_given("only applies to tables and figures to run, and none is named", *_RUN)
    if not {"reading", *AT_LEVELS} & set(names):
        refuse_given("only applies to reading and to comparisons of mechanisms", "minutes", "parts")
    elif len({"reading", *AT_LEVELS} & set(names)) > 1:
        refuse_given("only applies to a single experiment", "parts")
    if output is None:
        refuse_given("needs --output", "replace")


def _names(given: list[str], data: Path | None, page: Path | None) -> list[str]:
    """Return which experiments to run, or refuse those that cannot run."""
    from wordveil.lab.experiments.registry import EXPERIMENTS

    names = list(dict.fromkeys(given))
    if not names and page is None:
        raise OptionError("name a table or figure, or use --all; `wordveil reproduce --list` lists them.")
    for one in names:
        if one not in EXPERIMENTS:
            raise OptionError(f"unknown experiment {one!r}; `wordveil reproduce --list` lists them.")
        if EXPERIMENTS[one].needs_data and data is None:
            raise OptionError(f"the experiment {one} needs data sets; name their folder with --data.")
    return names


def _folder(output: Path | None, page: Path | None, data: Path | None) -> ResultFolder | None:
    if output is None:
        if page is not None:
            raise OptionError("--page is written from a folder of results; name it with --output.")
        return None
    if page is not None and not page.resolve().parent.is_dir():
        raise FileError(f"cannot write {page}: its folder does not exist.")
    if page is not None:
        check_no_input(page, (data,))
    from wordveil.lab.experiments.page import ResultFolder

    return ResultFolder(output)


def _list(as_json: bool) -> None:
    from wordveil.lab.experiments.registry import EXPERIMENTS

    if as_json:
        facts = [{**vars(one), "paper": one.paper} for one in EXPERIMENTS.values()]
        print_facts(facts)
        return
    headings = ("name", "what it shows", "paper", "data")
    rows = [(one.name, one.title, one.paper, "--data" if one.needs_data else "-") for one in EXPERIMENTS.values()]
    print_table("Tables and figures", headings, rows, left=len(headings))


def _show(result: Result, facts: dict[str, Any]) -> None:
    from rich.markup import escape

    from wordveil.lab.experiments.run import written

    console = stdout()
    console.print(escape(f"{facts['name']}: {facts['paper']}. {facts['title']}."))
    if result.changed:
        console.print(escape(f"Changed: {result.changed}"), soft_wrap=True)
    for one in result.tables:
        rows = [[escape(written(cell)) for cell in row] for row in one.rows]
        print_table(escape(one.title), [escape(heading) for heading in one.columns], rows)
    console.print(escape(result.reading), soft_wrap=True)
    console.print(f"Took {facts['seconds']:,.1f} s; seed {facts['seed']}.")
