"""ICDM Table III: how many texts Koppel's method gives to their author, before and after veiling."""

from __future__ import annotations

from collections.abc import Sequence

from wordveil._mechanisms import mechanism
from wordveil.lab.attacks import Attribution, Corpus, Koppel, attribute
from wordveil.lab.experiments import corpora
from wordveil.lab.experiments.result import Cell, Result, Setting, Table
from wordveil.lab.tasks import Rewriter, veiled
from wordveil.spaces import load_space

__all__ = ["run"]

_EPSILONS = (0.5, 1.0, 2.0, 8.0)
_PAPER = {
    0.5: (36, 72, "4, 3, 2, 5"),
    1.0: (35, 73, "3, 3, 2, 5"),
    2.0: (40, 78, "4, 3, 2, 5"),
    8.0: (65, 116, "4, 5, 4, 5"),
    None: (147, 259, "6, 6, 6, 12"),
}


def run(setting: Setting) -> Result:
    """Attribute clean and veiled texts, by an adversary who knows clean texts and by one who veils his own."""
    sets = _sets(setting)
    koppel = Koppel(times=setting.pick(20, 100), features=setting.pick(10_000, 100_000), seed=setting.seed)
    space = load_space("wordnet-poincare")
    rows: list[list[Cell]] = []
    facts = []
    plans: list[tuple[str, float | None, Rewriter | None]] = [("clean", None, None)]
    for one in _EPSILONS:
        made = mechanism("hyperbolic-icdm19", space, epsilon=one)
        plans.append(("hyperbolic-icdm19", one, veiled(made, select="content")))
    graph = mechanism("graph", load_space("glove-50k"), epsilon=5.0)
    plans.append(("graph", 5.0, veiled(graph, select="content")))
    for number, (name, epsilon, rewrite) in enumerate(plans):
        setting.watch(f"{name} {epsilon or ''}", number / len(plans))
        cells: list[Cell] = []
        for label, (known, unknown) in sets.items():
            hidden = _rewritten(unknown, rewrite, setting.seed)
            found = [attribute(koppel, known, hidden)]
            if rewrite is not None:
                found.append(attribute(koppel, _rewritten(known, rewrite, setting.seed + 1), hidden))
            cells.append("; ".join(_share(told) for told in found))
            facts.append(
                {"set": label, "mechanism": name, "epsilon": epsilon, "found": [told.to_dict() for told in found]}
            )
        rows.append([name, epsilon, *cells])
    blind: list[Cell] = ["most frequent author", None]
    blind += [f"{attribute(koppel, known, unknown).blind.value:.0%}" for known, unknown in sets.values()]
    paper = Table(
        "The paper: correct author predictions",
        ("ε", "PAN11 small", "PAN11 large", "PAN12 A, C, D, I"),
        [("∞" if epsilon is None else epsilon, *counts) for epsilon, counts in _PAPER.items()],
    )
    left_out = " The quick run leaves PAN11 large and the addresses out." if setting.quick else ""
    longest = (
        ""
        if setting.quick
        else " On the addresses, the longest texts, the static adversary finds about a quarter under hyperbolic-icdm19 "
        "and more under graph, and the adaptive one nearly as many as on clean text."
    )
    sizes = [f"{label} ({len(unknown)} texts)" for label, (_, unknown) in sets.items()]
    ours = Table(
        "Ours: share of texts given to their author; static adversary; adaptive adversary",
        ("mechanism", "ε", *sizes),
        [*rows, blind],
    )
    return Result(
        [paper, ours],
        "On short e-mail the static adversary, who knows clean texts, falls to about what naming the most frequent "
        "author gives. The adaptive adversary, who veils his own copies of the known texts, does so too under "
        "hyperbolic-icdm19, and finds clearly more under graph. On long reviews veiling hides authors much less, and "
        "the adaptive adversary finds more than the static one: the function words that are "
        f"left alone add up over a long text.{longest} The paper tests the static one only, and prints counts without "
        "the number of texts for each; shares are what can be compared.",
        changed="Pang & Lee's reviews and the State of the Union addresses stand for PAN12; a tenth of PAN11 large "
        "is set aside as its test, which the data lacks. WordNet's nouns and verbs in a 3-d ball stand for WebIsADb "
        f"in 100-d. Words outside that vocabulary are replaced by draws that do not depend on them.{left_out}",
        facts={"rows": facts},
    )


def _sets(setting: Setting) -> dict[str, tuple[Corpus, Corpus]]:
    small = corpora.pan11(setting.data, "SmallTrain.xml")
    sets = {
        "PAN11 small": (small, corpora.pan11_test(setting.data, small)),
        "Pang-Lee": corpora.limited(corpora.pang_lee(setting.data), setting.pick(200, 1000)).split(0.25, setting.seed),
    }
    if not setting.quick:
        sets["PAN11 large"] = corpora.pan11(setting.data, "LargeTrain.xml").split(0.1, setting.seed)
        sets["State of the Union"] = corpora.state_of_the_union(setting.data).split(0.25, setting.seed)
    else:
        known, unknown = sets["PAN11 small"]
        sets["PAN11 small"] = (corpora.limited(known, 1000), corpora.limited(unknown, 200))
    return sets


def _share(found: Attribution) -> str:
    return f"{found.right.value:.0%} [{found.right.low:.0%}, {found.right.high:.0%}]"


def _rewritten(corpus: Corpus, rewrite: Rewriter | None, seed: int) -> Corpus:
    texts: Sequence[str] = corpus.texts if rewrite is None else rewrite(corpus.texts, seed)
    return corpus.with_texts(texts)
