"""``wordveil lac``: what shuffling, sampling and thresholds are worth, before there is any data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from wordveil.cli.checks import Overwrite, check_writable, pictures_of, refuse_given
from wordveil.cli.options import Chosen, Json, check_epsilon, parse_options, print_facts, print_table, stdout
from wordveil.errors import OptionError

if TYPE_CHECKING:
    from wordveil.lac import Point, Stage

_TASKS = ("promise", "simulate")
_WORDS = 200


def lac(
    task: Annotated[str, Argument(metavar="TASK", help="promise or simulate.")],
    chosen: Chosen = Chosen(mechanism="exponential"),
    records: Annotated[
        list[int] | None,
        Option("--records", "-n", min=1, help="Number of users, or of records with one shape and label; repeatable."),
    ] = None,
    delta: Annotated[float, Option(help="The δ that may be spent on a user.")] = 1e-6,
    per_user: Annotated[int, Option(min=1, help="How many records one user may give.")] = 1,
    record_words: Annotated[int | None, Option(min=1, help="promise: the most words to veil in a record.")] = None,
    sample: Annotated[float | None, Option(metavar="Q", help="promise: sample this share of the records.")] = None,
    no_shuffle: Annotated[bool, Option("--no-shuffle", help="promise: do not shuffle.")] = False,
    threshold: Annotated[int | None, Option(metavar="K", help="promise: suppress texts that occur less often.")] = None,
    threshold_rate: Annotated[
        float, Option(metavar="β", help="promise: sample at this rate before the threshold.")
    ] = 0.1,
    words: Annotated[
        int | None, Option(min=2, max=4000, help="simulate: how many of the space's first words users choose from.")
    ] = None,
    figure: Annotated[Path | None, Option(metavar="FILE", help="simulate: draw a figure, .png or .svg.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Show what mixing many users' records is worth: in privacy (promise), and also in accuracy (simulate).

    Each user's words are randomised, and the records are shuffled, sampled or thresholded. No data is needed.

    Examples:

      wordveil lac promise --epsilon 4 --option clip=2 --records 1000000

      wordveil lac promise --epsilon 4 --option clip=2 --sample 0.1 --threshold 40

      wordveil lac simulate --epsilon 4 --option clip=2 --figure lac.svg
    """
    rate = check_epsilon(chosen.epsilon)
    if task not in _TASKS:
        raise OptionError(f"unknown task {task!r}; choose one of {', '.join(_TASKS)}.")
    if not 0.0 < threshold_rate < 1.0:  # checked here, because without a threshold nothing else would refuse it
        raise OptionError("--threshold-rate must lie between 0 and 1, both excluded.")
    if threshold is None:
        refuse_given("belongs to --threshold", "threshold_rate")
    if task == "promise":
        if words is not None or figure is not None:
            raise OptionError("--words and --figure belong to simulate.")
        refuse_given("has no effect where no file is written", "overwrite")
        from wordveil.lac import Amplifier, KThreshold, Localizer, Pipeline, Plain, Shuffle, Subsample
        from wordveil.text import Veil

        made = chosen.build()
        amplifiers: list[Amplifier] = [] if sample is None else [Subsample(sample)]
        amplifiers += [] if no_shuffle else [Shuffle()]
        amplifiers += [] if threshold is None else [KThreshold(threshold, threshold_rate)]
        localizer = Localizer(Veil(made, unproven=True), words=record_words or 1)  # nothing is released
        pipeline = Pipeline(localizer, amplifiers, Plain(), delta=delta, per_user=per_user)
        _show_stages({count: pipeline.stages(count) for count in records or [1_000_000]}, as_json=as_json)
        return
    if sample is not None or no_shuffle or threshold is not None or record_words is not None:
        raise OptionError("--sample, --no-shuffle, --threshold and --record-words belong to promise.")
    check_writable(*pictures_of(figure), inputs=(chosen.space,), overwrite=overwrite)
    import numpy as np

    from wordveil._mechanisms import mechanism as make_mechanism
    from wordveil.lac.simulation import DECADES, save_figure, simulate
    from wordveil.spaces import load_space

    name, given = chosen.mechanism, parse_options(chosen.option)
    opened = load_space(chosen.space, normalise=chosen.normalise)
    first = opened.restrict(np.arange(min(words or _WORDS, len(opened))))
    about = f"the first {len(first)} words of {opened.name}"
    points = simulate(
        lambda tried: make_mechanism(name, first, epsilon=tried, **given),
        rate,
        users=records or DECADES,
        delta=delta,
        per_user=per_user,
    )
    if figure is not None:
        save_figure(points, figure)
    if as_json:
        facts = {"mechanism": name, "epsilon": rate, "options": given, "space": about, "delta": delta}
        print_facts({**facts, "points": [point.to_dict() for point in points]})
        return
    _show_points(points, f"{name} at ε = {rate:g} on {about}, δ = {delta:g}")


def _show_stages(found: dict[int, list[Stage]], *, as_json: bool) -> None:
    from rich.markup import escape

    from wordveil.lac import Crowd

    if as_json:
        facts = [
            {"records": count, "assumes": Crowd(count).sentence(), "stages": [stage.to_dict() for stage in stages]}
            for count, stages in found.items()
        ]
        print_facts(facts)
        return
    console = stdout()
    for count, stages in found.items():
        console.print(f"[bold]{count:,} records[/bold]")
        for stage in stages:
            for guarantee in stage.guarantees:
                console.print(f"  after {stage.name}: {escape(guarantee.sentence())}")
        console.print(f"  if no amplifier is trusted: {escape(stages[-1].untrusted.sentence())}")
    console.print(
        "The shape of a record is everything about it that is released unchanged: words left alone, what lies between "
        "words, which words are veiled or outside the vocabulary, lengths of numbers, copied capitals. A record hides "
        "only among those of its shape and label: if there are several shapes, give the number of records of the "
        "rarest one, and leave out --sample."
    )


def _show_points(points: list[Point], title: str) -> None:
    columns = {
        "users": [f"{point.users:,}" for point in points],
        "ε, untrusted": [f"{point.local_epsilon:.3g}" for point in points],
        "ε, shuffled": [f"{point.central_epsilon:.3g}" for point in points],
        "error, no privacy": [f"{point.no_privacy:.2g}" for point in points],
        "error, shuffled": [f"{point.shuffled:.2g}" for point in points],
        "error, local only": [f"{point.local_only:.2g}" for point in points],
    }
    print_table(title, list(columns), zip(*columns.values(), strict=True), left=0)
    stdout().print(
        "Every user gives one word and nothing else, so all records have one shape. Errors are total variation "
        "distances of the recovered frequencies (1: nothing is learnt). Local only promises the shuffled ε without a "
        "shuffler."
    )
