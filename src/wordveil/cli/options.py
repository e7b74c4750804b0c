"""Options that several commands share, and how to make a mechanism from them."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from wordveil.errors import FileError, InputError, OptionError

if TYPE_CHECKING:
    from rich.console import Console

    from wordveil._mechanisms import Mechanism
    from wordveil.io.inputs import Piece

_NAMED = {"none": None, "true": True, "false": False}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
#: Arguments of a mechanism that are not options of it, with their own flags.
_NO_OPTIONS = {"epsilon": "epsilon", "space": "space", "name": "mechanism"}
_MOST_DIGITS = 300  # Python refuses to parse much longer numbers, and no option needs any

MechanismName = Annotated[
    str, Option("--mechanism", "-m", help="How words are replaced; `wordveil mechanisms` lists them.")
]
Epsilon = Annotated[
    float | None,
    Option(
        "--epsilon",
        "-e",
        help="Privacy loss per unit of the mechanism's distance; smaller is more private.",
    ),
]
SpaceName = Annotated[
    str, Option("--space", "-s", help="A bundled space (`wordveil spaces`) or the path of an embedding file.")
]
Normalise = Annotated[bool, Option("--normalise", help="Scale the space's vectors to length 1.")]
Options = Annotated[
    list[str] | None,
    Option("--option", "-O", metavar="NAME=VALUE", help="An option of the mechanism, such as k=5; may be repeated."),
]
Seed = Annotated[
    int | None, Option("--seed", min=0, help="Random seed, for experiments only: the output carries no guarantee.")
]
Block = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="A file of words that are never drawn, one per line, instead of the bundled slurs and obscenities; it may "
        "be empty.",
    ),
]
Quiet = Annotated[bool, Option("--quiet", "-q", help="No progress bar.")]
Column = Annotated[str | None, Option("--column", "-c", help="The column of the text, in a table.")]
Format = Annotated[
    str | None, Option("--format", "-f", help="text, csv, tsv, jsonl or parquet, if the extension does not say.")
]
Select = Annotated[str, Option("--select", help="Which words are veiled: content (all but function words) or all.")]
ReportFile = Annotated[
    Path | None, Option("--report", metavar="FILE", help="The report of the release, which says how it was veiled.")
]
Header = Annotated[
    str,
    Option(
        "--header",
        metavar="HOW",
        help="What the first line of a CSV or TSV table is: column names, refused if they look like a record (check, "
        "the default); column names (yes); or a record (no; the columns are then called 1, 2, …).",
    ),
]
ReadHeader = Annotated[
    str,
    Option(
        "--header",
        metavar="HOW",
        help="Whether the first line of a CSV or TSV table names its columns: yes (as check, the default) or no (the "
        "columns are then called 1, 2, …).",
    ),
]
EncodingErrors = Annotated[
    str,
    Option(metavar="HOW", help="Bytes that are not text in that encoding: strict (refuse) or replace (by U+FFFD)."),
]
SpansKey = Annotated[
    str | None, Option(metavar="KEY", help="For --select spans: the JSON key with [[start, end], ...].")
]
ReportedMechanism = Annotated[
    str | None, Option("--mechanism", "-m", help="How words were replaced; graph if there is no report.")
]
PublicPrior = Annotated[
    str,
    Option(
        "--prior",
        help="What is public about word frequencies: space (those of English in general, or by rank), uniform, or a "
        "file: public text, or lines of a word and its count.",
    ),
]


def check_can_print(is_wanted: bool = True) -> bool:
    """Refuse, before any work, results that could not be printed."""
    if sys.stdout is None:
        raise FileError("standard output is closed, so there is nowhere to print to.")
    return is_wanted


# Every command with this option prints either JSON or a table.
Json = Annotated[bool, Option("--json", help="Print JSON instead of a table.", callback=check_can_print)]


def stdout() -> Console:
    """Return the console for results."""
    from rich.console import Console

    check_can_print()
    return Console(
        highlight=False,
        emoji=False,
        width=None if sys.stdout.isatty() else 140,  # a file has no width of its own
    )


def print_facts(facts: Any) -> None:
    """Print results as JSON."""
    typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))


def print_table(
    title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1, caption: str | None = None
) -> None:
    """Print results as a table. The first `left` columns are text, the others are figures."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    for place, heading in enumerate(headings):
        table.add_column(heading, overflow="fold", justify="left" if place < left else "right")
    for row in rows:
        table.add_row(*row)
    stdout().print(table)


def stderr() -> Console:
    """Return the console for progress and remarks."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, emoji=False)


def on_terminal() -> bool:
    """Return whether somebody may be watching. Does not load rich, which is slow."""
    return sys.stderr is not None and sys.stderr.isatty()


def while_at_work(what: str) -> AbstractContextManager[object]:
    """Show a spinner until the block ends, if this is a terminal."""
    return stderr().status(what) if on_terminal() else nullcontext()


@contextmanager
def _opening(title: str, *, quiet: bool) -> Iterator[None]:
    """Show a spinner while a space opens, or a progress bar if its graph must be built."""
    from wordveil.cli.progress import ProgressBar
    from wordveil.progress import watched_by

    with ExitStack() as stack:
        waiting = stack.enter_context(ExitStack())
        waiting.enter_context(while_at_work(f"{title}…"))
        bars: list[ProgressBar] = []

        def watch(what: str, share: float) -> None:
            if not bars:  # it will take a while
                waiting.close()
                bars.append(stack.enter_context(ProgressBar(f"{title}, once:", quiet=quiet, at_once=True)))
            bars[0].watch(what, share)

        stack.enter_context(watched_by(watch))
        yield


def check_epsilon(epsilon: float | None) -> float:
    """Return a valid epsilon, or raise an error that says how to choose one."""
    if epsilon is None:
        raise OptionError(
            "--epsilon is required; 4 is a good start for the default mechanism, and `wordveil calibrate` finds the "
            "value for your own target."
        )
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise OptionError("--epsilon must be a finite number above 0.")
    return epsilon


def check_not_in_report(**given: object) -> None:
    """Refuse options that the report of a release already contains."""
    for name, value in given.items():
        if value is not None and value != []:
            raise OptionError(f"--{name} is already in the report: leave it out, or leave out --report.")


def advice_on_encoding(piece: Piece) -> str:
    """Return what to do with a file that is not UTF-8, for a command that reads nothing else; "" if it is."""
    from wordveil.io import detect_encoding

    if not piece.format.is_encoded or piece.source is None or piece.is_stream:
        return ""
    likely, _ = detect_encoding(piece.source)
    if likely == "utf-8":
        return ""
    probably = f", but probably {likely}" if likely else ""
    return f"{piece.source} is not UTF-8{probably}: convert it to UTF-8 first."


def check_select_in_report(report: Path, select: str | None) -> None:
    """Refuse a selection other than the report's. Spans may stand for any, as they say where the veiled words are."""
    from wordveil.reading.released import read_report

    told = read_report(report).get("select")
    if isinstance(told, str) and select not in (None, "spans", told):
        raise OptionError(f"the report says that the release was made with --select {told}: leave out --select.")


def build_mechanism(
    name: str,
    epsilon: float | None,
    space: str,
    normalise: bool,
    options: list[str] | None,
    *,
    engine: str = "local",
    index: str = "exact",
    quiet: bool = False,
) -> Mechanism[Any]:
    """Open the space and make the mechanism, with a spinner where that takes time."""
    epsilon = check_epsilon(epsilon)
    chosen = parse_options(options)
    from wordveil._mechanisms import kind_named, mechanism
    from wordveil.spaces import load_space

    kind_named(name)  # refuses an unknown name before the space is opened
    where = Path(space).name
    with _opening(f"opening the space {where}", quiet=quiet):
        opened = load_space(space, normalise=normalise)
        if engine == "local" and index == "exact":
            return mechanism(name, opened, epsilon=epsilon, **chosen)
        from wordveil.engines import approximately, check_runs, on_engine

        if index == "approximate":
            return approximately(lambda words: mechanism(name, words, epsilon=epsilon, **chosen), opened)
        made = mechanism(name, on_engine(opened, engine), epsilon=epsilon, **chosen)
        check_runs(made, engine)
        return made


@dataclass(frozen=True)
class Made:
    """Options that choose a mechanism and a space. A command that takes one of them takes them all."""

    mechanism: MechanismName = "graph"
    space: SpaceName = "glove-50k"
    normalise: Normalise = False
    option: Options = None

    def maker(self) -> tuple[Any, Callable[[float], Mechanism[Any]]]:
        """Open the space. Return it, and a function that makes the mechanism on it for any ε."""
        from wordveil._mechanisms import kind_named
        from wordveil.calibration import maker
        from wordveil.spaces import load_space

        kind_named(self.mechanism)  # refuses an unknown name before the space is opened
        opened = load_space(self.space, normalise=self.normalise)
        return opened, maker(self.mechanism, opened, **parse_options(self.option))


@dataclass(frozen=True)
class _AtOne:
    epsilon: Epsilon = None


@dataclass(frozen=True)
class Chosen(Made, _AtOne):
    """Options that choose a mechanism at one ε."""

    def build(self) -> Mechanism[Any]:
        """Open the space and make the mechanism."""
        return build_mechanism(self.mechanism, self.epsilon, self.space, self.normalise, self.option)


@dataclass(frozen=True)
class Compared:
    """How to make mechanisms comparable, and where to measure them."""

    attacker: Annotated[
        str,
        Option(
            help="The attacker whose success is made equal: alone (one word at a time) or context (the whole release; "
            "needs PyTorch)."
        ),
    ] = "alone"
    reader: Annotated[
        str, Option(help="The strongest reader of veiled texts: table, population, release, shipped or context.")
    ] = "population"
    seed: Annotated[int, Option(min=0, help="Random seed.")] = 0
    workers: Annotated[
        int, Option(min=1, help="How many mechanisms or tasks to measure at once, each in its own process.")
    ] = 1
    engine: Annotated[str, Option(help="Where noise is drawn: local, or gpu for a CUDA device.")] = "local"

    def check(self) -> None:
        """Refuse early what this machine cannot do."""
        from wordveil.engines import check_engine
        from wordveil.parallel import check_workers

        check_engine(self.engine)
        check_workers(self.workers)


@dataclass(frozen=True)
class LanguageModel:
    """The public language model of a reader of the kind language."""

    language_model: Annotated[
        str | None,
        Option(
            metavar="trigram|smollm2|FILE",
            help="For --reader language: the English trigrams of pocketsphinx (the default), SmolLM2, or a public text "
            "like the veiled one to learn trigrams from.",
        ),
    ] = None
    beam: Annotated[
        int | None,
        Option(min=1, help="For smollm2: how many candidate texts to follow at once. Default: 16.", show_default=False),
    ] = None
    preamble: Annotated[
        Path | None,
        Option(metavar="FILE", help="For smollm2: a few public sentences of the same kind, read first."),
    ] = None

    def options_of(self, reader: str) -> dict[str, Any]:
        """Return the options of a kind of reader; refuse those of another kind."""
        for_smollm = {"--beam": self.beam, "--preamble": self.preamble}
        if reader != "language":
            _refuse({"--language-model": self.language_model, **for_smollm}, "--reader language")
            return {}
        if self.language_model != "smollm2":
            _refuse(for_smollm, "--language-model smollm2")
            return {"model": self.language_model or "trigram"}
        lines = words_in(self.preamble)
        return {"model": "smollm2", "beam": self.beam, "preamble": None if lines is None else "\n".join(lines)}


def _refuse(given: Mapping[str, Any], needed: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise OptionError(f"{name} is for {needed} alone.")


def never_drawing(made: Mechanism[Any], words: list[str] | None) -> Mechanism[Any]:
    """Return the mechanism without some of its outputs: the given words, or those of the bundled blocklist."""
    from wordveil._mechanisms import block, blocked_words

    found = block(made, blocked_words() if words is None else words)
    if words and not len(found.blocked):
        raise OptionError("no line of the --block list is a word of the space: give a single word on each line.")
    return found


def words_in(path: Path | None) -> list[str] | None:
    """Return the lines of a list with one word per line, or of another text; None without a file."""
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


def parse_options(options: list[str] | None) -> dict[str, Any]:
    """Parse the options of a mechanism into names and values."""
    found: dict[str, Any] = {}
    for option in options or []:
        name, value = _parse(option)
        if name in found:
            raise OptionError(f"--option {name} is given more than once: give it once.")
        found[name] = value
    return found


def _parse(option: str) -> tuple[str, Any]:
    name, equals, value = option.partition("=")
    if not equals or not name:
        raise OptionError("--option must look like NAME=VALUE, such as k=5.")
    if name in _NO_OPTIONS:
        raise OptionError(f"{name} is not an --option of a mechanism; use --{_NO_OPTIONS[name]}.")
    if value.lower() in _NAMED:
        return name, _NAMED[value.lower()]
    if _NUMBER.fullmatch(value) and len(value) <= _MOST_DIGITS:
        return name, int(value) if value.lstrip("+-").isdigit() else float(value)
    return name, value
