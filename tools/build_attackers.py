"""Measures what attackers get on bundled prose: ``python tools/build_attackers.py [OPTIONS] [CURVE …]``.

The curves come with the package (``src/wordveil/data/attackers.json``). Wherever wordveil says how often a word is
guessed, it takes the strongest attacker of these. Name a curve by its mechanism (``graph``: on every space) or with its
space (``glove-50k:graph``). Without a name, every mechanism of the registry that guarantees something is measured, with
its default options, on every bundled space that it takes.

Each ε gets three measurements: how many words of the bundled State of the Union addresses each attacker guesses
(`attack_context`), how many bits an output reveals, and how often a word is found that is drawn several times
(`attack_repeats`). Only the first depends on the attackers. ``--again`` repeats only that, at the ε in the file; do so
whenever the network of the reader is retrained.

At the end, the tables of the documents that quote the curve of `graph` (`DOCUMENTS`) are rewritten. ``--documents``
rewrites only these, in a second.

The file is written after every ε. ``--missing`` skips what it already has, so a stopped run can continue, and
``--minutes`` starts no further ε after that time. ``--merge FILE`` adds parts that were measured elsewhere, such as on
a machine with a GPU (``--engine gpu``), and may be repeated: its results for an attacker at an ε replace those in the
file. On two cores `graph` takes about a quarter of an hour and all curves some hours, most of it for noise. ``--quick``
measures three ε with a tenth of the words, and writes only to ``--output``.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import MECHANISMS, Law, kind_named
from wordveil._mechanisms.attackers import ALONE, CURVES, OnProse, named_curve
from wordveil._mechanisms.priors import log_prior
from wordveil.attacks import Prior, attack_context, attack_repeats
from wordveil.calibration import Effort, Maker, Meter, maker, meter_for
from wordveil.calibration.search import largest_epsilon, smallest_accepted
from wordveil.engines import ENGINES, check_engine, on_engine
from wordveil.errors import WordveilError
from wordveil.guarantee import Notion
from wordveil.noise import Entropy
from wordveil.reading.kinds import vectors_of
from wordveil.reading.network import bundled_weights
from wordveil.rounding import percent, round_up
from wordveil.spaces import Space, load_space
from wordveil.stats import Estimate

SPACES = ("glove-50k", "wordnet-poincare")
PROSE = Path(__file__).parent.parent / "src" / "wordveil" / "data" / "sotu" / "addresses.csv"
ON = "three State of the Union addresses"
_IN_CONTEXT = "an attacker who reads words in context with"
#: The attackers to report. `alone` is measured with each of the others, as a reader without context.
ATTACKERS = {
    "alone": {"attacker": ALONE, "uses_context": False},
    "trigram": {"attacker": f"{_IN_CONTEXT} an English trigram model", "uses_context": True},
    "shipped": {"attacker": f"{_IN_CONTEXT} the small network that comes with wordveil", "uses_context": True},
    "context": {"attacker": f"{_IN_CONTEXT} a small network fitted on the release", "uses_context": True},
    "smollm2": {"attacker": f"{_IN_CONTEXT} the language model SmolLM2", "uses_context": True},
}
#: How to run each: the arguments of `attack_context`. `population` is not reported by itself. It makes `alone`
#: stronger, and so do `shipped` and `context`, which know the same frequencies. `shipped` is not fitted on the release
#: and so takes a tenth of the time.
PLAYED: dict[str, dict[str, Any]] = {
    "population": {"kind": "population"},
    "trigram": {"kind": "language", "model": "trigram"},
    "shipped": {"kind": "context", "fitted": False},
    "context": {"kind": "context"},
    "smollm2": {"kind": "language", "model": "smollm2", "tokens": 1000},  # a hundred times as slow as trigrams
}
USUAL = ("trigram", "shipped", "context")
#: The ε that the documents quote, so that quoted figures are measured and not interpolated.
QUOTED = {("glove-50k", "graph"): (4.0, 6.0, 2.0, 8.0, 3.0, 5.0, 1.0, 10.0, 13.0, 18.0)}
#: The ε of README, demo and examples. Below it, the documents that quote the curve of the default mechanism.
EXAMPLES = 4.0
DOCUMENTS = [Path(__file__).parent.parent / name for name in ("README.md", "docs/choosing-epsilon.md")]
POINTS, SENTENCES, WORDS, NAMES, SEED = 6, 4, 10_000, 1000, 1
LOW, HIGH, KEPT = 0.02, 0.55, 1000  # the shares of words that stay at both ends of a curve, and the words drawn


def main() -> None:
    """Measure the named curves, or all, and write each to the file when it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("curve", nargs="*", help="MECHANISM or SPACE:MECHANISM; all if none is named")
    parser.add_argument(
        "--attacker", action="append", choices=PLAYED,
        help=f"an attacker to try; may be repeated. The default is {', '.join(USUAL)}. context and shipped need the "
        "extra gpu, trigram the extra of that name, smollm2 the extra lm",
    )  # fmt: skip
    parser.add_argument("--missing", action="store_true", help="only the curves that the file does not have yet")
    parser.add_argument("--again", action="store_true", help="only the attackers, at the ε that the file has")
    parser.add_argument("--epsilon", type=float, action="append", help="measure at this ε; may be repeated")
    parser.add_argument("--points", type=int, default=POINTS, help="how many ε, if none is given or quoted")
    parser.add_argument("--words", type=int, default=WORDS, help="about how many veiled words each attacker looks for")
    parser.add_argument("--every", type=int, default=1, help="take only every n-th passage of the texts")
    parser.add_argument("--bare", action="store_true", help="skip bits and repeated draws")
    parser.add_argument("--names", type=int, default=NAMES, help="how many words are drawn repeatedly and looked for")
    parser.add_argument("--quick", action="store_true", help="three ε and a tenth of the words, for a trial run")
    parser.add_argument("--output", type=Path, default=CURVES, help="the file to write; the package's by default")
    parser.add_argument("--engine", choices=ENGINES, default="local", help="where noise is drawn")
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no further ε after this many minutes")
    parser.add_argument(
        "--merge", type=Path, action="append", metavar="FILE", help="only add the contents of this file to --output"
    )
    parser.add_argument("--documents", action="store_true", help="only write the tables of the documents")
    asked = parser.parse_args()
    if asked.documents:
        write_documents()
        return
    if asked.quick and asked.output == CURVES:
        parser.error("--quick needs --output: quick measurements do not go into the package")
    if asked.merge:
        _write(asked.output, merged([_read(path) for path in (asked.output, *asked.merge)]))
        if asked.output == CURVES:
            write_documents()
        return
    check_engine(asked.engine)
    end = time.monotonic() + 60.0 * asked.minutes
    everything = [(space, name) for space in SPACES for name in MECHANISMS]
    unknown = [one for one in asked.curve if not any(one in (name, f"{space}:{name}") for space, name in everything)]
    if unknown:
        parser.error(f"there is no curve {unknown[0]}; choose among {', '.join(':'.join(one) for one in everything)}")
    for space, name in everything:
        if asked.curve and name not in asked.curve and f"{space}:{name}" not in asked.curve:
            continue
        make = _maker(space, name, asked.engine)
        if make is None:
            continue
        old = _read(asked.output)["curves"].get(space, {}).get(name, {"points": []})
        started = time.process_time()
        for curve in measured(make, space, asked.attacker or list(USUAL), old["points"], asked):
            known = _read(asked.output)
            known["curves"].setdefault(space, {})[name] = curve
            _write(asked.output, known)
            if time.monotonic() > end:
                print(f"stopped after {asked.minutes:g} minutes, in {space}:{name}", flush=True)
                return
        print(f"{space}:{name}: {time.process_time() - started:.0f} s of processor time", flush=True)
    if asked.output == CURVES:
        write_documents()


def _maker(space: str, name: str, engine: str) -> Maker | None:
    """Return a maker of a mechanism on a space, or None if it does not take the space or guarantees nothing there."""
    opened = load_space(space)
    make = maker(name, on_engine(opened, engine) if kind_named(name).searches_points else opened)
    try:
        made = meter_for(make, opened).probe
    except WordveilError:  # it needs another kind of space
        return None
    return None if made.guarantee.notion is Notion.NONE or made.shortfall else make


def measured(
    make: Maker, space: str, played: list[str], old: list[dict[str, Any]], asked: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Measure one curve. Give the curve so far after every ε.

    With ``--missing``, points measured before are kept. With ``--again``, so is everything but the attackers' success.
    """
    opened, texts = load_space(space), passages()[:: 10 if asked.quick else asked.every]
    meter = meter_for(make, opened, Effort(words=500))
    described, before = meter.probe.describe(), {point["epsilon"]: point for point in old}
    curve = {
        "options": described["options"],
        "checksum": described["space"]["checksum"],
        "words": len(opened),
    }
    if asked.again:
        grid = list(before)
    elif asked.epsilon:
        grid = asked.epsilon
    elif asked.quick:
        grid = _grid(make, meter, 3)
    else:
        grid = list(QUOTED.get((space, meter.probe.name), ())) or _grid(make, meter, asked.points)
    points = dict(before) if asked.again or asked.missing else {}
    for epsilon in grid:
        known = points.get(epsilon, {})
        if known and not asked.again:
            continue
        mechanism = make(epsilon)
        if not _knows_network(mechanism.space):
            played = [name for name in played if name != "shipped"]
        if not played:
            raise SystemExit(f"the network that comes with wordveil does not know {space}; try --attacker context")
        law = mechanism.law(Effort(seed=SEED))  # one law for all attackers, since it may be learnt from draws
        rest = {key: known[key] for key in ("stayed", "bits", "repeats") if key in known} or _apart(law, asked)
        point = {
            "epsilon": epsilon,
            **rest,
            **_attacked(law, texts, played, asked.words, known.get("success", {})),
        }
        points[epsilon] = point
        told = ", ".join(f"{name} {100 * row[0]:.1f}%" for name, row in point["success"].items())
        print(f"  {mechanism.name}, ε = {epsilon:g}: {told}", flush=True)
        yield {**curve, "points": [points[one] for one in sorted(points)]}


def _knows_network(space: Space) -> bool:
    """Whether the network that comes with wordveil knows the vectors of a space. If not, it says nothing unfitted."""
    return bundled_weights(vectors_of(space, None)[1]) is not None


def _grid(make: Maker, meter: Meter, count: int) -> list[float]:
    """Return the ε to try: from where hardly a word stays, and only context helps, to where more than half stay.

    No serious attacker finds fewer words than those that stayed, and few find many more. A thousand draws of words by
    their frequency show how many stay, and take a moment with any mechanism.
    """
    space = meter.space
    ids = np.random.default_rng(SEED).choice(len(space), KEPT, p=_frequencies(space))

    def stays_less(epsilon: float, share: float) -> bool:
        try:
            return float((make(epsilon).draw(ids, Entropy(SEED)) == ids).mean()) <= share
        except WordveilError:  # too small an ε for the mechanism
            return True

    def ends_at(share: float) -> float:
        return largest_epsilon(
            lambda tried: [stays_less(epsilon, share) for epsilon in tried],
            meter.probe.epsilon,
            4.0 * meter.probe.epsilon,
            tolerance=0.05,
        )

    lowest, highest = max(ends_at(LOW), smallest_accepted(make, meter.probe.epsilon)), ends_at(HIGH)
    first, *others = (float(one) for one in np.geomspace(lowest, max(highest, 1.5 * lowest), count))
    return [round_up(first), *(float(f"{one:.2g}") for one in others)]


def _frequencies(space: Space) -> NDArray[np.float64]:
    logs = log_prior(space, "frequency")
    return np.asarray(np.exp(logs - np.logaddexp.reduce(logs)))


def passages() -> list[str]:
    """Return the addresses, cut into passages of a few sentences."""
    with PROSE.open(encoding="utf-8", newline="") as table:
        rows = [(row["year"], row["text"]) for row in csv.DictReader(table)]
    found = []
    for _, address in groupby(rows, key=lambda row: row[0]):
        sentences = [text for _, text in address]
        found += [" ".join(sentences[start : start + SENTENCES]) for start in range(0, len(sentences), SENTENCES)]
    return found


def _attacked(
    law: Law, texts: list[str], played: list[str], words: int, success: dict[str, list[float]]
) -> dict[str, Any]:
    """Try some attackers, and keep the known results of others."""
    success = {name: row for name, row in success.items() if name != "alone"}
    stayed: dict[float, list[float]] = {}
    for name in played:
        how = {"tokens": words, **PLAYED[name]}
        found = attack_context(law.mechanism, texts, law=law, entropy=Entropy(SEED), **how)
        success["alone"] = max(success.get("alone", [0.0]), _row(found.alone))  # the best reader without context
        if name in ATTACKERS:
            success[name] = _row(found.in_context)
        stayed[found.in_context.value] = _row(found.stayed)
    best = max(stayed)
    is_strongest = best >= max(row[0] for row in success.values()) - 1e-4
    ordered = {name: success[name] for name in ATTACKERS if name in success}
    return {"success": ordered, **({"stayed": stayed[best]} if is_strongest else {})}


def _apart(law: Law, asked: argparse.Namespace) -> dict[str, Any]:
    """Measure what does not depend on the texts: bits, if the law is exact, and repeated draws."""
    if asked.bare:
        return {"bits": None, "repeats": {}}
    space = law.mechanism.space
    bits = round(law.information(np.ones(len(space))).value, 3) if law.exact else None
    prior = Prior.named("frequency", space, 2000 if asked.quick else None, select="content")
    tokens = asked.names // 10 if asked.quick else asked.names
    found = attack_repeats(law.mechanism, None, prior, tokens=tokens, law=law, entropy=Entropy(SEED))
    return {"bits": bits, "repeats": {str(one.times): _row(one.found) for one in found.words}}


def filled(text: str) -> str:
    """Return a document with its tables rewritten from the curve that comes with the package."""
    for name, table in (("summary", _summary), ("epsilons", _epsilons)):
        begin, end = f"<!-- attackers, {name}: written by tools/build_attackers.py -->", "<!-- end of the table -->"
        if begin in text:
            before, _, rest = text.partition(begin)
            text = f"{before}{begin}\n\n{table()}\n\n{end}{rest.partition(end)[2]}"
    return text


def write_documents() -> None:
    """Rewrite the tables of the documents."""
    named_curve.cache_clear()
    for path in DOCUMENTS:
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


def _quoted(epsilon: float) -> OnProse:
    curve = named_curve("glove-50k", "graph")
    found = None if curve is None else curve.at(epsilon)
    assert found is not None, "measure it first: python tools/build_attackers.py glove-50k:graph"
    return found


def _summary() -> str:
    """Return a table of what attackers get at the ε of the examples."""
    found = _quoted(EXAMPLES)
    rows = [(figure.attacker, f"{figure.share()} of the veiled words") for figure in found.figures]
    rows += [
        (f"an attacker who has {times} draws of the same word, and no context", f"{percent(one.value)} of such words")
        for times, one in found.repeats
        if times in (2, 5, 10)
    ]
    lines = [f"| at ε = {EXAMPLES:g} | guesses |", "|---|---|", *(f"| {who} | {what} |" for who, what in rows)]
    return "\n".join(lines)


def _epsilons() -> str:
    """Return a table of what attackers get over ε."""
    curve = named_curve("glove-50k", "graph")
    quoted = [_quoted(one) for one in (2.0, 3.0, 4.0, 5.0, 6.0, 8.0) if curve is not None and one in curve.epsilons]
    has_context = any(figure.uses_context for figure in quoted[0].figures)
    heads = ["ε", "one word at a time", *(["in context"] if has_context else []), "tells what stayed (AUC)", "bits"]
    heads += [f"{times} draws" for times, _ in quoted[0].repeats if times > 1]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for one in quoted:
        alone = next(figure for figure in one.figures if not figure.uses_context)
        context = [figure for figure in one.figures if figure.uses_context][-1:]
        cells = [f"{one.epsilon:g}", *(percent(figure.value) for figure in (alone, *context))]
        cells.append("–" if one.stayed is None else f"{one.stayed.value:.2f}")
        cells.append("–" if one.bits is None else f"{one.bits:.1f} of {one.of_bits:.1f}")
        cells += [percent(found.value) for times, found in one.repeats if times > 1]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _row(found: Estimate) -> list[float]:
    return [*(round(one, 4) for one in (found.value, found.low, found.high)), found.n]


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"attackers": {}, "curves": {}}


def merged(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge several files. If a curve was measured with different options or words, the last one counts."""
    curves: dict[str, dict[str, Any]] = {}
    for space, name, curve in (
        (space, name, curve)
        for part in parts
        for space, found in part["curves"].items()
        for name, curve in found.items()
    ):
        before = curves.setdefault(space, {}).get(name, {})
        same = all(before.get(fact) == curve[fact] for fact in ("options", "checksum", "words"))
        points = {point["epsilon"]: point for point in before["points"]} if same else {}
        for point in curve["points"]:
            known = points.get(point["epsilon"], point)
            told = [one for one in (known, point) if "stayed" in one]  # take it from the strongest attacker
            stayed = {"stayed": max(told, key=_most)["stayed"]} if told else {}
            points[point["epsilon"]] = {**known, **point, "success": {**known["success"], **point["success"]}, **stayed}
        curves[space][name] = {**curve, "points": [points[epsilon] for epsilon in sorted(points)]}
    return {"curves": curves}


def _most(point: dict[str, Any]) -> float:
    """Return how often the strongest attacker is right."""
    return max(row[0] for row in point["success"].values())


def _write(path: Path, known: dict[str, Any]) -> None:
    """Write the curves in the order of the registry, a line for each ε."""
    attackers = {name: {**facts, "on": ON} for name, facts in ATTACKERS.items()}
    lines = [f' "attackers": {json.dumps(attackers, ensure_ascii=False)},', ' "curves": {']
    spaces = [space for space in SPACES if space in known["curves"]]
    for space in spaces:
        lines.append(f'  "{space}": {{')
        own = [name for name in MECHANISMS if name in known["curves"][space]]
        for name in own:
            curve = dict(known["curves"][space][name])
            points = ",\n".join(f"    {json.dumps(point, ensure_ascii=False)}" for point in curve.pop("points"))
            head = json.dumps(curve, ensure_ascii=False)[1:-1]
            lines.append(f'   "{name}": {{{head}, "points": [\n{points}\n   ]}}{"" if name == own[-1] else ","}')
        lines.append(f"  }}{'' if space == spaces[-1] else ','}")
    path.write_text("{\n" + "\n".join(lines) + "\n }\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
