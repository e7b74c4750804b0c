"""Guesses what each column of an input is."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from wordveil.io.headers import ADDRESSES, CODE, DATE, NAME, NAMED, NUMBER
from wordveil.plan.sketches import Hasher, Recurring, Reservoir
from wordveil.text.identifiers import VALUES, find_identifiers
from wordveil.text.languages import language_of, stop_words
from wordveil.text.lookup import Lookup
from wordveil.text.tokens import Tokens, is_number, tokenise

__all__ = ["PERSONAL", "Column", "ColumnWatch"]

#: Kinds of columns that identify a person or a thing, to drop or replace before a release.
PERSONAL = ("id", "name-like", "e-mail", "phone", "address")

_NEARLY_ALL = 0.9  # the share of the values of a column that must have the form of its kind
_DISTINCT = 0.95  # the share of distinct values in a column of ids
_FEW_VALUES, _FEW_SHARE = 50, 0.1  # the most distinct values of a category, and their largest share of all values
_LEAST = 20  # fewer values may be distinct by chance
_TEXT_WORDS = 3.0  # the fewest words of a text, on average
_RUN = 5  # a run of this many words that recurs is part of a template
_TEMPLATE, _TEMPLATE_SHARE = 3, 0.001  # a template recurs in at least this many records, and in this share
_VALUES, _RUNS = 1 << 14, 1 << 15  # the most distinct values and runs counted; beyond, a fair sample of them
_SHOWN_TEXTS = 200  # texts used to guess the language
_LONGEST = 100_000  # the most characters of a value that are examined


@dataclass(frozen=True)
class Column:
    """What a column seems to be."""

    name: str  # empty for a format without columns
    # ``text``, ``id``, ``date``, ``number``, ``category``, ``name-like``, ``e-mail``, ``phone``, ``address``, ``empty``
    # or ``other``.
    kind: str
    values: int  # the number of records with a value
    empty: int  # the number of records without one
    distinct: int  # the number of distinct values, perhaps approximate
    words: float  # the mean number of words of a value
    language: str  # the language code of a text; empty if it is unclear
    coverage: float | None  # the share of the words to veil that the space knows; None if there are none
    templated: float  # the share of its running text in phrases that recur from record to record
    repeated: float  # the share of its values that occur more than once, ignoring numbers in them
    identifiers: dict[str, int]  # the number of non-words by kind: e-mail addresses, phone numbers, amounts, …

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain values."""
        return asdict(self)


class ColumnWatch:
    """Collects statistics of a column, value by value."""

    def __init__(self, name: str, hasher: Hasher, lookup: Lookup, seed: int) -> None:
        self.name, self._hash, self._lookup = name, hasher, lookup
        self.empty = self.values = self.all_words = 0
        self._forms: Counter[str] = Counter()
        self._identifiers: Counter[str] = Counter()
        self._whole: Counter[str] = Counter()  # values that are exactly one identifier
        self._distinct, self._masked, self._runs = Recurring(_VALUES), Recurring(_VALUES), Recurring(_RUNS)
        self._sample: Reservoir[str] = Reservoir(_SHOWN_TEXTS, seed)
        self._content = self._known = 0
        self._function = stop_words()

    def skip(self) -> None:
        """Count a record without a value."""
        self.empty += 1

    def add(self, value: str) -> None:
        """Add a value."""
        value = value.strip()
        if not value:
            self.empty += 1
            return
        self.values += 1
        self._distinct.add(self._hash(value))
        value = value[:_LONGEST]
        forms = (("number", NUMBER), ("date", DATE), ("name", NAME), ("code", CODE))
        self._forms[next((form for form, pattern in forms if pattern.fullmatch(value)), "")] += 1  # the first that fits
        place = self._sample.place()
        if place is not None:
            self._sample.put(place, value)
        self._add_text(value, tokenise(value))

    def _add_text(self, value: str, tokens: Tokens) -> None:
        found = find_identifiers(value)
        self._identifiers.update(one.kind for one in found)
        if len(found) == 1 and found[0].end - found[0].start == len(value):
            self._whole[found[0].kind] += 1
        self.all_words += len(tokens.keys)
        masked = ["0" if is_number(word) else key for word, key in zip(tokens.pieces[1::2], tokens.keys, strict=True)]
        content = [
            (word, key)
            for word, key in zip(tokens.pieces[1::2], tokens.keys, strict=True)
            if key not in self._function and not is_number(word)
        ]
        self._content += len(content)
        self._known += sum(self._lookup.id(word, key) is not None for word, key in content)
        hashes = self._hash.words(masked)
        self._masked.add(int(self._hash.runs(hashes, len(hashes))[0]) if len(hashes) else 0)
        for run in set(self._hash.runs(hashes, _RUN).tolist()):
            self._runs.add(run)

    @property
    def kind(self) -> str:
        """What the column seems to be, from the values so far."""
        if not self.values:
            return "empty"
        enough = _NEARLY_ALL * self.values
        distinct = min(1.0, self._distinct.distinct / self.values)
        is_distinct = distinct >= _DISTINCT and self.values >= _LEAST
        few = self._distinct.distinct <= min(_FEW_VALUES, max(2.0, _FEW_SHARE * self.values))
        words = self.all_words / self.values
        few = few and (self.values >= _LEAST or words < _TEXT_WORDS)  # a few texts are not categories
        whole, count = max(self._whole.items(), key=lambda item: item[1], default=("", 0))
        is_code = self._forms["code"] >= enough or (count >= enough and whole not in VALUES)
        is_name = NAMED.search(self.name) is not None or (not few and 1.5 <= words < 4.5)
        kinds = {  # the first that holds
            ADDRESSES.get(whole, ""): count >= enough and whole in ADDRESSES,
            "date": self._forms["date"] >= enough,
            "id": is_distinct and (is_code or (self._forms["number"] >= enough and not self._has_fractions)),
            "number": self._forms["number"] >= enough,
            "name-like": self._forms["name"] >= enough and is_name,
            "category": few,
            "text": words >= _TEXT_WORDS,
        }
        return next((kind for kind, holds in kinds.items() if holds), "other")

    @property
    def _has_fractions(self) -> bool:
        return any("." in value or "," in value for value in self._sample)

    def profile(self) -> Column:
        """Return the facts about the column."""
        kind = self.kind
        templated = max(_TEMPLATE, _TEMPLATE_SHARE * self.values)
        return Column(
            name=self.name,
            kind=kind,
            values=self.values,
            empty=self.empty,
            distinct=self._distinct.distinct,
            words=self.all_words / max(1, self.values),
            language=language_of(self._sample).name if kind == "text" else "",
            coverage=self._known / self._content if self._content else None,
            templated=self._runs.share_of_occurrences(least=round(templated)) if kind == "text" else 0.0,
            repeated=self._masked.share_of_occurrences(least=2),
            identifiers=dict(sorted(self._identifiers.items())),
        )
