"""A veiled text as arrays: the word at each place, and whether a mechanism drew it.

The text is cut, looked up and selected from by the same code as in the veil. Two selections can be recognised in the
release itself: with ``all`` every word was veiled, and with ``content`` every word that is not spelt and written like a
function word. A few details of ``content``:

- A mechanism may draw a function word, which then looks as if it had been left alone: a few veiled words in a hundred.
- Function words that were veiled because of how they were written (US, Will) are not considered as originals. They are
  few, and their frequency elsewhere would make them seem likely.
- Placeholders and markup count as left alone, and shifted values as words outside the vocabulary.

With any other selection, veiled words look like the others, so spans must say where they are in the released text;
`Release.replacements` and the offsets of JSON lines give them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from wordveil.errors import InputError, OptionError
from wordveil.guarantee import Guarantee
from wordveil.noise import Entropy
from wordveil.spaces import Vocabulary
from wordveil.text.identifiers import KINDS, VALUES, is_placeholder
from wordveil.text.lookup import Lookup
from wordveil.text.release import Counts, Release
from wordveil.text.replacing import CASES, WRITERS
from wordveil.text.selection import Document, Selection, Spans
from wordveil.text.tokens import apart_as, lookup_key, tokenise, visible_key

__all__ = [
    "GAPS",
    "LEFT_ALONE",
    "OUTSIDE",
    "READABLE",
    "UNKNOWN",
    "VEILED",
    "Cutter",
    "Places",
    "Words",
    "check_case",
    "nothing_to_find",
]

#: The id of a word outside the vocabulary.
OUTSIDE = -1
#: The kinds of places: not selected, so released as it was; drawn by the mechanism; selected but outside the
#: vocabulary, so that its output says nothing.
LEFT_ALONE, VEILED, UNKNOWN = 0, 1, 2
#: The selections that a release can be read under.
READABLE = ("content", "all", "spans", "words")

# Classes of punctuation; a gap belongs to the first that matches.
_MARKS = ("?", "!", ".…", "\n", '"“”«»', ",;:()[]–—", "-'’/")
#: The number of classes of gaps: the edge of a text, white space, the marks above, and everything else.
GAPS = len(_MARKS) + 3

#: At most one in this many words that look left alone may differ between the draws of a text: both draws gave function
#: words.
_DIFFERENT = 4
_APART = (*VALUES, "MARKUP")  # if identifiers are veiled, their words are read like any others
_REMEMBERED = 1 << 20  # words whose ids are cached: more than any vocabulary in use has


@dataclass(frozen=True)
class Places:
    """The words of some veiled texts, one text after the other."""

    ids: NDArray[np.int64]  # the id of each word, -1 if it is outside the vocabulary
    kinds: NDArray[np.uint8]  # whether each word is `LEFT_ALONE`, `VEILED` or `UNKNOWN`
    starts: NDArray[np.int64]  # where each text starts among the words, and at the end the number of words
    # The classes of what stands before and after each word, of `GAPS` classes; these gaps are released as they were.
    gaps: NDArray[np.uint8]
    others: NDArray[np.int64]  # the ids in further draws of the same texts, if they were released more than once
    pieces: list[list[str]]  # the pieces of each text, to write it again; empty if not kept

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.starts) - 1

    @classmethod
    def joined(cls, parts: Sequence[Places]) -> Places:
        """Concatenate texts; all parts must have the same number of further draws."""
        if not parts:
            nothing = np.empty(0, dtype=np.int64)
            starts, draws = np.zeros(1, dtype=np.int64), nothing.reshape(0, 0)
            return cls(nothing, nothing.astype(np.uint8), starts, np.zeros((2, 0), dtype=np.uint8), draws, [])
        if len({len(part.others) for part in parts}) > 1:
            raise InputError("every text needs the same number of further draws.")
        before = accumulate((len(part.ids) for part in parts[:-1]), initial=0)
        begins = [part.starts[:-1] + shift for part, shift in zip(parts, before, strict=True)]
        count = sum(len(part.ids) for part in parts)
        return cls(
            np.concatenate([part.ids for part in parts]),
            np.concatenate([part.kinds for part in parts]),
            np.concatenate([*begins, [count]]).astype(np.int64),
            np.concatenate([part.gaps for part in parts], axis=1),
            np.concatenate([part.others for part in parts], axis=1),
            [pieces for part in parts for pieces in part.pieces],
        )

    @property
    def texts(self) -> NDArray[np.int64]:
        """The number of the text that each word belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @property
    def veiled(self) -> NDArray[np.int64]:
        """The indices of the veiled words."""
        return np.flatnonzero(self.kinds == VEILED)

    @property
    def outputs(self) -> NDArray[np.int64]:
        """The outputs at each veiled place: one row per place, one column per draw."""
        veiled = self.veiled
        return np.concatenate([self.ids[None], self.others])[:, veiled].T

    @property
    def draws(self) -> NDArray[np.int64]:
        """The draw that each veiled place seems to show, if equal words of a text are drawn once.

        Places of one text with the same output are taken for the same word. This is wrong if two different words drew
        the same output, but that is much less likely.
        """
        shown = np.column_stack([self.texts[self.veiled], self.outputs])
        return np.unique(shown, axis=0, return_inverse=True)[1].ravel()

    def spans(self) -> list[tuple[int, int]]:
        """Return the spans of the veiled words in the first text, in characters."""
        ends = list(accumulate(map(len, self.pieces[0])))
        return [(ends[2 * place], ends[2 * place + 1]) for place in self.veiled.tolist() if place < self.starts[1]]

    def write(self, words: Iterable[str], guarantee: Guarantee, case: str = "sentence") -> list[Release]:
        """Return each text with new words in its veiled places.

        `words` has one word per veiled place, in order. `guarantee` is that of the release, which post-processing
        keeps. `case` is how words are capitalised, as for a `Veil`; ``copy`` copies the capitals of the veiled text.
        """
        new, write, written = iter(words), WRITERS[case], []
        for pieces, start, end in zip(self.pieces, self.starts[:-1], self.starts[1:], strict=True):
            kinds = self.kinds[start:end]
            places = (2 * np.flatnonzero(kinds == VEILED) + 1).tolist()
            rewritten = list(pieces)
            for place in places:
                rewritten[place] = write(rewritten, place, next(new))
            left_alone, veiled, unknown = np.bincount(kinds, minlength=3).tolist()
            counts = Counts(words=len(kinds), left_alone=left_alone, drawn=veiled, kept_raw=unknown)
            lengths = [len(piece) for piece in pieces], [len(piece) for piece in rewritten]
            written.append(Release("".join(rewritten), guarantee, counts, places, lengths))
        return written

    def means(self, veiled: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the mean vector of each text, from the vectors of veiled places and the vectors of all words."""
        is_veiled, left_alone = self.kinds == VEILED, (self.kinds == LEFT_ALONE) & (self.ids >= 0)
        sums = self._sums(is_veiled, np.arange(len(veiled)), veiled)
        sums += self._sums(left_alone, self.ids[left_alone], vectors)
        counts = np.diff(np.concatenate([[0], np.cumsum(left_alone | is_veiled)])[self.starts])
        return sums / np.maximum(counts, 1).astype(np.float32)[:, None]

    def _sums(
        self, which: NDArray[np.bool_], rows: NDArray[np.int64], vectors: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return, for each text, the sum of the vectors of the words in `which`; `rows` are their rows in `vectors`."""
        starts = np.concatenate([[0], np.cumsum(which)])[self.starts]
        ones = np.ones(len(rows), dtype=np.float32)
        return np.asarray(scipy.sparse.csr_array((ones, rows, starts), shape=(len(self), len(vectors))) @ vectors)


@dataclass(frozen=True)
class Words:
    """The words of some texts, one after the other.

    Attributes
    ----------
    ids : array of int
        The id of each word, -1 if it is outside the vocabulary.
    hidden : array of bool
        Whether a veil would replace the word; other words are released as they are.
    text : array of int
        The number of the text that each word belongs to.
    record : array of int, optional
        The number of the record that each word belongs to, if several texts, such as sentences or columns, make one
        record.
    """

    ids: NDArray[np.int64]
    hidden: NDArray[np.bool_]
    text: NDArray[np.int64]
    record: NDArray[np.int64] | None = None

    @property
    def records(self) -> NDArray[np.int64]:
        """The number of the record that each word belongs to; by default every text is a record."""
        return self.text if self.record is None else self.record

    @classmethod
    def of(cls, places: Places) -> Words:
        """Take the words of texts that a `Cutter` has cut."""
        return cls(places.ids, places.kinds != LEFT_ALONE, places.texts)

    @property
    def targets(self) -> NDArray[np.int64]:
        """The indices of the words that a mechanism replaces: hidden, and in the vocabulary."""
        return np.flatnonzero(self.hidden & (self.ids != OUTSIDE))

    def sample_targets(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Choose at most `count` of the `targets` at random."""
        targets = self.targets
        if not targets.size:
            raise nothing_to_find()
        return np.sort(entropy.generator.permutation(targets)[:count])

    def grouped(self, owners: NDArray[np.int64]) -> Words:
        """Return the same words with one text per owner; `owners` has a number for each text."""
        return Words(self.ids, self.hidden, owners[self.text])

    def distinct(self) -> Words:
        """Return each distinct target of a text once."""
        same = np.column_stack([self.text, self.ids])[self.targets]
        first = np.sort(self.targets[np.unique(same, axis=0, return_index=True)[1]])
        return Words(self.ids[first], self.hidden[first], self.text[first])

    def in_records(self, records: NDArray[np.int64]) -> Words:
        """Return the same words, with the number of the record that each text belongs to."""
        return Words(self.ids, self.hidden, self.text, records[self.text])

    def runs(self) -> list[slice]:
        """Return the maximal stretches, each within one text, without a word outside the vocabulary."""
        inside = self.ids != OUTSIDE
        changes = self.text[1:] != self.text[:-1]
        begins = np.flatnonzero(inside & np.concatenate([[True], changes | ~inside[:-1]]))
        ends = np.flatnonzero(inside & np.concatenate([changes | ~inside[1:], [True]]))
        return [slice(first, last + 1) for first, last in zip(begins.tolist(), ends.tolist(), strict=True)]


class Cutter:
    """Cuts veiled texts into places.

    `select`, `words` and `stop_words` are as in `Reader`. With ``spans`` and ``words``, every text must be a `Document`
    with the spans of its veiled words.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        select: str = "content",
        words: Collection[str] | None = None,
        stop_words: Collection[str] | None = None,
    ) -> None:
        if select not in READABLE:
            raise OptionError(
                f"a release with select={select!r} does not show which words were veiled; set `select` to 'spans', and "
                "give the spans of the veiled words with each text."
            )
        self.selection = Selection(select, words, left_alone=stop_words)
        self._by_spans = Selection("spans") if select in {"spans", "words"} else None
        self._vocabulary = vocabulary
        self._codes, self._gaps = _Codes(vocabulary), _Gaps()

    @property
    def needs_spans(self) -> bool:
        """Whether texts must come with the spans of their veiled words."""
        return self._by_spans is not None

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """Which words of the vocabulary can be behind an output: those that the selection selects."""
        kind, listed = self.selection.kind, self.selection.listed
        if kind == "content":
            left_alone = self.selection.left_alone
            return np.array([lookup_key(word) not in left_alone for word in self._vocabulary])
        if listed is not None:
            keys = {key for phrase in listed for key in phrase}
            return np.array([visible_key(lookup_key(word)) in keys for word in self._vocabulary])
        return np.ones(len(self._vocabulary), dtype=np.bool_)

    def cut(self, texts: Iterable[str | Document], *, keep: bool = False, original: bool = False) -> Places:
        """Look up the words of texts.

        With `keep`, the pieces are kept so that the texts can be written again. With `original`, the texts are
        originals: an identifier is then one place, as its placeholder is in a release.
        """
        apart = KINDS if original else _APART
        codes: list[int] = []
        lengths: list[int] = []
        before: list[int] = []
        after: list[int] = []
        pieces: list[list[str]] = []
        code_of, gap_of = self._codes, self._gaps
        for text in texts:
            words = text.text if isinstance(text, Document) else text
            if not isinstance(words, str):
                raise InputError(f"a text must be a string, not {type(words).__name__}.")
            tokens = tokenise(words, apart)
            found = [code_of[pair] for pair in zip(tokens.pieces[1::2], tokens.keys, strict=True)]
            selection, spans = (self.selection, None) if self._by_spans is None else (self._by_spans, _spans_of(text))
            chosen = selection.choose(tokens, spans)
            codes += [
                2 * code + (is_chosen and not (key[:1] == "<" and (original or _is_public(word, key))))
                for code, is_chosen, word, key in zip(found, chosen, tokens.pieces[1::2], tokens.keys, strict=True)
            ]
            lengths.append(len(found))
            if found:
                inside = [gap_of[gap] for gap in tokens.pieces[2:-1:2]]
                before += (_edge(tokens.pieces[0]), *inside)
                after += (*inside, _edge(tokens.pieces[-1]))
            if keep:
                pieces.append(tokens.pieces)
        packed = np.array(codes, dtype=np.int64)
        ids, selected = (packed >> 1) - 1, (packed & 1).astype(np.bool_)
        kinds = np.where(selected, np.where(ids == OUTSIDE, UNKNOWN, VEILED), LEFT_ALONE).astype(np.uint8)
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
        gaps = np.array([before, after], dtype=np.uint8)
        return Places(ids, kinds, starts, gaps, np.empty((0, len(ids)), dtype=np.int64), pieces)

    def cut_draws(self, draws: Sequence[str | Document]) -> Places:
        """Look up the words of several draws of one text; the places are those of the first draw.

        A word counts as veiled if it looks veiled in any draw, because a drawn function word looks as if it had been
        left alone. If two draws show different function words, the word must have been veiled too.
        """
        found = [self.cut([draw], keep=True) for draw in draws]
        first = found[0]
        if any(one.pieces[0][::2] != first.pieces[0][::2] for one in found):
            raise InputError("the draws differ in more than their words, so they cannot be of the same text.")
        ids, kinds = np.stack([one.ids for one in found]), np.stack([one.kinds for one in found])
        veiled = (kinds == VEILED).any(axis=0)
        alone = ~veiled & (ids >= 0).all(axis=0)
        differs = alone & (ids != ids[0]).any(axis=0)
        if differs.any() and (self.selection.kind != "content" or _DIFFERENT * differs.sum() > alone.sum()):
            raise InputError("the draws differ in words that are left alone, so they cannot be of the same text.")
        veiled |= differs
        unknown = (ids == OUTSIDE).any(axis=0) & (kinds != LEFT_ALONE).any(axis=0)
        merged = np.where(unknown, UNKNOWN, np.where(veiled, VEILED, LEFT_ALONE)).astype(np.uint8)
        return Places(first.ids, merged, first.starts, first.gaps, ids[1:], first.pieces)


class _Codes(dict[tuple[str, str], int]):
    """Caches the id plus 1 of each pair of a word and its key."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._vocabulary, self._id = vocabulary, Lookup(vocabulary).id

    def __missing__(self, pair: tuple[str, str]) -> int:
        known = self._id(*pair)
        code = (OUTSIDE if known is None else known) + 1
        if len(self) < _REMEMBERED:
            self[pair] = code
        return code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._vocabulary,)


def _is_public(word: str, key: str) -> bool:
    """Whether a token that is not a word reveals nothing: a placeholder, or markup."""
    return apart_as(key) == "MARKUP" or is_placeholder(word)


class _Gaps(dict[str, int]):
    """Caches the class of what stands between two words."""

    def __missing__(self, gap: str) -> int:
        found = next((number for number, marks in enumerate(_MARKS, 2) if not set(marks).isdisjoint(gap)), None)
        if found is None:
            found = 1 if not gap.strip() else GAPS - 1
        if len(self) < _REMEMBERED and len(gap) < 16:
            self[gap] = found
        return found


def _edge(gap: str) -> int:
    """Return the class of what stands before the first or after the last word; white space is the edge of the text."""
    return _Gaps()[gap] if gap.strip() else 0


def nothing_to_find() -> InputError:
    """Return the error for a text without a word that is both veiled and in the vocabulary."""
    return InputError("the text has no word that is in the space and would be veiled; choose another text or space.")


def check_case(case: str) -> str:
    """Return the case, or raise an OptionError if it is unknown."""
    if case not in CASES:
        raise OptionError(f"unknown case {case!r}; choose one of {', '.join(CASES)}.")
    return case


def _spans_of(text: str | Document) -> Spans | None:
    if isinstance(text, str) or text.spans is None:
        raise InputError(
            "this release does not show which words were veiled: give `spans`, the positions of the veiled words in "
            "each text (in Python, in a Document)."
        )
    return Selection("spans").prepare(text).spans
