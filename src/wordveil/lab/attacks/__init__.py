"""Attacks on people, not on words: who wrote a text, and whose texts trained a model.

- `attack_authors`: who wrote a text, by `Koppel` or `CharacterSvm`, trained on clean or on veiled texts.
- `MembershipAuditor`: whether a person's texts trained a language model; `Versatile` and `Incognito` are the query
  scramblers to compare with.
"""

from wordveil.lab.attacks.authors import Attribution, CharacterSvm, Corpus, Koppel, attack_authors, attribute
from wordveil.lab.attacks.membership import Membership, MembershipAuditor, WordModelSize
from wordveil.lab.attacks.scramblers import Incognito, Versatile

__all__ = [
    "Attribution", "CharacterSvm", "Corpus", "Incognito", "Koppel", "Membership", "MembershipAuditor", "Versatile",
    "WordModelSize", "attack_authors", "attribute",
]  # fmt: skip
