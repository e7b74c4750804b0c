"""WSDM Table 1: replacements of three words at equal average N_w."""

from __future__ import annotations

import numpy as np

from wordveil._mechanisms import mechanism
from wordveil.calibration import Effort, Target, maker, meter_for, solve, span_of
from wordveil.lab.experiments.result import Cell, Result, Setting, Table
from wordveil.noise import Entropy
from wordveil.spaces import load_space

__all__ = ["run"]

_WORDS = ("encryption", "hockey", "spacecraft")
_STAYS = (50, 100, 200, 300)
# As our copy of the paper has them, reading errors included.
_PAPER = {
    50: ("freebsd, multibody, 56-bit, public-key", "stadiumarena, futsal, broomball, baseballer",
         "telemeter, deorbit, airbender, aerobet"),
    100: ("ciphertxts, truecrypt, demodulator, rootkit", "interleague, uswowing, football, lacrosse",
          "laser, apollo-soyuz, agena, phaser"),
    200: ("harbormaster, unencrypted, cryptographically, authentication", "players, ohl, goaltender, defenceman",
          "launch, shuttlecraft, spaceborne, interplanetary"),
    300: ("decryption, encrypt, encrypted, encryption", "nhl, hockeydb, hockeyroos, hockey",
          "spaceplane, spacewalk, spaceflights, spacecraft"),
}  # fmt: skip
_SHOWN = 4


def run(setting: Setting) -> Result:
    """Find the ε of each average and draw four replacements that differ."""
    space = load_space("glove-50k")
    rows: list[tuple[Cell, ...]] = []
    facts = []
    for name in ("laplace", "graph"):
        words = setting.pick(300, 2000)
        meter = meter_for(maker(name, space), space, Effort(words=words, seed=setting.seed), setting.watch)
        span = span_of(meter)
        for stays in _STAYS:
            epsilon = solve(meter, Target("stays-mean", stays / 1000), span, sure=0.0)
            made = mechanism(name, space, epsilon=epsilon)
            entropy = Entropy(setting.seed)
            drawn = {}
            for word in _WORDS:
                outputs = made.draw(np.full(200, space.vocabulary.id(word)), entropy)
                drawn[word] = space.vocabulary.take(np.array(list(dict.fromkeys(outputs.tolist()))[:_SHOWN]))
            facts.append({"mechanism": name, "epsilon": epsilon, "average_stays": stays, "drawn": drawn})
            rows.append((f"{name}, ours", stays, epsilon, *(", ".join(drawn[word]) for word in _WORDS)))
    papers: list[tuple[Cell, ...]] = [("laplace, paper", stays, None, *_PAPER[stays]) for stays in _STAYS]
    return Result(
        [Table("Replacements (GloVe)", ("mechanism", "mean N_w", "ε", *_WORDS), [*papers, *rows])],
        "Drawn in order, not picked. With laplace at these averages most draws are unrelated words, more than the "
        "paper's examples show; related ones come when the word itself often stays. The graph mechanism, at the same "
        "average, draws more related words, and unrelated ones as well.",
        changed="GloVe 100-d with 50,000 words stands for 300-d with 319,000; fastText is not in the data.",
        facts={"rows": facts},
    )
