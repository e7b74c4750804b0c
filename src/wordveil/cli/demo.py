"""``wordveil demo``: a sample text before and after, and its privacy report."""

from __future__ import annotations

import csv
import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from wordveil.cli.checks import Overwrite, check_writable, refuse_given
from wordveil.cli.options import Chosen, Seed, check_can_print

if TYPE_CHECKING:
    from rich.text import Text

    from wordveil.text import Release

_SAMPLE = Path(__file__).parent.parent / "data" / "sotu" / "addresses.csv"
_SENTENCES = 7
_FONT = re.compile(r"@font-face\s*\{[^}]*\}\s*")  # loads from another host, which no page of ours may do


def demo(
    chosen: Chosen = Chosen(epsilon=4.0),
    seed: Seed = None,
    svg: Annotated[Path | None, Option(help="Also write the table as a picture to this SVG file.")] = None,
    save: Annotated[
        Path | None, Option(help="Only write the sample data to this CSV file, to try other commands on.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Veil a sample text and show it before and after, with the replaced words marked and the privacy report.

    Examples:

      wordveil demo

      wordveil demo --epsilon 4 --svg demo.svg

      wordveil demo --save speeches.csv
    """
    from wordveil.files import write_whole

    check_writable(svg, save, inputs=(chosen.space,), overwrite=overwrite)
    if save is not None:
        refuse_given("has no effect with --save, which only writes a file", "epsilon", "mechanism", "space",
                     "normalise", "option", "seed", "svg")  # fmt: skip
        write_whole(save, _SAMPLE.read_text(encoding="utf-8"))
        return
    check_can_print()
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table

    from wordveil.text import Veil

    made = chosen.build()
    veil = Veil(made, seed=seed, unproven=True)  # the sample is public, and the report names what is missing
    original = _opening()
    release = veil(original)
    console = Console(record=svg is not None, highlight=False, emoji=False, width=110 if svg else None)
    before, after = _marked(original, release, plain=svg is None and console.color_system is None)
    table = Table(title=f"wordveil: {made.name}, ε = {made.epsilon:g}", show_lines=True, expand=True)
    table.add_column("before", ratio=1)
    table.add_column("after", ratio=1)
    table.add_row(before, after)
    console.print(table)
    lines = veil.report(release).sentences()
    console.print(Panel("\n".join(f"• {line}" for line in lines), title="privacy report"))
    if svg is not None:
        picture = console.export_svg(title="wordveil demo")
        write_whole(svg, _FONT.sub("", picture))


def _opening() -> str:
    """Return the opening of the sample's first address."""
    with _SAMPLE.open(encoding="utf-8", newline="") as table:
        return " ".join(row["text"] for row in itertools.islice(csv.DictReader(table), _SENTENCES))


def _marked(original: str, release: Release, *, plain: bool) -> tuple[Text, Text]:
    """Colour the replaced words, most strongly the changed ones. Without colours, mark those with *stars*."""
    from rich.text import Text

    before, after = Text(), Text()
    place = new_place = 0
    for spot in release.replacements:
        old, new = original[spot.start : spot.end], release.text[spot.new_start : spot.new_end]
        changed = old.lower() != new.lower()
        before.append(original[place : spot.start])
        after.append(release.text[new_place : spot.new_start])
        before.append(old, style="cyan" if changed else "dim cyan")
        after.append(f"*{new}*" if plain and changed else new, style="bold magenta" if changed else "dim magenta")
        place, new_place = spot.end, spot.new_end
    before.append(original[place:])
    after.append(release.text[new_place:])
    return before, after
