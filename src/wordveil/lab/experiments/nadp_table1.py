"""NADP Table 1: the words nearest to noisy vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordveil._mechanisms import Nadp, NoiseMechanism
from wordveil.lab.experiments.noisy_vectors import DELTA, noise_mechanism
from wordveil.lab.experiments.result import Cell, Result, Setting, Table
from wordveil.noise import Entropy
from wordveil.spaces import load_space

__all__ = ["run"]

_PAPER = {
    "misogynist": ("sexist, chauvinst, bigot", "insulting, sexist, racist", "scholastic, filicia, shannara"),
    "police": ("officers, cops, authorities", "police, authorities, officials", "posing, smiling, lying"),
    "hitler": ("adlof, nazi, stalin", "hitler, adolf, nazi", "paid, ipo, raided"),
    "wikileaks": ("assange, cia, leaked", "wikileaks, iran, assange", "impetuous, jashari, enraged"),
    "fbi": ("cia, investigation, informant", "fbi, history, government", "asylum, cardoza, sandiego"),
}
_EPSILON = 10.0


def run(setting: Setting) -> Result:
    """Release one vector of each word with both mechanisms, and list the three nearest words."""
    space = load_space("glove-50k").restrict(np.arange(setting.pick(15_000, 50_000)))
    neighbourly = Nadp(space, _EPSILON, delta=DELTA)
    made: dict[str, NoiseMechanism[Any]] = {
        "mahalanobis": noise_mechanism("mahalanobis", space, _EPSILON),
        "nadp": neighbourly,
    }
    rows: list[list[Cell]] = []
    facts = []
    for word, paper in _PAPER.items():
        place = space.vocabulary.ids.get(word)
        rows.append([f"{word}, paper", *paper])
        if place is None:
            rows.append([f"{word}, ours", None, None, None])
            continue
        ids = np.array([place])
        near = {"no noise": space.neighbours(ids, 3)[0][0]}
        for name, one in made.items():
            near[name] = space.closest(one.perturb(ids, Entropy(setting.seed)), 3)[0][0]
        listed = {name: space.vocabulary.take(found) for name, found in near.items()}
        rows.append([f"{word}, ours", *(", ".join(words) for words in listed.values())])
        facts.append({"word": word, **listed})
    bare = float((neighbourly.deviations == 0).mean())
    return Result(
        [Table("The three nearest words", ("word", "no noise", "mahalanobis", "nadp"), rows)],
        f"We cannot reproduce the paper's last column. With its m = 2 and τ = 0.5, {bare:.0%} of our words stand "
        "alone in NADP's graph and are released without noise, so that the word nearest to the released vector is "
        "the word itself. Words that do have a neighbour there get noise large enough to land anywhere, as in the "
        "paper's column.",
        changed="GloVe 6B in 100 dimensions stands for GloVe 42B in 300. The paper does not say at which ε; ours is "
        f"{_EPSILON:g}.",
        facts={"epsilon": _EPSILON, "rows": facts, "words_without_noise": bare},
    )
