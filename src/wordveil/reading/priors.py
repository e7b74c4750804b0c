"""Priors over the original words: from general usage, from a public text, or as given."""

from __future__ import annotations

from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
import regex
from numpy.typing import NDArray

from wordveil._mechanisms.priors import log_prior
from wordveil.errors import FileError, InputError, OptionError
from wordveil.reading.places import Cutter
from wordveil.spaces import Space, load_space
from wordveil.spaces.space import DATA
from wordveil.text.lookup import Lookup
from wordveil.text.tokens import lookup_key

__all__ = ["NAMED", "PriorLike", "make_prior", "usage"]

Floats = NDArray[np.float64]
PriorLike = str | Path | NDArray[np.floating]

#: The priors that need nothing but the space.
NAMED = ("space", "uniform")

_COUNTED = regex.compile(r"(\S+)[\t ,;]+([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_LOOKED_AT = 100  # lines examined to tell a list of frequencies from a text
_USAGE: WeakKeyDictionary[Space, Floats] = WeakKeyDictionary()  # the result of `usage` for each space
_ENGLISH = 0.8  # the share of running words that the bundled space must know for a space to count as English


def make_prior(prior: PriorLike, space: Space, cutter: Cutter) -> Floats:
    """Return the probability of every word of the vocabulary at a veiled place, summing to 1.

    `prior` is ``space``, general word frequencies (see `usage`); ``uniform``; the path of a public text, or of a list
    with a word and its count per line; or one number per word. Words that `cutter` never selects get 0.
    """
    possible = cutter.possible
    if isinstance(prior, np.ndarray):
        found = np.asarray(prior, dtype=np.float64)
        if found.shape != (len(space),) or not np.isfinite(found).all() or (found < 0).any():
            raise OptionError("prior needs one finite number ≥ 0 per word of the vocabulary.")
    elif prior == "space":
        found = usage(space)
    elif prior == "uniform":
        found = np.ones(len(space))
    elif isinstance(prior, (str, Path)):
        found = _counted(Path(prior), space, cutter)
    else:
        raise OptionError("prior must be 'space', 'uniform', the path of a file, or an array.")
    found = np.where(possible, found, 0.0)
    if not found.any():
        raise OptionError("with this prior and selection, no word of the vocabulary can be behind an output.")
    return np.asarray(found / found.sum())


def usage(space: Space) -> Floats:
    """Return the general frequency of every word, summing to 1.

    English words have their frequency in public text of many kinds, from counts bundled with the package. Other words,
    and all words of a space that is not English, follow the Zipf-Mandelbrot law of their rank in the space, since
    embedding files list frequent words first.
    """
    if space not in _USAGE:
        _USAGE[space] = _usage(space)
    return _USAGE[space]


def _usage(space: Space) -> Floats:
    by_rank = np.exp(log_prior(space, "frequency"))
    by_rank /= by_rank.sum()
    english = load_space("glove-50k").vocabulary.ids
    places = np.array([english.get(word, -1) for word in space.vocabulary])
    known = places >= 0
    if by_rank[known].sum() < _ENGLISH:
        return by_rank
    centibels = np.load(DATA / "glove-50k" / "frequencies.npy").astype(np.float64)[places[known]]
    found = by_rank.copy()
    found[known] = 10.0 ** (-centibels / 100.0)
    found[known] *= by_rank[known].sum() / found[known].sum()
    return np.asarray(found / found.sum())


def _counted(path: Path, space: Space, cutter: Cutter) -> Floats:
    """Return frequencies from a file, smoothed towards those of the space.

    The weight of the space's frequencies is the number of distinct words in the file (Witten & Bell 1991), so a long
    text counts for much and a short one for little.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise FileError(f"{path} is not UTF-8 text.") from None
    except OSError as error:
        raise FileError(
            f"cannot read the prior {path} ({error.strerror}); give 'space', 'uniform', or the path of a text or a "
            "list of words and counts."
        ) from None
    lines = [line.strip() for line in lines if line.strip()]
    is_list = bool(lines) and all(_COUNTED.fullmatch(line) for line in lines[:_LOOKED_AT])
    counts = _from_list(path, lines, space) if is_list else _from_text(lines, space, cutter)
    counts = np.where(cutter.possible, counts, 0.0)
    if not counts.any():
        raise InputError(f"{path} has no word that a veil with these settings would replace.")
    usual = usage(space) * cutter.possible
    return np.asarray(counts + np.count_nonzero(counts) * usual / usual.sum())


def _from_list(path: Path, lines: list[str], space: Space) -> Floats:
    counts, id_of = np.zeros(len(space)), Lookup(space.vocabulary).id
    for number, line in enumerate(lines, 1):
        found = _COUNTED.fullmatch(line)
        if found is None:
            raise FileError(f"entry {number} of {path} is not a word and its count.")
        known = id_of(found[1], lookup_key(found[1]))
        if known is not None:
            counts[known] += float(found[2])
    return counts


def _from_text(lines: list[str], space: Space, cutter: Cutter) -> Floats:
    everything = Cutter(space.vocabulary, "all") if cutter.needs_spans else cutter
    places = everything.cut(lines)
    return np.bincount(places.ids[places.veiled], minlength=len(space)).astype(np.float64)
