"""``wordveil privatize``: veils files, folders and streams."""

from __future__ import annotations

import gc
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
from wordveil.cli.attack.shared import maker_of
from wordveil.cli.files import check_no_input, check_writable
from wordveil.cli.languages import language_and_check
from wordveil.cli.options import build_mechanism, check_epsilon, never_drawing, parse_options
from wordveil.cli.plan import Once, Protect, Require, check_before, gates_of, scope_of
from wordveil.cli.progress import ProgressBar
from wordveil.errors import FileError, InputError, OptionError, UnprovenError

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism
    from wordveil.io import FileJob, Plan, Reading, StreamJob, Tally, Veils
    from wordveil.plan import Gate
    from wordveil.text import RareWords, Veil

_STREAM = "-"
_BROKEN_PIPE = 141  # what a shell makes of SIGPIPE


def privatize(
    source: Annotated[
        list[str] | None,
        Argument(
            metavar="[INPUT]...",
            help="Files, a folder of files, an address (s3://…), or - for standard input (the default).",
        ),
    ] = None,
    *,
    output: Annotated[
        str | None,
        Option(
            "--output",
            "-o",
            metavar="OUT",
            help="A file or folder (for several inputs); standard output by default. .gz and .zst are compressed.",
        ),
    ] = None,
    epsilon: options.Epsilon = None,
    protect: Protect = None,
    mechanism: options.MechanismName = "graph",
    space: options.SpaceName = "glove-50k",
    normalise: options.Normalise = False,
    option: options.Options = None,
    column: Annotated[
        list[str] | None,
        Option(
            "--column",
            "-c",
            help="A column or key to veil (a.b: a nested key, a[*].b: in each element of a list); may be repeated.",
        ),
    ] = None,
    missing: Annotated[
        str, Option(help="JSON records without such a key: refuse, or pass them on as they are (pass).")
    ] = "refuse",
    sheet: Annotated[str | None, Option(help="Which sheet of a workbook to veil; the others are left out.")] = None,
    format_name: Annotated[
        str | None,
        Option(
            "--format",
            "-f",
            help="text, csv, tsv, jsonl, json, parquet, xlsx, eml, mbox or docx; by default, as the extension says.",
        ),
    ] = None,
    select: Annotated[
        str | None,
        Option(
            help="Which words to veil: content (all but function words, the default), all, spans, marked "
            "([[like this]]), words (a list), or rare (words that are unlikely in their context)."
        ),
    ] = None,
    words: Annotated[Path | None, Option(help="For --select words: a file with one word per line.")] = None,
    language: Annotated[
        str | None,
        Option(
            help="The language of the texts (en, de, fr …), whose function words stay; by default that of the space."
        ),
    ] = None,
    stop_words: Annotated[
        Path | None,
        Option("--stopwords", help="For --select content: a file with the words to leave alone, one per line."),
    ] = None,
    spans: Annotated[
        str | None, Option(metavar="KEY", help="For --select spans: the JSON key with [[start, end], ...].")
    ] = None,
    rare_below: Annotated[
        float | None,
        Option(help="For --select rare: veil words that are less likely than this in their context [default: 0.01]."),
    ] = None,
    tree_epsilon: Annotated[
        float | None,
        Option(help="For --select rare: the ε spent on each record to learn what is likely [default: 1]."),
    ] = None,
    tree_height: Annotated[
        int | None, Option(min=1, help="For --select rare: longest phrase to learn, in words [default: 3].")
    ] = None,
    tree_words: Annotated[
        int | None, Option(min=1, help="For --select rare: words of each record to learn from [default: 20].")
    ] = None,
    oov: Annotated[
        str, Option(help="What to do with words outside the vocabulary: replace, drop, or keep (no guarantee).")
    ] = "replace",
    identifiers: Annotated[
        str,
        Option(
            help="E-mail addresses, links, handles, phones, cards and other identifiers: placeholder (<EMAIL>), drop, "
            "or veil (word by word, with random digits), wherever they stand; with selected, those that are not "
            "selected (spans, marked, words) stay as they are."
        ),
    ] = "placeholder",
    numbered: Annotated[
        bool,
        Option("--numbered", help="Number the placeholders of identifiers within what --once says: <EMAIL_1>."),
    ] = False,
    numbers: Annotated[
        str,
        Option(
            help="Numbers, amounts, dates and times: placeholder (<DATE>), metric (moved a little, with a promise of "
            "their own; needs --numbers-epsilon), digits (random ones), or drop."
        ),
    ] = "placeholder",
    numbers_epsilon: Annotated[
        float | None,
        Option(help="For --numbers metric: the ε per step of 12% of a number, a day of a date, ten minutes of a time."),
    ] = None,
    date_order: Annotated[
        str, Option(help="For --numbers metric: how dates such as 3/4/2021 are read, dmy or mdy.")
    ] = "dmy",
    markup: Annotated[
        str, Option(help="HTML tags (only their names), entities and mail headers: keep or drop.")
    ] = "keep",
    block: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Words never to be drawn, one per line, in place of the bundled slurs and obscenities; an empty file "
            "for none.",
        ),
    ] = None,
    case: Annotated[
        str, Option(help="Capital letters: sentence (by position), lower, or copy (reveals them).")
    ] = "sentence",
    once: Once = "record",
    person: Annotated[
        str | None, Option(metavar="COLUMN", help="For --once person: the column or key that says whose a record is.")
    ] = None,
    seed: options.Seed = None,
    unproven: Annotated[
        bool, Option("--unproven", help="Allow what protects some words or none, for experiments.")
    ] = False,
    report: Annotated[
        str | None, Option(metavar="FILE", help="Write the privacy report as JSON; - for standard output.")
    ] = None,
    resume: Annotated[bool, Option("--resume", help="Continue a job that was stopped, if there is one.")] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace existing output, finished or not.")] = False,
    encoding: Annotated[
        str, Option(help="Of a text input, such as cp1252 (Excel) or utf-16; the output is always UTF-8.")
    ] = "utf-8",
    encoding_errors: Annotated[
        str, Option(help="Bytes that are not text in that encoding: strict (refuse) or replace (by U+FFFD).")
    ] = "strict",
    batch_words: Annotated[
        int, Option(min=1, help="About how many words to process at a time; a crash loses no more than that.")
    ] = 1 << 18,
    workers: Annotated[
        str,
        Option(
            "--workers", "-j", help="How many processes to use, or auto for one a core; the records keep their order."
        ),
    ] = "1",
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
    require: Require = None,
    fast_checks: Annotated[
        bool, Option("--fast-checks", help="For --protect and --require: leave out the attack by a network.")
    ] = False,
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

      wordveil privatize may.csv.gz june.csv.gz -o veiled/ --epsilon 4 --column text

      wordveil privatize chats.jsonl -o veiled.jsonl.zst --epsilon 4 --column 'messages[*].content'

      wordveil privatize tickets.csv -o veiled.csv --epsilon 4 --column text --once person --person customer

      wordveil privatize tickets.csv -o veiled.csv --epsilon 4 --column text --select rare --tree-epsilon 1

      wordveil privatize mails.txt -o veiled.txt --epsilon 4 --numbered --numbers metric --numbers-epsilon 0.5

      wordveil privatize tickets.csv -o veiled.csv --protect balanced --column text --require 'coverage>=0.9'
    """
    gates = _check_protection(epsilon, protect, require, fast_checks)
    select = _selection(select, spans)
    if stop_words is not None and (select != "content" or language is not None):
        raise OptionError("--stopwords can only be used with --select content, and without --language.")
    scope = _scope(once, person)
    common = _common_options(select, rare_below, tree_epsilon, tree_height, tree_words)
    inputs = _inputs(source)
    crew = _workers(workers, alone=index != "exact" or engine != "local")
    _check_engine(engine, index, crew)
    if engine == "spark":
        refused = {
            "--spans": spans, "--overwrite": overwrite, "--workers": crew > 1,
            "--select rare": common, "--encoding": encoding != "utf-8", "--missing": missing != "refuse",
            "--sheet": sheet, "several inputs": len(inputs) > 1, "--protect": protect, "--require": gates,
        }  # fmt: skip
        for name, is_given in refused.items():
            if is_given:
                raise OptionError(f"{name} cannot be used with --engine spark.")
        _on_spark(
            inputs[0], output, column, format_name, report, quiet=quiet, epsilon=check_epsilon(epsilon),
            mechanism=mechanism, space=space, normalise=normalise, options=parse_options(option), select=select,
            oov=oov, case=case, once=scope, person=person, unproven=unproven, identifiers=identifiers,
            numbered=numbered, numbers=numbers, numbers_epsilon=numbers_epsilon, date_order=date_order, markup=markup,
            language=language or "en", words=_listed(words), stop_words=_listed(stop_words), block=_listed(block),
            seed=seed, resume=resume, encoding_errors=encoding_errors,
        )  # fmt: skip
        return
    from wordveil.io import Reading, Veils, check_encoding, job_report, make_plan, missing_promise, place
    from wordveil.text import Veil, told_before

    plan = make_plan(None if inputs == [_STREAM] else [place(one) for one in inputs], format_name)
    reading = Reading(
        tuple(dict.fromkeys(column or ())),
        spans,
        encoding_errors,
        batch_words,
        check_encoding(encoding),
        missing,
        sheet,
        person=person,
    )
    for written in (output, report):
        if written not in (None, _STREAM):
            check_no_input(Path(str(written)), (space, words, stop_words, block))
    listed, left_alone = _listed(words), _listed(stop_words)
    with ExitStack() as stack:
        job = _job(
            plan, reading, output, stack, named=format_name is not None, again=(resume, overwrite), unveiled=unproven
        )
        job.check()
        _check_report(report, plan, output, replace=resume or overwrite)
        if protect is not None or gates:  # before anything is written
            opened, make = maker_of(mechanism, space, normalise, option)
            epsilon = check_before(
                plan, reading, make, opened, epsilon=epsilon, protect=protect, gates=gates, quiet=quiet, select=select,
                fast=fast_checks, once=scope, person=person, seed=seed or 0,
            )  # fmt: skip
        made = build_mechanism(mechanism, epsilon, space, normalise, option, engine=engine, index=index, quiet=quiet)
        made = never_drawing(made, _listed(block))
        if not unproven:
            _check_protects(made)
        rare = None if common is None else _learn_rare_words(job, plan, made, common, seed, quiet=quiet)

        spoken, job.look = language_and_check(made, language, is_list_used=select == "content" and left_alone is None)

        def veil(seed: int | None) -> Veil:
            return Veil(
                made, select=select, words=listed, rare=rare, oov=oov, identifiers=identifiers, numbered=numbered,
                numbers=numbers, numbers_epsilon=numbers_epsilon, date_order=date_order, markup=markup, case=case,
                once=scope, language=spoken, stop_words=left_alone, seed=seed, unproven=unproven,
            )  # fmt: skip

        veils = Veils(veil, seed)
        missing, before = missing_promise(veils.whole), told_before(veils.whole)
        _warn(*filter(None, (missing, *before)))
        tally = _run(job, veils, plan, workers=crew, quiet=quiet)
        facts = job_report(veils.whole, plan, reading, tally)
        _warn(*(sentence for sentence in facts["warnings"] if sentence not in before))
        if report is not None:
            _write_report(facts, report)
        job.forget()
    for sentence in facts["job"]["left_out"] if not quiet else ():
        typer.echo(f"wordveil: {sentence}", err=True)
    if report is None and not quiet:
        _summarise(facts, tally, warned=bool(missing))


def _check_protects(made: Mechanism[Any]) -> None:
    """Refuse, before the input is read, what `Veil` would refuse too."""
    from wordveil.text import KEEPS_ALL, kept_share

    if made.shortfall:
        raise UnprovenError(f"{made.shortfall} Add --unproven to use {made.name} all the same.")
    kept = kept_share(made)
    if kept >= KEEPS_ALL:
        raise UnprovenError(
            f"at --epsilon {made.epsilon:g} about {kept:.0%} of the words would come out as they went in: choose a "
            "smaller one, or add --unproven for an experiment."
        )


def _warn(*sentences: str) -> None:
    """Say what is not promised or protects little, whatever other options are given: no --quiet, no --report."""
    for sentence in sentences:
        typer.echo(f"wordveil: warning: {sentence}", err=True)


def _inputs(source: list[str] | None) -> list[str]:
    if not source and sys.stdin and sys.stdin.isatty():
        raise OptionError("give an input file, or pipe text into the command (- reads what you type).")
    if source and _STREAM in source and len(source) > 1:
        raise OptionError("standard input cannot be one of several inputs; give files alone, or - alone.")
    return source or [_STREAM]


def _check_protection(
    epsilon: float | None, protect: str | None, require: list[str] | None, fast_checks: bool
) -> list[Gate]:
    """Refuse what contradicts itself in how ε is chosen and what is required, and return the requirements."""
    gates = gates_of(require)
    if protect is None:
        check_epsilon(epsilon)
    elif epsilon is not None:
        raise OptionError("give --epsilon or --protect, not both.")
    else:
        from wordveil.plan.presets import bound_of

        bound_of(protect)
    if fast_checks and protect is None and not gates:
        raise OptionError("--fast-checks can only be used with --protect or --require.")
    return gates


def _workers(asked: str, *, alone: bool) -> int:
    """Return how many processes are asked for; of those that the machine chooses, one where there can be no other."""
    if asked == "auto":
        from wordveil.parallel import cores

        return 1 if alone else cores()
    if not (asked.isdecimal() and len(asked) < 6 and int(asked) > 0):
        raise OptionError("--workers must be a whole number, 1 or more, or auto.")
    return int(asked)


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
    source: str,
    output: str | None,
    columns: list[str] | None,
    format_name: str | None,
    report: str | None,
    *,
    quiet: bool,
    **how: Any,
) -> None:
    if source == _STREAM or output in (None, _STREAM):
        raise OptionError("--engine spark reads a file or folder and writes a folder; give INPUT and -o FOLDER.")
    from wordveil.io import Tally, format_named, format_of
    from wordveil.spark import privatize_files
    from wordveil.text import Counts

    form = format_named(format_name) if format_name else format_of(Path(source))
    if form is None:
        raise OptionError("--format is required with --engine spark unless INPUT is a file with a known extension.")
    if report not in (None, _STREAM):
        check_writable(Path(report), inputs=[Path(source)], overwrite=how["resume"])
    told: list[dict[str, Any]] = []
    warned: list[str] = []

    def tell(sentence: str) -> None:
        warned.append(sentence)
        _warn(sentence)

    privatize_files(source, str(output), columns or [], form.name, tell=tell, report=told.append, **how)
    if not told:
        if report is not None:
            raise FileError(f"{output} was complete, so nothing was drawn; its report is that of the first run.")
        typer.echo(f"wordveil: {output} was complete, so nothing was drawn.", err=True)
    elif report is not None:
        _write_report(told[0], report)
    elif not quiet:
        counts, job = Counts(**told[0]["counts"]), told[0]["job"]
        tally = Tally(counts, records=job["records"], seconds=job["seconds"])
        _summarise(told[0], tally, warned=bool(warned))


def _selection(select: str | None, spans: str | None) -> str:
    if spans is not None and select not in (None, "spans"):
        raise OptionError("--spans can only be used with --select spans.")
    if spans is None and select == "spans":
        raise OptionError("--select spans needs --spans KEY, the JSON key that holds [[start, end], ...].")
    if select is None:
        return "content" if spans is None else "spans"
    return select


def _scope(once: str, person: str | None) -> str | None:
    """Return in what equal words are drawn once; None if they are drawn each time."""
    scope = scope_of(once)
    if (once == "person") != (person is not None):
        raise OptionError("--once person and --person COLUMN go together: the column says whose a record is.")
    return scope


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


def _listed(path: Path | None) -> list[str] | None:
    """Return the words of a list, one on each line; None without one."""
    from wordveil.files import file_errors

    if path is None:
        return None
    with file_errors("read", path):
        content = path.read_bytes()
    try:
        return [word for line in content.decode("utf-8-sig").splitlines() if (word := line.strip())]
    except UnicodeDecodeError:
        pass
    raise InputError(f"{path} is not UTF-8 text.")


def _job(
    plan: Plan,
    reading: Reading,
    output: str | None,
    stack: ExitStack,
    *,
    named: bool,
    again: tuple[bool, bool],
    unveiled: bool,
) -> FileJob | StreamJob:
    from wordveil.files import file_errors
    from wordveil.io import Destination, FileJob, StreamJob, format_of, is_remote, written_remotely

    resume, overwrite = again
    if output is not None and is_remote(output):
        if resume:
            raise OptionError("output to another place cannot be resumed; leave out --resume, or give -o FILE.")
        sources = [piece.source for piece in plan.pieces]
        stream = stack.enter_context(written_remotely(output, sources, overwrite=overwrite))
        return StreamJob(plan, reading, stream, unveiled=unveiled)
    target = None if output in (None, _STREAM) else Path(str(output))
    with file_errors("write", target or "standard output"):
        is_stream = target is None or not (target.is_file() or target.is_dir() or not target.exists())
    if target is not None and not is_stream:
        meant, form = format_of(target), plan.pieces[0].format
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
    gc.freeze()  # the space and all that was loaded stay to the end: no need to look through them, here or in a worker
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
    job = facts["job"]
    records += f" ({', '.join([*job['formats'], *job['packing'], *([job['encoding']] if job['encoding'] else [])])})"
    typer.echo(
        f"wordveil: veiled {counts.veiled:,} of {counts.words:,} words in {records} "
        f"in {tally.seconds:.1f} s ({tally.words_per_second:,.0f} words a second).",
        err=True,
    )
    skipped = len(job["skipped_files"])
    if skipped:
        typer.echo(
            f"wordveil: skipped {skipped:,} of the folder's files, which are empty, in another format, or links to "
            "folders; --report FILE names them.",
            err=True,
        )
    if not warned:
        choice = [facts["rare"]["promise"]] if "rare" in facts else []
        moved = [facts["numbers_promise"]] if "numbers_promise" in facts else []
        released = facts["not_protected"][1 : 1 + len(choice)]
        told = " ".join([facts["guarantee"]["sentence"], *choice, *released, *moved])
        typer.echo(f"wordveil: {told} Use --report FILE for details.", err=True)
