"""``wordveil compare``: mechanisms at the same success of the attacker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from wordveil.cli.files import Overwrite, check_writable, pictures_of
from wordveil.cli.options import Compared, Json, Quiet, parse_options, print_facts, print_table, stdout
from wordveil.cli.progress import ProgressBar
from wordveil.errors import OptionError

if TYPE_CHECKING:
    from wordveil.lab.experiments.comparison import Contender, Frontier, Point
    from wordveil.spaces import Space

_QUICK_EXAMPLES, _QUICK_DRAWS = 1500, 30_000


def compare(
    data: Annotated[Path, Option(metavar="FOLDER", help="The folder of data sets.")],
    mechanism: Annotated[
        list[str] | None,
        Option(
            "--mechanism",
            "-m",
            metavar="NAME[:OPTION=VALUE,…][@SPACE]",
            help="A mechanism, such as graph:k=5; may be repeated. Default: all that suit the space.",
        ),
    ] = None,
    task: Annotated[
        list[str] | None, Option("--task", "-t", help="A task; may be repeated. Default: trec6, mr and cr.")
    ] = None,
    level: Annotated[
        list[float] | None,
        Option(metavar="P", help="A success of the attacker; may be repeated. Default: .05 .1 .25 .4."),
    ] = None,
    prior: Annotated[
        str, Option(help="What an attacker of one word at a time knows about word frequencies: text, uniform or both.")
    ] = "text",
    compared: Compared = Compared(),
    space: Annotated[str, Option("--space", "-s", help="The space of mechanisms that do not name one.")] = "glove-50k",
    words: Annotated[
        int, Option(min=10, help="How many of the most frequent words to use; fewer are faster.")
    ] = 20_000,
    select: Annotated[str, Option(help="Which words are veiled: all, or content words.")] = "all",
    repeats: Annotated[int, Option(min=1, help="How often each task is done.")] = 2,
    draws: Annotated[
        int, Option(min=1000, help="Draws the attacker learns from where probabilities are not known.")
    ] = 150_000,
    quick: Annotated[bool, Option("--quick", help="Use few examples and draws, for a first look in minutes.")] = False,
    figure: Annotated[Path | None, Option(metavar="FILE", help="Draw the frontier to this .png or .svg file.")] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="FILE", help="Write JSON to this file, updated after each mechanism."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare mechanisms at equal success of the attacker.

    For each mechanism this prints the ε, the near loss (how well similar words can be told apart) and how useful the
    texts still are to an analyst who reads them through the mechanism's law, as a share of the way from random words to
    clean text, with 95% intervals. Tasks are trained and tested on veiled text. On a full run, mechanisms with noise
    take minutes each.

    Examples:

      wordveil compare --data FOLDER --quick

      wordveil compare --data FOLDER -m graph -m graph:k=3 -m laplace --level 0.25 --figure frontier.png

      wordveil compare --data FOLDER -m graph -m ring --task subj --task mpqa --prior both

      wordveil compare --data FOLDER --prior both --workers 2 --output all.json

      wordveil compare --data FOLDER -m graph -m laplace --attacker context --reader context --select content
    """
    from wordveil._mechanisms.base import needs_vectors
    from wordveil.extras import save
    from wordveil.files import write_whole
    from wordveil.lab.experiments.comparison import compare as measure
    from wordveil.lab.experiments.comparison import draw_frontier, everyone
    from wordveil.lab.tasks import AveragedVectors, DataFolder, Reading, load_task, readers_up_to
    from wordveil.spaces import EuclideanSpace, load_space

    attackers = _attackers(compared.attacker, prior)
    readers, seed = readers_up_to(compared.reader), compared.seed
    drawn = pictures_of(figure, *("",) if len(attackers) == 1 else attackers)
    named = [one.partition("@")[2] for one in mechanism or ()]
    check_writable(output, *drawn, inputs=(data, space, *filter(None, named)), overwrite=overwrite)
    compared.check()
    levels = sorted(set(level or [0.05, 0.1, 0.25, 0.4]))
    if not all(0.0 < one < 1.0 for one in levels):
        raise OptionError("a --level is a probability between 0 and 1, such as 0.25.")
    if select not in ("all", "content"):
        raise OptionError("--select must be all or content here.")
    folder = DataFolder(data)
    tasks = [load_task(name, folder) for name in dict.fromkeys(task or ["trec6", "mr", "cr"])]
    if quick:
        tasks, draws, repeats = [one.limited(_QUICK_EXAMPLES) for one in tasks], min(draws, _QUICK_DRAWS), 1
    opened: dict[str, Space] = {space: _first(load_space(space), words)}
    if mechanism:
        contenders = [_contender(given, space, opened, words, compared.engine) for given in mechanism]
    else:
        contenders = everyone(opened[space], compared.engine)
    has_vectors = isinstance(opened[space], EuclideanSpace)
    reading = needs_vectors("compare", opened[space] if has_vectors else _first(load_space("glove-50k"), words))
    told = {
        "attacker": compared.attacker,
        "reader": compared.reader,
        "seed": seed,
        "words": words,
        "select": select,
        "repeats": repeats,
        "quick": quick,
    }

    def keep(so_far: Frontier) -> None:
        if output is not None:
            write_whole(output, json.dumps({**told, **so_far.to_dict()}, indent=2, ensure_ascii=False) + "\n")

    with ProgressBar("comparing", quiet=quiet) as progress:
        found = measure(
            contenders,
            tasks,
            AveragedVectors(reading),
            levels,
            attackers=attackers,
            reading=Reading(readers),
            repeats=repeats,
            draws=draws,
            seed=seed,
            select=select,
            workers=compared.workers,
            watch=progress.watch,
            keep=keep,
        )
    for one, path in zip(attackers, drawn, strict=False):  # none, if no picture was asked for
        save(draw_frontier(found.to_dict(), one), path)
    if as_json:
        print_facts({**told, **found.to_dict()})
    else:
        _show(found)


def _attackers(attacker: str, prior: str) -> tuple[str, ...]:
    """Return by whose success mechanisms are made equal."""
    from wordveil.lab.experiments.attacker import PRIORS
    from wordveil.lab.experiments.run import ATTACKERS

    if attacker not in ATTACKERS:
        raise OptionError("--attacker must be alone or context.")
    if prior not in (*PRIORS, "both"):
        raise OptionError("--prior must be text, uniform or both.")
    if attacker == "context" and prior != "text":
        raise OptionError("--prior is for an attacker of one word at a time: leave it out with --attacker context.")
    return ("context",) if attacker == "context" else PRIORS if prior == "both" else (prior,)


def _first(space: Space, words: int) -> Space:
    import numpy as np

    from wordveil.spaces import EuclideanSpace

    return space.restrict(np.arange(words)) if isinstance(space, EuclideanSpace) and len(space) > words else space


def _contender(given: str, space: str, opened: dict[str, Space], words: int, engine: str) -> Contender:
    """Read NAME[:OPTION=VALUE,…][@SPACE]."""
    from wordveil.lab.experiments.comparison import entrant
    from wordveil.spaces import load_space

    told, _, where = given.partition("@")
    name, _, options = told.partition(":")
    where = where or space
    if where not in opened:
        opened[where] = _first(load_space(where), words)
    chosen = parse_options([one for one in options.split(",") if one])
    return entrant(given, name, chosen, opened[where], engine)


def _show(found: Frontier) -> None:
    from rich.markup import escape

    from wordveil.lab.experiments.comparison import WHO

    console = stdout()
    tasks = list(found.bounds)
    headings = ("mechanism", "ε", "guess right", "words kept", "near loss", "as it stands", "mean share", *tasks)
    for prior in dict.fromkeys(point.prior for point in found.points):
        for level in dict.fromkeys(point.level for point in found.points):
            title = f"The best guess is right {100 * level:g}% of the time (attacker {WHO[prior]})"
            points = [point for point in found.points if point.prior == prior and point.level == level]
            best_first = sorted(points, key=lambda one: -(one.mean_share or -1.0))
            print_table(title, headings, [[escape(point.label), *_cells(point, tasks)] for point in best_first])
        console.print(f"Always guessing the likeliest word is right {100 * found.floors[prior]:.1f}% of the time.")
    for name, (random, clean) in found.bounds.items():
        console.print(f"{escape(name)}: random words {random.value:.3f}, clean text {clean.value:.3f}.")


def _cells(point: Point, tasks: list[str]) -> list[str]:
    if point.epsilon is None or point.attacker is None:
        return ["not reached", *["-"] * (5 + len(tasks))]
    from wordveil.lab.experiments.run import shown
    from wordveil.lab.tasks import AS_IT_STANDS

    return [
        f"{point.epsilon:.3g}",
        f"{100 * point.attacker.value:.1f}%",
        f"{100 * (point.kept or 0.0):.1f}%",
        point.near_loss_text or "none",
        f"{point.mean_read(AS_IT_STANDS):.2f}",
        f"{point.mean_share:.2f}",
        *(shown(point.shares[name]) for name in tasks),
    ]
