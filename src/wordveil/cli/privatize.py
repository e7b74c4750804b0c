"""``wordveil privatize``: veils files, folders and streams."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from wordveil.cli import options
from wordveil.cli.checks import check_no_input, refuse_given
from wordveil.cli.jobs import (
    STREAM,
    check_report,
    common_options,
    digest_of_release,
    language_and_check,
    learn_rare_words,
    on_spark,
    open_job,
    run_job,
    summarise,
    warn,
    write_report,
)
from wordveil.cli.options import (
    EncodingErrors,
    SpansKey,
    build_mechanism,
    check_epsilon,
    never_drawing,
    parse_options,
    words_in,
)
from wordveil.cli.plan import Missing, Once, Protect, Require, check_before, gates_of, scope_of
from wordveil.errors import OptionError, UnprovenError

if TYPE_CHECKING:
    from wordveil._mechanisms import Mechanism
    from wordveil.plan import Gate
    from wordveil.text import Veil


def privatize(
    source: Annotated[
        list[str] | None,
        Argument(
            metavar="INPUT",
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
    missing: Missing = "refuse",
    sheet: Annotated[
        str | None, Option(metavar="SHEET", help="Which sheet of a workbook to veil; the others are left out.")
    ] = None,
    header: options.Header = "check",
    format_name: Annotated[
        str | None,
        Option(
            "--format",
            "-f",
            help="text, csv, tsv, jsonl, json, parquet, xlsx, eml, mbox or docx, if the extension does not say.",
        ),
    ] = None,
    select: Annotated[
        str | None,
        Option(
            metavar="HOW",
            help="Which words to veil: content (all but function words, the default), all, spans, marked "
            "([[like this]]), words (a list), or rare (words that are unlikely in their context).",
        ),
    ] = None,
    words: Annotated[Path | None, Option(help="For --select words: a file with one word per line.")] = None,
    language: Annotated[
        str | None,
        Option(
            metavar="CODE",
            help="The language of the texts (en, de, fr …), whose function words stay; by default the space's.",
        ),
    ] = None,
    stop_words: Annotated[
        Path | None,
        Option("--stopwords", help="For --select content: a file with the words to leave alone, one per line."),
    ] = None,
    spans: SpansKey = None,
    rare_below: Annotated[
        float | None,
        Option(
            help="For --select rare: veil words that are less likely than this in their context; 0.01 if not given."
        ),
    ] = None,
    tree_epsilon: Annotated[
        float | None,
        Option(help="For --select rare: the ε spent on each record to learn what is likely; 1 if not given."),
    ] = None,
    tree_height: Annotated[
        int | None, Option(min=1, help="For --select rare: longest phrase to learn, in words; 3 if not given.")
    ] = None,
    tree_words: Annotated[
        int | None, Option(min=1, help="For --select rare: words of each record to learn from; 20 if not given.")
    ] = None,
    oov: Annotated[
        str,
        Option(
            metavar="HOW", help="What to do with words outside the vocabulary: replace, drop, or keep (no guarantee)."
        ),
    ] = "replace",
    identifiers: Annotated[
        str,
        Option(
            metavar="HOW",
            help="E-mail addresses, links, handles, phones, cards and other identifiers: placeholder (<EMAIL>), drop, "
            "or veil (word by word, with random digits), wherever they stand; with selected, those that are not "
            "selected (spans, marked, words) stay as they are.",
        ),
    ] = "placeholder",
    numbered: Annotated[
        bool,
        Option("--numbered", help="Number the placeholders of identifiers (<EMAIL_1>) within the scope of --once."),
    ] = False,
    numbers: Annotated[
        str,
        Option(
            metavar="HOW",
            help="Numbers, amounts, dates and times: placeholder (<DATE>), metric (moved a little, with a guarantee "
            "of their own; needs --numbers-epsilon), digits (random ones), or drop.",
        ),
    ] = "placeholder",
    numbers_epsilon: Annotated[
        float | None,
        Option(help="For --numbers metric: the ε per step of 12% of a number, a day of a date, ten minutes of a time."),
    ] = None,
    date_order: Annotated[
        str, Option(metavar="HOW", help="For --numbers metric: how dates such as 3/4/2021 are read, dmy or mdy.")
    ] = "dmy",
    markup: Annotated[
        str, Option(metavar="HOW", help="HTML tags (only their names), entities and mail headers: keep or drop.")
    ] = "keep",
    block: options.Block = None,
    case: Annotated[
        str, Option(metavar="HOW", help="Capital letters: sentence (by position), lower, or copy (reveals them).")
    ] = "sentence",
    once: Once = "record",
    person: Annotated[
        str | None,
        Option(metavar="COLUMN", help="For --once person: the column or key that says who each record belongs to."),
    ] = None,
    seed: options.Seed = None,
    unproven: Annotated[
        bool, Option("--unproven", help="Allow settings that leave words unprotected, for experiments.")
    ] = False,
    report: Annotated[
        str | None, Option(metavar="FILE", help="Write the privacy report as JSON; - for standard output.")
    ] = None,
    resume: Annotated[bool, Option("--resume", help="Continue a job that was stopped, if there is one.")] = False,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace an existing file, or what a stopped job left behind.")
    ] = False,
    encoding: Annotated[
        str, Option(help="The encoding of a text input, such as cp1252 (Excel) or utf-16; the output is always UTF-8.")
    ] = "utf-8",
    encoding_errors: EncodingErrors = "strict",
    batch_words: Annotated[
        int | None, Option(min=1, help="About how many words to process at a time; a crash loses at most these.")
    ] = None,
    workers: Annotated[
        str,
        Option(
            "--workers", "-j", help="How many worker processes, or auto for one per core; records keep their order."
        ),
    ] = "1",
    engine: Annotated[
        str,
        Option(
            metavar="HOW",
            help="local, gpu (CUDA; for mechanisms that add noise) or spark (the output is a folder of Parquet files).",
        ),
    ] = "local",
    index: Annotated[
        str,
        Option(
            metavar="HOW",
            help="How the nearest word is found: exact, or approximate (FAISS; right at least 99 times in 100).",
        ),
    ] = "exact",
    require: Require = None,
    fast_checks: Annotated[
        bool, Option("--fast-checks", help="For --protect and --require: skip the attack by a network.")
    ] = False,
    quiet: Annotated[
        bool, Option("--quiet", "-q", help="Show no progress and no summary; warnings are still shown.")
    ] = False,
) -> None:
    """Veil a text, a table or a folder of them. Everything that is not replaced stays as it is.

    The output file appears once it is complete. Use --resume to continue a job that was stopped.

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
    _check_effects(select, language, stop_words, numbers, once)
    _check_replaces({output, report} - {None, STREAM}, resume=resume, overwrite=overwrite)
    scope = _scope(once, person)
    common = common_options(select, rare_below, tree_epsilon, tree_height, tree_words)
    inputs = _inputs(source)
    crew = _workers(workers, alone=index != "exact" or engine != "local")
    _check_engine(engine, index, crew)
    if engine == "spark":
        refused = {
            "--spans": spans, "--overwrite": overwrite, "--workers": crew > 1,
            "--select rare": common, "--encoding": encoding != "utf-8", "--missing": missing != "refuse",
            "--sheet": sheet, "--batch-words": batch_words,
            "several inputs": len(inputs) > 1, "--protect": protect, "--require": gates,
        }  # fmt: skip
        for name, is_given in refused.items():
            if is_given:
                raise OptionError(f"{name} cannot be used with --engine spark.")
        on_spark(
            inputs[0], output, column, format_name, report, quiet=quiet, epsilon=check_epsilon(epsilon),
            mechanism=mechanism, space=space, normalise=normalise, options=parse_options(option), select=select,
            oov=oov, case=case, once=scope, person=person, unproven=unproven, identifiers=identifiers,
            numbered=numbered, numbers=numbers, numbers_epsilon=numbers_epsilon, date_order=date_order, markup=markup,
            language=language or "en", words=words_in(words), stop_words=words_in(stop_words), block=words_in(block),
            seed=seed, resume=resume, encoding_errors=encoding_errors, header=header,
        )  # fmt: skip
        return
    from wordveil.io import (
        Reading,
        Veils,
        check_encoding,
        job_report,
        job_warnings,
        make_plan,
        missing_promise,
        place,
    )
    from wordveil.text import Veil, told_before

    plan = make_plan(None if inputs == [STREAM] else [place(one) for one in inputs], format_name)
    reading = Reading(
        tuple(dict.fromkeys(column or ())),
        spans,
        encoding_errors,
        batch_words,
        check_encoding(encoding),
        missing,
        sheet,
        header=header,
        person=person,
    )
    for written in (output, report):
        if written not in (None, STREAM):
            check_no_input(Path(str(written)), (space, words, stop_words, block))
    listed, left_alone = words_in(words), words_in(stop_words)
    with ExitStack() as stack:
        job = open_job(
            plan, reading, output, stack, named=format_name is not None, again=(resume, overwrite), unveiled=unproven
        )
        job.tell = warn
        job.check()
        check_report(report, plan, output, replace=resume or overwrite)
        if protect is not None or gates:  # must come before anything is written
            opened, make = options.Made(mechanism, space, normalise, option).maker()
            epsilon = check_before(
                plan, reading, make, opened, epsilon=epsilon, protect=protect, gates=gates, quiet=quiet, select=select,
                fast=fast_checks, once=scope, person=person, seed=seed or 0,
            )  # fmt: skip
        made = build_mechanism(mechanism, epsilon, space, normalise, option, engine=engine, index=index, quiet=quiet)
        made = never_drawing(made, words_in(block))
        if not unproven:
            _check_protects(made)
        rare = None if common is None else learn_rare_words(job, plan, made, common, seed, quiet=quiet)

        is_list_used = select == "content" and left_alone is None
        spoken, job.look, job.sure = language_and_check(made, language, is_list_used=is_list_used)

        def veil(seed: int | None) -> Veil:
            return Veil(
                made, select=select, words=listed, rare=rare, oov=oov, identifiers=identifiers, numbered=numbered,
                numbers=numbers, numbers_epsilon=numbers_epsilon, date_order=date_order, markup=markup, case=case,
                once=scope, language=spoken, stop_words=left_alone, seed=seed, unproven=unproven,
            )  # fmt: skip

        veils = Veils(veil, seed)
        missing, before = missing_promise(veils.whole), told_before(veils.whole)
        warn(*filter(None, (missing, *before)))
        tally = run_job(job, veils, plan, workers=crew, quiet=quiet)
        warn(*(sentence for sentence in job_warnings(veils.whole, tally) if sentence not in before))
        digest = None if report is None else digest_of_release(job, output)
        # Nobody sees the facts of a quiet job without a report, and to find the loss of a document takes a while.
        facts = None if report is None and quiet else job_report(veils.whole, plan, reading, tally, digest)
        if facts is not None and report is not None:
            write_report(facts, report)
        job.forget()
    if facts is not None and not quiet:
        summarise(facts, tally, warned=bool(missing), report=report)


def _check_protects(made: Mechanism[Any]) -> None:
    """Refuse, before the input is read, a mechanism that `Veil` would refuse."""
    from wordveil.text import KEEPS_ALL, kept_share

    if made.shortfall:
        raise UnprovenError(f"{made.shortfall} Add --unproven to use {made.name} anyway.")
    kept = kept_share(made)
    if kept >= KEEPS_ALL:
        raise UnprovenError(
            f"at --epsilon {made.epsilon:g} about {kept:.0%} of the words would stay unchanged: choose a smaller one, "
            "or add --unproven for an experiment."
        )


def _inputs(source: list[str] | None) -> list[str]:
    if not source and sys.stdin and sys.stdin.isatty():
        raise OptionError("give an input file, or pipe text into the command (- reads what you type).")
    if source and STREAM in source and len(source) > 1:
        raise OptionError("standard input cannot be one of several inputs; give files alone, or - alone.")
    return source or [STREAM]


def _check_protection(
    epsilon: float | None, protect: str | None, require: list[str] | None, fast_checks: bool
) -> list[Gate]:
    """Return the requirements. Refuse contradictory ways to choose ε."""
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
    """Return how many processes to use. With auto, that is one where only one is possible."""
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


def _selection(select: str | None, spans: str | None) -> str:
    if spans is not None and select not in (None, "spans"):
        raise OptionError("--spans can only be used with --select spans.")
    if spans is None and select == "spans":
        raise OptionError("--select spans needs --spans KEY, the JSON key that holds [[start, end], ...].")
    if select is None:
        return "content" if spans is None else "spans"
    return select


def _check_effects(select: str, language: str | None, stop_words: Path | None, numbers: str, once: str) -> None:
    """Refuse options that have no effect with the others."""
    if stop_words is not None and (select != "content" or language is not None):
        raise OptionError("--stopwords can only be used with --select content, and without --language.")
    if numbers != "metric":
        refuse_given("only applies with --numbers metric", "date_order")
    if once == "none":
        refuse_given("numbers within a scope, and --once is none", "numbered")


def _check_replaces(written: set[str | None], *, resume: bool, overwrite: bool) -> None:
    if resume and overwrite:
        raise OptionError("give --resume to continue or --overwrite to start again, not both.")
    if overwrite and not written:
        refuse_given("has no effect where no file is written", "overwrite")


def _scope(once: str, person: str | None) -> str | None:
    """Return the scope in which equal words are drawn once, or None if each word is drawn anew."""
    scope = scope_of(once)
    if (once == "person") != (person is not None):
        raise OptionError(
            "--once person needs --person COLUMN, which says who each record belongs to: give both or neither."
        )
    return scope
