"""Measures what an attacker who knows the mechanism can find out from veiled text.

Every attack veils clean texts with a mechanism, plays an attacker who sees only the veiled texts, and returns how often
they are right, as an `Estimate` with a confidence interval. The results hold no words of a text.

- `attack_words`: optimal Bayesian inference of each word from its output and a public `Prior`, without context.
- `attack_repeats`: the same from several draws of each word, such as a recurring name or a text released again.
- `attack_sentences`: the same with the surrounding words as context, by an `NgramModel`.
- `attack_context`: each word by a `wordveil.Reader` of the whole release, for texts veiled here or released before.
- `attack_vectors`: the word behind a released noisy vector, and NADP's overlap estimate and skewness.

In all attacks, `words` are the words of the text and `prior` is what the attacker knows about words; the outputs that
they see join its suspects. About `tokens` words are attacked, chosen at random (in whole sentences or texts if context
counts). If the mechanism's probabilities must be estimated, the attacker learns them from `draws` draws. All randomness
comes from `entropy`, and `watch` is called with the progress.
"""

from wordveil.attacks.context import ContextAttack, Reliability, attack_context
from wordveil.attacks.knowledge import Guesses, Prior, sentences_of, words_of
from wordveil.attacks.repeats import Repeat, RepeatAttack, attack_repeats
from wordveil.attacks.sentences import SentenceAttack, attack_sentences
from wordveil.attacks.vectors import VectorAttack, attack_released, attack_vectors
from wordveil.attacks.words import WordAttack, attack_words
from wordveil.reading.ngrams import NgramModel
from wordveil.reading.places import Words

__all__ = [
    "ContextAttack",
    "Guesses",
    "NgramModel",
    "Prior",
    "Reliability",
    "Repeat",
    "RepeatAttack",
    "SentenceAttack",
    "VectorAttack",
    "WordAttack",
    "Words",
    "attack_context",
    "attack_released",
    "attack_repeats",
    "attack_sentences",
    "attack_vectors",
    "attack_words",
    "sentences_of",
    "words_of",
]
