"""``python -m benchmarks.peers``: other people's packages and ours, side by side in one run.

python -m benchmarks.peers                           # everything: half an hour on an idle machine; installs the peers
python -m benchmarks.peers pypantera                 # one of them
python -m benchmarks.peers --markdown docs/peers.md  # also as a page of the documentation

The measurements of each mechanism are kept in a file, so that a stopped run continues where it was. `--afresh all`
measures everything again, and `--afresh audits` only the audits. Times are processor times: on a busy machine a run
takes longer, and finds the same.

Each package is installed in its own environment and called as its users call it. It is audited against what it claims.
An attacker and a reader, who know the mechanism from draws of their own, look at its output. And its speed is measured.
The same is done with our mechanism of the same name at the same ε, and with `graph` at the ε where the attacker is
right as often.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.__main__ import machine
from benchmarks.measure import cpu_rate, processor_seconds
from benchmarks.peer import PEERS, environment, rate_of, settings
from benchmarks.peers_page import page
from benchmarks.speeches import million_words
from wordveil import load_space, mechanism
from wordveil.audit import Claim, Finding, TableSpace, audit_callable
from wordveil.audit.targets import Program
from wordveil.errors import WordveilError
from wordveil.files import write_whole
from wordveil.spaces import EuclideanSpace, Space
from wordveil.text import tokenise
from wordveil.text.selection import stop_words

_WORDS = 200  # to attack and read
_LEARNT, _TESTED = 20, 10  # draws of each
_AUDITED = 6.0  # ε, on the plane
_LOCAL = 2.0
_STEP = 0.5  # ε per step of a list
_LEVEL = 0.25  # how often the attacker is right with our mechanism
_SPEED = 10.0
_SPAN = (0.01, 400.0)
_PARTS = Path(__file__).parent / ".data" / "peers"


@dataclass(frozen=True)
class Same:
    """A mechanism of ours that should be the same as a peer's."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    claims: str = "euclidean"  # how its claim counts distance


_SAME = {
    "mldp_text_cmp": Same("laplace"),
    "mldp_text_vickrey": Same("vickrey"),
    "mldp_text_mahalanobis": Same("mahalanobis", {"lam": 0.2}, "mahalanobis"),
    "mldp_text_gumbel": Same("exponential"),
    "mldp_text_tem": Same("truncated", {"beta": 0.001}),
    "pypantera_cmp": Same("laplace"),
    "pypantera_vickrey": Same("vickrey"),
    "pypantera_mahalanobis": Same("mahalanobis", {"lam": 1.0}, "mahalanobis"),
    "pypantera_tem": Same("truncated", {"beta": 0.05}),
    "pypantera_santext": Same("exponential"),
    "pypantera_custext": Same("custext", {"k": 20, "mapping": "aggressive"}, "local"),
    "diffractor_geometric": Same("diffractor", {"lists": 1}, "list"),
    "diffractor_tem": Same("diffractor", {"lists": 1}, "list"),
}


#: The claims, in brief.
_CLAIMS = {
    "euclidean": "ε per unit of distance",
    "mahalanobis": "ε per unit of its own distance",
    "local": "ε for any two words",
    "list": "ε per step of its list",
}


@dataclass
class Seen:
    """What an attacker and a reader get from a mechanism's outputs."""

    epsilon: float
    attacker: float  # how often the word is guessed
    reader: float  # the share of the words' vectors that is recovered
    kept: float  # the share of words that stay the same


@dataclass
class Row:
    """One mechanism of one package."""

    package: str
    version: str
    call: str
    ours: str
    claim: str = ""
    verdict: str = "does not run"
    unknown: str = "-"  # what happens to words that it does not know
    fresh: str = "-"  # whether its random numbers are fresh
    draw: str = "-"  # the verdict apart from these two
    rate: float | str = ""
    our_rate: float = 0.0
    theirs: Seen | None = None
    same: Seen | None = None
    graph: Seen | None = None
    remarks: list[str] = field(default_factory=list)
    calls: int = 0  # made by the audit
    date: str = ""
    load: float = 0.0  # of the machine meanwhile

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Row:
        """Restore a row from plain values."""
        seen = {name: Seen(**plain[name]) for name in ("theirs", "same", "graph") if plain[name]}
        return cls(**{**plain, **seen})


Draw = Callable[[Sequence[str]], Sequence[str]]


def seen_by(draw: Draw, space: EuclideanSpace, epsilon: float) -> Seen:
    """Let an attacker and a reader learn from some draws, and see what they get from others.

    Both know how often each word is used (the Zipf-Mandelbrot law of its rank), and have seen 20 draws of each word.
    The attacker guesses the likeliest word. The reader takes the mean vector of the words that may be behind an output.
    """
    words, count = space.vocabulary.words, len(space)
    prior = 1.0 / (np.arange(count) + 2.7)
    prior /= prior.sum()
    drawn = np.array(draw(list(words) * (_LEARNT + _TESTED))).reshape(-1, count).T
    outputs, where = np.unique(drawn, return_inverse=True)
    where = where.reshape(drawn.shape)
    table = np.zeros((count, len(outputs)))
    np.add.at(table, (np.arange(count)[:, None], where[:, :_LEARNT]), 1.0)
    # What was not seen in twenty draws may still occur: add half a draw, spread over the outputs of all words.
    table += 0.5 * (prior @ table / _LEARNT)
    behind = prior[:, None] * table / table.sum(axis=1, keepdims=True)
    behind = np.where(behind.any(axis=0), behind, prior[:, None])  # an output never seen before says nothing
    behind /= behind.sum(axis=0)
    fresh = where[:, _LEARNT:]
    right = behind.argmax(axis=0)[fresh] == np.arange(count)[:, None]
    vectors = space.matrix.astype(np.float64)
    missed = ((behind.T @ vectors)[fresh] - vectors[:, None]) ** 2
    spread = prior @ ((vectors - prior @ vectors) ** 2).sum(axis=1)
    return Seen(
        epsilon, float(prior @ right.mean(axis=1)), 1.0 - float(prior @ missed.sum(axis=2).mean(axis=1)) / spread,
        float(prior @ (drawn == np.array(words)[:, None]).mean(axis=1)),
    )  # fmt: skip


def ours(name: str, space: EuclideanSpace, epsilon: float, **options: Any) -> Seen:
    """Return the same for a mechanism of ours."""
    made, words = mechanism(name, space, epsilon=epsilon, **options), space.vocabulary

    def draw(texts: Sequence[str]) -> list[str]:
        return words.take(made.draw(np.array([words.id(word) for word in texts])))

    return seen_by(draw, space, epsilon)


def at_level(name: str, space: EuclideanSpace, level: float, **options: Any) -> Seen:
    """Return the same at the ε where the attacker is right this often."""
    low, high = _SPAN
    for _ in range(12):
        middle = math.sqrt(low * high)
        found = ours(name, space, middle, **options)
        if abs(found.attacker - level) < 0.004:
            break
        low, high = (middle, high) if found.attacker < level else (low, middle)
    return found


def audited(row: Row, start: Callable[[EuclideanSpace, float], Program], plane: EuclideanSpace, seconds: float) -> None:
    """Audit a peer's mechanism against what it claims."""
    kind = _SAME[row.call].claims
    epsilon = {"local": _LOCAL, "list": _STEP}.get(kind, _AUDITED)
    target = start(plane, epsilon)
    try:
        claim = _claim(row, plane, epsilon, lambda: spoken_list(row.package, plane, epsilon))
        report = audit_callable(target, claim, seconds=seconds, now=processor_seconds)
    except WordveilError as error:
        row.verdict = f"does not run ({error})"
        return
    finally:
        target.close()
    row.verdict, row.calls = report.verdict, report.calls
    if any(reason.startswith("most calls") for reason in report.reasons):
        row.verdict = "does not run"
        row.remarks += report.reasons
        return
    told: dict[str, list[str]] = {"raw": [], "repeats": [], "draw": []}
    for one in report.findings:
        if one.breaks:
            told[_part(one)].append(one.about)
    over = [what for what, why in report.unchecked.items() if why == "the time was over"]
    row.unknown = "come through" if told["raw"] else "not looked at" if "raw" in over else "do not come through"
    row.fresh = ", ".join(told["repeats"]).replace("whether ", "") or ("not looked at" if "repeats" in over else "yes")
    row.draw = "broken" if told["draw"] else "cannot tell" if report.reasons else "holds as far as seen"
    row.remarks += told["draw"] + report.remarks
    if over:
        row.remarks.append(f"not looked at, for lack of time: {', '.join(over)}")
    if report.unchecked.get("forks") == "calls fail in a fork":
        row.remarks.append("nothing was seen of forks, in which calls do not end")


def _part(found: Finding) -> str:
    """Return what a finding is about: words unknown as they are written, random numbers, or the draw."""
    kind = found.case.kind if found.case else ""
    if kind in ("raw", "guess") or found.about.startswith("known words"):
        return "raw"
    return "repeats" if kind == "repeats" else "draw"


def _claim(row: Row, plane: EuclideanSpace, epsilon: float, listed: Callable[[], Space]) -> Claim:
    same = _SAME[row.call]
    if same.claims == "mahalanobis":
        return Claim.of(mechanism("mahalanobis", plane, epsilon=epsilon, **same.options))
    space = listed() if same.claims == "list" else plane
    return Claim(space, epsilon, local=same.claims == "local")


def spoken_list(peer: str, plane: EuclideanSpace, epsilon: float) -> TableSpace:
    """Return the list that dp-diffractor makes of some words, with the steps along it as distances."""
    with variables(settings(peer, plane, epsilon)):
        target = Program("benchmarks.peer_calls:diffractor_list", "word", 120.0, python=environment(peer))
        (told,) = target.call(["the"])
        target.close()
    order = str(told).split()
    pairs = {(a, b): float(j - i) for i, a in enumerate(order) for j, b in enumerate(order[i + 1 :], start=i + 1)}
    return TableSpace(pairs, "the list of dp-diffractor")


@contextmanager
def variables(values: dict[str, str]) -> Any:
    """Set environment variables for the block, so that the processes of an audit inherit them."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def examine(peer: str, call: str, spaces: dict[str, EuclideanSpace], seconds: float, console: Console) -> Row:
    """Examine one mechanism of a package."""
    version, same = PEERS[peer][0], _SAME[call]
    text = tokenise(million_words().read_text(encoding="utf-8")[:40_000]).keys
    large = spaces["medium" if peer == "dp-diffractor" else "large"]
    spoken_words = [word for word in text if word in large.vocabulary][:2000]
    console.print(f"{peer} {version}, {call}: speed…")
    rate = rate_of(peer, call, large, spoken_words, _SPEED, "cpu")
    row = Row(peer, version, call, same.name, _CLAIMS[same.claims], rate=rate, date=today())

    console.print(f"{peer}, {call}: audit…")
    audit_again(row, spaces, seconds)
    row.our_rate = cpu_rate(same.name, spaces["large"], spoken_words, _SPEED, same.options)
    if not isinstance(row.rate, str):
        console.print(f"{peer}, {call}: attacker and reader…")
        attacked(row, spoken(row), spaces["words"], same)
    row.load = os.getloadavg()[2]
    return row


def spoken(row: Row) -> Callable[[EuclideanSpace, float], Program]:
    """Return a function that starts a mechanism of a package on a space."""

    def start(space: EuclideanSpace, epsilon: float) -> Program:
        os.environ.update(settings(row.package, space, epsilon))
        takes = "word" if row.package == "mldp-text" else "texts"
        return Program(f"benchmarks.peer_calls:{row.call}", takes, 60.0, python=environment(row.package))

    return start


def audit_again(row: Row, spaces: dict[str, EuclideanSpace], seconds: float) -> None:
    """Audit a mechanism, forgetting what an earlier audit found."""
    row.unknown = row.fresh = row.draw = "-"
    row.remarks = []
    with variables(settings(row.package, spaces["plane"], _AUDITED)):
        audited(row, spoken(row), spaces["plane"], seconds)


def kept(
    peer: str,
    call: str,
    seconds: float,
    measured: Callable[[], Row],
    *,
    afresh: str = "",
    audit: Callable[[Row], None] = lambda _: None,
) -> Row:
    """Return what was measured of a mechanism, in this run or an earlier one. `afresh` says what to measure again."""
    path = _PARTS / f"{call}-{PEERS[peer][0]}-{seconds:g}.json"
    row = Row.from_dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() and afresh != "all" else None
    if row is None:
        row = measured()
    elif afresh == "audits":
        audit(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(asdict(row), indent=1) + "\n")
    return row


def today() -> str:
    """Return the date."""
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def attacked(row: Row, start: Callable[[EuclideanSpace, float], Program], space: EuclideanSpace, same: Same) -> None:
    """Attack and read a peer's output, that of our mechanism at the same ε, and that of `graph` at the same success."""
    row.same = at_level(same.name, space, _LEVEL, **same.options)
    with variables({**settings(row.package, space, row.same.epsilon), "PEER_SEED": "fresh"}):
        target = start(space, row.same.epsilon)
        try:
            row.theirs = seen_by(lambda texts: [str(one) for one in target.call(texts)], space, row.same.epsilon)
        finally:
            target.close()
    row.graph = at_level("graph", space, row.theirs.attacker)


def vocabularies() -> dict[str, EuclideanSpace]:
    """Return the spaces of the run: all words, some of them, and the attacked ones, also on a plane."""
    whole = load_space("glove-50k")
    stop = stop_words()
    words = whole.vocabulary.words
    chosen = [place for place in range(3000) if words[place].isalpha() and words[place] not in stop]
    some = whole.restrict(np.array(chosen[:: len(chosen) // _WORDS][:_WORDS]))
    medium: NDArray[np.int64] = np.arange(5000)
    return {"large": whole, "medium": whole.restrict(medium), "words": some, "plane": some.projected(2)}


def main() -> None:
    """Run the peers and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", nargs="*", help=f"which of {', '.join(PEERS)}, or of their mechanisms; or all")
    parser.add_argument("--seconds", type=float, default=15.0, help="processor time of each audit")
    parser.add_argument(
        "--afresh", choices=("all", "audits"), default="", help="what to measure again if it was before"
    )
    parser.add_argument("--markdown", type=Path, help="write a page of the documentation here")
    asked = parser.parse_args()
    calls = [call for _, named in PEERS.values() for call in named]
    if unknown := [name for name in asked.peers if name not in (*PEERS, *calls)]:
        parser.error(f"there is no peer {unknown[0]}; choose among {', '.join(PEERS)}")
    console, spaces = Console(stderr=True), vocabularies()
    rows = []
    for peer, (_, named) in PEERS.items():
        for call in named:
            if asked.peers and not {peer, call} & set(asked.peers):
                continue

            def measured(peer: str = peer, call: str = call) -> Row:
                return examine(peer, call, spaces, asked.seconds, console)

            def audit(row: Row) -> None:
                audit_again(row, spaces, asked.seconds)

            rows.append(kept(peer, call, asked.seconds, measured, afresh=asked.afresh, audit=audit))
    written = page(rows, machine(), asked.seconds)
    print(written)
    if asked.markdown:
        asked.markdown.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
