"""``wordveil privatize --engine spark``: files veiled on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wordveil.cli.files import check_writable
from wordveil.cli.jobs import STREAM, summarise, warn, write_report
from wordveil.errors import FileError, OptionError


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
    """Veil a file or a folder on Spark, and say what was done."""
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
            raise FileError(f"{output} was complete, so nothing was drawn; its report is that of the first run.")
        typer.echo(f"wordveil: {output} was complete, so nothing was drawn.", err=True)
        return
    if report is not None:
        write_report(told[0], report)
    if not quiet:
        counts, job = Counts(**told[0]["counts"]), told[0]["job"]
        tally = Tally(counts, records=job["records"], seconds=job["seconds"])
        summarise(told[0], tally, warned=bool(warned), report=report)
