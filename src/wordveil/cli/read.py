"""``wordveil read``: veiled files as vectors to learn from, or as guesses at the original text."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordveil.cli import options
from wordveil.cli.checks import Overwrite, check_writable, refuse_given
from wordveil.cli.options import (
    Format,
    LanguageModel,
    Normalise,
    Options,
    PublicPrior,
    ReportedMechanism,
    ReportFile,
    SpansKey,
    advice_on_encoding,
    build_mechanism,
    check_can_print,
    check_not_in_report,
    check_select_in_report,
    never_drawing,
    print_facts,
    words_in,
)
from wordveil.cli.progress import ProgressBar
from wordveil.errors import FileError, InputError, OptionError, WordveilError

if TYPE_CHECKING:
    from wordveil.io import Reading
    from wordveil.io.formats import Block
    from wordveil.io.inputs import Piece
    from wordveil.reading import Reader
    from wordveil.text import Document

_GUESS = "The text is a guess at the original, word by word, and not the original: do not quote it as such."
_NO_TABLE = "the records of the input have no common columns and types; write vectors to .npz instead."
_LOOKED_AT = 500  # how many texts to look at to tell whether they were veiled
_VECTORS = (".npz", ".parquet", ".pq")
_STREAM = "-"  # standard input or output
_NOT_VEILED = (
    "does not look veiled with these settings: its words are as frequent as in ordinary text. Guesses at an original "
    "would be meaningless and must not be passed on"
)


def read(
    source: Annotated[Path, typer.Argument(metavar="VEILED", help="The veiled file, or - for standard input.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="The file to write: .npz or .parquet for vectors, else as VEILED; standard output if not given.",
            show_default=False,
        ),
    ] = Path(_STREAM),
    *,
    reader: Annotated[
        str,
        typer.Option(
            "--reader",
            "-r",
            help="What the reader knows besides the output: table (public word frequencies), population (also those "
            "of this release), context (also the rest of the text; needs PyTorch, and minutes to fit) or language (the "
            "rest of the text, by a public language model; needs the extra trigram or lm).",
        ),
    ] = "table",
    language: LanguageModel = LanguageModel(),
    report: ReportFile = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="The ε of the release, if there is no report."),
    ] = None,
    mechanism: ReportedMechanism = None,
    space: Annotated[
        str | None,
        typer.Option("--space", "-s", help="The space of the release, if it is not bundled or there is no report."),
    ] = None,
    normalise: Normalise = False,
    option: Options = None,
    block: options.Block = None,
    select: Annotated[
        str | None,
        typer.Option("--select", help="Which words were veiled: content (the default without a report), all or spans."),
    ] = None,
    spans: SpansKey = None,
    stop_words: Annotated[
        Path | None,
        typer.Option("--stopwords", help="The list of words that the release left alone, if it had one, one per line."),
    ] = None,
    prior: PublicPrior = "space",
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            "-c",
            metavar="NAME",
            help="A column or key of veiled text; may be repeated where text is written.",
        ),
    ] = None,
    format_name: Format = None,
    header: options.ReadHeader = "check",
    as_vectors: Annotated[
        bool | None,
        typer.Option(
            "--vectors/--text", help="Write a vector for each text, or its likeliest words. By default, OUT decides."
        ),
    ] = None,
    overwrite: Overwrite = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Read the file even if it does not look veiled; the result may mean nothing."),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress and no remarks; warnings are still shown.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
) -> None:
    """Read a release with the probabilities of its mechanism: as vectors to learn from, or as the likeliest words.

    Analysts should learn from this instead of from the drawn words, and an attacker would start from it, too. It uses
    only the release, so it costs no privacy.

    Examples:

      wordveil read veiled.csv -o vectors.parquet --column answer --report report.json

      wordveil read veiled.csv -o vectors.npz --column answer --report report.json --reader population

      wordveil read veiled.txt -o guessed.txt --epsilon 4

      wordveil read veiled.txt -o guessed.txt --epsilon 4 --reader language --language-model smollm2 --beam 4

      cat veiled.txt | wordveil read - --epsilon 4
    """
    from wordveil.io import Plan, Reading, check_fits

    name, to_stream = "standard input" if str(source) == _STREAM else source, str(output) == _STREAM
    if to_stream and as_json:
        raise OptionError("standard output takes the text: with --json, give -o FILE.")
    inputs = (source, report, space, prior, block, stop_words, language.language_model, language.preamble)
    check_writable(None if to_stream else output, inputs=inputs, overwrite=overwrite)
    check_can_print(as_json or to_stream)
    columns = tuple(dict.fromkeys(column or ()))
    reading = Reading(columns, spans, header=_header(report, header))
    if spans is not None and select not in (None, "spans"):
        raise OptionError("--spans can only be used with --select spans.")
    if report is not None and space is None:
        refuse_given("is already in the report, unless you give a --space", "normalise")
    select = "spans" if spans is not None else select
    with _input(source, format_name) as piece, ProgressBar("reading", quiet=quiet) as progress:
        check_fits(Plan((piece,)), reading)
        vectors = _is_vectors(piece, output) if as_vectors is None else as_vectors
        _check_output(piece, output, vectors=vectors)
        if vectors and len(columns) > 1:
            raise OptionError("a vector is made from one text: give one --column, or --text.")
        piece.format.open_reader(piece.source, reading).close()  # finds wrong columns before any work is done
        _check_columns(report, columns)
        doubt = _check_records(report, piece, reading, name, force=force)
        how = {"kind": reader, "prior": prior, "stop_words": words_in(stop_words), **language.options_of(reader)}
        made = _reader(report, mechanism, epsilon, space, normalise, option, select, words_in(block), how)
        looks_veiled = made.looks_veiled(_first_texts(piece, reading))
        if looks_veiled is False and not force:  # the result would be nonsense, and the file may be an original
            raise InputError(f"{name} {_NOT_VEILED}; add --force to read it anyway.")
        if made.kind != "table":
            made.fit((text for block in _blocks(piece, reading) for text in block.texts()), watch=progress.watch)
        write = _write_vectors if vectors else _write_text
        facts = {**write(made, piece, reading, output, progress), "reader": made.kind, **made.mechanism.describe()}
    facts["looks_veiled"] = looks_veiled
    for sentence in (doubt, f"{name} {_NOT_VEILED}." if looks_veiled is False else ""):
        if sentence:  # not silenced by --quiet
            typer.echo(f"wordveil: warning: {sentence}", err=True)
    if as_json:
        print_facts({**facts, "select": made.select, "guess": not vectors})
    if not quiet:
        what = ("vector" if vectors else "text") + ("" if facts["texts"] == 1 else "s")
        where = "standard output" if to_stream else output
        typer.echo(f"wordveil: wrote {facts['texts']:,} {what} to {where}.", err=True)
        if not vectors:
            typer.echo(f"wordveil: {_GUESS}", err=True)


@contextmanager
def _input(source: Path, format_name: str | None) -> Iterator[Piece]:
    """Yield the veiled file. Standard input is read more than once, so it is kept in a file until the end."""
    from wordveil.io import make_plan

    with TemporaryDirectory() as folder:
        if str(source) == _STREAM:
            source, format_name = Path(folder, "standard input"), format_name or "text"
            with source.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        plan = make_plan(source, format_name)
        if plan.folder is not None or plan.pieces[0].is_stream:
            raise FileError("a release is read from one file: give the name of a file, or - for standard input.")
        try:
            yield plan.pieces[0]
        except WordveilError as error:  # its sentence may name the file that stands for standard input
            kind, sentence = type(error), str(error)
            if isinstance(error, InputError):  # its advice may name options that this command does not have
                sentence = advice_on_encoding(plan.pieces[0]) or sentence
            sentence = sentence.replace(f"{folder}{os.sep}", "")
        else:
            return
    raise kind(sentence)


def _is_vectors(piece: Piece, output: Path) -> bool:
    if output.suffix.lower() in _VECTORS:
        return True
    from wordveil.io import format_of

    if format_of(output) not in (None, piece.format):
        raise OptionError(
            f"{output} has the extension of another format, and formats are not converted: give another name, or one "
            "that ends in .npz or .parquet for vectors."
        )
    return False


def _check_output(piece: Piece, output: Path, *, vectors: bool) -> None:
    is_vectors = output.suffix.lower() in _VECTORS
    if vectors and not is_vectors:
        raise OptionError("vectors are written to a file that ends in .npz or .parquet.")
    if not vectors and is_vectors and not (piece.format.name == "parquet" and output.suffix.lower() != ".npz"):
        raise OptionError("text is written in the format of the input: give another output.")


def _header(report: Path | None, given: str) -> str:
    """Return what the first line of a released table is: the report says whether there were names."""
    from wordveil.reading.released import read_report

    job = {} if report is None else read_report(report).get("job")
    told = job.get("header") if isinstance(job, dict) else None
    if told is not None and given != "check" and (given == "no") != (told == "no"):
        raise OptionError(
            f"the report says that the release has {'no' if told == 'no' else 'a'} header: leave out --header."
        )
    return given if told is None else str(told)


def _check_columns(report: Path | None, columns: tuple[str, ...]) -> None:
    """Refuse columns that were not veiled, if the report says which were."""
    from wordveil.reading.released import read_report

    veiled = {} if report is None else read_report(report).get("job") or {}
    known = veiled.get("columns") if isinstance(veiled, dict) else None
    if known and not set(columns) <= set(known):
        raise OptionError(f"the report says that only these columns were veiled: {', '.join(map(str, known))}.")


def _check_records(report: Path | None, piece: Piece, reading: Reading, name: object, *, force: bool) -> str:
    """Refuse more records than the report's release had. For fewer, or for another file, return a warning."""
    from wordveil.reading.released import doubt_of, read_report

    if report is None:
        return ""
    facts = read_report(report)
    doubt = doubt_of(facts, piece.source)
    doubt = doubt and f"{name} {doubt}"
    job = facts.get("job") if doubt else None
    told = job.get("records") if isinstance(job, dict) and job.get("files") == 1 else None
    if not isinstance(told, int):
        return doubt
    there = sum(len(block.records) for block in _blocks(piece, reading))
    if there > told and not force:
        raise InputError(
            f"{name} has {_records(there)}, but the release of this report only {told:,}: give the report of this "
            "release, or add --force to read it anyway."
        )
    if there == told:
        return doubt
    return (
        f"{name} has {_records(there)}, but the release of this report {told:,}: if the report belongs to another "
        "release, the result means nothing."
    )


def _records(number: int) -> str:
    return f"{number:,} record{'' if number == 1 else 's'}"


def _reader(
    report: Path | None,
    mechanism: str | None,
    epsilon: float | None,
    space: str | None,
    normalise: bool,
    option: list[str] | None,
    select: str | None,
    block: list[str] | None,
    how: dict[str, Any],
) -> Reader:
    from wordveil.reading import Reader
    from wordveil.reading.released import read_report
    from wordveil.spaces import load_space

    if report is None:
        if epsilon is None:
            raise OptionError("give the --report of the release, or say how it was veiled: at least its --epsilon.")
        made = build_mechanism(mechanism or "graph", epsilon, space or "glove-50k", normalise, option)
        return Reader(never_drawing(made, block), select=select or "content", **how)
    check_not_in_report(epsilon=epsilon, mechanism=mechanism, option=option)
    check_select_in_report(report, select)
    if read_report(report).get("language", "en") is not None:
        check_not_in_report(stopwords=how["stop_words"])
    opened = None if space is None else load_space(space, normalise=normalise)
    return Reader.of_report(report, space=opened, select=select, block=block, **how)


def _blocks(piece: Piece, reading: Reading) -> Iterator[Block]:
    with piece.format.open_reader(piece.source, reading) as reader:
        yield from reader.blocks()
        reader.check_unchanged()


def _first_texts(piece: Piece, reading: Reading) -> list[str | Document]:
    """Return the texts of the first records, enough to tell whether they were veiled."""
    found: list[str | Document] = []
    for block in _blocks(piece, reading):
        found += block.texts()
        if len(found) >= _LOOKED_AT:
            break
    return found[:_LOOKED_AT]


def _write_text(made: Reader, piece: Piece, reading: Reading, output: Path, progress: ProgressBar) -> dict[str, Any]:
    """Write the input with the likeliest words in the veiled places, and everything else unchanged."""
    from wordveil.files import name_before

    if str(output) == _STREAM:
        with TemporaryDirectory() as folder:
            held = Path(folder, "text")
            facts = _write_text(made, piece, reading, held, progress)
            with held.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
        return facts
    target, texts = output.resolve(), 0
    part = name_before(target)
    part.unlink(missing_ok=True)
    writer = piece.format.open_writer(part, 0, piece.source, target)
    try:
        with piece.format.open_reader(piece.source, reading) as reader:
            writer.append(reader.preamble)
            for block in reader.blocks():
                releases = list(made.rewrite(block.texts(), watch=progress.watch))
                writer.append(block.render(releases))
                texts += len(releases)
                progress.watch("writing", reader.bytes_done(block.end) / max(1, piece.size))
            reader.check_unchanged()
        writer.finish(target)
    finally:
        writer.close()
        part.unlink(missing_ok=True)
    return {"texts": texts}


def _write_vectors(made: Reader, piece: Piece, reading: Reading, output: Path, progress: ProgressBar) -> dict[str, Any]:
    """Write a vector for each record, or null or zeros if it has no text."""
    import numpy as np

    from wordveil.files import whole_file

    tables, found = [], []
    is_table = output.suffix.lower() != ".npz"
    with piece.format.open_reader(piece.source, reading) as reader:
        for block in reader.blocks():
            texts = [record[0] if record else None for record in block.records]
            vectors = made.transform([text for text in texts if text is not None], watch=progress.watch)
            progress.watch("reading", reader.bytes_done(block.end) / max(1, piece.size))
            if is_table:
                tables.append(_table(block, texts, vectors))
            else:
                rows = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)
                rows[[text is not None for text in texts]] = vectors
                found.append(rows)
        reader.check_unchanged()
    if is_table:
        return {"texts": _write_table(tables, output)}
    arrays = np.concatenate(found) if found else np.zeros((0, 0), dtype=np.float32)
    with whole_file(output) as file:
        np.savez(file, vectors=arrays)
    return {"texts": len(arrays)}


def _table(block: Block, texts: list[str | Document | None], vectors: Any) -> Any:
    """Return the records of a block as an Arrow table, with a column of vectors after their own columns."""
    import numpy as np
    import pyarrow as pa

    from wordveil.io.json_lines import JsonBlock
    from wordveil.io.parquet import ParquetBlock
    from wordveil.io.tables import TableBlock

    if isinstance(block, ParquetBlock):
        table = pa.Table.from_batches(block.batches)
    elif isinstance(block, TableBlock):
        names, columns = zip(*block.columns(), strict=True)
        table = pa.Table.from_arrays([pa.array(column, pa.string()) for column in columns], names=list(names))
    elif isinstance(block, JsonBlock):
        try:
            table = pa.Table.from_pylist([json.loads(row.line) for row in block.rows if row.line.strip()])
        except (pa.ArrowException, OverflowError, RecursionError, TypeError):
            table = None
        if table is None:
            raise InputError(_NO_TABLE)
    else:
        table = pa.table({"text": pa.array(texts, pa.string())})
    name = "vector"
    while name in table.column_names:
        name += "_"
    offsets = np.concatenate([[0], np.cumsum([0 if text is None else vectors.shape[1] for text in texts])])
    missing = pa.array([text is None for text in texts])
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(vectors.ravel()), mask=missing)
    return table.append_column(name, lists)


def _write_table(tables: list[Any], output: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from wordveil.files import whole_file

    if not tables:
        raise InputError("the input has no records, so there is nothing to write.")
    try:
        whole = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException:
        whole = None
    if whole is None:
        raise InputError(_NO_TABLE)
    with whole_file(output) as file:
        pq.write_table(whole, file)
    return int(whole.num_rows)
