"""IS-A pairs out of WordNet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from wordveil.lab.training.pairs import Pairs
from wordveil.lab.training.wordnet import Synset, WordNet

__all__ = ["synset_pairs", "word_pairs"]


def synset_pairs(wordnet: WordNet, parts: Sequence[str] = ("noun",)) -> Pairs:
    """Return the closure of the hierarchy: every synset with everything it is a kind of.

    Of the nouns of WordNet 3.0 these are 743,241 pairs of 82,115 synsets, on which embeddings are compared.
    """
    names = {synset: wordnet.name(synset) for part in parts for synset in wordnet.synsets(part)}
    pairs = [(name, names[above]) for synset, name in names.items() for above in sorted(wordnet.ancestors(synset))]
    return Pairs.of(pairs)


def word_pairs(
    wordnet: WordNet,
    vocabulary: Sequence[str],
    *,
    leave_out: Collection[str] = (),
    parts: Collection[str] = ("noun", "verb"),
    bases: Callable[[str], Iterable[tuple[str, str]]] | None = None,
) -> Pairs:
    """Return the closure of the hierarchy between words.

    A word stands for its commonest meaning, so that *state* is what *ohio* is and not what matter has. Synonyms are
    kinds of each other. A meaning on the way up that is the commonest one of no word of the vocabulary
    (*dance music*, between *techno* and *music*) is a hidden node: it helps the training and is no word of the
    space.

    Parameters
    ----------
    wordnet : WordNet
        The hierarchy.
    vocabulary : sequence of str
        The words to keep, in the order that they shall have.
    leave_out : collection of str
        Words to leave out all the same, such as function words.
    parts : collection of str
        The parts of speech to take; a word whose commonest meaning is another is left out.
    bases : callable, optional
        Gives the part of speech and base form of everything a word may be a form of. A word is then left out
        if it is a form of a commoner one: *years* has a meaning of its own (old age), but is the plural of *year*.
    """
    main: dict[str, Synset] = {}
    for word in vocabulary:
        skip = word in leave_out or (bases is not None and _is_form(wordnet, word, bases(word)))
        senses = [] if skip else wordnet.by_frequency(word)
        if senses and senses[0].part in parts:
            main[word] = senses[0]
    above = set[Synset]().union(*map(wordnet.ancestors, main.values()))
    for word, synset in main.items():
        if not wordnet.parents(synset) and synset not in above:  # alone in its meaning: the next one that is not
            others = (one for one in wordnet.by_frequency(word) if one.part in parts and wordnet.parents(one))
            main[word] = next(others, synset)
    words = defaultdict(list)
    for word, synset in main.items():
        words[synset].append(word)
    above = set[Synset]().union(*map(wordnet.ancestors, words))
    hidden = [synset for synset in sorted(above) if synset not in words]
    names: dict[Synset, list[str]] = {**words, **{synset: [f"({wordnet.name(synset)})"] for synset in hidden}}
    pairs = [
        (name, other)
        for synset, own in names.items()
        for name in own
        for related in (synset, *sorted(wordnet.ancestors(synset)))
        for other in names[related]
        if other != name
    ]
    linked = {name for pair in pairs for name in pair}
    order = [word for word in main if word in linked] + [names[synset][0] for synset in hidden]
    return Pairs.of(pairs, order, hidden=len(hidden))


def _is_form(wordnet: WordNet, word: str, bases: Iterable[tuple[str, str]]) -> bool:
    own = max((wordnet.frequency(word, synset) for synset in wordnet.senses(word)), default=0)
    return any(
        base != word and wordnet.frequency(base, synset) > own
        for part, base in bases
        for synset in wordnet.senses(base)
        if synset.part == part
    )
