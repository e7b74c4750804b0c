"""WordNet's database files: synsets, senses of words, their hierarchy, and its IS-A pairs."""

from __future__ import annotations

import gzip
import itertools
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from wordveil.errors import FileError, InputError
from wordveil.lab.training.pairs import Pairs

#: The parts of speech with a hierarchy, and the letter and number by which WordNet's files call them.
PARTS = {"noun": ("n", "1"), "verb": ("v", "2")}

_IS_A = ("@", "@i")  # is a kind of, is an instance of


class Synset(NamedTuple):
    """A set of words with one meaning, identified by its part of speech and its place in the file."""

    part: str
    offset: int


class WordNet:
    """The hierarchy of nouns and verbs, read from the database files when it is first needed.

    The folder holds ``data.noun``, ``index.noun``, ``data.verb`` and ``index.verb``, plain or gzipped, and, to tell
    common senses from rare ones, ``cntlist.rev``.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise FileError(f"{self.folder} is not a folder; name the one that holds WordNet's data.noun.")
        self._closed: dict[Synset, frozenset[Synset]] = {}

    def _lines(self, name: str) -> Iterable[str]:
        plain, packed = self.folder / name, self.folder / f"{name}.gz"
        if not plain.is_file() and not packed.is_file():
            raise FileError(f"{self.folder} lacks WordNet's file {name}; name the folder that holds it.")
        try:
            with plain.open("rb") if plain.is_file() else gzip.open(packed, "rb") as lines:
                for line in lines:
                    yield line.decode("utf-8")
        except (OSError, EOFError, zlib.error, UnicodeDecodeError):
            raise FileError(f"{self.folder}: WordNet's file {name} is damaged; fetch it again.") from None

    @cached_property
    def _data(self) -> dict[str, tuple[dict[Synset, tuple[str, ...]], dict[Synset, tuple[Synset, ...]]]]:
        return {part: self._read(part) for part in PARTS if self._has(f"data.{part}")}

    def _has(self, name: str) -> bool:
        return (self.folder / name).is_file() or (self.folder / f"{name}.gz").is_file()

    def _read(self, part: str) -> tuple[dict[Synset, tuple[str, ...]], dict[Synset, tuple[Synset, ...]]]:
        lemmas: dict[Synset, tuple[str, ...]] = {}
        parents: dict[Synset, tuple[Synset, ...]] = {}
        for number, line in enumerate(self._lines(f"data.{part}"), 1):
            if line.startswith(" "):
                continue  # the licence
            try:
                fields = line.partition("|")[0].split()
                synset, count = Synset(part, int(fields[0])), int(fields[3], 16)
                lemmas[synset] = tuple(fields[4 : 4 + 2 * count : 2])
                pointers = fields[5 + 2 * count :][: 4 * int(fields[4 + 2 * count])]
                above = [int(to) for kind, to in zip(pointers[0::4], pointers[1::4], strict=True) if kind in _IS_A]
            except (IndexError, ValueError):
                raise self._strange(f"data.{part}", number) from None
            parents[synset] = tuple(Synset(part, to) for to in dict.fromkeys(above))
        for synset, kinds_of in parents.items():
            if any(one not in lemmas for one in kinds_of):
                raise InputError(
                    f"{self.folder}, data.{part}: the synset {synset.offset} is a kind of one that is missing."
                )
        return lemmas, parents

    @cached_property
    def notice(self) -> str:
        """WordNet's licence, from its files."""
        lines = itertools.takewhile(lambda line: line.startswith(" "), self._lines("data.noun"))
        return "\n".join(line.strip().partition(" ")[2].rstrip() for line in lines) + "\n"

    def synsets(self, part: str) -> Sequence[Synset]:
        """Return all synsets of a part of speech, in the order of the file."""
        if part not in self._data:
            raise FileError(f"{self.folder} lacks WordNet's file data.{part}; name the folder that holds it.")
        return list(self._data[part][0])

    def lemmas(self, synset: Synset) -> tuple[str, ...]:
        """Return the words of a synset, as WordNet spells them, with ``_`` for a space."""
        return self._data[synset.part][0][synset]

    def parents(self, synset: Synset) -> tuple[Synset, ...]:
        """Return what a synset is a kind or an instance of, one step up."""
        return self._data[synset.part][1][synset]

    def ancestors(self, synset: Synset) -> frozenset[Synset]:
        """Return everything that a synset is a kind of, all the way up."""
        waiting = [synset]
        while waiting:  # not recursive: a chain may be longer than Python's stack
            last = waiting[-1]
            missing = [above for above in self.parents(last) if above not in self._closed]
            if missing and last not in self._closed:
                if len(waiting) > len(self._data[synset.part][0]):
                    raise InputError(f"{self.folder}, data.{synset.part}: a synset is a kind of itself.")
                waiting += missing
                continue
            waiting.pop()
            above = self.parents(last)
            self._closed[last] = frozenset(above).union(*(self._closed[one] for one in above))
        return self._closed[synset]

    @cached_property
    def _senses(self) -> dict[str, dict[str, list[Synset]]]:
        return {part: self._index(part) for part in self._data}

    def _index(self, part: str) -> dict[str, list[Synset]]:
        senses = {}
        for number, line in enumerate(self._lines(f"index.{part}"), 1):
            if not line.startswith(" "):
                try:
                    fields = line.split()
                    senses[fields[0]] = [Synset(part, int(offset)) for offset in fields[-int(fields[2]) :]]
                except (IndexError, ValueError):
                    raise self._strange(f"index.{part}", number) from None
        return senses

    def _strange(self, name: str, number: int) -> InputError:
        return InputError(f"{self.folder}, {name}, line {number}: not a line of WordNet; fetch it again.")

    def senses(self, word: str) -> list[Synset]:
        """Return the meanings of a word (lower case): nouns first, each part from the most common to the rarest."""
        return [synset for part in self._senses for synset in self._senses[part].get(word, ())]

    @cached_property
    def words(self) -> frozenset[str]:
        """All words with a meaning, lower case, as WordNet spells them."""
        return frozenset(word for part in self._senses.values() for word in part)

    @cached_property
    def _counts(self) -> dict[tuple[str, str, int], int]:
        if not self._has("cntlist.rev"):
            return {}
        part_of = {number: part for part, (_, number) in PARTS.items()}
        counts = {}
        for number, line in enumerate(self._lines("cntlist.rev"), 1):
            try:
                key, sense, count = line.split()
                lemma, _, rest = key.partition("%")
                if rest[0] in part_of:
                    counts[part_of[rest[0]], lemma, int(sense)] = int(count)
            except (IndexError, ValueError):  # noqa: PERF203 - to say which line it is
                raise self._strange("cntlist.rev", number) from None
        return counts

    def frequency(self, word: str, synset: Synset) -> int:
        """Return how often a word was seen in this meaning in WordNet's tagged texts."""
        sense = self._senses[synset.part][word].index(synset) + 1
        return self._counts.get((synset.part, word, sense), 0)

    def by_frequency(self, word: str) -> list[Synset]:
        """Return the meanings of a word, the commonest first; of equally common ones, nouns before verbs."""
        return sorted(self.senses(word), key=lambda synset: -self.frequency(word, synset))

    def name(self, synset: Synset) -> str:
        """Return a readable name: ``dog.n.01`` is the first meaning of the noun dog."""
        lemma = self.lemmas(synset)[0].lower()
        number = self._senses[synset.part][lemma].index(synset) + 1
        return f"{lemma}.{PARTS[synset.part][0]}.{number:02d}"


def synset_pairs(wordnet: WordNet, parts: Sequence[str] = ("noun",)) -> Pairs:
    """Return the closure of the hierarchy: every synset with everything it is a kind of.

    For the nouns of WordNet 3.0, these are 743,241 pairs of 82,115 synsets, the usual benchmark of embeddings.
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
    kinds of each other. A meaning on the way up may be nobody's commonest meaning, such as *dance music* between
    *techno* and *music*. It becomes a hidden node, which helps the training and is not a word of the space. `bases`
    returns the part of speech and base form of everything a word may be a form of. With it, a form of a commoner word
    is left out: *years* has a meaning of its own (old age), but is the plural of *year*.
    """
    main: dict[str, Synset] = {}
    for word in vocabulary:
        skip = word in leave_out or (bases is not None and _is_form(wordnet, word, bases(word)))
        senses = [] if skip else wordnet.by_frequency(word)
        if senses and senses[0].part in parts:
            main[word] = senses[0]
    above = set[Synset]().union(*map(wordnet.ancestors, main.values()))
    for word, synset in main.items():
        if not wordnet.parents(synset) and synset not in above:  # no relations in this meaning: use the next that has
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
