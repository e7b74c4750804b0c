"""Draws equal words of a scope once, so that their loss counts once, however often the word occurs.

A scope is a record, a person or a file. A record is veiled in one piece, so its equal words are gathered and share
their draw. A person's records may be in other batches, worker processes or machines, or come after a crash, and
remembering every draw would take unbounded memory. So for wider scopes, the randomness of a draw is derived from a
secret of the job, the scope and the word, by a keyed hash: whoever has the secret makes the same draw again. Caching
draws only saves time. See docs/guarantees.md, "Draw once", for the guarantee and its proof.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.errors import InputError, OptionError
from wordveil.kernels.words import Uses, first_uses
from wordveil.noise import Entropy, KeyedEntropy
from wordveil.text.nonwords import Numbering
from wordveil.text.replacing import OutsideWords, random_digits

__all__ = ["SCOPES", "Once", "Shared"]

#: The scopes in which equal words may be drawn once.
SCOPES = ("record", "person", "file")

_BYTES = 32  # the length of the secret
_PURPOSE = b"wordveil once"  # separates this use of the hash from all others
_REMEMBERED = 1 << 18  # cached draws, after which all are forgotten

Word = TypeVar("Word", str, tuple[str, str])
Drawn = TypeVar("Drawn")


class Shared(NamedTuple):
    """Draws for the different words of each scope, and which of these each word has."""

    ids: NDArray[np.int64]
    uses: Uses

    @property
    def each(self) -> NDArray[np.int64]:
        """The draw of each word."""
        return np.asarray(self.ids[self.uses.places])


class Once:
    """Makes equal words of a scope share a draw.

    Parameters
    ----------
    scope : {"record", "person", "file"}
        The scope: one record; all records with the same `Document.scope`, in any batch, process or machine; or all
        records, unless they have a scope.
    seed : int, optional
        Makes the secret reproducible, for experiments. Default: a fresh secret.

    Attributes
    ----------
    scope : str
        The scope.
    is_seeded : bool
        Whether a seed was given, so that nothing is guaranteed.
    secret : bytes
        The secret that the draws of scopes wider than a record are derived from. Anyone with it and the release can
        find the words, so protect it like the text, and discard it when the last record is veiled. Copies in other
        processes have the same secret.
    """

    def __init__(self, scope: str, *, seed: int | None = None) -> None:
        if scope not in SCOPES:
            raise OptionError(f"once cannot be {scope!r}; choose one of {', '.join(SCOPES)}, or leave it out.")
        self.scope = scope
        self.is_seeded = seed is not None
        self.secret = secrets.token_bytes(_BYTES) if seed is None else _from_seed(seed)
        self._remembered: dict[bytes, int] = {}
        self._way = b""

    def __repr__(self) -> str:
        return f"<Once: a {self.scope}>"  # never the secret

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_remembered": {}}

    @property
    def is_keyed(self) -> bool:
        """Whether draws are derived from the secret, as they are in scopes wider than a record."""
        return self.scope != "record"

    def go_on_with(self, secret: bytes) -> None:
        """Use the secret with which a job was started."""
        self.secret, self._remembered = secret, {}

    def for_way(self, way: str) -> Once:
        """Return a copy with the same secret for one way of veiling, given by its digest.

        With another ε or mechanism, draws are then derived from independent random bits: the losses of two releases
        add up only if their draws are independent.
        """
        found = copy(self)
        found._way, found._remembered = bytes.fromhex(way), {}
        return found

    def check(self, scope: Hashable) -> None:
        """Raise an InputError if a text lacks the scope that it needs."""
        if scope is None and self.scope == "person":
            raise InputError("once='person' needs the scope of every text: who it is by or about.")

    def groups(self, scopes: Sequence[Hashable]) -> list[int]:
        """Return a number for the scope of each text, the same for equal scopes.

        A text without a scope is a record of its own, if scopes are records.
        """
        numbers: dict[Hashable, int] = {}
        apart = self.scope == "record"
        return [
            numbers.setdefault((place,) if scope is None and apart else ("", scope), len(numbers))
            for place, scope in enumerate(scopes)
        ]

    def digests(self, scopes: Sequence[Hashable]) -> list[bytes]:
        """Return a keyed digest of each scope."""
        return [self._hash(b"scope", "" if scope is None else str(scope)) for scope in scopes]

    def words(
        self,
        mechanism: Mechanism[Any],
        ids: NDArray[np.int64],
        stops: NDArray[np.int64],
        groups: NDArray[np.int64],
        digests: Sequence[bytes],
        entropy: Entropy,
    ) -> Shared:
        """Draw for words of texts, those of each of which end at its place in `stops`.

        `groups` are the numbers of the texts' scopes, and `digests` the scopes' digests by number.
        """
        # In order of occurrence, so that a seed draws the same as it would without a scope.
        uses = first_uses(ids, stops, groups, len(mechanism.space))
        if not self.is_keyed:
            return Shared(mechanism.draw(ids[uses.first], entropy), uses)
        different = zip(_groups_of(uses, stops, groups), ids[uses.first].tolist(), strict=True)
        keys = [self._hash(b"word" + digests[group], str(word)) for group, word in different]
        known = np.array([self._remembered.get(key[-16:], -1) for key in keys], dtype=np.int64)
        new = np.flatnonzero(known < 0)
        if new.size:
            known[new] = mechanism.draw_each(ids[uses.first][new], [keys[number] for number in new.tolist()])
            if len(self._remembered) + len(new) > _REMEMBERED:
                self._remembered.clear()  # drawing them again only costs time
            self._remembered.update((keys[number][-16:], int(known[number])) for number in new[:_REMEMBERED].tolist())
        return Shared(known, uses)

    def outside(
        self,
        mechanism: Mechanism[Any],
        source: OutsideWords,
        words: NDArray[np.int64],
        keys: Mapping[int, str],
        stops: NDArray[np.int64],
        groups: NDArray[np.int64],
        digests: Sequence[bytes],
        entropy: Entropy,
    ) -> NDArray[np.int64]:
        """Draw for words outside the vocabulary, given by their keys: as `mechanism` does for a random word."""
        uses = first_uses(words, stops, groups, int(words.max(initial=0)) + 1)
        if self.is_keyed:
            numbers = zip(_groups_of(uses, stops, groups), words[uses.first].tolist(), strict=True)
            different = [(group, keys[number]) for group, number in numbers]
            # The stand-in follows from one hash and its draw from another, both of the word's scope and key.
            seeds = [self._hash(b"outside" + digests[group], key) for group, key in different]
            taken = np.concatenate([source.draw(1, KeyedEntropy(seed)) for seed in seeds])
            drawn = mechanism.draw_each(taken, [self._hash(b"drawn" + digests[group], key) for group, key in different])
        else:
            drawn = mechanism.draw(source.draw(len(uses.first), entropy), entropy)
        return np.asarray(drawn[uses.places])

    def values(
        self,
        move: Callable[[Sequence[tuple[str, str]], Entropy], list[str | None]],
        values: Sequence[tuple[str, str]],
        groups: Sequence[int],
        digests: Sequence[bytes],
        entropy: Entropy,
    ) -> list[str | None]:
        """Shift values, each given with its kind; equal spellings are shifted together."""
        different = list(dict.fromkeys(zip(groups, values, strict=True)))

        def fresh(_: int) -> list[str | None]:
            return move([value for _, value in different], entropy)

        def again(seed: bytes, value: tuple[str, str]) -> str | None:
            return move([value], KeyedEntropy(seed))[0]

        return self._alike(b"value", values, groups, digests, fresh, again)

    def numbers(
        self, words: Sequence[str], groups: Sequence[int], digests: Sequence[bytes], entropy: Entropy
    ) -> list[str]:
        """Draw digits for numbers."""
        # Numbers differ in length, so in a record they are drawn in the order of their first occurrence.
        lengths = {pair: len(pair[1]) for pair in zip(groups, words, strict=True)}

        def fresh(_: int) -> list[str]:
            return random_digits(list(lengths.values()), entropy)

        def again(seed: bytes, word: str) -> str:
            return random_digits([len(word)], KeyedEntropy(seed))[0]

        return self._alike(b"number", words, groups, digests, fresh, again)

    def numbering(self, groups: Sequence[int], digests: Sequence[bytes]) -> list[Callable[[str, str], int]]:
        """Return, for each text, a function that numbers identifiers by kind and spelling, the same within a scope.

        In a record they are counted. In a wider scope texts come in any order, so the numbers are derived from the
        secret, with enough digits that two identifiers of a scope almost never share one.
        """
        if not self.is_keyed:
            counted: dict[int, Numbering] = {}
            return [counted.setdefault(group, Numbering()) for group in groups]
        least = 10 ** (8 if self.scope == "person" else 14)

        def numbers(digest: bytes) -> Callable[[str, str], int]:
            def number(kind: str, same: str) -> int:
                return int.from_bytes(self._hash(b"named" + digest, f"{kind} {same}")[:16], "big") % (9 * least) + least

            return number

        return [numbers(digests[group]) for group in groups]

    def _alike(
        self,
        kind: bytes,
        words: Sequence[Word],
        groups: Sequence[int],
        digests: Sequence[bytes],
        fresh: Callable[[int], list[Drawn]],
        again: Callable[[bytes, Word], Drawn],
    ) -> list[Drawn]:
        """Give equal words of a scope the same draw: one of `fresh`, or one derived from a seed."""
        pairs = list(zip(groups, words, strict=True))
        different = list(dict.fromkeys(pairs))
        if self.is_keyed:
            drawn = [again(self._hash(kind + digests[group], _text(word)), word) for group, word in different]
        else:
            drawn = fresh(len(different))
        of_pair = dict(zip(different, drawn, strict=True))
        return [of_pair[pair] for pair in pairs]

    def _hash(self, kind: bytes, text: str) -> bytes:
        """Return 64 bytes derived from the kind and text, which look random to anyone without the secret."""
        # The encoding is unambiguous: ways and digests have a fixed length, and no kind is a prefix of another.
        message = self._way + kind + b"\0" + text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(message, key=self.secret, person=_PURPOSE).digest()


def _groups_of(uses: Uses, stops: NDArray[np.int64], groups: NDArray[np.int64]) -> list[int]:
    """Return the group of each first use."""
    found: list[int] = groups[np.searchsorted(stops, uses.first, side="right")].tolist()
    return found


def _text(word: str | tuple[str, str]) -> str:
    return word if isinstance(word, str) else " ".join(word)  # the first, a kind, has no spaces


def _from_seed(seed: int) -> bytes:
    return hashlib.blake2b(str(seed).encode(), digest_size=_BYTES, person=_PURPOSE).digest()
