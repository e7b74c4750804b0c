"""What the attack commands share: options, reading texts, printing figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from wordveil.cli.checks import Overwrite, check_writable, pictures_of
from wordveil.cli.options import (
    Column,
    Format,
    Json,
    LanguageModel,
    Made,
    Quiet,
    ReadHeader,
    Select,
    advice_on_encoding,
    check_epsilon,
    print_facts,
    print_table,
    stdout,
)
from wordveil.cli.progress import ProgressBar
from wordveil.errors import InputError, OptionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wordveil._mechanisms import Mechanism
    from wordveil.attacks import Prior, Words
    from wordveil.lab.attacks import Corpus
    from wordveil.noise import Entropy
    from wordveil.spaces import Space
    from wordveil.stats import Estimate

Epsilons = Annotated[
    list[float] | None,
    Option("--epsilon", "-e", help="The privacy loss per unit of the mechanism's distance; may be repeated."),
]
PriorName = Annotated[
    str | None,
    Option(
        "--prior", help="What the attacker knows about words: uniform, or frequency (by rank); or give --reference."
    ),
]
Draws = Annotated[
    int,
    Option(
        min=1, help="How many words the attacker veils to learn a mechanism whose probabilities are not known exactly."
    ),
]


@dataclass(frozen=True)
class _AtMany:
    epsilon: Epsilons = None


@dataclass(frozen=True)
class Attacked(Made, _AtMany):
    """The mechanism to attack, at one ε or several."""

    @property
    def rates(self) -> list[float]:
        """The values of ε that were asked for."""
        return epsilons_of(self.epsilon)


@dataclass(frozen=True)
class Source:
    """Where to read texts from, and which of their words are veiled."""

    column: Column = None
    format_name: Format = None
    header: ReadHeader = "check"
    select: Select = "content"

    def words(self, path: Path, space: Space) -> Words:
        """Return the words of a file or folder as a veil sees them. Sentences are texts, and texts are records."""
        from wordveil.attacks import words_of

        check_select(self.select)
        sentences, records = self.sentences(path)
        return words_of(sentences, space.vocabulary, self.select).in_records(records)

    def of_reference(self, path: Path) -> Source:
        """Return how to read another text of this kind, which may be in another format."""
        from wordveil.io import format_of

        form = format_of(path)
        return (
            self
            if self.format_name or (form is not None and form.name in ("csv", "tsv"))
            else replace(self, header="check")
        )

    def sentences(self, path: Path) -> tuple[list[str], NDArray[np.int64]]:
        """Return the sentences of a file or folder, and the text that each belongs to."""
        import numpy as np

        from wordveil.attacks import sentences_of

        cut = [sentences_of(text) for text in read_texts(path, self.column, self.format_name, self.header)]
        return [one for some in cut for one in some], np.repeat(np.arange(len(cut)), [len(some) for some in cut])


@dataclass(frozen=True)
class Knowledge:
    """What the attacker knows or finds out beforehand."""

    reference: Annotated[
        Path | None, Option(help="A public text like the attacked one, to learn word frequencies from.")
    ] = None
    suspects: Annotated[int, Option(min=1, help="How many of the likeliest words the attacker considers.")] = 10_000
    draws: Draws = 200_000

    def check(self, prior: str | None) -> None:
        """Refuse two sources for the prior."""
        if self.reference is not None and prior is not None:
            raise OptionError("give --prior or --reference, not both: the prior comes from one of them.")

    def of(self, prior: str | None, source: Source, space: Space) -> Prior:
        """Return the attacker's prior: from the reference text if there is one, otherwise by name."""
        from wordveil.attacks import Prior

        check_select(source.select)
        if self.reference is None:
            return Prior.named(prior or "frequency", space, self.suspects, select=source.select)
        return Prior.of(source.of_reference(self.reference).words(self.reference, space), space, self.suspects)


@dataclass(frozen=True)
class _ReadBy:
    reader: Annotated[
        str,
        Option(
            "--reader",
            "-r",
            help="What the attacker has besides an output: table (public word frequencies), population (also those of "
            "the release), context (also the rest of the text, by a network fitted on the release; needs PyTorch, and "
            "minutes) or language (the rest of the text, by a public language model; needs the extra trigram or lm).",
        ),
    ] = "context"


@dataclass(frozen=True)
class ReadBy(LanguageModel, _ReadBy):
    """The reader of a whole release."""

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of this kind of reader, besides the mechanism and the prior."""
        return self.options_of(self.reader)


@dataclass(frozen=True)
class Told:
    """How a command reports progress and results."""

    seed: Annotated[int | None, Option(min=0, help="Random seed, for repeatable figures.")] = None
    as_json: Json = False
    quiet: Quiet = False

    def bar(self) -> ProgressBar:
        """Return the progress bar."""
        return ProgressBar("attacking", quiet=self.quiet)

    @property
    def entropy(self) -> Entropy:
        """The source of all randomness of one attack."""
        from wordveil.noise import Entropy

        return Entropy(self.seed)


@dataclass(frozen=True)
class Plotted(Told):
    """The same for a command that can also plot its result."""

    figure: Annotated[Path | None, Option(metavar="FILE", help="Plot the result to a .png or .svg.")] = None
    overwrite: Overwrite = False

    def check(self, *inputs: str | Path | None) -> None:
        """Refuse early a plot that could not or must not be written at the end."""
        check_writable(*pictures_of(self.figure), inputs=inputs, overwrite=self.overwrite)

    def draw(
        self, along: Sequence[float], curves: Mapping[str, Sequence[Estimate]], title: str, axis: str = "ε"
    ) -> None:
        """Plot success over ε or over another quantity, if a plot was asked for."""
        if self.figure is not None:
            from wordveil.attacks.figures import draw_rates
            from wordveil.extras import save

            save(draw_rates(along, curves, title, axis), self.figure)

    def curves(self, found: Sequence[Any], names: Mapping[str, str], along: Sequence[float], title: str) -> None:
        """Plot some figures found at each ε. `names` maps a curve's label to its figure's name."""
        self.draw(along, {label: [getattr(one, name) for one in found] for label, name in names.items()}, title)


def epsilons_of(given: list[float] | None) -> list[float]:
    """Return the requested values of ε, or refuse with a hint on how to choose one."""
    return [check_epsilon(epsilon) for epsilon in given] if given else [check_epsilon(None)]


def veiling(mechanism: Mechanism[Any], select: str, seed: int | None) -> Callable[[Sequence[str]], list[str]]:
    """Return a function that veils texts with a mechanism, from one stream of draws."""
    from wordveil.text import Veil

    veil = Veil(mechanism, select=select, seed=seed, unproven=True)
    return lambda texts: [release.text for release in veil.many(texts)]


def read_texts(path: Path, column: str | None, format_name: str | None = None, header: str = "check") -> list[str]:
    """Return the texts of a file or folder: lines of plain text, or a column of a table."""
    return [texts[0] for texts in _records(path, () if column is None else (column,), format_name, header) if texts]


def read_corpus(
    path: Path, column: str, author_column: str, format_name: str | None = None, header: str = "check"
) -> Corpus:
    """Return the texts of a table with their authors."""
    from wordveil.lab.attacks import Corpus

    records = list(_records(path, (column, author_column), format_name, header))
    if any(len(record) != 2 for record in records):
        raise InputError(f"a record of {path} has no text or no author.")
    return Corpus([text for text, _ in records], [author for _, author in records])


def _records(
    path: Path, columns: tuple[str, ...], format_name: str | None = None, header: str = "check"
) -> Iterator[list[str]]:
    from wordveil.io import Reading, check_fits, make_plan

    plan, reading = make_plan(path, format_name), Reading(columns, header=header)
    check_fits(plan, reading)
    for piece in plan.pieces:
        try:
            with piece.format.open_reader(piece.source, reading) as reader:
                for block in reader.blocks():
                    yield from ([str(text) for text in record] for record in block.records)
        except InputError:  # its advice may name options that this command does not have
            advice = advice_on_encoding(piece)
            if not advice:
                raise
        else:
            continue
        raise InputError(advice)


def check_select(select: str) -> None:
    """Refuse a selection with which a release does not show which words were veiled."""
    if select not in ("content", "all"):
        raise OptionError("--select must be content or all.")


def print_json(attack: str, mechanism: Mechanism[Any] | None, results: list[dict[str, Any]], **more: Any) -> None:
    """Print an attack's results as JSON."""
    described = {} if mechanism is None else {k: v for k, v in mechanism.describe().items() if k != "epsilon"}
    print_facts({"attack": attack, "confidence": 0.95, **described, **more, "results": results})


def by_rate(rates: Sequence[float], found: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the result at each ε as plain values."""
    return [{"epsilon": rate, **one.to_dict()} for rate, one in zip(rates, found, strict=True)]


#: The heading of each column, and the figure to put there: as a share, unless a formatter comes with it.
Columns = Mapping[str, "str | tuple[str, Callable[[Estimate], str]]"]


def show(title: str, leading: Sequence[str], rows: Iterable[Sequence[Any]], columns: Columns, left: int = 0) -> None:
    """Print a table with a row for each result: the leading cells, then some of its figures."""
    told = [(name, as_share) if isinstance(name, str) else name for name in columns.values()]
    cells = [[*map(_cell, first), *(write(getattr(one, name)) for name, write in told)] for *first, one in rows]
    print_table(title, (*leading, *columns), cells, left=left)


def _cell(value: Any) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def describe_attacker(exact: bool, limits: str) -> None:
    """Say what the attacker knows about the mechanism, and what would help them further."""
    knowledge = (
        "The attacker knows the mechanism's exact probabilities."
        if exact
        else "The attacker learnt the mechanism by running it and was tested on fresh draws; a better one may exist."
    )
    stdout().print(f"{knowledge} {limits}", soft_wrap=True)


def as_share(figure: Estimate) -> str:
    """Format a figure as a percentage with its interval."""
    return _formatted(figure, lambda value: f"{100 * value:.1f}", "%")


def as_number(figure: Estimate) -> str:
    """Format a figure as a number with its interval."""
    return _formatted(figure, lambda value: f"{value:.3g}", "")


def _formatted(figure: Estimate, write: Callable[[float], str], unit: str) -> str:
    if not math.isfinite(figure.value):  # there was no data
        return "none"
    return f"{write(figure.value)}{unit} ({write(figure.low)}–{write(figure.high)})"
