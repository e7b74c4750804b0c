"""The command ``wordveil``: its parts, and what people see when something is wrong."""

from __future__ import annotations

import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import Any

import typer

from wordveil.cli import (
    attack,
    audit,
    calibrate,
    compare,
    demo,
    explain,
    geometry,
    lac,
    match,
    mechanisms,
    plot,
    privatize,
    reproduce,
    serve,
    spaces,
    train,
    vectors,
)
from wordveil.errors import WordveilError

__all__ = ["app", "main"]

app = typer.Typer(
    name="wordveil",
    help="Rewrite text so that every word is plausibly deniable, under proved metric differential privacy.",
    epilog="Begin with: wordveil demo. Every command has --help with examples. Add --debug anywhere for a traceback.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    privatize,
    explain,
    mechanisms,
    spaces,
    calibrate,
    match,
    compare,
    geometry,
    audit,
    attack,
    vectors,
    train,
    plot,
    reproduce,
    lac,
    serve,
    demo,
):
    command.register(app)

# The command-line library's own errors (a missing argument, an unknown option); which class it is has moved.
_UsageError: type[Any] = typer.BadParameter.__mro__[2]


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from wordveil import __version__

        typer.echo(f"wordveil {__version__}")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> None:
    """Run the command and leave the process: 0 done, 1 a fault of ours, 2 a mistake in what was asked, 130 stopped.

    Parameters
    ----------
    arguments : list of str, optional
        What follows the command's name; those of the process if not given.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments
    _dump_no_core()
    _print_what_can_be_printed()
    try:
        result = typer.main.get_command(app).main(
            [part for part in arguments if part != "--debug"], prog_name="wordveil", standalone_mode=False
        )
    except (WordveilError, _UsageError, typer.Abort, KeyboardInterrupt, BrokenPipeError) as error:
        if debug:
            raise
        sys.exit(_tell(error))
    except MemoryError:
        if debug:
            raise
        _say("there is not enough memory for this; hold less at once, such as with --batch-words, or use fewer words.")
        sys.exit(1)
    except OSError as error:
        if debug:
            raise
        _say(f"something could not be read or written ({error.strerror or type(error).__name__}).")
        sys.exit(2)
    except Exception as error:
        if debug:
            raise
        _say(f"something went wrong inside ({type(error).__name__}); nothing raw was released.")
        sys.exit(1)
    sys.exit(result if isinstance(result, int) else 0)


def _dump_no_core() -> None:
    """See to it that a crash leaves no copy of this process's memory, which holds the text, in a file."""
    with suppress(ImportError, ValueError, OSError):  # not on every system
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _print_what_can_be_printed() -> None:
    """Let a terminal that knows few characters show question marks for the others, and not an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def _tell(error: BaseException) -> int:
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        _say("stopped.")
        return 130
    if isinstance(error, BrokenPipeError):
        sys.stderr.close()  # whoever read our output has gone; nothing more is to be said
        return 141
    if isinstance(error, WordveilError):
        _say(str(error))
        return 2
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stdout.write(message + "\n")
        return 0
    _say(f"{message.splitlines()[0].rstrip('.')}; see wordveil --help.")
    return 2


def _say(sentence: str) -> None:
    sys.stderr.write(f"wordveil: {sentence}\n")
