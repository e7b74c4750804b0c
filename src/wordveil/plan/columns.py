"""Guesses what each column of an input is, and whether the first line of a table is a header or a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from itertools import islice
from typing import Any

import regex

from wordveil.errors import InputError
from wordveil.io import Plan, Reading
from wordveil.plan.sketches import Hasher, Recurring, Reservoir
from wordveil.text.identifiers import VALUES, find_identifiers
from wordveil.text.languages import language_of, stop_words
from wordveil.text.lookup import Lookup
from wordveil.text.tokens import Tokens, is_number, tokenise

__all__ = ["PERSONAL", "TABLES", "Column", "ColumnWatch", "Header", "check_header", "form_of", "header_of", "headers"]

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

_NUMBER = regex.compile(r"[\p{Sc}]?\s?[+-]?(?:\d{1,3}(?:[,. '’]\d{3})+|\d+)(?:[.,]\d+)?(?:e[+-]?\d+)?\s?[%\p{Sc}]?")
_DATE = regex.compile(
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}\.? \p{L}{3,9}\.? \d{4}|"
    r"\p{L}{3,9}\.? \d{1,2},? \d{4})(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s?(?:Z|[+-]\d{2}:?\d{2}|[AaPp][Mm])?)?"
)
_NAME = regex.compile(r"\p{Lu}[\p{L}'’.-]*(?:,? (?:(?:de|van|von|der|den|la|bin|al) )*\p{Lu}[\p{L}'’.-]*){0,3}")
_NAMED = regex.compile(
    r"(?i)(^|[_\W])(first|last|full|sur|fore|user|client|display)?_?(name|author|customer|agent|patient|person|sender|"
    r"recipient|assignee|employee|contact|owner|caller|signed_?by)s?($|[_\W])"
)
_CODE = regex.compile(r"(?=.*\d)[\p{L}\d#/_.:-]{3,}")
_ADDRESSES = {"EMAIL": "e-mail", "PHONE": "phone", "URL": "address", "IP": "address", "HANDLE": "name-like"}

#: Formats whose first line names the columns.
TABLES = ("csv", "tsv", "xlsx")
_LOOKED_AT = 200  # records examined below a header
_FILES = 20  # files of a folder whose headers are examined
_OF_ITS_FORM = 0.9  # the share of the values of a column that must have the same form
_SENTENCE = 5  # a column name with this many words may be a text


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


def form_of(value: str) -> str:
    """Return the form of a value that is a number, a date, an address or a code with digits; "" for any other."""
    if _NUMBER.fullmatch(value):
        return "number"
    if _DATE.fullmatch(value):
        return "date"
    found = find_identifiers(value)
    if len(found) == 1 and found[0].kind in _ADDRESSES and found[0].end - found[0].start == len(value):
        return found[0].kind
    if not _CODE.fullmatch(value):
        return ""
    return "code " + "".join("0" if sign.isdigit() else "a" if sign.isalpha() else sign for sign in value)


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
        forms = (("number", _NUMBER), ("date", _DATE), ("name", _NAME), ("code", _CODE))
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
        is_name = _NAMED.search(self.name) is not None or (not few and 1.5 <= words < 4.5)
        kinds = {  # the first that holds
            _ADDRESSES.get(whole, ""): count >= enough and whole in _ADDRESSES,
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


class Header(Enum):
    """What the first line of a table looks like."""

    NAMES = "names"
    DOUBTFUL = "doubtful"
    RECORD = "a record"


def header_of(names: Sequence[str], rows: Sequence[Mapping[str, str | None]]) -> Header:
    """Guess what a first line is, by comparing it with the records below it.

    A date, an address or a fraction above a column of such values is a value itself. A whole number or a code above
    such values, a word that recurs below, and a sentence above sentences may still be names: one of these makes the
    line doubtful, two make it a record. Whole numbers that increase from column to column are taken for names, such as
    years.
    """
    rows = [row for row in rows if list(row.values()) != list(names)]  # skip repeated headers of joined files
    numbers = [int(name) for name in names if name.strip().isdecimal()]
    are_years = len(numbers) > 1 and numbers == sorted(set(numbers))
    hints = 0
    for column in names:
        values = [value.strip() for row in rows if (value := row.get(column)) and value.strip()]
        name = column.strip()
        form = form_of(name)
        if not values or not name:
            continue
        if form and sum(form_of(value) == form for value in values) >= _OF_ITS_FORM * len(values):
            if not (name.isdecimal() or form.startswith("code")):
                return Header.RECORD
            hints += not (name.isdecimal() and are_years)
        elif values.count(name) > 1:
            hints += 1
        elif len(name.split()) >= _SENTENCE and not name.endswith("?"):
            hints += sum(len(value.split()) >= _SENTENCE for value in values) > 0.5 * len(values)
    return Header.RECORD if hints > 1 else Header.DOUBTFUL if hints else Header.NAMES


def headers(plan: Plan, reading: Reading) -> Iterator[tuple[str, Header]]:
    """Yield the tables of an input that can be read twice, and what the first line of each looks like."""
    every = replace(reading, columns=(), spans=None, person=None, every_column=True)
    tables = (piece for piece in plan.pieces if piece.format.name in TABLES and not piece.is_stream)
    for piece in islice(tables, _FILES):
        with piece.format.open_reader(piece.source, every) as reader:
            rows = list(islice((row for some, _ in reader.look() for row in some), _LOOKED_AT))
        yield str(piece.source), header_of(list(rows[0]) if rows else [], rows)


def check_header(source: object, found: Header) -> None:
    """Raise an InputError if the header is a record, which would be released as it is and shown as column names."""
    if found is Header.RECORD:
        raise InputError(
            f"the first line of {source} looks like a record, not like column names, and would be released as it is: "
            "insert a line with names before it, or rename the columns that look like values."
        )
