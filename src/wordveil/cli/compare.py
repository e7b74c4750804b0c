"""``wordveil compare``: mechanisms at the same success of the attacker."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from wordveil.cli.checks import Overwrite, check_writable, pictures_of, refuse_given
from wordveil.cli.options import Compared, Format, Json, Quiet, parse_options, print_facts, print_table, stdout
from wordveil.cli.progress import ProgressBar
from wordveil.errors import InputError, OptionError
from wordveil.extras import needs

if TYPE_CHECKING:
    from wordveil.lab.experiments.comparison import Contender, Frontier, Point
    from wordveil.lab.tasks import Outcome
    from wordveil.spaces import Space

_QUICK_EXAMPLES, _QUICK_DRAWS = 1500, 30_000
_A_FEW = ("graph", "graph:k=3,first=1", "ring", "exponential", "laplace")  # one of each kind, measured in minutes
_VEILINGS, _ROWS = 5, 2000
_LOOKED_FOR, _CANDIDATES = 1500, 8192  # how many words the attacker guesses at each ε, and from how many
_MINUTES_EACH = 1.0  # for one mechanism at one level


def compare(
    source: Annotated[
        Path | None,
        Argument(metavar="FILE", help="A table of your own, with texts and labels, in place of --data."),
    ] = None,
    *,
    column: Annotated[str | None, Option("--column", "-c", help="The column of FILE that holds the texts.")] = None,
    label: Annotated[
        str | None, Option(metavar="COLUMN", help="The column of labels that analysts want to predict from the texts.")
    ] = None,
    author: Annotated[
        str | None,
        Option(metavar="COLUMN", help="The column of authors: no author is then in both training and test."),
    ] = None,
    rows: Annotated[
        int | None,
        Option(
            min=50, help="How many random records to use at most: of FILE (2,000 if not given) or of each data set."
        ),
    ] = None,
    format_name: Format = None,
    encoding: Annotated[str, Option(help="The encoding of FILE, such as cp1252 (Excel) or utf-16.")] = "utf-8",
    data: Annotated[Path | None, Option(metavar="FOLDER", help="The folder of data sets.")] = None,
    mechanism: Annotated[
        list[str] | None,
        Option(
            "--mechanism",
            "-m",
            metavar="NAME[:OPTION=VALUE,…][@SPACE]",
            help="A mechanism, such as graph:k=5; may be repeated. all means every mechanism that suits the space, and "
            "is the default with --data. The default with FILE is a few.",
        ),
    ] = None,
    task: Annotated[
        list[str] | None, Option("--task", "-t", help="A task; may be repeated. Default: trec6, mr and cr.")
    ] = None,
    level: Annotated[
        list[float] | None,
        Option(
            metavar="P",
            help="A success rate of the attacker; may be repeated. Default: .05 .1 .25 .4, with FILE .25 only.",
        ),
    ] = None,
    prior: Annotated[
        str, Option(help="What an attacker of one word at a time knows about word frequencies: text, uniform or both.")
    ] = "text",
    compared: Compared = Compared(attacker=""),
    space: Annotated[str, Option("--space", "-s", help="The space of mechanisms that do not name one.")] = "glove-50k",
    words: Annotated[
        int, Option(min=10, help="How many of the most frequent words to use; fewer are faster.")
    ] = 20_000,
    select: Annotated[
        str | None, Option(help="Which words are veiled: all, or content words (the default with FILE).")
    ] = None,
    repeats: Annotated[
        int | None, Option(min=1, help="How often to repeat each task; 2 if not given, and 5 with FILE (the least).")
    ] = None,
    draws: Annotated[
        int | None,
        Option(
            min=1000,
            help="Draws from which the attacker learns probabilities that are not known; 150,000 if not given, and "
            "30,000 with FILE or --quick.",
        ),
    ] = None,
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

    For each mechanism, this prints the ε, the near loss (how well similar words can be told apart) and how useful the
    texts still are to an analyst who reads them through the mechanism's law, as a share of the way from random words to
    clean text, with 95% intervals. Texts are veiled in training and in testing. With FILE, the texts and labels are
    your own and the attacker is the strongest available, which takes a minute or two for each mechanism and level. With
    --data, they are public data sets.

    Examples:

      wordveil compare tickets.csv --column text --label intent --author customer

      wordveil compare tickets.csv --column text --label intent -m graph -m laplace --figure frontier.png --json

      wordveil compare --data FOLDER --quick

      wordveil compare --data FOLDER -m graph -m graph:k=3 -m laplace --level 0.25 --figure frontier.png

      wordveil compare --data FOLDER -m graph -m ring --task subj --task mpqa --prior both

      wordveil compare --data FOLDER --prior both --workers 2 --output all.json

      wordveil compare --data FOLDER -m graph -m laplace --attacker context --reader context --select content
    """
    from wordveil._mechanisms.base import needs_vectors
    from wordveil.extras import save
    from wordveil.files import write_whole
    from wordveil.lab.experiments.comparison import WHO, draw_frontier
    from wordveil.lab.experiments.comparison import compare as measure
    from wordveil.lab.tasks import (
        AveragedVectors,
        DataFolder,
        Reading,
        TaskTexts,
        load_task,
        read_labelled,
        readers_up_to,
        share_over_veilings,
    )
    from wordveil.spaces import EuclideanSpace, load_space

    is_own = _check_source(source, data, {"column": column, "label": label, "author": author}, task, quick)
    attackers = _attackers(compared.attacker, prior, is_own=is_own)
    readers, seed = readers_up_to(compared.reader), compared.seed
    drawn = pictures_of(figure, *("",) if len(attackers) == 1 else attackers)
    named = [one.partition("@")[2] for one in mechanism or ()]
    check_writable(output, *drawn, inputs=(source, data, space, *filter(None, named)), overwrite=overwrite)
    compared.check()
    levels, select, repeats, draws = _settings(level, select, repeats, draws, is_own=is_own)
    told: dict[str, Any] = {}
    if source is not None and column is not None and label is not None:
        needs("sklearn", "tasks", "a score by label")
        own, told["input"] = read_labelled(
            source, column, label, author, rows=rows or _ROWS, seed=seed, format_name=format_name, encoding=encoding
        )
        tasks = [own]
    else:
        if quick:
            rows, draws, repeats = rows or _QUICK_EXAMPLES, min(draws, _QUICK_DRAWS), 1
        loaded = [load_task(name, DataFolder(data or Path())) for name in dict.fromkeys(task or ["trec6", "mr", "cr"])]
        tasks = [one if rows is None else one.limited(rows) for one in loaded]
    opened: dict[str, Space] = {space: _first(load_space(space), words)}
    contenders = _contenders(mechanism, space, opened, words, compared.engine, is_own=is_own)
    has_vectors = isinstance(opened[space], EuclideanSpace)
    reading = needs_vectors("compare", opened[space] if has_vectors else _first(load_space("glove-50k"), words))
    model = AveragedVectors(reading)
    told |= {
        "attacker": attackers[0] if is_own else compared.attacker or "alone",
        "reader": compared.reader,
        "seed": seed,
        "words": words,
        "select": select,
        "repeats": repeats,
        "quick": quick,
    }
    how: dict[str, Any] = {}
    if is_own:
        how = {"share": share_over_veilings, "looked_for": _LOOKED_FOR}
        _check_labels(TaskTexts(tasks, reading, select=select).ends(model, repeats=repeats, seed=seed))
        if not quiet:
            _announce(told["input"], len(contenders) * len(levels), WHO[attackers[0]])

    def keep(so_far: Frontier) -> None:
        if output is not None:
            write_whole(output, json.dumps({**told, **so_far.to_dict()}, indent=2, ensure_ascii=False) + "\n")

    with ProgressBar("comparing", quiet=quiet) as progress:
        found = measure(
            contenders,
            tasks,
            model,
            levels,
            attackers=attackers,
            reading=Reading(readers, candidates=_CANDIDATES),
            repeats=repeats,
            draws=draws,
            seed=seed,
            select=select,
            workers=compared.workers,
            watch=progress.watch,
            keep=keep,
            **how,
        )
    for one, path in zip(attackers, drawn, strict=False):  # without --figure, `drawn` is empty
        save(draw_frontier(found.to_dict(), one), path)
    if as_json:
        print_facts({**told, **found.to_dict()})
    elif is_own:
        _show_own(found, compared.reader, told["input"]["authors"], repeats)
    else:
        _show(found)


def _check_source(
    source: Path | None, data: Path | None, columns: dict[str, str | None], task: list[str] | None, quick: bool
) -> bool:
    """Return whether the texts are the user's own. Refuse options that do not go together."""
    if (source is None) == (data is None):
        raise OptionError("give a FILE of your own, or --data and a folder of data sets.")
    if source is None:
        for name, value in columns.items():
            if value is not None:
                raise OptionError(f"--{name} is for a FILE of your own.")
        refuse_given("is for a FILE of your own", "format_name", "encoding")
        return False
    if columns["column"] is None or columns["label"] is None:
        raise OptionError("give the --column of the texts and the --label that analysts want to tell from them.")
    if task or quick:
        raise OptionError("--task and --quick are for --data; --rows says how many records of a FILE to use.")
    return True


def _settings(
    level: list[float] | None, select: str | None, repeats: int | None, draws: int | None, *, is_own: bool
) -> tuple[list[float], str, int, int]:
    """Return the levels, the selection, the number of repeats, and the number of draws to learn from."""
    levels = sorted(set(level or ([0.25] if is_own else [0.05, 0.1, 0.25, 0.4])))
    if not all(0.0 < one < 1.0 for one in levels):
        raise OptionError("a --level is a probability between 0 and 1, such as 0.25.")
    select = select or ("content" if is_own else "all")
    if select not in ("all", "content"):
        raise OptionError("--select must be all or content here.")
    repeats = repeats or (_VEILINGS if is_own else 2)
    if is_own and repeats < _VEILINGS:
        raise OptionError(
            f"--repeats must be {_VEILINGS} or more: fewer veilings say little about how much they differ."
        )
    return levels, select, repeats, draws or (_QUICK_DRAWS if is_own else 150_000)


def _check_labels(ends: tuple[list[Outcome], list[Outcome]]) -> None:
    """Refuse labels that cannot be predicted: with no gap between random words and clean text, shares mean nothing."""
    (random,), (clean,) = ends
    if clean.score <= random.score:
        raise InputError("the labels cannot be predicted from the clean texts, so there is nothing to compare.")


def _attackers(attacker: str, prior: str, *, is_own: bool) -> tuple[str, ...]:
    """Return the attackers at whose success mechanisms are compared."""
    from wordveil.lab.experiments.attacker import PRIORS
    from wordveil.lab.experiments.comparison import SENTENCES
    from wordveil.lab.experiments.run import ATTACKERS

    if prior not in (*PRIORS, "both"):
        raise OptionError("--prior must be text, uniform or both.")
    strongest = ("shipped" if find_spec("torch") else SENTENCES) if is_own else "alone"
    attacker = attacker or ("alone" if prior != "text" else strongest)
    known = (*ATTACKERS, "shipped", SENTENCES) if is_own else ATTACKERS
    if attacker not in known:
        raise OptionError(f"--attacker must be {', '.join(known[:-1])} or {known[-1]}.")
    if attacker == "alone":
        return PRIORS if prior == "both" else (prior,)
    if prior != "text":
        raise OptionError(f"--prior is for an attacker of one word at a time: leave it out with --attacker {attacker}.")
    if attacker != SENTENCES:
        needs("torch", "gpu", "an attacker who reads in context")
    return (attacker,)


def _announce(found: dict[str, int], measured: int, who: str) -> None:
    """Say what will be done, what was left out, and how long it takes."""
    left = [f"{found[name]:,} {what}" for name, what in (
        ("empty", "without a text or label"), ("rare_labels", "of rare labels")) if found[name]]  # fmt: skip
    without = f" (left out: {', '.join(left)})" if left else ""
    authors = f" by {found['authors']:,} authors" if found["authors"] else ""
    typer.echo(
        f"wordveil: {found['texts']:,} texts{authors} with {found['labels']} labels"
        f"{without}; the attacker {who}. {measured} measurement{'s' if measured > 1 else ''}, about "
        f"{measured * _MINUTES_EACH:g} to {2 * measured * _MINUTES_EACH:g} minutes on two cores.",
        err=True,
    )


def _first(space: Space, words: int) -> Space:
    import numpy as np

    from wordveil.spaces import EuclideanSpace

    return space.restrict(np.arange(words)) if isinstance(space, EuclideanSpace) and len(space) > words else space


def _contenders(
    mechanism: list[str] | None, space: str, opened: dict[str, Space], words: int, engine: str, *, is_own: bool
) -> list[Contender]:
    """Return the contenders: those asked for, all that suit the space, or a few of them."""
    from wordveil.lab.experiments.comparison import everyone

    if mechanism == ["all"] or not (mechanism or is_own):
        return everyone(opened[space], engine)
    found = [_contender(given, space, opened, words, engine) for given in mechanism or _A_FEW]
    return found if mechanism else [one for one in found if one.suits]


def _contender(given: str, space: str, opened: dict[str, Space], words: int, engine: str) -> Contender:
    """Parse NAME[:OPTION=VALUE,…][@SPACE]."""
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


def _show_own(found: Frontier, reader: str, authors: int, repeats: int) -> None:
    """Print a table for each level, and what its figures mean."""
    from rich.markup import escape

    from wordveil.lab.experiments.comparison import WHO
    from wordveil.lab.experiments.run import shown
    from wordveil.lab.tasks import AS_IT_STANDS

    (name,) = found.bounds
    random, clean = found.bounds[name]
    headings = ("mechanism", "ε", "guess right", "near loss", "words/s", AS_IT_STANDS, f"read ({reader})", "accuracy")
    for prior, level in dict.fromkeys((point.prior, point.level) for point in found.points):
        points = [point for point in found.points if (point.prior, point.level) == (prior, level)]
        rows = []
        for point in sorted(points, key=lambda one: -(one.mean_share or -1.0)):
            if point.epsilon is None or point.attacker is None or point.speed is None:
                rows.append([escape(point.label), "not reached", *["-"] * 6])
                continue
            rows.append([
                escape(point.label), f"{point.epsilon:.3g}", f"{100 * point.attacker.value:.1f}%",
                point.near_loss_text or "none", f"{float(f'{point.speed:.2g}'):,.0f}",
                shown(point.read[AS_IT_STANDS][name]), shown(point.shares[name]),
                f"{100 * point.scores[name].value:.1f}%",
            ])  # fmt: skip
        print_table(f"The best guess is right {100 * level:g}% of the time (attacker {WHO[prior]})", headings, rows)
    over = f"{authors} authors" if authors else f"{repeats} veilings"
    stdout().print(
        f"Shares are of the way from random words ({100 * random.value:.1f}% right) to clean text "
        f"({100 * clean.value:.1f}%), with 95% intervals (Student's t) over {over}.",
        markup=False,
    )


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
