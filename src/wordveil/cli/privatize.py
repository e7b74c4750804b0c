"""``wordveil privatize``: veils files, folders and streams."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from wordveil.cli.files import check_no_input
from wordveil.cli.options import (
    Epsilon,
    MechanismName,
    Normalise,
    Options,
    Seed,
    SpaceName,
    build_mechanism,
    check_epsilon,
    parse_options,
)
from wordveil.cli.progress import ProgressBar
from wordveil.cli.rare_words import (
    RareBelow,
    TreeEpsilon,
    TreeHeight,
    TreeWords,
    common_options,
    learn_rare_words,
)
from wordveil.errors import WordveilError

if TYPE_CHECKING:
    from wordveil.io import FileJob, Plan, Reading, StreamJob, Tally, Veils
    from wordveil.text import Veil

__all__ = ["register"]

_STREAM = "-"
_BROKEN_PIPE = 141  # what a shell makes of SIGPIPE


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("privatize")(privatize)


def privatize(
    source: Annotated[
        str | None,
        typer.Argument(metavar="INPUT", help="A file, a folder of files, or - for standard input (the default)."),
    ] = None,
    *,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="A file or folder; standard output if not given."),
    ] = None,
    epsilon: Epsilon = None,
    mechanism: MechanismName = "graph",
    space: SpaceName = "glove-50k",
    normalise: Normalise = False,
    option: Options = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help="A column or key to veil (a.b for a key in an object); may be repeated."),
    ] = None,
    format_name: Annotated[
        str | None,
        typer.Option("--format", "-f", help="text, csv, tsv, jsonl or parquet, where the extension does not say."),
    ] = None,
    select: Annotated[
        str | None,
        typer.Option(
            "--select",
            help="Which words to veil: content (default), all, spans, marked (\\[\\[so]]), words, or rare: those that "
            "are unlikely where they stand, by what the whole input says.",
        ),
    ] = None,
    words: Annotated[
        Path | None, typer.Option("--words", help="For --select words: a file with a word on each line.")
    ] = None,
    spans: Annotated[
        str | None,
        typer.Option("--spans", metavar="KEY", help="For --select spans: the JSON key with \\[\\[start, end], ...]."),
    ] = None,
    rare_below: RareBelow = None,
    tree_epsilon: TreeEpsilon = None,
    tree_height: TreeHeight = None,
    tree_words: TreeWords = None,
    oov: Annotated[
        str,
        typer.Option("--oov", help="What becomes of unknown words: replace, drop, or keep (no guarantee)."),
    ] = "replace",
    case: Annotated[
        str, typer.Option("--case", help="Capitals: sentence (by position), lower, or copy (reveals them).")
    ] = "sentence",
    seed: Seed = None,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="Write the privacy report as JSON; - is standard output."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the job that was stopped, if there is one.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an output file, or what a stopped job has left.")
    ] = False,
    encoding_errors: Annotated[
        str,
        typer.Option("--encoding-errors", help="Bytes that are not UTF-8: strict refuses, replace puts U+FFFD."),
    ] = "strict",
    batch_words: Annotated[
        int,
        typer.Option(
            "--batch-words",
            min=1,
            help="About how many words to hold at once, and to redo at most after a crash.",
        ),
    ] = 1 << 18,
    workers: Annotated[
        int, typer.Option("--workers", "-j", min=1, help="How many processes veil; the order of records is kept.")
    ] = 1,
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            help="local; gpu (CUDA), for mechanisms that add noise; or spark: the output is a folder of Parquet files.",
        ),
    ] = "local",
    index: Annotated[
        str,
        typer.Option(
            "--index",
            help="How the nearest word is searched: exact, or approximate (FAISS) if that finds it 99 times in 100.",
        ),
    ] = "exact",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Veil a text, a table or a folder of them; everything that is not replaced survives as it is.

    The output appears under its name when it is whole. A job that was stopped goes on with --resume.

    Examples:

      echo "The committee met in Paris." | wordveil privatize --epsilon 6

      wordveil privatize letters.txt -o veiled.txt --epsilon 6 --report report.json

      wordveil privatize survey.csv -o veiled.csv --epsilon 5 --column answer --column remarks

      wordveil privatize exports/ -o veiled/ --epsilon 6 --column text --resume

      wordveil privatize tickets.csv -o veiled.csv --epsilon 6 --column text --select rare --tree-epsilon 1
    """
    check_epsilon(epsilon)
    select = _selection(select, spans)
    common = common_options(select, rare_below, tree_epsilon, tree_height, tree_words)
    if encoding_errors not in ("strict", "replace"):
        raise WordveilError(f"there is no --encoding-errors {encoding_errors!r}; choose strict or replace.")
    if source is None and sys.stdin and sys.stdin.isatty():
        raise WordveilError("give an input file, or pipe text into the command (- reads what you type).")
    _check_engine(engine, index, workers)
    if engine == "spark":
        refused = {
            "--spans": spans, "--words": words, "--normalise": normalise, "--seed": seed is not None,
            "--report": report, "--resume": resume, "--overwrite": overwrite, "--workers": workers > 1,
            "--select rare": common,
        }  # fmt: skip
        for name, is_given in refused.items():
            if is_given:
                raise WordveilError(f"{name} does not go with --engine spark.")
        _on_spark(source, output, column, format_name, epsilon, mechanism, space, option, (select, oov, case))
        return
    from wordveil.io import Reading, Veils, job_report, make_plan
    from wordveil.text import Veil

    plan = make_plan(None if source in (None, _STREAM) else Path(str(source)), format_name)
    reading = Reading(tuple(dict.fromkeys(column or ())), spans, encoding_errors, batch_words)
    for written in (output, report):
        if written not in (None, _STREAM):
            check_no_input(Path(str(written)), (space, words))
    listed = None if words is None else _words(words)
    with ExitStack() as stack:
        job = _job(plan, reading, output, stack, named=format_name is not None, again=(resume, overwrite))
        job.check()
        _check_report(report, plan, output, replace=resume or overwrite)
        made = build_mechanism(mechanism, epsilon, space, normalise, option, engine=engine, index=index)
        rare = None if common is None else learn_rare_words(job, plan, made, common, seed, quiet=quiet)

        def veil(seed: int | None) -> Veil:
            return Veil(made, select=select, words=listed, rare=rare, oov=oov, case=case, seed=seed)

        veils = Veils(veil, seed)
        tally = _run(job, veils, plan, workers=workers, quiet=quiet)
        facts = job_report(veils.whole, plan, reading, tally)
        if report is not None:
            _write_report(facts, report)
        job.forget()
    if report is None and not quiet:
        _summarise(facts, tally)


def _check_engine(engine: str, index: str, workers: int) -> None:
    if engine not in ("local", "gpu", "spark"):
        raise WordveilError(f"there is no --engine {engine!r}; choose local, gpu or spark.")
    if index not in ("exact", "approximate"):
        raise WordveilError(f"there is no --index {index!r}; choose exact or approximate.")
    if index == "approximate" and engine != "local":
        raise WordveilError(f"--index approximate does not go with --engine {engine}.")
    if index == "approximate" and workers > 1:
        raise WordveilError("--workers does not go with --index approximate, whose own threads do not survive it.")
    if engine == "gpu":
        from wordveil.engines import check_engine

        if workers > 1:
            raise WordveilError("--workers does not go with --engine gpu: the device does the work.")
        check_engine(engine)


def _on_spark(
    source: str | None,
    output: str | None,
    columns: list[str] | None,
    format_name: str | None,
    epsilon: float | None,
    mechanism: str,
    space: str,
    option: list[str] | None,
    how: tuple[str, str, str],
) -> None:
    if source in (None, _STREAM) or output in (None, _STREAM):
        raise WordveilError("--engine spark reads a file or folder and writes a folder: give INPUT and -o FOLDER.")
    from wordveil.io.formats import format_named, format_of
    from wordveil.spark import privatize_files

    form = format_named(format_name) if format_name else format_of(Path(str(source)))
    if form is None:
        raise WordveilError("say --format: Spark does not tell it from the files.")
    select, oov, case = how
    privatize_files(
        str(source), str(output), columns or [], form.name, epsilon=check_epsilon(epsilon), mechanism=mechanism,
        space=space, options=parse_options(option), select=select, oov=oov, case=case,
    )  # fmt: skip


def _selection(select: str | None, spans: str | None) -> str:
    if spans is not None and select not in (None, "spans"):
        raise WordveilError("--spans goes with --select spans.")
    if spans is None and select == "spans":
        raise WordveilError("--select spans needs --spans KEY, the JSON key that holds [[start, end], ...].")
    if select is None:
        return "content" if spans is None else "spans"
    return select


def _words(path: Path) -> list[str]:
    from wordveil.io.failures import told

    with told("read", path):
        content = path.read_bytes()
    try:
        return [word for line in content.decode("utf-8-sig").splitlines() if (word := line.strip())]
    except UnicodeDecodeError:
        pass
    raise WordveilError(f"{path} is not UTF-8 text.")


def _job(
    plan: Plan,
    reading: Reading,
    output: str | None,
    stack: ExitStack,
    *,
    named: bool,
    again: tuple[bool, bool],
) -> FileJob | StreamJob:
    from wordveil.io import Destination, FileJob, StreamJob, format_of
    from wordveil.io.failures import told

    resume, overwrite = again
    target = None if output in (None, _STREAM) else Path(str(output))
    with told("write", target or "standard output"):
        is_stream = target is None or not (target.is_file() or target.is_dir() or not target.exists())
    if target is not None and not is_stream:
        meant, form = format_of(target), plan.pieces[0].format
        if plan.folder is None and not named and meant not in (None, form):
            raise WordveilError(
                f"the input is {form.name}, but {target} ends like another format, and none is converted: "
                "give another name, or say --format."
            )
        return FileJob(plan, reading, Destination.of(target, plan), resume=resume, overwrite=overwrite)
    if resume:
        raise WordveilError("what was written to a stream cannot be resumed: leave out --resume, or give -o FILE.")
    if target is None:
        if sys.stdout is None:
            raise WordveilError("standard output is closed: give an output file with -o.")
        return StreamJob(plan, reading, sys.stdout.buffer)
    with told("write", target):
        stream = target.open("wb")
    stack.callback(_close, stream)
    return StreamJob(plan, reading, stream)


def _close(stream: BinaryIO) -> None:
    with suppress(OSError):  # what could not be written was told
        stream.close()


def _check_report(report: str | None, plan: Plan, output: str | None, *, replace: bool) -> None:
    if report is None:
        return
    if report == _STREAM:
        if output in (None, _STREAM):
            raise WordveilError("standard output takes the text: give --report a file.")
        if sys.stdout is None:
            raise WordveilError("standard output is closed: give --report a file.")
        return
    path = Path(report)
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise WordveilError(f"cannot write the report {path}: it is a folder, or lies in one that is not there.")
    check_no_input(path, [piece.source for piece in plan.pieces])
    if output is not None and path.resolve() == Path(output).resolve():
        raise WordveilError("the report and the output need different names.")
    if path.is_file() and not replace:
        raise WordveilError(f"the report {path} is there already; give --overwrite to replace it.")


def _run(job: FileJob | StreamJob, veils: Veils, plan: Plan, *, workers: int, quiet: bool) -> Tally:
    try:
        with ProgressBar(sum(piece.size for piece in plan.pieces), quiet=quiet) as bar:
            return job.run(veils, bar.show, workers)
    except BrokenPipeError:
        # Whoever read the output has gone. What is still in the buffer must go somewhere at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(_BROKEN_PIPE) from None
    except KeyboardInterrupt:
        if job.kept:
            typer.echo(f"wordveil: what was done is kept in {job.kept}; go on with --resume.", err=True)
        raise


def _write_report(facts: dict[str, Any], report: str) -> None:
    from wordveil.io.checkpoint import write_whole

    # A file name may be no UTF-8; JSON can still say it, as an escape.
    text = json.dumps(facts, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace").decode() + "\n"
    if report == _STREAM:
        sys.stdout.write(text)
    else:
        write_whole(Path(report), text, mode=0o600)  # it has exact counts: for the owner


def _summarise(facts: dict[str, Any], tally: Tally) -> None:
    counts = tally.counts
    typer.echo(
        f"wordveil: veiled {counts.veiled:,} of {counts.words:,} words in {tally.records:,} records "
        f"in {tally.seconds:.1f} s ({tally.words_per_second:,.0f} words a second).",
        err=True,
    )
    if facts["job"]["skipped_files"]:
        left_out = len(facts["job"]["skipped_files"])
        typer.echo(
            f"wordveil: left out {left_out:,} of the folder's files: empty, in another format, or a link to a folder. "
            "--report FILE names them.",
            err=True,
        )
    choice = [facts["rare"]["promise"]] if "rare" in facts else []
    told = " ".join([facts["guarantee"]["sentence"], *choice, *facts["not_protected"][1 : 1 + len(choice)]])
    typer.echo(f"wordveil: {told} More with --report FILE.", err=True)
