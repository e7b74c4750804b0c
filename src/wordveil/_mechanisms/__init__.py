"""Random maps from words to words, one file each, with its guarantee and proof."""

from wordveil._mechanisms.base import ExponentialMechanism, Mechanism, NoiseMechanism, RadialMechanism, option_names
from wordveil._mechanisms.blocking import block, block_ids, blocked_words
from wordveil._mechanisms.laws import Effort, Law
from wordveil._mechanisms.registry import ALIASES, DEFAULT, MECHANISMS, kind_named, mechanism, register

__all__ = [
    "ALIASES",
    "DEFAULT",
    "MECHANISMS",
    "Effort",
    "ExponentialMechanism",
    "Law",
    "Mechanism",
    "NoiseMechanism",
    "RadialMechanism",
    "block",
    "block_ids",
    "blocked_words",
    "kind_named",
    "mechanism",
    "option_names",
    "register",
]
