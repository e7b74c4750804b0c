"""What an attacker who knows the mechanism can find out from veiled text.

Every attack takes clean texts, veils them with a mechanism, plays an attacker who sees only the veiled ones, and
returns how often they are right, as an `Estimate` with a confidence interval. Nothing that is returned holds words of
a text.

- `attack_words`: optimal Bayesian inference of each word from its replacement and a public `Prior`, without context.
- `attack_repeats`: the same from several draws of each word, as of a name that recurs or a text that is released again.
- `attack_sentences`: the same with the words around it as context, by an `NgramModel`.
- `attack_context`: each word by a `wordveil.Reader` of the whole release, on texts veiled here or as released.
- `attack_vectors`: which word a released noisy vector stands for, and NADP's overlap estimate and skewness.

Throughout, `mechanism` is what veils, `words` are the words of the text, and `prior` is what the attacker knows about
words; the outputs that they see join its suspects. About `tokens` words are attacked, drawn at random, all if there are
fewer, in whole sentences or texts where context counts. To learn a mechanism whose probabilities are not known exactly,
the attacker veils `draws` words. All randomness comes from `entropy`, and `watch` is told how far the work is.
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
