"""What a person who knows the mechanism can find out from veiled text.

Every attack takes clean texts, veils them with a mechanism, plays an adversary who sees the veiled ones alone, and
returns how often he is right, as a `Rate` or `Mean` with a confidence interval. Nothing that is returned holds words of
a text.

- `attack_words`: optimal Bayesian inference of each word from its replacement and a public `Prior`.
- `attack_sentences`: the same with the words around it as context, by an `NgramModel`.
- `attack_authors`: who wrote a text, by `Koppel` or `CharacterSvm`, trained on clean or on veiled texts.
- `attack_membership`: whether a person's texts trained a language model; `Versatile` and `Incognito` are the query
  scramblers to compare with.
- `attack_vectors`: which word a released noisy vector stands for, and NADP's overlap estimate and skewness.
"""

from wordveil.attacks.authors import Attribution, Corpus, attack_authors, attribute
from wordveil.attacks.character_svm import CharacterSvm
from wordveil.attacks.intervals import Mean, Rate
from wordveil.attacks.koppel import Koppel
from wordveil.attacks.likelihood import Likelihood, likelihood_of
from wordveil.attacks.membership import Membership, MembershipAuditor, attack_membership
from wordveil.attacks.ngrams import NgramModel
from wordveil.attacks.priors import Prior
from wordveil.attacks.scramblers import Incognito, Versatile
from wordveil.attacks.sentences import SentenceAttack, attack_sentences
from wordveil.attacks.vectors import VectorAttack, attack_released, attack_vectors
from wordveil.attacks.wordlists import Words, words_of
from wordveil.attacks.words import WordAttack, attack_words

__all__ = [
    "Attribution",
    "CharacterSvm",
    "Corpus",
    "Incognito",
    "Koppel",
    "Likelihood",
    "Mean",
    "Membership",
    "MembershipAuditor",
    "NgramModel",
    "Prior",
    "Rate",
    "SentenceAttack",
    "VectorAttack",
    "Versatile",
    "WordAttack",
    "Words",
    "attack_authors",
    "attack_membership",
    "attack_released",
    "attack_sentences",
    "attack_vectors",
    "attack_words",
    "attribute",
    "likelihood_of",
    "words_of",
]
