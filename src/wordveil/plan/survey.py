"""One pass over an input: its columns, statistics of its texts, and a fair sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, NamedTuple

from wordveil.errors import InputError
from wordveil.io import Plan, Reading
from wordveil.io.formats import TABLES, almost
from wordveil.io.headers import header_of, judge
from wordveil.plan.columns import PERSONAL, Column, ColumnWatch
from wordveil.plan.records import People, PeopleWatch, Records, RecordWatch
from wordveil.plan.sketches import Hasher, Reservoir
from wordveil.progress import Watch, ignore
from wordveil.text import Veil
from wordveil.text.identifiers import VALUES

__all__ = ["Sampled", "Survey", "check_columns", "records_of", "survey"]

#: How many records decide which columns are text, if no columns are given.
FIRST = 1000
_MOST = 1000  # the most columns
_LONGEST = 20_000  # the most characters of a sampled text
_NO_IDENTIFIERS = (*VALUES, "MARKUP")  # kinds that identify nobody

Fields = dict[str, str | None]


class Sampled(NamedTuple):
    """A sampled record: its texts to veil, and its label."""

    texts: tuple[str, ...]
    label: str | None


@dataclass(frozen=True)
class Survey:
    """The result of a pass over an input.

    Attributes
    ----------
    columns : list of Column
        All columns, in the order of the input.
    chosen : tuple of str
        The columns that would be veiled.
    records : Records
        Statistics of the texts in these columns.
    people : People or None
        Statistics of people, if a column identifies them.
    sample : list of Sampled
        A random sample of records.
    by_person : list of list of str
        The records of a random sample of people, each record as one text.
    skipped : int
        The number of files of a folder that are not read.
    lacking : int
        The number of records that lack a key to veil, in formats such as JSON.
    missing : {"refuse", "pass"}
        What would happen to these records.
    """

    columns: list[Column]
    chosen: tuple[str, ...]
    records: Records
    people: People | None
    sample: list[Sampled]
    by_person: list[list[str]]
    skipped: int
    lacking: int = 0
    missing: str = "refuse"

    def __repr__(self) -> str:  # the sample is private
        return f"<Survey: {self.records.records:,} records, {len(self.columns)} columns>"

    @property
    def texts(self) -> list[Column]:
        """The columns that would be veiled."""
        return [column for column in self.columns if column.name in self.chosen]

    @property
    def untouched(self) -> list[Column]:
        """The columns of text that would be released as they are."""
        return [column for column in self.columns if column.kind == "text" and column.name not in self.chosen]

    @property
    def personal(self) -> list[Column]:
        """The columns that identify people or things and would be released as they are."""
        return [column for column in self.columns if column.kind in PERSONAL and column.name not in self.chosen]

    @property
    def identifiers(self) -> dict[str, int]:
        """The number of e-mail addresses, phone numbers and so on in the texts to veil, by kind, without values."""
        kinds = sorted({kind for column in self.texts for kind in column.identifiers if kind not in _NO_IDENTIFIERS})
        return {kind: sum(column.identifiers.get(kind, 0) for column in self.texts) for kind in kinds}

    @property
    def left_raw(self) -> int:
        """The number of e-mail addresses, phone numbers and so on in columns that are released as they are."""
        stay = [column for column in self.columns if column.name not in self.chosen]
        return sum(
            count for column in stay for kind, count in column.identifiers.items() if kind not in _NO_IDENTIFIERS
        )

    @property
    def coverage(self) -> float | None:
        """The lowest coverage of a column to veil."""
        return min((column.coverage for column in self.texts if column.coverage is not None), default=None)

    @property
    def templated(self) -> float:
        """The share of the running text to veil in phrases that recur from record to record."""
        words = sum(column.words * column.values for column in self.texts)
        return sum(column.templated * column.words * column.values for column in self.texts) / max(1.0, words)

    @property
    def repeated(self) -> float:
        """The share of the texts to veil that occur more than once."""
        values = sum(column.values for column in self.texts)
        return sum(column.repeated * column.values for column in self.texts) / max(1, values)

    def to_dict(self) -> dict[str, Any]:
        """Return the survey as plain values, without any text."""
        return {
            "columns": [column.to_dict() for column in self.columns],
            "to_veil": list(self.chosen),
            "untouched_text": [column.name for column in self.untouched],
            "naming_people_or_things": [column.name for column in self.personal],
            "records": self.records.to_dict(),
            "people": None if self.people is None else self.people.to_dict(),
            "identifiers": self.identifiers,
            "coverage": self.coverage,
            "templated": self.templated,
            "repeated": self.repeated,
            "skipped_files": self.skipped,
            "records_without_a_key": self.lacking,
            "missing": self.missing,
        }


def survey(
    plan: Plan,
    reading: Reading,
    veil: Veil,
    *,
    person: str | None = None,
    label: str | None = None,
    sample: int = 2000,
    seed: int = 0,
    watch: Watch = ignore,
) -> Survey:
    """Look at every record of an input once, in bounded memory.

    The columns of `reading` are those that would be veiled, by `veil`; if there are none, the columns that seem to be
    text. `person` and `label` are columns, as in `plan_release`. `sample` records are kept for attacks.
    """
    hasher = Hasher(seed)
    watches: dict[str, ColumnWatch] = {}
    records = records_of(plan, replace(reading, columns=(), spans=None, person=None, every_column=True), watch)
    first = list(islice(records, FIRST))
    if not first:
        raise InputError("the input has no records.")
    names = list(dict.fromkeys(name for fields in first for name in fields))
    if plan.pieces[0].format.name in TABLES and reading.header == "check":
        source = plan.pieces[0].name or plan.pieces[0].source or "standard input"
        judge(source, header_of(names, first, reading.columns), lambda _: None)
    check_columns(names, [*reading.columns, *(one for one in (person, label) if one is not None)])
    if label in reading.columns:
        raise InputError("the label is to be told from the texts, so it must be another column than they are.")

    def look(fields: Fields) -> None:
        for name, value in fields.items():
            column = watches.get(name)
            if column is None:
                if len(watches) == _MOST:
                    raise InputError(
                        f"the records have more than {_MOST:,} keys, too many for columns; make them values."
                    )
                column = watches[name] = ColumnWatch(name, hasher, veil.lookup, seed)
            column.skip() if value is None else column.add(value)

    for fields in first:
        look(fields)
    chosen = reading.columns or _texts(watches, (person, label))
    texts, kept = RecordWatch(veil, hasher), Reservoir[Sampled](sample, seed)
    people = None if person is None else PeopleWatch(veil, sample)
    lacking = 0
    for number, fields in enumerate(chain(first, records)):
        if number >= len(first):
            look(fields)
        found = tuple(value for name in chosen if (value := fields.get(name)))
        texts.add(found)
        lacking += any(_lacks(fields, name) for name in chosen)
        place = kept.place()
        if place is not None:
            short = tuple(text[:_LONGEST] for text in found)
            kept.put(place, Sampled(short, None if label is None else fields.get(label)))
        if people is not None and person is not None and (who := fields.get(person)):
            people.add(hasher(who), tuple(text[:_LONGEST] for text in found))
    for column in watches.values():  # count records that lack a key, as JSON may
        column.empty = texts.records - column.values
    return Survey(
        columns=[column.profile() for column in watches.values()],
        chosen=tuple(chosen),
        records=texts.found(),
        people=None if people is None else people.found(),
        sample=list(kept),
        by_person=[] if people is None else list(people),
        skipped=len(plan.skipped),
        lacking=lacking,
        missing=reading.missing,
    )


def records_of(plan: Plan, reading: Reading, watch: Watch = ignore) -> Iterator[Fields]:
    """Yield the columns of every record of an input, in order; `reading` must ask for every column."""
    before, size = 0, plan.size
    for piece in plan.pieces:
        with piece.format.open_reader(piece.source, reading) as reader:
            for records, done in reader.look():
                yield from records
                watch("reading", (before + done) / size if size else 0.0)
            reader.check_unchanged()
        before += piece.size


def _lacks(fields: Fields, name: str) -> bool:
    """Whether a record, or an element of one of its lists, lacks a key."""
    items = f"{name.rpartition('[*]')[0]}[*]" if "[*]" in name else ""  # an empty list lacks nothing
    return name not in fields and any(one.startswith(items) for one in fields)


def check_columns(names: Sequence[str], asked: Sequence[str]) -> None:
    """Raise an InputError for a column that the input does not have."""
    if names == [""] and asked:
        raise InputError("plain text has no columns; leave out `columns`, `person` and `label`.")
    for name in asked:
        if name not in names:
            meant = almost(name, names) or "; the first line of a table names its columns"
            raise InputError(f"there is no column {name!r} in the input{meant}.")


def _texts(watches: dict[str, ColumnWatch], others: Sequence[str | None]) -> tuple[str, ...]:
    """Return the columns that seem to be text."""
    if list(watches) == [""]:
        return ("",)
    return tuple(name for name, column in watches.items() if column.kind == "text" and name not in others)
