"""The process of the command ``wordveil``: how it ends, and what people see when something is wrong."""

from __future__ import annotations

import os
import re
import signal
import sys
from contextlib import suppress
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import Any

from wordveil.errors import WordveilError

_MISTAKE, _FAULT, _STOPPED, _BROKEN_PIPE = 2, 1, 130, 141  # the last two as a shell reports SIGINT and SIGPIPE
_PARAMETER = re.compile("`([a-z_]+)(?:='([^`']*)')?`")


def main(arguments: list[str] | None = None) -> None:
    """Run the command and leave the process.

    The exit status is 0 on success, 1 for an internal error, 2 for a mistake in what was asked, 130 if it was stopped,
    and 141 if nobody reads the output any more.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments
    interrupts = _watch_for_interrupts()
    try:
        _dump_no_core()
        _have_idle_threads_sleep()
        _print_what_can_be_printed()
        code = _run([part for part in arguments if part != "--debug"])
    except SystemExit as left:
        if not isinstance(left.__context__, BrokenPipeError):  # from which rich makes an exit of its own
            raise
        code = _tell(left.__context__, arguments)
    except BaseException as error:
        if debug:
            raise
        # An import makes another error of an interrupt.
        code = _tell(KeyboardInterrupt() if interrupts else error, arguments)
    sys.exit(code)


def _watch_for_interrupts() -> list[int]:
    """Return a list that is empty until somebody has pressed Ctrl-C."""
    seen: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # or it is ignored, or another's
        with suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGINT, interrupt)
    return seen


def _have_idle_threads_sleep() -> None:
    """Let the threads of numpy's BLAS, one for each core, sleep while they wait.

    They would first run idle for some 2^26 cycles, which for a sentence is an eighth of the work on two cores, and more
    on every further one. It is read when numpy is loaded, and a choice of the user's stands.
    """
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")  # the logarithm of the cycles


def _run(arguments: list[str]) -> int:
    # Here and not above, so that a Ctrl-C while it loads is caught too. Typer's own `main` is passed by: it would make
    # an exit status of a Ctrl-C or a broken pipe, and say nothing.
    import typer

    command = _command(arguments)
    try:
        with command.make_context("wordveil", arguments) as context:
            command.invoke(context)
        code = 0
    except typer.Exit as left:
        code = int(left.exit_code)
    except Exception as error:
        if type(error).__name__ != "NoArgsIsHelpError":  # whose class has moved
            raise
        typer.echo(str(error) if not hasattr(error, "format_message") else error.format_message())
        code = 0
    if sys.stdout is not None:
        sys.stdout.flush()  # where it can still be told that it failed
    return code


def _command(arguments: list[str]) -> Any:
    """Return the command line; of its commands only the one that is asked for, since each takes time to prepare."""
    return _prepared(next((part for part in arguments if not part.startswith("-")), None))


@cache
def _prepared(asked: str | None) -> Any:
    import typer

    from wordveil.cli.commands import app_with

    return typer.main.get_command(app_with(asked))


def _dump_no_core() -> None:
    """Make sure that a crash leaves no copy of this process's memory, which holds the text, in a file."""
    with suppress(ImportError, ValueError, OSError):  # not on every system
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _print_what_can_be_printed() -> None:
    """Let a terminal that knows few characters show question marks for the others."""
    if sys.stderr is None:  # closed; what is said goes nowhere, and no other file may take its number
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def _tell(error: BaseException, arguments: list[str]) -> int:
    """Say in one sentence why the command ended, and return its exit status."""
    if isinstance(error, KeyboardInterrupt):
        exec("")  # noqa: S102 - Python ends by the signal if the last exec, as of some import, was interrupted
        _say("stopped.")
        return _STOPPED
    if isinstance(error, BrokenPipeError):  # nobody reads our output any more, and nothing more is to be said
        _drop_what_is_left()
        return _BROKEN_PIPE
    if isinstance(error, WordveilError):
        _say(_with_flags(str(error), arguments))
        return _MISTAKE
    if isinstance(error, MemoryError):
        _say("out of memory; use a smaller space, or process less at a time (--batch-words).")
        return _FAULT
    if isinstance(error, OSError):
        _say(f"a file could not be read or written ({error.strerror or type(error).__name__}).")
        return _MISTAKE
    return _tell_of_usage(error)


def _with_flags(sentence: str, arguments: list[str]) -> str:
    """Put the flags of the command that was run in the place of parameters, which the library names in backticks."""
    command = _command(arguments)
    for part in arguments:
        command = getattr(command, "commands", {}).get(part, command)
    flags: dict[str, str] = {}
    for option in command.params:
        long = next((name for name in option.opts if name.startswith("--")), None)
        if long is not None:
            name = long.removeprefix("--").replace("-", "_")
            flags |= {option.name: long, name: long, f"{name}s": long}  # one flag for each column of `columns`

    def shown(found: re.Match[str]) -> str:
        if found[1] not in flags:
            return found[0]
        return flags[found[1]] if found[2] is None else f"{flags[found[1]]} {found[2]}"

    return _PARAMETER.sub(shown, sentence)


def _tell_of_usage(error: BaseException) -> int:
    import typer

    from wordveil.cli.help import USAGE_ERROR

    if isinstance(error, typer.Abort):
        _say("stopped.")
        return _STOPPED
    if not isinstance(error, USAGE_ERROR):
        _say(f"internal error ({type(error).__name__}); no original text was written. Add --debug for a traceback.")
        return _FAULT
    context = getattr(error, "ctx", None)  # of the command that was asked for; there is none for an unknown one
    asked = "wordveil" if context is None else context.command_path
    _say(f"{_usage_mistake(error)}; see {asked} --help.")
    return _MISTAKE


def _usage_mistake(error: Any) -> str:
    """Say what is wrong with a command line in our own words; those of the library change."""
    from wordveil.cli.help import named, wanted

    kind, message = type(error).__name__, str(getattr(error, "message", None) or "")
    parameter, option = getattr(error, "param", None), getattr(error, "option_name", None)
    told = error.format_message() if hasattr(error, "format_message") else str(error)
    said = str(told).splitlines()[0].rstrip(".")
    if parameter is not None and kind == "MissingParameter":
        said = f"{named(parameter)} is missing"
    elif parameter is not None and kind == "BadParameter":
        said = f"{named(parameter)} must be {wanted(parameter)}"
    elif kind == "NoSuchOption":
        near = getattr(error, "possibilities", None) or []
        said = f"there is no option {option}" + (f" (did you mean {near[0]}?)" if near else "")
    elif message.startswith("No such command"):
        said = f"there is no command {message.removeprefix('No such command ').partition('.')[0]}"
    elif "extra argument" in message:  # which may be text that was meant to be veiled
        said = "there are more arguments than the command takes (quote one with spaces in it)"
    elif kind == "BadOptionUsage" and option:
        said = f"{option} needs a value" if "requires" in message else f"{option} takes no value"
    return said


def _drop_what_is_left() -> None:
    """Discard what is still in the buffers, so that nothing fails at the very end."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or no file
            stream.flush()
            continue
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _say(sentence: str) -> None:
    try:
        sys.stderr.write(f"wordveil: {sentence}\n")
        sys.stderr.flush()
    except OSError:  # nobody can be told, but the exit status can still be right
        _drop_what_is_left()
