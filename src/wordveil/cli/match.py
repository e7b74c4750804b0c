"""``wordveil match``: the ε at which one mechanism protects as well as another."""

from __future__ import annotations

import re
from typing import Annotated, Any

from typer import Option

from wordveil.cli.calibrate import number_of_words
from wordveil.cli.options import Json, Normalise, Quiet, check_epsilon, parse_options, print_facts, print_table
from wordveil.cli.progress import ProgressBar
from wordveil.errors import OptionError

_NUMBERED = re.compile(r"(\d+):(.*)", re.DOTALL)


def match(
    mechanism: Annotated[
        list[str] | None, Option("--mechanism", "-m", help="The known mechanism first, then each one to match to it.")
    ] = None,
    epsilon: Annotated[float | None, Option("--epsilon", "-e", help="The ε of the first mechanism.")] = None,
    by: Annotated[
        str,
        Option(
            help="What to make equal: worst or mean, how often the worst or the average word stays unchanged (N_w); "
            "adversary, how often an attacker who looks at one word at a time guesses right; adversary-frequency, the "
            "same if they know word frequencies."
        ),
    ] = "worst",
    space: Annotated[
        list[str] | None,
        Option("--space", "-s", help="One space for all mechanisms, or one for each, in the same order."),
    ] = None,
    normalise: Normalise = False,
    option: Annotated[
        list[str] | None,
        Option(
            "--option",
            "-O",
            metavar="NUMBER:NAME=VALUE",
            help="An option of one mechanism, such as 2:k=5 for the second.",
        ),
    ] = None,
    words: Annotated[str, Option(help="How many words to measure, or all.")] = "2000",
    adversary_words: Annotated[int, Option(min=1, help="The most words that the attacker chooses among.")] = 50_000,
    seed: Annotated[int, Option(min=0, help="Random seed for the words and draws.")] = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the ε at which other mechanisms protect as well as a known one.

    Examples:

      wordveil match --mechanism graph --epsilon 4 --mechanism laplace

      wordveil match -m graph -e 4 -m ring -m exponential --by adversary

      wordveil match -m graph -e 4 -m graph --option 2:k=5 --by mean
    """
    from wordveil import calibration
    from wordveil.spaces import load_space

    names = mechanism or []
    if len(names) < 2:
        raise OptionError("--mechanism is needed at least twice: the known one, and one to match to it.")
    known = check_epsilon(epsilon)
    if by not in calibration.MATCHED:
        raise OptionError(f"unknown --by {by!r}; choose one of {', '.join(calibration.MATCHED)}.")
    spaces = space or ["glove-50k"]
    if len(spaces) not in (1, len(names)):
        raise OptionError(f"--space is needed once, or {len(names)} times: one for each mechanism.")
    spaces = spaces * len(names) if len(spaces) == 1 else spaces
    settings = calibration.Effort(words=number_of_words(words), adversary_words=adversary_words, seed=seed)
    with ProgressBar("matching", quiet=quiet) as progress:
        watch = progress.watch
        opened = {place: load_space(place, normalise=normalise) for place in dict.fromkeys(spaces)}
        meters = [
            calibration.meter_for(calibration.maker(name, opened[place], **chosen), opened[place], settings, watch)
            for name, place, chosen in zip(names, spaces, _options(option or [], len(names)), strict=True)
        ]
        sides = [calibration.side(meters[0], known, by)]
        sides += [calibration.match(sides[0], other, by) for other in meters[1:]]
    facts = {"by": by, "known": sides[0].to_dict(), "matched": [one.to_dict() for one in sides[1:]]}
    if as_json:
        print_facts(facts)
    else:
        _show(facts)


def _options(given: list[str], count: int) -> list[dict[str, Any]]:
    """Group the options by the mechanism they belong to."""
    sorted_: list[list[str]] = [[] for _ in range(count)]
    for one in given:
        numbered = _NUMBERED.fullmatch(one)
        if numbered is None or not 1 <= int(numbered[1]) <= count:
            raise OptionError(f"an --option must look like 2:k=5, with the mechanism's number from 1 to {count}.")
        sorted_[int(numbered[1]) - 1].append(numbered[2])
    return [parse_options(options) for options in sorted_]


def _show(facts: dict[str, Any]) -> None:
    from rich.markup import escape

    from wordveil.calibration.wording import ATTACKER
    from wordveil.rounding import percent

    headings = ("mechanism", "ε", "stays, worst", "stays, mean", "near loss, median", "attacker right")
    rows = []
    for one in (facts["known"], *facts["matched"]):
        options = ", ".join(f"{key}={value}" for key, value in one["options"].items() if value is not None)
        loss, adversary = one["near_loss_median"], one["adversary"]
        rows.append(
            [
                escape(f"{one['mechanism']} {options}".strip() + f" on {one['space']['name']}"),
                f"{one['epsilon']:g}",
                percent(one["stays_worst"]),
                percent(one["stays_mean"]),
                "none" if loss is None else f"{'≤ ' if one['near_loss_is_bound'] else ''}{loss:.3g}",
                "-" if adversary is None else percent(adversary["value"]),
            ]
        )
    caption = None if facts["known"]["adversary"] is None else ATTACKER
    print_table(f"Equal protection by {facts['by']}", headings, rows, caption=caption)
