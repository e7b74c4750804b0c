"""``wordveil lac``: what shuffling, sampling and thresholds are worth, before any data is touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordveil.cli.files import Overwrite, check_writable, pictures_of
from wordveil.cli.options import (
    Epsilon,
    Json,
    MechanismName,
    Normalise,
    Options,
    SpaceName,
    build_mechanism,
    check_epsilon,
    parse_options,
    stdout,
)
from wordveil.errors import WordveilError

if TYPE_CHECKING:
    from wordveil.lac import Amplifier, Stage
    from wordveil.lac.simulation import Point
    from wordveil.spaces import EuclideanSpace

__all__ = ["register"]

_TASKS = ("promise", "simulate")
_WORDS = 200


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("lac")(lac)


def lac(
    task: Annotated[str, typer.Argument(metavar="TASK", help="promise or simulate.")],
    epsilon: Epsilon = None,
    mechanism: MechanismName = "exponential",
    space: SpaceName = "glove-50k",
    normalise: Normalise = False,
    option: Options = None,
    records: Annotated[
        list[int] | None,
        typer.Option(
            "--records", "-n", min=1, help="How many records, all of one shape and label, or users; may be repeated."
        ),
    ] = None,
    delta: Annotated[float, typer.Option("--delta", help="The δ that may be spent.")] = 1e-6,
    per_user: Annotated[int, typer.Option("--per-user", min=1, help="How many records one user may give.")] = 1,
    record_words: Annotated[
        int | None, typer.Option("--record-words", min=1, help="promise: how many words a record may have veiled.")
    ] = None,
    sample: Annotated[
        float | None, typer.Option("--sample", metavar="Q", help="promise: sample this share of the records.")
    ] = None,
    no_shuffle: Annotated[bool, typer.Option("--no-shuffle", help="promise: leave the shuffle out.")] = False,
    threshold: Annotated[
        int | None, typer.Option("--threshold", metavar="K", help="promise: suppress texts rarer than this.")
    ] = None,
    threshold_rate: Annotated[
        float, typer.Option("--threshold-rate", metavar="β", help="promise: sample so before the threshold.")
    ] = 0.1,
    words: Annotated[
        int | None,
        typer.Option(
            "--words", min=2, max=4000, help="simulate: how many of the space's first words users choose from."
        ),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="simulate: draw a picture, .png or .svg.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Say what a localizer, amplifiers and a curator promise together (promise), and at which error (simulate).

    For example:

      wordveil lac promise --epsilon 1.5 --option clip=6 --records 1000000

      wordveil lac promise --epsilon 1.5 --option clip=6 --sample 0.1 --threshold 40

      wordveil lac simulate --epsilon 1.5 --option clip=6 --figure lac.svg
    """
    check_epsilon(epsilon)
    if task not in _TASKS:
        raise WordveilError(f"there is no task {task!r}; choose one of {', '.join(_TASKS)}.")
    if not 0.0 < threshold_rate < 1.0:  # also where no threshold would refuse it
        raise WordveilError("--threshold-rate must lie between 0 and 1, both excluded.")
    if task == "promise":
        if words is not None or figure is not None:
            raise WordveilError("--words and --figure go with simulate.")
        made = build_mechanism(mechanism, epsilon, space, normalise, option)
        amplifiers = _amplifiers(sample, not no_shuffle, threshold, threshold_rate)
        _promise(made, amplifiers, records or [1_000_000], delta, per_user, record_words or 1, as_json=as_json)
        return
    if sample is not None or no_shuffle or threshold is not None or record_words is not None:
        raise WordveilError("--sample, --no-shuffle, --threshold and --record-words go with promise.")
    check_writable(*pictures_of(figure), inputs=(space,), overwrite=overwrite)
    _simulate(
        mechanism, check_epsilon(epsilon), _first_words(space, normalise, words or _WORDS), parse_options(option),
        records, delta, per_user, figure, as_json=as_json,
    )  # fmt: skip


def _amplifiers(sample: float | None, has_shuffle: bool, threshold: int | None, rate: float) -> list[Amplifier]:
    from wordveil.lac import KThreshold, Shuffle, Subsample

    chosen: list[Amplifier] = []
    if sample is not None:
        chosen.append(Subsample(sample))
    if has_shuffle:
        chosen.append(Shuffle())
    if threshold is not None:
        chosen.append(KThreshold(threshold, rate))
    return chosen


def _promise(
    made: Any,
    amplifiers: list[Amplifier],
    records: list[int],
    delta: float,
    per_user: int,
    record_words: int,
    *,
    as_json: bool,
) -> None:
    from wordveil.lac import Crowd, Localizer, Pipeline, Plain
    from wordveil.text import Veil

    pipeline = Pipeline(Localizer(Veil(made), words=record_words), amplifiers, Plain(), delta=delta, per_user=per_user)
    found = {count: pipeline.stages(count) for count in records}
    if as_json:
        facts = [
            {"records": count, "assumes": Crowd(count).sentence(), "stages": [stage.to_dict() for stage in stages]}
            for count, stages in found.items()
        ]
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    for count, stages in found.items():
        _show_stages(count, stages)
    stdout().print(
        "The shape of a record is all that is released of it as it is: words left alone, what lies between words, "
        "which words are veiled or outside the vocabulary, lengths of numbers, copied capitals. A record hides only "
        "among those of its shape and label: of several shapes, ask with the number of records that the rarest has, "
        "and without --sample."
    )


def _show_stages(count: int, stages: list[Stage]) -> None:
    from rich.markup import escape

    console = stdout()
    console.print(f"[bold]{count:,} records[/bold]")
    for stage in stages:
        for promise in stage.promises:
            console.print(f"  after {stage.name}: {escape(promise.sentence())}")
    console.print(f"  if no amplifier is trusted: {escape(stages[-1].untrusted.sentence())}")


def _first_words(space: str, normalise: bool, count: int) -> EuclideanSpace:
    from wordveil.spaces import EuclideanSpace, Vocabulary, load_space

    opened = load_space(space, normalise=normalise)
    if not isinstance(opened, EuclideanSpace):
        raise WordveilError("a simulation needs a Euclidean space of vectors.")
    vectors = opened.matrix[:count]
    return EuclideanSpace(
        f"the first {len(vectors)} words of {opened.name}", Vocabulary(opened.vocabulary.words[:count]), vectors
    )


def _simulate(
    name: str,
    epsilon: float,
    space: EuclideanSpace,
    options: dict[str, Any],
    records: list[int] | None,
    delta: float,
    per_user: int,
    figure: Path | None,
    *,
    as_json: bool,
) -> None:
    from wordveil._mechanisms import mechanism
    from wordveil.lac.figure import save_figure
    from wordveil.lac.simulation import DECADES, simulate

    points = simulate(
        lambda tried: mechanism(name, space, epsilon=tried, **options),
        epsilon,
        users=records or DECADES,
        delta=delta,
        per_user=per_user,
    )
    if figure is not None:
        save_figure(points, figure)
    if as_json:
        facts = {"mechanism": name, "epsilon": epsilon, "options": options, "space": space.name, "delta": delta}
        typer.echo(json.dumps({**facts, "points": [point.to_dict() for point in points]}, indent=2))
        return
    _show_points(points, f"{name} at ε = {epsilon:g} on {space.name}, δ = {delta:g}")


def _show_points(points: list[Point], title: str) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for heading in (
        "users",
        "ε, untrusted",
        "ε, shuffled",
        "error, no privacy",
        "error, shuffled",
        "error, local only",
    ):
        table.add_column(heading, justify="right")
    for point in points:
        table.add_row(
            f"{point.users:,}",
            f"{point.local_epsilon:.3g}",
            f"{point.central_epsilon:.3g}",
            f"{point.no_privacy:.2g}",
            f"{point.shuffled:.2g}",
            f"{point.local_only:.2g}",
        )
    stdout().print(table)
    stdout().print(
        "Every user gives one word and nothing else, so that all records have one shape. Errors are total variation "
        "distances of the recovered frequencies (1: nothing is learnt). Local only promises the shuffled ε without a "
        "shuffler."
    )
