"""The process of the ``wordveil`` command: how it ends, and what users see when something is wrong."""

from __future__ import annotations

import gc
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
_UNSEEN = 1 << 16  # objects made before Python looks for cycles: loading makes many, and hardly any is garbage
_PARAMETER = re.compile("`([a-z_]+)(?:='([^`']*)')?`")


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit the process.

    The exit status is 0 on success, 1 for an internal error, 2 for a mistake in the request, 130 if it was stopped,
    and 141 if nobody reads the output any more.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments
    interrupts = _watch_for_interrupts()
    gc.set_threshold(_UNSEEN)
    try:
        _dump_no_core()
        _have_idle_threads_sleep()
        _print_what_can_be_printed()
        code = _run([part for part in arguments if part != "--debug"])
    except SystemExit as left:
        if not isinstance(left.__context__, BrokenPipeError):  # which rich turns into an exit
            raise
        code = _tell(left.__context__, arguments)
    except BaseException as error:
        if debug:
            raise
        # An interrupt during an import may surface as another error.
        code = _tell(KeyboardInterrupt() if interrupts else error, arguments)
    sys.exit(code)


def _watch_for_interrupts() -> list[int]:
    """Return a list that stays empty until somebody presses Ctrl-C."""
    seen: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # otherwise it is ignored or handled elsewhere
        with suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGINT, interrupt)
    return seen


def _have_idle_threads_sleep() -> None:
    """Let the threads of numpy's BLAS, one per core, sleep while they wait.

    They would spin for 2^26 cycles first. For one sentence, that is an eighth of the work on two cores, and more on
    every further core. numpy reads the setting when it is loaded. A value set by the user stands.
    """
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")  # the logarithm of the cycles


def _run(arguments: list[str]) -> int:
    # Imported here, so that a Ctrl-C while it loads is caught, too. Typer's own `main` is not used: it would turn a
    # Ctrl-C or a broken pipe into an exit status without a message.
    import typer

    command = _command(arguments)
    try:
        with command.make_context("wordveil", arguments) as context:
            command.invoke(context)
        code = 0
    except typer.Exit as left:
        code = int(left.exit_code)
    except Exception as error:
        if type(error).__name__ != "NoArgsIsHelpError":  # by name, because the class has moved between versions
            raise
        typer.echo(str(error) if not hasattr(error, "format_message") else error.format_message())
        code = 0
    if sys.stdout is not None:
        sys.stdout.flush()  # here a failure can still be reported
    return code


def _command(arguments: list[str]) -> Any:
    """Return the command line with only the requested command, because preparing each takes time."""
    return _prepared(next((part for part in arguments if not part.startswith("-")), None))


@cache
def _prepared(asked: str | None) -> Any:
    import typer

    from wordveil.cli.commands import app_with

    return typer.main.get_command(app_with(asked))


def _dump_no_core() -> None:
    """Make sure that a crash leaves no file with a copy of this process's memory, which holds the text."""
    with suppress(ImportError, ValueError, OSError):  # not on every system
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _print_what_can_be_printed() -> None:
    """Show question marks for characters that a terminal does not know."""
    if sys.stderr is None:  # closed: messages go nowhere, and no other file may get its descriptor
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def _tell(error: BaseException, arguments: list[str]) -> int:
    """Say in one sentence why the command ended, and return its exit status."""
    if isinstance(error, KeyboardInterrupt):
        exec("")  # noqa: S102 - if the last exec, such as an import, was interrupted, Python would end by the signal
        _say("stopped.")
        return _STOPPED
    if isinstance(error, BrokenPipeError):  # nobody reads our output any more, so there is nothing to say
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
    """Replace parameters, which the library names in backticks, by the flags of the command that was run."""
    command = _command(arguments)
    for part in arguments:
        command = getattr(command, "commands", {}).get(part, command)
    flags: dict[str, str] = {}
    for option in command.params:
        long = next((name for name in option.opts if name.startswith("--")), None)
        if long is not None:
            name = long.removeprefix("--").replace("-", "_")
            flags |= {option.name: long, name: long, f"{name}s": long}  # the flag of one column stands for `columns`

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
    context = getattr(error, "ctx", None)  # of the requested command; missing for an unknown one
    asked = "wordveil" if context is None else context.command_path
    _say(f"{_usage_mistake(error)}; see {asked} --help.")
    return _MISTAKE


def _usage_mistake(error: Any) -> str:
    """Say what is wrong with a command line in our own words, because the library's change between versions."""
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
    elif "extra argument" in message:  # not quoted, because it may be text that was meant to be veiled
        said = "there are more arguments than the command takes (quote one with spaces in it)"
    elif kind == "BadOptionUsage" and option:
        said = f"{option} needs a value" if "requires" in message else f"{option} takes no value"
    return said


def _drop_what_is_left() -> None:
    """Discard what is left in the buffers, so that nothing fails at exit."""
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
    except OSError:  # the message is lost, but the exit status can still be right
        _drop_what_is_left()
