"""A job of ``wordveil privatize``: what it learns first, where its output goes, how it runs, and what it reports."""

from __future__ import annotations

import gc
import json
import math
import os
import re
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import typer

from wordveil.cli.checks import check_writable
from wordveil.cli.progress import ProgressBar
from wordveil.errors import FileError, InputError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wordveil._mechanisms import Mechanism
    from wordveil.io import FileJob, Plan, Reading, StreamJob, Tally, Veils
    from wordveil.text import RareWords

_PARAMETER = re.compile("`([a-z_]+)`")  # as the library names it
STREAM = "-"  #: the name of standard input and output
_BROKEN_PIPE = 141  # what a shell makes of SIGPIPE

_NO_SENSE = "little of the meaning will survive"


def open_job(
    plan: Plan,
    reading: Reading,
    output: str | None,
    stack: ExitStack,
    *,
    named: bool,
    again: tuple[bool, bool],
    unveiled: bool,
) -> FileJob | StreamJob:
    """Return a job that writes to a file or folder, a remote address or a stream. Refuse options it cannot honour."""
    from wordveil.files import file_errors
    from wordveil.io import Destination, FileJob, StreamJob, format_of, is_remote, written_remotely
    from wordveil.io.streams import packing_of

    resume, overwrite = again
    if output is not None and is_remote(output):
        if resume:
            raise OptionError("remote output cannot be resumed; leave out --resume, or give -o FILE.")
        sources = [piece.source for piece in plan.pieces]
        stream = stack.enter_context(written_remotely(output, sources, overwrite=overwrite))
        return StreamJob(plan, reading, stream, unveiled=unveiled)
    target = None if output in (None, STREAM) else Path(str(output))
    with file_errors("write", target or "standard output"):
        is_stream = target is None or not (target.is_file() or target.is_dir() or not target.exists())
    if target is not None and not is_stream:
        # Look through .gz and .zst, even for formats that cannot be compressed, to find the format that is meant.
        meant, form = format_of(target.with_suffix("") if packing_of(target) else target), plan.pieces[0].format
        if not plan.is_many and not named and meant not in (None, form):
            raise OptionError(
                f"the input is {form.name}, but {target} has the extension of another format, and formats are not "
                "converted; give another name, or say --format."
            )
        return FileJob(
            plan, reading, Destination.of(target, plan), resume=resume, overwrite=overwrite, unveiled=unveiled
        )
    if resume:
        raise OptionError("output to a stream cannot be resumed; leave out --resume, or give -o FILE.")
    if target is None:
        if sys.stdout is None:
            raise FileError("standard output is closed; give an output file with -o.")
        return StreamJob(plan, reading, sys.stdout.buffer, unveiled=unveiled)
    with file_errors("write", target):
        stream = target.open("wb")
    stack.callback(_close, stream)
    return StreamJob(plan, reading, stream, unveiled=unveiled)


def _close(stream: BinaryIO) -> None:
    with suppress(OSError):  # failed writes have been reported
        stream.close()


def check_report(report: str | None, plan: Plan, output: str | None, *, replace: bool) -> None:
    """Refuse, before any work, a report that could not be written."""
    if report is None:
        return
    if report == STREAM:
        if output in (None, STREAM):
            raise OptionError("standard output takes the text; give --report the name of a file.")
        if sys.stdout is None:
            raise FileError("standard output is closed; give --report the name of a file.")
        return
    path = Path(report)
    if output is not None and path.resolve() == Path(output).resolve():
        raise OptionError("--report and --output need different names.")
    check_writable(path, inputs=[piece.source for piece in plan.pieces], overwrite=replace)


def run_job(job: FileJob | StreamJob, veils: Veils, plan: Plan, *, workers: int, quiet: bool) -> Tally:
    """Run a job to its end with a progress bar. If it is interrupted, say how to continue."""
    gc.freeze()  # what is loaded stays to the end, so neither this process nor a worker needs to scan it again
    try:
        with ProgressBar("veiling", plan.size, quiet=quiet) as bar:

            def watch(tally: Tally, done: int) -> None:
                bar.move(done, f"{tally.counts.words:,} words, {tally.words_per_second:,.0f} a second")

            return job.run(veils, watch, workers)
    except BrokenPipeError:
        # Nobody reads the output any more, but what is still in the buffer must go somewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(_BROKEN_PIPE) from None
    except KeyboardInterrupt:
        if job.kept:
            typer.echo(f"wordveil: the work so far is kept in {job.kept}; continue with --resume.", err=True)
        raise


def digest_of_release(job: FileJob | StreamJob, output: str | None) -> str | list[str] | None:
    """Return the digest by which a report is known to belong to what was written; None if that was packed elsewhere."""
    from wordveil.io import is_remote, packing_of

    return None if output is not None and is_remote(output) and packing_of(output) else job.digest()


def write_report(facts: dict[str, Any], report: str) -> None:
    """Write a report to standard output, or to a file that only its owner may read."""
    from wordveil.files import write_whole

    # A file name may not be UTF-8. JSON can still hold it, escaped.
    text = json.dumps(facts, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace").decode() + "\n"
    if report == STREAM:
        sys.stdout.write(text)
    else:
        write_whole(Path(report), text, mode=0o600)  # its exact counts are for the owner only


def summarise(facts: dict[str, Any], tally: Tally, *, warned: bool, report: str | None) -> None:
    """Say what was done, what is guaranteed, and where to find more."""
    counts, records = tally.counts, f"{tally.records:,} record{'' if tally.records == 1 else 's'}"
    job = facts["job"]
    for sentence in job.get("left_out", ()):  # not of a job on Spark
        typer.echo(f"wordveil: {sentence}", err=True)
    records += f" ({', '.join([*job['formats'], *job['packing'], *([job['encoding']] if job['encoding'] else [])])})"
    typer.echo(
        f"wordveil: veiled {counts.veiled:,} of {counts.words:,} words in {records} "
        f"in {tally.seconds:.1f} s ({tally.words_per_second:,.0f} words a second).",
        err=True,
    )
    skipped = len(job["skipped_files"])
    if skipped:
        typer.echo(
            f"wordveil: skipped {skipped:,} of the folder's files, which are empty, in another format, or no "
            f"files (links to folders, pipes); {'--report FILE' if report is None else 'the report'} names them.",
            err=True,
        )
    if not warned:
        choice = [facts["rare"]["promise"]] if "rare" in facts else []
        moved = [facts["numbers_promise"]] if "numbers_promise" in facts else []
        released = facts["not_protected"][1 : 1 + len(choice)]
        told = " ".join([facts["guarantee"]["sentence"], *choice, *released, *moved])
        more = "Use --report FILE for details." if report is None else ""
        typer.echo(f"wordveil: {told} {more}".rstrip(), err=True)


def warn(*sentences: str) -> None:
    """Print warnings about missing or weak guarantees, with flags for parameters. No option silences them."""
    for sentence in sentences:
        typer.echo(f"wordveil: warning: {_PARAMETER.sub(_flag, sentence)}", err=True)


def _flag(found: re.Match[str]) -> str:
    return "--" + found[1].replace("_", "-")


class Common(NamedTuple):
    """How to learn which words are common, and below which probability a word is rare."""

    epsilon: float
    longest: int
    words: int
    below: float


def common_options(
    select: str, below: float | None, epsilon: float | None, height: int | None, words: int | None
) -> Common | None:
    """Return the options of ``--select rare``, or None for another selection, for which none of them may be given."""
    if select != "rare":
        given = {"--rare-below": below, "--tree-epsilon": epsilon, "--tree-height": height, "--tree-words": words}
        for name, value in given.items():
            if value is not None:
                raise OptionError(f"{name} can only be used with --select rare.")
        return None
    common = Common(1.0 if epsilon is None else epsilon, height or 3, words or 20, 0.01 if below is None else below)
    if not (common.epsilon > 0.0 and math.isfinite(common.epsilon)):
        raise OptionError("--tree-epsilon must be a finite number above 0.")
    if not 0.0 < common.below <= 1.0:
        raise OptionError("--rare-below must be above 0 and at most 1.")
    return common


def learn_rare_words(
    job: FileJob | StreamJob, plan: Plan, made: Mechanism[Any], common: Common, seed: int | None, *, quiet: bool
) -> RareWords:
    """Learn from a job's whole input which words are common. Return what finds the others."""
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


def language_and_check(
    made: Mechanism[Any], language: str | None, *, is_list_used: bool
) -> tuple[str, Callable[[Iterable[str]], None], float]:
    """Return the language of the function words, and a function that refuses or warns of texts in another language.

    The language is the one given, otherwise the space's, otherwise English. A list of function words is never applied
    to texts in another language unless the user has set their language. The third value is a share: texts of whose
    words more are left alone need no check.
    """
    from wordveil.text import function_words, language_name, language_of
    from wordveil.text.languages import SURELY_ENGLISH

    drawn = _language_of(made)
    spoken = language or drawn or "en"
    if is_list_used:
        function_words(spoken)  # which refuses a language that has no list
    if drawn not in ("", spoken):
        _warn(f"the words of the space are {language_name(drawn)}, not {language_name(spoken)}: {_NO_SENSE}.")

    told = set[str]()  # of a folder each file is looked at, and one warning is enough

    def look(texts: Iterable[str]) -> None:
        found = language_of(texts).name
        if found in ("", spoken):
            return
        what = f"the texts seem to be {language_name(found)}, not {language_name(spoken)}"
        if is_list_used and language is None:
            raise InputError(
                f"{what}: give an embedding of their language with `space`, set `language` to {spoken} if that is "
                "theirs after all, or set `select` to all."
            )
        if what not in told:
            told.add(what)
            _warn(f"{what}: {_NO_SENSE}.")

    return spoken, look, SURELY_ENGLISH if spoken == "en" and is_list_used else math.inf


def _language_of(made: Mechanism[Any]) -> str:
    """Return the language of the words that are drawn, or "" if it is unknown."""
    from wordveil.spaces import BUNDLED
    from wordveil.text import language_of_words

    name = made.space.name.split()[0]
    return "en" if name in BUNDLED else language_of_words(made.space.vocabulary.ids)


def _warn(sentence: str) -> None:
    typer.echo(f"wordveil: warning: {_PARAMETER.sub(_flag, sentence)}", err=True)


def on_spark(
    source: str,
    output: str | None,
    columns: list[str] | None,
    format_name: str | None,
    report: str | None,
    *,
    quiet: bool,
    **how: Any,
) -> None:
    """Veil a file or folder on Spark, and report what was done."""
    if source == STREAM or output in (None, STREAM):
        raise OptionError("--engine spark reads a file or folder and writes a folder; give INPUT and -o FOLDER.")
    from wordveil.io import Tally, format_named, format_of
    from wordveil.spark import privatize_files
    from wordveil.text import Counts

    form = format_named(format_name) if format_name else format_of(Path(source))
    if form is None:
        raise OptionError("--format is required with --engine spark unless INPUT is a file with a known extension.")
    if report not in (None, STREAM):
        check_writable(Path(report), inputs=[Path(source)], overwrite=how["resume"])
    told: list[dict[str, Any]] = []
    warned: list[str] = []

    def tell(sentence: str) -> None:
        warned.append(sentence)
        warn(sentence)

    privatize_files(source, str(output), columns or [], form.name, tell=tell, report=told.append, **how)
    if not told:
        if report is not None:
            raise FileError(f"{output} was complete already, so nothing was drawn; the first run wrote the report.")
        typer.echo(f"wordveil: {output} was complete already, so nothing was drawn.", err=True)
        return
    if report is not None:
        write_report(told[0], report)
    if not quiet:
        counts, job = Counts(**told[0]["counts"]), told[0]["job"]
        tally = Tally(counts, records=job["records"], seconds=job["seconds"])
        summarise(told[0], tally, warned=bool(warned), report=report)
