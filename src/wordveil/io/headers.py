"""Whether the first line of a table names its columns or is a record, which would be released as it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from itertools import islice

import regex

from wordveil.errors import InputError
from wordveil.io.formats import TABLES, Block, Reading
from wordveil.io.inputs import Plan
from wordveil.io.tables import TableBlock
from wordveil.text.identifiers import find_identifiers

__all__ = [
    "ADDRESSES", "CODE", "DATE", "NAME", "NAMED", "NUMBER", "Header", "check_first", "check_headers",
    "header_of", "headers", "judge",
]  # fmt: skip

#: What a value is if all of it has this form.
NUMBER = regex.compile(r"[\p{Sc}]?\s?[+-]?(?:\d{1,3}(?:[,. '’]\d{3})+|\d+)(?:[.,]\d+)?(?:e[+-]?\d+)?\s?[%\p{Sc}]?")
DATE = regex.compile(
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}\.? \p{L}{3,9}\.? \d{4}|"
    r"\p{L}{3,9}\.? \d{1,2},? \d{4})(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s?(?:Z|[+-]\d{2}:?\d{2}|[AaPp][Mm])?)?"
)
NAME = regex.compile(r"\p{Lu}[\p{L}'’.-]*(?:,? (?:(?:de|van|von|der|den|la|bin|al) )*\p{Lu}[\p{L}'’.-]*){0,3}")
CODE = regex.compile(r"(?=.*\d)[\p{L}\d#/_.:-]{3,}")
#: The kinds of identifiers that are an address of somebody.
ADDRESSES = {"EMAIL": "e-mail", "PHONE": "phone", "URL": "address", "IP": "address", "HANDLE": "name-like"}
#: Names of columns that hold names of people.
NAMED = regex.compile(
    r"(?i)(^|[_\W])(first|last|full|sur|fore|user|client|display)?_?(name|author|customer|agent|patient|person|sender|"
    r"recipient|assignee|employee|contact|owner|caller|signed_?by)s?($|[_\W])"
)

_YEARS = set(range(1900, 2101))
_LOOKED_AT = 200  # records examined below a header
_TOLD = 20  # files of a folder whose doubtful headers are told of
_OF_ITS_FORM = 0.9  # the share of the values of a column that must have the same form
_SENTENCE = 5  # a column name with this many words may be a text
_PHRASE = 8.0  # the words of a short text, on average, are fewer
_ASKING = 0.1  # the most values of a column with answers that are questions themselves
_IDENTIFIERS = frozenset({"CARD", "EMAIL", "HANDLE", "IBAN", "ID", "IP", "PHONE", "URL", "UUID"})
_WIDE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")  # scripts that put no space between words
_WORDS = regex.compile(r"[\p{L}\d]+(?:['’][\p{L}]+)*")
_ROLES = regex.compile(
    r"(?i).*\s(?:manager|lead(?:er)?|supervisor|reporter|requester|member|doctor|teacher|reviewer|by)"
)
_OF_ONESELF = regex.compile(r"(?i)\b(?:i|my|me|mine|myself|ich|mir|mich|meine?|je|mon|ma|mes|yo|mis?|io|mi[ao])\b")
# Words that end the name of a column of texts, and those with which a long one begins. A mail or a review may begin
# with one of the others.
_BEGINNINGS = (
    r"(?:comment|feedback|description|remark|opinion|suggestion|reason|action|area)s?|summary|kommentare?|"
    r"(?:bemerkung|anmerkung|beschreibung|rückmeldung|begründung)(?:en)?|gr[uü]nde?|(?:commentaire|remarque|raison)s?|"
    r"comentarios?|commenti?"
)
_CALLED = regex.compile(
    rf"(?i)(?:.*[\s_])?(?:{_BEGINNINGS}|(?:text|review|message|note|title|subject|question|answer|response|query|tweet|"
    r"utterance|sentence|narrative|name)s?|(?:antwort|frage)(?:en)?|réponses?|respuestas?|avis)"
)
_BEGINS = regex.compile(rf"(?i)(?:[\p{{L}}\d]+\W+){{0,2}}(?:{_BEGINNINGS})\b")
_VERBS = regex.compile(
    r"(?i)\b(?:am|is|are|was|were|has|have|had|does|did|do|will|would|can|could|not|never)\b|n['’]t\b"
)
_NUMBERED = regex.compile(r"(?i)(?:q(?:uestion)?\s?)?\d{1,3}[a-z]?(?:\s*[.):]|\s[-–])\s+")
_REQUESTS = regex.compile(
    r"(?i)(?:.*,\s)?(?:please\s)?(?:describe|explain|tell us|list|name|state|rate|comment|specify|indicate|elaborate|"
    r"(?:give|provide|share|add|enter|leave)\s(?:us|any|more|further|details|your))\b|"
    r"(?:bitte\s)?(?:nennen|beschreiben|begründen|erläutern|schildern|erklären|geben)\ssie\b|(?:veuillez|merci de)\b"
)
_TO_SOMEBODY = regex.compile(
    r"(?i)(?:what|how|why|which|who|do|did|are|have|would|could|anything|(?:to|in) what|on a scale|thinking about|in|"
    r"wie|warum|welche|was|haben|quel|quelle|que|comment|pourquoi|come|perché|cosa|qué|cómo|por)\b.*"
    r"\b(?:you|your|sie|ihnen|ihr\p{L}{0,2}|vous|votre|vos|usted)\b|"
    r"(?:what|how|which|why)\s(?:\p{L}+\s)?(?:can|could|should|would)\b"
)
_ENDS = regex.compile(r"!$|(?<=\p{L}{4})[.]$|[.!?]\s+\p{L}")


def form_of(value: str) -> str:
    """Return the form of a value that is a number, a date, an address or a code with digits; "" for any other."""
    if NUMBER.fullmatch(value):
        return "number"
    if DATE.fullmatch(value):
        return "date"
    found = find_identifiers(value)
    if len(found) == 1 and found[0].kind in ADDRESSES and found[0].end - found[0].start == len(value):
        return found[0].kind
    if not CODE.fullmatch(value):
        return ""
    return "code " + "".join("0" if sign.isdigit() else "a" if sign.isalpha() else sign for sign in value)


class Header(Enum):
    """What the first line of a table looks like."""

    NAMES = "names"
    DOUBTFUL = "doubtful"
    RECORD = "a record"


def header_of(names: Sequence[str], rows: Sequence[Mapping[str, str | None]], asked: Collection[str] = ()) -> Header:
    """Guess what a first line is, by comparing it with the records below it.

    A date, an address or a fraction above a column of such values is a value itself. A whole number or a code above
    such values, a word that recurs below, a sentence above sentences and a full name above names may still be names of
    columns: one of these makes the line doubtful, two make it a record. Whole numbers that increase from column to
    column, and years that decrease, are taken for names.

    The `asked` columns hold texts of people, so whoever asked for one by the text of a first record is stopped for
    less: see `_is_text`.
    """
    if len(names) > 1:
        rows = [row for row in rows if list(row.values()) != list(names)]  # skip repeated headers of joined files
    numbers = [int(name) for name in names if name.strip().isdecimal()]
    are_years = len(numbers) > 1 and numbers == sorted(set(numbers))
    are_years |= len(numbers) > 1 and numbers[::-1] == sorted(set(numbers)) and set(numbers) <= _YEARS
    hints = weak = 0
    for column in names:
        values = [value.strip() for row in rows if (value := row.get(column)) and value.strip()]
        name = column.strip()
        if name and column in asked:
            if _is_text(name, values):
                return Header.RECORD
            # A name such as "product name" may be among the values, or its words; that is no more than a hint.
            is_called = len(name.split()) < _SENTENCE and _CALLED.fullmatch(name) is not None
            if _is_among(name, values):
                if not is_called:
                    return Header.RECORD
                hints += 1
                continue
            if not (is_called or _asks(name) or _is_heading(name)):
                words = len(name.split())
                weak += words > 2 or (words > 1 and name == name.lower() and _length(values) < _PHRASE)
        if not values or not name:
            continue
        form = form_of(name)
        if form and sum(form_of(value) == form for value in values) >= _OF_ITS_FORM * len(values):
            if not (name.isdecimal() or form.startswith("code")):
                return Header.RECORD
            hints += not (name.isdecimal() and are_years)
        elif values.count(name) > 1 or _is_full_name(name, values):
            hints += 1
        elif column not in asked and len(name.split()) >= _SENTENCE and not (_asks(name) or _is_heading(name)):
            hints += sum(len(value.split()) >= _SENTENCE for value in values) > 0.5 * len(values)
    return Header.RECORD if hints + min(hints, weak) > 1 else Header.DOUBTFUL if hints else Header.NAMES


def _is_text(name: str, values: Sequence[str]) -> bool:
    """Whether the name of a column of texts is rather one of them.

    It is if it has an identifier in it, or ends as a sentence does; or if it is as long as a sentence and not what such
    a column is called.
    """
    if any(one.kind in _IDENTIFIERS and one.end - one.start < len(name) for one in find_identifiers(name)):
        return True
    length = max(len(name.split()), len(_WIDE.findall(name)) // 2)
    if length >= 3 and _ENDS.search(_bare(name)):
        return True
    if length < _SENTENCE or _is_heading(name):
        return False
    return not _asks(name) or sum("?" in value or _asks(value) for value in values) > _ASKING * len(values)


def _is_among(name: str, values: Sequence[str]) -> bool:
    """Whether a name is a value of its column, or a phrase all of whose words are in the phrases below."""
    if name in values:
        return True
    if not values or not 1 < len(name.split()) < _SENTENCE or _length(values) >= _PHRASE:
        return False
    return {word for value in values for word in _WORDS.findall(value.lower())}.issuperset(_WORDS.findall(name.lower()))


def _bare(name: str) -> str:
    """Return the name of a column without the number of a question, and without the full stop of a request."""
    bare = _NUMBERED.sub("", name, count=1) if _NUMBERED.match(name) else name
    return bare.removesuffix(".") if _REQUESTS.match(bare) else bare


def _asks(text: str) -> bool:
    """Whether a text asks for something, as a questionnaire does, and does not speak of who wrote it."""
    bare = _bare(text)
    asks = bare.endswith(("?", "？", ":")) or _REQUESTS.match(bare) or _TO_SOMEBODY.match(bare)
    return bool(asks) and not _OF_ONESELF.search(bare)


def _is_heading(name: str) -> bool:
    """Whether a long name begins with a word for texts, as in "Reason for the score", and tells nothing."""
    bare = _bare(name)
    return _BEGINS.match(bare) is not None and not (_VERBS.search(bare) or _OF_ONESELF.search(bare))


def _is_full_name(name: str, values: Sequence[str]) -> bool:
    """Whether a name of several words stands above such names, and does not say that they are."""
    if len(name.split()) < 2 or not NAME.fullmatch(name) or NAMED.search(name) or _ROLES.fullmatch(name):
        return False
    fitting = sum(len(value.split()) > 1 and NAME.fullmatch(value) is not None for value in values)
    return fitting >= _OF_ITS_FORM * len(values)


def _length(values: Sequence[str]) -> float:
    """Return how many words values have on average."""
    return sum(len(value.split()) for value in values) / max(1, len(values))


def headers(plan: Plan, reading: Reading) -> Iterator[tuple[str, Header]]:
    """Yield the tables of an input that can be read twice, and what the first line of each looks like."""
    if reading.header != "check":
        return
    # With the asked columns, by which a table is cut: another separator would show other names.
    looking = replace(reading, columns=reading.needed, spans=None, person=None, every_column=not reading.needed)
    tables = (piece for piece in plan.pieces if piece.format.name in TABLES and not piece.is_stream)
    for piece in tables:
        with piece.format.open_reader(piece.source, looking) as reader:
            names, rows = reader.names, list(islice((row for some, _ in reader.look() for row in some), _LOOKED_AT))
        yield str(piece.source), header_of(names, rows, reading.needed)


def check_headers(plan: Plan, reading: Reading, tell: Callable[[str], object]) -> None:
    """Refuse a table whose first line is a record, however many files there are; `tell` is called if it may be one."""
    told = 0
    for source, found in headers(plan, reading):
        judge(source, found, tell if told < _TOLD else lambda _: None)
        told += found is Header.DOUBTFUL


def check_first(names: Sequence[str], block: Block | None, reading: Reading, tell: Callable[[str], object]) -> None:
    """Do the same for the first rows of a table that can be read only once; there is no block of one without rows."""
    if reading.header != "check" or not names:
        return
    rows = list[dict[str, str]]()
    if isinstance(block, TableBlock):
        _, columns = zip(*block.columns(), strict=True)
        rows = [dict(zip(names, row, strict=True)) for row in islice(zip(*columns, strict=True), _LOOKED_AT)]
    judge("the input", header_of(names, rows, reading.needed), tell)


def judge(source: object, found: Header, tell: Callable[[str], object]) -> None:
    """Raise if a header is a record, which would be released as it is; call `tell` if it may be one."""
    if found is Header.RECORD:
        raise InputError(
            f"the first line of {source} looks like a record, not like column names, and would be released as it is: "
            "set `header` to no if it is one (the columns are then called 1, 2, …), or to yes if it names the columns."
        )
    if found is Header.DOUBTFUL:
        tell(
            f"the first line of {source} is taken for the names of its columns and released as it is; if it is a "
            "record, set `header` to no."
        )
