"""``wordveil privatize``: veils files, folders and streams."""

from __future__ import annotations

import json
import math
import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, NamedTuple

import typer
from typer import Argument, Option

from wordveil.cli import options
from wordveil.cli.files import check_no_input, check_writable
from wordveil.cli.options import build_mechanism, check_epsilon, parse_options
from wordveil.cli.progress import ProgressBar
from wordveil.errors import FileError, InputError, OptionError, UnprovenError

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism
    from wordveil.io import FileJob, Plan, Reading, StreamJob, Tally, Veils
    from wordveil.text import RareWords, Veil

__all__ = ["privatize"]

_STREAM = "-"
_BROKEN_PIPE = 141  # what a shell makes of SIGPIPE


def privatize(
    source: Annotated[
        str | None, Argument(metavar="INPUT", help="A file, a folder of files, or - for standard input (the default).")
    ] = None,
    *,
    output: Annotated[
        str | None, Option("--output", "-o", metavar="OUT", help="A file or folder; standard output by default.")
    ] = None,
    epsilon: options.Epsilon = None,
    mechanism: options.MechanismName = "graph",
    space: options.SpaceName = "glove-50k",
    normalise: options.Normalise = False,
    option: options.Options = None,
    column: Annotated[
        list[str] | None,
        Option("--column", "-c", help="A column or key to veil (a.b for a nested key); may be repeated."),
    ] = None,
    format_name: Annotated[
        str | None,
        Option("--format", "-f", help="text, csv, tsv, jsonl or parquet; by default, as the file extension says."),
    ] = None,
    select: Annotated[
        str | None,
        Option(
            help="Which words to veil: content (all but function words, the default), all, spans, marked "
            "(\\[\\[like this]]), words (a list), or rare (words that are unlikely in their context)."
        ),
    ] = None,
    words: Annotated[Path | None, Option(help="For --select words: a file with one word per line.")] = None,
    spans: Annotated[
        str | None, Option(metavar="KEY", help="For --select spans: the JSON key with \\[\\[start, end], ...].")
    ] = None,
    rare_below: Annotated[
        float | None,
        Option(help="For --select rare: veil words that are less likely than this in their context \\[default: 0.01]."),
    ] = None,
    tree_epsilon: Annotated[
        float | None,
        Option(help="For --select rare: the ε spent on each record to learn what is likely \\[default: 1]."),
    ] = None,
    tree_height: Annotated[
        int | None, Option(min=1, help="For --select rare: longest phrase to learn, in words \\[default: 3].")
    ] = None,
    tree_words: Annotated[
        int | None, Option(min=1, help="For --select rare: words of each record to learn from \\[default: 20].")
    ] = None,
    oov: Annotated[
        str, Option(help="What to do with words outside the vocabulary: replace, drop, or keep (no guarantee).")
    ] = "replace",
    case: Annotated[
        str, Option(help="Capital letters: sentence (by position), lower, or copy (reveals them).")
    ] = "sentence",
    seed: options.Seed = None,
    unproven: Annotated[
        bool, Option("--unproven", help="Allow a mechanism that does not protect every word, for experiments.")
    ] = False,
    report: Annotated[
        str | None, Option(metavar="FILE", help="Write the privacy report as JSON; - for standard output.")
    ] = None,
    resume: Annotated[bool, Option("--resume", help="Continue a job that was stopped, if there is one.")] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace existing output, finished or not.")] = False,
    encoding_errors: Annotated[
        str, Option(help="Bytes that are not UTF-8: strict (refuse) or replace (by U+FFFD).")
    ] = "strict",
    batch_words: Annotated[
        int, Option(min=1, help="About how many words to process at a time; a crash loses no more than that.")
    ] = 1 << 18,
    workers: Annotated[
        int, Option("--workers", "-j", min=1, help="How many processes to use; the records keep their order.")
    ] = 1,
    engine: Annotated[
        str,
        Option(
            help="local, gpu (CUDA; for mechanisms that add noise) or spark (the output is a folder of Parquet files)."
        ),
    ] = "local",
    index: Annotated[
        str,
        Option(help="How the nearest word is found: exact, or approximate (FAISS; right at least 99 times in 100)."),
    ] = "exact",
    quiet: Annotated[
        bool, Option("--quiet", "-q", help="Show no progress and no summary; warnings are still shown.")
    ] = False,
) -> None:
    """Veil a text, a table or a folder of them; whatever is not replaced stays as it is.

    The output appears under its name once it is complete. A job that was stopped continues with --resume.

    Examples:

      echo "The committee met in Paris." | wordveil privatize --epsilon 4

      wordveil privatize letters.txt -o veiled.txt --epsilon 4 --report report.json

      wordveil privatize survey.csv -o veiled.csv --epsilon 4 --column answer --column remarks

      wordveil privatize exports/ -o veiled/ --epsilon 4 --column text --resume

      wordveil privatize tickets.csv -o veiled.csv --epsilon 4 --column text --select rare --tree-epsilon 1
    """
    check_epsilon(epsilon)
    select = _selection(select, spans)
    common = _common_options(select, rare_below, tree_epsilon, tree_height, tree_words)
    if encoding_errors not in ("strict", "replace"):
        raise OptionError(f"unknown --encoding-errors {encoding_errors!r}; choose strict or replace.")
    if source is None and sys.stdin and sys.stdin.isatty():
        raise OptionError("give an input file, or pipe text into the command (- reads what you type).")
    _check_engine(engine, index, workers)
    if engine == "spark":
        refused = {
            "--spans": spans, "--words": words, "--normalise": normalise, "--seed": seed is not None,
            "--report": report, "--resume": resume, "--overwrite": overwrite, "--workers": workers > 1,
            "--select rare": common,
        }  # fmt: skip
        for name, is_given in refused.items():
            if is_given:
                raise OptionError(f"{name} cannot be used with --engine spark.")
        _on_spark(
            source, output, column, format_name, epsilon=check_epsilon(epsilon), mechanism=mechanism, space=space,
            options=parse_options(option), select=select, oov=oov, case=case, unproven=unproven,
        )  # fmt: skip
        return
    from wordveil.io import Reading, Veils, job_report, make_plan, missing_promise
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
        if made.shortfall and not unproven:  # before the input is read; Veil would refuse it too
            raise UnprovenError(f"{made.shortfall} Add --unproven to use {mechanism} all the same.")
        rare = None if common is None else _learn_rare_words(job, plan, made, common, seed, quiet=quiet)

        def veil(seed: int | None) -> Veil:
            return Veil(made, select=select, words=listed, rare=rare, oov=oov, case=case, seed=seed, unproven=unproven)

        veils = Veils(veil, seed)
        missing = missing_promise(veils.whole)
        if missing:
            _warn(missing)
        tally = _run(job, veils, plan, workers=workers, quiet=quiet)
        facts = job_report(veils.whole, plan, reading, tally)
        if report is not None:
            _write_report(facts, report)
        job.forget()
    if report is None and not quiet:
        _summarise(facts, tally, warned=bool(missing))


def _warn(sentence: str) -> None:
    """Say what is not promised, whatever other options are given."""
    typer.echo(f"wordveil: warning: {sentence}", err=True)


def _check_engine(engine: str, index: str, workers: int) -> None:
    if engine not in ("local", "gpu", "spark"):
        raise OptionError(f"unknown --engine {engine!r}; choose local, gpu or spark.")
    if index not in ("exact", "approximate"):
        raise OptionError(f"unknown --index {index!r}; choose exact or approximate.")
    if index == "approximate" and engine != "local":
        raise OptionError(f"--index approximate cannot be used with --engine {engine}.")
    if workers > 1 and (index == "approximate" or engine == "gpu"):
        other = "--engine gpu" if engine == "gpu" else "--index approximate"
        raise OptionError(f"--workers cannot be used with {other}, which runs in one process.")
    if engine == "gpu":
        from wordveil.engines import check_engine

        check_engine(engine)


def _on_spark(
    source: str | None, output: str | None, columns: list[str] | None, format_name: str | None, **how: Any
) -> None:
    if source in (None, _STREAM) or output in (None, _STREAM):
        raise OptionError("--engine spark reads a file or folder and writes a folder; give INPUT and -o FOLDER.")
    from wordveil.io import format_named, format_of
    from wordveil.spark import privatize_files

    form = format_named(format_name) if format_name else format_of(Path(str(source)))
    if form is None:
        raise OptionError("--format is required with --engine spark unless INPUT is a file with a known extension.")
    privatize_files(str(source), str(output), columns or [], form.name, tell=_warn, **how)


def _selection(select: str | None, spans: str | None) -> str:
    if spans is not None and select not in (None, "spans"):
        raise OptionError("--spans can only be used with --select spans.")
    if spans is None and select == "spans":
        raise OptionError("--select spans needs --spans KEY, the JSON key that holds [[start, end], ...].")
    if select is None:
        return "content" if spans is None else "spans"
    return select


class _Common(NamedTuple):
    """How to learn which words are common, and below which likelihood a word is rare."""

    epsilon: float
    longest: int
    words: int
    below: float


def _common_options(
    select: str, below: float | None, epsilon: float | None, height: int | None, words: int | None
) -> _Common | None:
    """Return the options of ``--select rare``, or None for another selection, with which none of them may be given."""
    if select != "rare":
        given = {"--rare-below": below, "--tree-epsilon": epsilon, "--tree-height": height, "--tree-words": words}
        for name, value in given.items():
            if value is not None:
                raise OptionError(f"{name} can only be used with --select rare.")
        return None
    common = _Common(1.0 if epsilon is None else epsilon, height or 3, words or 20, 0.01 if below is None else below)
    if not (common.epsilon > 0.0 and math.isfinite(common.epsilon)):
        raise OptionError("--tree-epsilon must be a finite number above 0.")
    if not 0.0 < common.below <= 1.0:
        raise OptionError("--rare-below must be above 0 and at most 1.")
    return common


def _learn_rare_words(
    job: FileJob | StreamJob, plan: Plan, made: Mechanism[Any], common: _Common, seed: int | None, *, quiet: bool
) -> RareWords:
    """Learn from the whole input of a job which words are common, and return what finds the others."""
    from wordveil.io import learn_common_words
    from wordveil.noise import Entropy
    from wordveil.text import NgramTree, RareWords

    if any(piece.is_stream for piece in plan.pieces):
        raise OptionError(
            "--select rare reads its input twice, first to learn which words are common; give a file, not a stream."
        )
    tree = NgramTree(made.space.vocabulary, epsilon=common.epsilon, longest=common.longest, words=common.words)
    with ProgressBar("learning", plan.size, quiet=quiet) as bar:
        return RareWords(learn_common_words(job, tree, Entropy(seed), bar.move), below=common.below)


def _words(path: Path) -> list[str]:
    from wordveil.files import file_errors

    with file_errors("read", path):
        content = path.read_bytes()
    try:
        return [word for line in content.decode("utf-8-sig").splitlines() if (word := line.strip())]
    except UnicodeDecodeError:
        pass
    raise InputError(f"{path} is not UTF-8 text.")


def _job(
    plan: Plan, reading: Reading, output: str | None, stack: ExitStack, *, named: bool, again: tuple[bool, bool]
) -> FileJob | StreamJob:
    from wordveil.files import file_errors
    from wordveil.io import Destination, FileJob, StreamJob, format_of

    resume, overwrite = again
    target = None if output in (None, _STREAM) else Path(str(output))
    with file_errors("write", target or "standard output"):
        is_stream = target is None or not (target.is_file() or target.is_dir() or not target.exists())
    if target is not None and not is_stream:
        meant, form = format_of(target), plan.pieces[0].format
        if plan.folder is None and not named and meant not in (None, form):
            raise OptionError(
                f"the input is {form.name}, but {target} has the extension of another format, and formats are not "
                "converted; give another name, or say --format."
            )
        return FileJob(plan, reading, Destination.of(target, plan), resume=resume, overwrite=overwrite)
    if resume:
        raise OptionError("output to a stream cannot be resumed; leave out --resume, or give -o FILE.")
    if target is None:
        if sys.stdout is None:
            raise FileError("standard output is closed; give an output file with -o.")
        return StreamJob(plan, reading, sys.stdout.buffer)
    with file_errors("write", target):
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
            raise OptionError("standard output takes the text; give --report the name of a file.")
        if sys.stdout is None:
            raise FileError("standard output is closed; give --report the name of a file.")
        return
    path = Path(report)
    if output is not None and path.resolve() == Path(output).resolve():
        raise OptionError("--report and --output need different names.")
    check_writable(path, inputs=[piece.source for piece in plan.pieces], overwrite=replace)


def _run(job: FileJob | StreamJob, veils: Veils, plan: Plan, *, workers: int, quiet: bool) -> Tally:
    try:
        with ProgressBar("veiling", plan.size, quiet=quiet) as bar:

            def watch(tally: Tally, done: int) -> None:
                bar.move(done, f"{tally.counts.words:,} words, {tally.words_per_second:,.0f} a second")

            return job.run(veils, watch, workers)
    except BrokenPipeError:
        # Nobody reads the output any more. What is still in the buffer must go somewhere at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(_BROKEN_PIPE) from None
    except KeyboardInterrupt:
        if job.kept:
            typer.echo(f"wordveil: what was done is kept in {job.kept}; continue with --resume.", err=True)
        raise


def _write_report(facts: dict[str, Any], report: str) -> None:
    from wordveil.files import write_whole

    # A file name may not be UTF-8; JSON can still say it, as an escape.
    text = json.dumps(facts, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace").decode() + "\n"
    if report == _STREAM:
        sys.stdout.write(text)
    else:
        write_whole(Path(report), text, mode=0o600)  # it has exact counts: for the owner


def _summarise(facts: dict[str, Any], tally: Tally, *, warned: bool) -> None:
    counts, records = tally.counts, f"{tally.records:,} record{'' if tally.records == 1 else 's'}"
    typer.echo(
        f"wordveil: veiled {counts.veiled:,} of {counts.words:,} words in {records} "
        f"in {tally.seconds:.1f} s ({tally.words_per_second:,.0f} words a second).",
        err=True,
    )
    skipped = len(facts["job"]["skipped_files"])
    if skipped:
        typer.echo(
            f"wordveil: skipped {skipped:,} of the folder's files, which are empty, in another format, or links to "
            "folders; --report FILE names them.",
            err=True,
        )
    if not warned:
        choice = [facts["rare"]["promise"]] if "rare" in facts else []
        told = " ".join([facts["guarantee"]["sentence"], *choice, *facts["not_protected"][1 : 1 + len(choice)]])
        typer.echo(f"wordveil: {told} Use --report FILE for details.", err=True)
