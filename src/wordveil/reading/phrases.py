"""Reads the English trigram model of the package pocketsphinx.

The file holds a trie of n-grams keyed by their last word: below every word the words seen before it, and below every
such pair the words before that. Each level is an array of bit-packed records. Probabilities are logarithms to the base
1.0001; those of pairs and triples are indices into a table of 65,536 values.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import FileError
from wordveil.extras import needs

__all__ = ["Phrases", "read_phrases"]

_MAGIC = b"Trie Language Model"
_BASE = math.log(1.0001)
_BINS = 1 << 16
_PAST = 8  # padding bytes after every level


class Phrases(NamedTuple):
    """A back-off model of words, pairs and triples, with natural logarithms."""

    words: list[str]  # the other fields index these
    # The probability of each word, and its back-off weight.
    log_word: NDArray[np.float64]
    escape_word: NDArray[np.float64]
    pairs: NDArray[np.int64]  # the word before and the word itself
    # The same for each pair.
    log_pair: NDArray[np.float64]
    escape_pair: NDArray[np.float64]
    triples: NDArray[np.int64]  # the two words before and the word itself
    log_triple: NDArray[np.float64]  # the probability of each


def read_phrases(path: Path | None = None) -> Phrases:
    """Read a trigram model in pocketsphinx's binary format; by default the English model of the installed package."""
    if path is None:
        needs("pocketsphinx", "trigram", "the trigram model")
        found = find_spec("pocketsphinx")
        folder = Path(str(found.origin)).parent if found is not None else Path()
        path = folder / "model" / "en-us" / "en-us.lm.bin"
    try:
        return _parsed(path.read_bytes())
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or type(error).__name__}.") from None
    except (ValueError, IndexError):
        raise FileError(f"{path} is not a trigram model in pocketsphinx's binary format.") from None


def _parsed(data: bytes) -> Phrases:
    if not data.startswith(_MAGIC) or data[len(_MAGIC)] != 3:
        raise ValueError("not a trigram model")
    place = len(_MAGIC) + 1
    ones, twos, threes, _ = np.frombuffer(data, "<u4", 4, place).astype(np.int64).tolist()
    place += 16
    tables = np.frombuffer(data, "<f4", 3 * _BINS, place).reshape(3, _BINS).astype(np.float64) * _BASE
    place += tables.size * 4
    unigrams = np.frombuffer(data, np.dtype([("log", "<f4"), ("escape", "<f4"), ("next", "<u4")]), ones + 1, place)
    place += unigrams.nbytes
    raw = np.frombuffer(data, np.uint8)
    word_bits, next_bits = ones.bit_length(), threes.bit_length()
    total, there = word_bits + 32 + next_bits, int(unigrams["next"][-1])  # slightly fewer than `twos`
    before = _field(raw, place, there, total, 0, word_bits)
    values = _field(raw, place, there, total, word_bits, 32)
    onward = _field(raw, place, there + 1, total, word_bits + 32, next_bits)
    place += ((1 + twos) * total + 7) // 8 + _PAST
    total = word_bits + 16
    earlier = _field(raw, place, int(onward[-1]), total, 0, word_bits)
    last = _field(raw, place, int(onward[-1]), total, word_bits, 16)
    place += ((1 + threes) * total + 7) // 8 + _PAST
    words = data[place + 4 :].decode("utf-8").split("\0")[:ones]
    if len(words) != ones:
        raise ValueError("words are missing")
    ends: NDArray[np.int64] = unigrams["next"].astype(np.int64)
    word = np.repeat(np.arange(ones), np.diff(ends))
    pair = np.repeat(np.arange(there), np.diff(onward))
    return Phrases(
        words,
        unigrams["log"][:ones].astype(np.float64) * _BASE,
        unigrams["escape"][:ones].astype(np.float64) * _BASE,
        np.stack([before, word], axis=1),
        tables[0][values >> 16],
        tables[1][values & 0xFFFF],
        np.stack([earlier, before[pair], word[pair]], axis=1),
        tables[2][last],
    )


def _field(raw: NDArray[np.uint8], start: int, count: int, total: int, skip: int, bits: int) -> NDArray[np.int64]:
    """Return one field of every record of a level: `bits` bits, after `skip`, of records of `total` bits."""
    at = np.arange(count, dtype=np.int64) * total + skip
    byte, found = start + (at >> 3), np.zeros(count, dtype=np.int64)
    for number in range((bits + 14) // 8):
        found |= raw[byte + number].astype(np.int64) << (8 * number)
    return (found >> (at & 7)) & ((1 << bits) - 1)
