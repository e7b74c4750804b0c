"""A survey whose answers nobody ever sees: 100,000 made-up one-word answers, veiled, shuffled and counted.

Run it with ``python examples/survey.py``; it takes a few seconds. Because the answers are made up, you can compare the
noisy and the recovered counts with the truth.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

import wordveil
from wordveil.lac import Histogram, Localizer, Pipeline, Record, Shuffle
from wordveil.spaces import EuclideanSpace, Vocabulary

ANSWERS = ["school", "hospital", "traffic", "housing", "jobs", "parks", "crime", "taxes", "noise", "water"]
ANSWERS += ["buses", "energy", "food", "internet", "roads", "climate", "rent", "schools", "police", "health"]
PEOPLE = 100_000


def main() -> None:
    """Ask, veil, shuffle, count, recover, and show all three histograms."""
    console = Console(highlight=False, width=100)
    glove = wordveil.load_space("glove-50k", normalise=True)
    vectors = glove.matrix[[glove.vocabulary.id(word) for word in ANSWERS]]
    space = EuclideanSpace("the answers", Vocabulary(ANSWERS), vectors)

    # Distances are cut off at 1, so the odds between any two answers change by at most e^4: shuffling amplifies that.
    mechanism = wordveil.mechanism("exponential", space, epsilon=4.0, clip=1.0)
    veil = wordveil.Veil(mechanism, select="all", case="lower")
    counting, recovering = Histogram(mechanism, method="none"), Histogram(mechanism, method="inverse")

    chances = 1.0 / np.arange(1, len(ANSWERS) + 1)
    given = np.random.default_rng().choice(len(ANSWERS), PEOPLE, p=chances / chances.sum())
    records = [Record(ANSWERS[answer], user=str(person)) for person, answer in enumerate(given.tolist())]

    outcome = Pipeline(Localizer(veil), [Shuffle()], counting)(records)
    noisy = outcome.result.values.astype(np.float64)
    recovered = recovering.recover(noisy)
    truth = np.bincount(given, minlength=len(ANSWERS))

    for stage in outcome.stages:
        console.print(stage.sentence(), soft_wrap=True)
    console.print("if the shuffler is not trusted: " + outcome.stages[-1].untrusted.sentence(), soft_wrap=True)
    table = Table()
    for heading in ("answer", "true", "noisy", "recovered"):
        table.add_column(heading, justify="left" if heading == "answer" else "right")
    table.add_column("true █, recovered ░")
    errors = recovered.errors if recovered.errors is not None else np.zeros(len(ANSWERS))
    for place, word in enumerate(ANSWERS):
        bars = "█" * round(truth[place] / 1500) + "\n" + "░" * max(round(recovered.values[place] / 1500), 0)
        estimate = f"{recovered.values[place]:,.0f} ± {errors[place]:,.0f}"
        table.add_row(word, f"{truth[place]:,}", f"{noisy[place]:,.0f}", estimate, bars)
    console.print(table)
    off = [int(np.abs(counts - truth).sum()) for counts in (noisy, recovered.values)]
    console.print(f"total error: {off[0]:,} as counted, {off[1]:,} recovered.")


if __name__ == "__main__":
    main()
