"""What compiled code knows of words, gaps and characters, from the functions that cut texts in Python."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from wordveil.kernels.words import CHARACTERS, FORM, KIND, NUMBER, SHORT, Growing, ShortTable, Strings, StringTable
from wordveil.parallel import renew_after_fork
from wordveil.spaces import Vocabulary
from wordveil.text.draft import Keys
from wordveil.text.forms import INSIDE, SPELLS, ends_in_word, form_of, gap_of
from wordveil.text.identifiers import HINTS
from wordveil.text.tokens import APOSTROPHES, Tokens, cut_words, is_number, lookup_key, visible_key
from wordveil.text.veil import Veil

__all__ = ["Known", "encoded", "kinds_of_characters", "spelt"]

_REMEMBERED = 1 << 18  # spellings of words, after which all are forgotten
_USUAL = 0x3000  # characters that most texts do with
_WIDE = 0xFFFF_FFFF  # as many bits as compiled code takes for a word
_KINDS = {SPELLS: KIND.SPELLS, INSIDE: KIND.INSIDE, APOSTROPHES: KIND.APOSTROPHE, HINTS: KIND.HINT}


def encoded(text: str) -> bytes:
    """Return a text in UTF-8, with whatever Python takes for a text."""
    return text.encode("utf-8", "surrogatepass")


class Known:
    """What compiled code knows about words and gaps under the settings of a veil.

    Threads share it. Only one adds to it at a time; the others go on with `tables` as it was before.
    """

    def __init__(self, veil: Veil) -> None:
        self._lookup, self._vocabulary = veil.lookup, veil.mechanism.space.vocabulary
        self._left_alone = veil.selection.left_alone if veil.selection.kind == "content" else frozenset()
        self.empty, self.space = gap_of(""), gap_of(" ")
        self.keys = Keys()  # of words outside the vocabulary
        self._begin()
        renew_after_fork(self)

    def _begin(self) -> None:
        self._words, self._gaps, self._short = StringTable(), StringTable(), ShortTable()
        self._first_parts, self._parts, self._gap_flags = Growing(np.int32, 0), Growing(np.int32), Growing(np.int32)
        self.lock = threading.Lock()
        self.tables = self._tables()

    def after_fork(self) -> None:
        """Start again empty if a thread that this process does not have was adding something when it forked."""
        if self.lock.acquire(blocking=False):
            self.lock.release()
        else:
            self._begin()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known."""
        return self._words.count + self._short.count == 0

    @property
    def is_full(self) -> bool:
        """Whether it has grown so large that it should be replaced by an empty one."""
        return self._words.count + self._short.count + self._gaps.count + len(self.keys) > _REMEMBERED

    def _tables(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the tables of words and of gaps, in the form that compiled code takes."""
        parts = (self._first_parts.room, self._parts.room, len(self._parts) // 5)
        words = (self._words.native, *parts, self._short.native)
        return words, (self._gaps.native, self._gap_flags.room)

    def learn(self, data: bytes, missing: NDArray[np.int32], tables: object) -> bool:
        """Learn words and gaps that `tables` lack; return whether all of them will be found.

        If another thread has learnt something since, nothing is learnt here: cut again with its tables first.
        """
        with self.lock:
            return tables is not self.tables or self._learn(data, missing)

    def _learn(self, data: bytes, missing: NDArray[np.int32]) -> bool:
        # Slices are cheap, and many are equal.
        is_word = missing[:, 0] != 0
        words, gaps = (
            list(dict.fromkeys([data[start:end] for start, end in missing[which, 1:].tolist()]))
            for which in (is_word, ~is_word)
        )
        id_of, left_alone, outside = self._vocabulary.ids.get, self._left_alone, self.keys.number
        is_as_listed = self._vocabulary.forms is None  # then a key is looked up, and nothing else
        usual, of_function = (FORM.PLAIN | FORM.ALNUM) << 32, FORM.FUNCTION << 32
        short, known = list[bytes](), list[int]()
        long, parts, counts = list[bytes](), list[int](), list[int]()
        runs = b"\n".join(words).decode("utf-8", "surrogatepass").split("\n")  # no run has a line break
        for word, run, code in zip(words, runs, map(id_of, runs), strict=True) if words else ():
            if len(word) > 1 and word.isalpha():  # ASCII: most are such words, and most of these known in small letters
                is_small = word.islower()
                if is_small and code is not None and len(word) <= SHORT:
                    short.append(word)
                    known.append(usual | code | of_function if run in left_alone else usual | code)
                    continue
                form, key = (FORM.PLAIN, run) if is_small else (form_of(run), run.lower())
                found = id_of(key) if code is None and is_as_listed else self._lookup.id(run, key)
                form |= FORM.ALNUM | (FORM.FUNCTION if key in left_alone else 0)
                more = [len(word), 0, -1 - outside(key) if found is None else found, form, self.empty]
            else:
                more = self._parts_of(run)
            if more[0] == len(word) <= SHORT:
                short.append(word)
                known.append(more[3] << 32 | more[2] & _WIDE)
            else:
                long.append(word)
                parts += more
                counts.append(len(more) // 5)
        gap_flags = [gap_of(gap.decode("utf-8", "surrogatepass")) for gap in gaps]
        self._first_parts.extend(len(self._parts) // 5 + np.cumsum(counts, dtype=np.int64))
        self._parts.extend(parts)
        self._gap_flags.extend(gap_flags)
        are_found = self._words.add(long) & self._gaps.add(gaps)
        are_found &= self._short.add(Strings.of(short), np.array(known, dtype=np.uint64))
        self.tables = self._tables()
        return are_found

    def _parts_of(self, run: str) -> list[int]:
        pieces, keys = Tokens(["", run, ""], [lookup_key(run)]) if run.isascii() and run.isalnum() else cut_words(run)
        parts = list[int]()
        for word, gap, key in zip(pieces[1::2], pieces[2::2], keys, strict=True):
            form = form_of(word) | (FORM.FUNCTION if key in self._left_alone else 0)
            form |= FORM.ALNUM if ends_in_word(word) else 0
            code = self._lookup.id(word, key)
            if code is None:
                code = NUMBER if is_number(word) else -1 - self.keys.number(visible_key(lookup_key(word)))
            behind = gap_of(gap) if gap else self.empty
            parts += (len(encoded(word)), len(encoded(gap)), code, form, behind)
        return parts


@lru_cache(maxsize=2)
def spelt(vocabulary: Vocabulary) -> tuple[Strings, Strings, NDArray[np.uint8]]:
    """Return the words of a vocabulary, the same with a capital, and whether each of both ends as words end."""
    words = list(vocabulary)
    as_listed, alnum = _packed(words)
    signs = np.frombuffer(as_listed.letters, np.uint8).copy()
    first = as_listed.starts[:-1][np.diff(as_listed.starts) > 0]
    if (signs[first] < 128).all():
        signs[first] -= np.where((signs[first] >= ord("a")) & (signs[first] <= ord("z")), 32, 0).astype(np.uint8)
        as_capital, alnum_too = Strings(as_listed.starts, signs.tobytes()), alnum
    else:
        as_capital, alnum_too = _packed([word[:1].upper() + word[1:] for word in words])
    return as_listed, as_capital, np.stack([alnum, alnum_too], axis=1)


def _packed(words: list[str]) -> tuple[Strings, NDArray[np.uint8]]:
    """Concatenate words and find which end as words end, without a call for every word."""
    signs = np.frombuffer(encoded("\n".join(words)), np.uint8)
    ends = np.append(np.flatnonzero(signs == ord("\n")), len(signs))
    if len(ends) != len(words):  # words with line breaks in them
        alnum = np.array([ends_in_word(word) for word in words], dtype=np.uint8)
        return Strings.of(list(map(encoded, words))), alnum
    last = signs[np.maximum(ends - 1, 0)]
    alnum = np.array([chr(sign).isalnum() for sign in range(128)] + [False] * 128, dtype=np.uint8)[last]
    for place in np.flatnonzero(last >= 128).tolist():
        alnum[place] = ends_in_word(words[place])
    starts = np.concatenate([[0], ends - np.arange(len(words))])
    return Strings(starts, signs[signs != ord("\n")].tobytes()), alnum


def kinds_of_characters(data: bytes | None = None) -> NDArray[np.uint8]:
    """Return the `KIND` of every character that compiled code knows, or of as many as some texts do with."""
    if data is None:
        return _kinds_of(CHARACTERS)
    # The tables take longer to make for all. The first byte of a character says whether it is one from U+3000 on.
    has_others = not data.isascii() and int(np.frombuffer(data, np.uint8).max()) >= 0xE3
    return _kinds_of(CHARACTERS if has_others else _USUAL)


@lru_cache(maxsize=2)
def _kinds_of(count: int) -> NDArray[np.uint8]:
    """Return the `KIND` of the first characters, from the expressions that cut texts; the others are unknown."""
    every = np.arange(count, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    kinds = np.full(CHARACTERS, KIND.UNKNOWN, dtype=np.uint8)
    kinds[:count] = 0
    for members, kind in _KINDS.items():
        for run in regex.finditer(rf"[{members}]+", every):
            kinds[run.start() : run.end()] |= kind
    return kinds
