r"""Finds everything in a text that is not a word: addresses, phone and other numbers, amounts, dates, and HTML markup.

`find_identifiers` decides by form alone, never by the vocabulary, and prefers to find too much: a word taken for an
identifier is replaced as a whole, but an identifier taken for words is only veiled word by word.

Existing libraries find less, or need to know the country (CONTRIBUTING.md, "Libraries we chose not to use");
`python -m benchmarks.identifiers` compares them.

Time is linear in the length of any text. Each pattern either has bounded length or checks by lookbehind that it is at
the start of its run, so that a run is tried only once. Runs are possessive, so a failed match is not retried.
"""

from __future__ import annotations

import html
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import regex

from wordveil.text.forms import INSIDE, SPELLS

__all__ = [
    "HINTS",
    "KINDS",
    "MARKS",
    "VALUES",
    "Identifier",
    "find_identifiers",
    "is_markup",
    "is_placeholder",
    "markup_kept",
    "placeholder",
]

# The elements of HTML, whose names reveal nothing about the text.
_NAMES = """a abbr address area article aside audio b base bdi bdo big blockquote body br button canvas caption center
cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure font footer
form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main
map mark meta meter nav noscript object ol optgroup option output p param picture pre progress q rp rt ruby s samp
script section select slot small source span strike strong style sub summary sup svg table tbody td template
textarea tfoot th thead time title tr track tt u ul var video wbr"""
_FIELDS = """From To Cc Bcc Subject Date Sent Reply-To Message-ID In-Reply-To References Received Return-Path
MIME-Version Content-Type Content-Transfer-Encoding Delivered-To Sender User-Agent Importance Priority"""
_ELEMENTS = frozenset(_NAMES.split())
_HEADERS = {name.lower(): name for name in _FIELDS.split()}

#: The forms of markup. Each stops at the next "<" at the latest, so that no text is scanned again from every place.
MARKS = {
    "tag": r"</?+(?P<name>[A-Za-z][A-Za-z0-9:.\-]*+)(?=[\s/>])(?P<attributes>(?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+)>",
    "doctype": r"<![A-Za-z]{1,20}\s[^<>]*+>|<\?[A-Za-z][^<>]*+\?>",
    "entity": r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});",
    "header": rf"(?m:^)(?i:{'|'.join(_HEADERS)}):(?=\s)",
}
_TAG, _ENTITY = regex.compile(MARKS["tag"]), regex.compile(MARKS["entity"])
_SPELLING = regex.compile(rf"[{SPELLS}]")


def is_markup(written: str) -> bool:
    """Whether something that looks like markup is: an HTML tag, any tag with only attributes, or a known entity."""
    tag = _TAG.fullmatch(written)
    if tag is not None and tag["name"].lower() not in _ELEMENTS:
        attributes = tag["attributes"].strip("/ \t\r\n")
        return not attributes or "=" in attributes
    return _ENTITY.fullmatch(written) is None or html.unescape(written) != written


def markup_kept(written: str) -> str | None:
    r"""Return the part of markup that reveals nothing about the text, so that it can be kept; None if there is none.

    These are the names of HTML tags, entities that do not stand for letters or digits, and the names of mail headers.

    Examples
    --------
    >>> markup_kept('<A href="https://ann.example">'), markup_kept("</p>"), markup_kept("<ann>")
    ('<a>', '</p>', None)
    >>> markup_kept("&nbsp;"), markup_kept("&#65;"), markup_kept("SUBJECT:")
    ('\xa0', None, 'Subject:')
    """
    header = _HEADERS.get(written[:-1].lower()) if written.endswith(":") else None
    if header is not None:
        return f"{header}:"
    tag = _TAG.fullmatch(written)
    if tag is not None:
        name = tag["name"].lower()
        return f"<{'/' * written.startswith('</')}{name}>" if name in _ELEMENTS else None
    if _ENTITY.fullmatch(written):
        return None if _SPELLING.search(html.unescape(written)) else html.escape(html.unescape(written))
    return None


#: The kinds with a value that can be shifted, which the option `numbers` of a veil is about.
VALUES = ("AMOUNT", "DATE", "NUMBER", "TIME")
#: All kinds. ``ID`` is any other number of a person or a thing: accounts, orders, licences.
KINDS = (
    "CARD", "EMAIL", "HANDLE", "HEX", "IBAN", "ID", "IP", "MARKUP", "PATH", "PHONE", "POSTCODE", "URL", "UUID", *VALUES,
)  # fmt: skip


class Identifier(NamedTuple):
    """The kind and span of something in a text that is not a word."""

    kind: str
    start: int
    end: int


_B, _E = rf"(?<![{INSIDE}])", rf"(?![{INSIDE}])"  # a run of letters and digits begins, and has ended
_S = r"[ \t\u00a0\u2009\u202f]"  # a space within a line
_HEXA = r"[0-9A-Fa-f]"
_REST = r"[^\s<>\"]"  # of a URL
_DIGITS = r"\p{N}[\p{N}\p{M}\p{Cf}]*+"
_NUMBER = rf"{_DIGITS}(?:[.,'’\u00a0\u2009\u202f\u066b\u066c]{_DIGITS}){{0,12}}+(?:[eE][+-]?\d{{1,4}}(?![{INSIDE}]))?+"
_MONTH = (
    r"(?:(?i:jan(?:uary)?|feb(?:ruary)?|apr(?:il)?|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|"
    r"dec(?:ember)?)|Mar(?:ch)?|MAR(?:CH)?|May|MAY)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_CURRENCY = (
    "AED|ARS|AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|EUR|GBP|HKD|HUF|IDR|ILS|INR|JPY|KES|KRW|MXN|MYR|NGN|NOK|NZD|PEN|"
    "PHP|PLN|RMB|RON|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR"
)
_SIGN = rf"(?:{_B}(?:US|CA|AU|NZ|HK|NT|MX|[ACSRZ]))?\p{{Sc}}"
_SCALE = rf"(?:[kKmM]|[bBmM]n)?{_E}"
_LOCAL = rf"{INSIDE}._%+'’\-"  # before the @ of an address
_NAME = rf"{INSIDE}._\-"
_ENDINGS = (
    "avi|bak|bin|bmp|cfg|conf|css|csv|dat|db|docx?|eml|exe|gif|gz|html?|ini|ipynb|jar|java|jpe?g|js|json|log|md|mov|mp3|"
    "mp4|msg|odt|pdf|php|png|pptx?|ps1|py|rar|rtf|sh|sql|svg|tar|tiff?|tsv|txt|wav|xlsx?|xml|ya?ml|zip"
)
_DOMAINS = (
    "com|org|net|edu|gov|mil|int|info|biz|name|mobi|app|dev|blog|cloud|club|online|page|shop|site|store|tech|live|news|"
    "agency|email|media|digital|systems|solutions|xyz|[a-z]{2}"
)

# Tried in this order at each place; the first match wins.
_FORMS: dict[str, str] = {
    "placeholder": rf"<(?:{'|'.join(KINDS)})(?:_\d{{1,15}})?>",
    **MARKS,
    "URL": (
        rf"{_B}(?:[A-Za-z][A-Za-z0-9+.\-]{{1,20}}://|(?i:mailto|tel|sms|callto|skype|data|javascript|urn|magnet|bitcoin)"
        rf":(?=[{SPELLS}+?/])|[wW]{{3}}\.(?=[{SPELLS}])){_REST}*+"
    ),
    "EMAIL": (
        rf"(?<![{_LOCAL}])[{_LOCAL}]++(?:@|{_S}?[\[({{]{_S}?(?:@|(?i:at)){_S}?[\])}}]{_S}?)(?=[{SPELLS}\[])"
        rf"\[?(?:[{INSIDE}\-]++(?:\.|{_S}?[\[({{]{_S}?(?:\.|(?i:dot)){_S}?[\])}}]{_S}?)?+)++\]?"
    ),
    "UUID": rf"{_B}{_HEXA}{{8}}-?(?:{_HEXA}{{4}}-?){{3}}{_HEXA}{{12}}{_E}",
    "IP": (
        rf"{_B}(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?::\d{{1,5}}|/\d{{1,2}})?{_E}(?!\.\d)"
        rf"|(?<![{INSIDE}:])(?:(?:{_HEXA}{{1,4}}:){{7}}{_HEXA}{{1,4}}|(?:{_HEXA}{{1,4}}(?::{_HEXA}{{1,4}}){{0,6}})?::"
        rf"(?:{_HEXA}{{1,4}}(?::{_HEXA}{{1,4}}){{0,6}})?)(?:%[A-Za-z0-9]{{1,16}})?(?:/\d{{1,3}})?(?![{INSIDE}:])"
    ),
    "iban": rf"{_B}[A-Za-z]{{2}}\d{{2}}(?:[ \-]?[A-Za-z0-9]{{4}}){{2,7}}(?:[ \-]?[A-Za-z0-9]{{1,4}})?{_E}",
    "HEX": (
        rf"{_B}(?:{_HEXA}{{2}}[:\-]){{5}}(?:{_HEXA}{{2}}[:\-]){{0,26}}{_HEXA}{{2}}{_E}|{_B}0[xX]{_HEXA}{{2,}}+{_E}"
        rf"|{_B}(?=[A-Fa-f]*+\d)(?=\d*+[A-Fa-f]){_HEXA}{{8,}}+{_E}"
    ),
    "DATE": (
        rf"{_B}\d{{4}}(?P<cut>[\-/.])\d{{1,2}}(?P=cut)\d{{1,2}}(?=T\d|(?![{INSIDE}]))(?![\-/]\d|\.\d)"
        rf"|{_B}\d{{1,2}}(?P<mark>[\-/.])\d{{1,2}}(?P=mark)(?:\d{{4}}|\d{{2}}){_E}(?![\-/]\d|\.\d)"
        rf"|{_B}{_DAY}(?:{_S}{{1,3}}(?:of{_S})?|[\-./]){_MONTH}\.?(?:(?:,?{_S}{{1,3}}|[\-./])(?:\d{{4}}|['’]?\d{{2}}){_E})?{_E}"
        rf"|{_B}{_MONTH}\.?{_S}{{1,3}}(?:{_DAY}{_E}(?:,?{_S}{{1,3}}\d{{4}}{_E}(?![\-/]\d))?|\d{{4}}{_E}(?![\-/]\d))"
        rf"|{_B}\d{{1,2}}{_S}{{1,3}}may{_S}{{1,3}}\d{{4}}{_E}"
    ),
    "TIME": (
        rf"(?<![{INSIDE}:])T?\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.,]\d{{1,9}})?)?"
        rf"(?:{_S}?[aApP]\.?[mM]{_E}\.?|Z|{_S}?[+\-]\d{{2}}:?\d{{2}})?{_E}(?!:\d)"
        rf"|{_B}\d{{1,2}}{_S}?[aApP]\.?[mM]{_E}|{_B}\d{{1,2}}h\d{{2}}{_E}"
        rf"|(?<=\d)T\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.,]\d{{1,9}})?)?(?:Z|[+\-]\d{{2}}:?\d{{2}})?{_E}"
    ),
    "POSTCODE": (
        rf"{_B}[A-Z]{{1,2}}\d[A-Z\d]?{_S}?\d[A-Z]{{2}}{_E}|{_B}[A-Z]\d[A-Z][ \-]?\d[A-Z]\d{_E}"
        rf"|{_B}\d{{5}}-\d{{4}}{_E}(?!-)|{_B}[A-Z]{{2}}{_S}\d{{5}}{_E}|{_B}\d{{4}}{_S}?[A-Z]{{2}}{_E}"
    ),
    "AMOUNT": (
        rf"{_SIGN}{_S}?[+\-−]?{_NUMBER}{_SCALE}|{_B}(?:{_CURRENCY}){_S}?[+\-−]?{_NUMBER}{_SCALE}"
        rf"|{_B}{_NUMBER}(?:[kKmM]|[bBmM]n)?{_S}?(?:{_SIGN}|(?:{_CURRENCY}){_E})"
    ),
    "ID": (
        rf"{_B}[A-Z]{{1,6}}[\-/]?\d{{3,}}+(?:[\-/]?[A-Z0-9]++)*+{_E}|{_B}\d{{5,}}+-?[A-Z]{{1,3}}{_E}|(?<![{INSIDE}#])#\d{{2,}}+{_E}"
        rf"|{_B}(?:bc1|[13])[a-zA-HJ-NP-Z0-9]{{25,59}}{_E}"
    ),
    "HANDLE": (
        rf"(?<![{INSIDE}])@(?:[{INSIDE}]|[._\-](?=[{SPELLS}]))++|(?<![{INSIDE}/.])/?[ur]/[{SPELLS}][{INSIDE}\-_]*+"
        rf"|(?<![{INSIDE}.])[{SPELLS}][{INSIDE}.]{{1,31}}#\d{{4}}{_E}|{_B}[{SPELLS}][{INSIDE}]*+(?:_++[{SPELLS}][{INSIDE}]*+)++"
    ),
    "PATH": (
        rf"{_B}[A-Za-z]:[\\/][^\s<>\"|?*]*+|\\\\[{SPELLS}][^\s<>\"|?*]*+"
        rf"|(?<![{INSIDE}/\\:.<)\]~])(?:~|\.{{1,2}})?/(?=[{SPELLS}._])(?:[{_NAME}+~@%=]++/?+)++"
        rf"|(?<![{_NAME}/\\])(?=[{SPELLS}])[{_NAME}]++(?:[/\\][{_NAME}]++){{3,}}+"
        rf"|(?<![{_NAME}])[{SPELLS}][{_NAME}]{{0,255}}\.(?i:{_ENDINGS}){_E}(?!\.[{SPELLS}])"
    ),
    "domain": (
        rf"(?<![{INSIDE}.@\-])(?:[{SPELLS}][{INSIDE}\-]*+\.){{1,16}}(?:{_DOMAINS})(?![{INSIDE}\-]|\.[{SPELLS}])"
        rf"(?:[:/?#](?=[{SPELLS}/?#]){_REST}*+)?"
    ),
    "digits": rf"(?:(?<![{INSIDE}+])\(?\+?\(?|{_B})\d(?:{_S}?[().\-/]?{_S}?[().]?\d){{5,22}}{_E}",
    "NUMBER": rf"(?<![{INSIDE}])(?:(?<![^\s(\[{{<=>~≈])[+\-−])?{_NUMBER}(?:(?:st|nd|rd|th)?{_E})",
}
_VALUE = regex.compile(_FORMS["NUMBER"])
# Every match contains one of these, at most one stretch without spaces after its start. Most texts have few of them, so
# most places are never tried.
HINTS = r"@<&/\\:#_\p{N}"  # for a class of a regular expression
_HINT = regex.compile(rf"[{HINTS}]|\.[a-z]|[\[({{][ \t]?(?i:at)\b")
_BEFORE = regex.compile(r"(?r)(?:\S{0,256}\s{1,3})?\S{0,256}")
_STRETCH = regex.compile(r"\S*+")
_START = regex.compile(rf"{_B}[{SPELLS}]|[@<&#/\\~.+(:_%'’\p{{Sc}}\-−]|(?<=\d)T")
# A plain word followed by a line break, comma, semicolon or space starts no identifier, except a month, a currency, two
# capitals (NY 10001) or an address in several words ("ann (at) home"). Most candidate starts are such words, and this
# check is fast.
_DULL = regex.compile(rf"(?!(?:{_MONTH}|{_CURRENCY}|[A-Z]{{2}}){_E})[A-Za-z]++(?=[\n,;]| (?![\[({{]))")
_TRAILING = ".,;:!?'’\"”)]}>*_…"
_GROUP = regex.compile(r"\d+")
_ALL_HEX = regex.compile(rf"{_HEXA}{{8,}}")
_PLACEHOLDER = regex.compile(_FORMS["placeholder"])


@lru_cache(maxsize=2)
def _master(*, is_ascii: bool) -> regex.Pattern[str]:
    """Return all forms as one expression, compiled on first use: it is slow, and texts without hints never need it.

    That for texts of ASCII names only what of its classes is ASCII: it is compiled in a third of the time, and faster.
    """
    forms = "|".join(f"(?P<{kind}>{form})" for kind, form in _FORMS.items())
    if is_ascii:
        for members in (INSIDE, SPELLS):  # the former holds the latter
            forms = forms.replace(members, "0-9A-Za-z")
        forms = forms.replace(r"\p{N}", r"\d")
    return regex.compile(forms)


def find_identifiers(text: str) -> list[Identifier]:
    """Find everything in a text that is not a word, in order and without overlaps.

    Examples
    --------
    >>> text = "Write to will.may@over.com or call +44 20 7946 0958 by 5 pm."
    >>> [(one.kind, text[one.start : one.end]) for one in find_identifiers(text)]
    [('EMAIL', 'will.may@over.com'), ('PHONE', '+44 20 7946 0958'), ('TIME', '5 pm')]
    """
    found: list[Identifier] = []
    place, end, hint = 0, 0, _HINT.search(text)
    while hint is not None:
        before = _BEFORE.match(text, place, hint.start())
        start = hint.start() if before is None else before.start()
        if end <= hint.start():  # measure each stretch only once
            stretch = _STRETCH.match(text, hint.start())
            end = hint.end() if stretch is None else max(stretch.end(), hint.end())
        one = _first(text, start, end)
        if one is not None:
            found.append(one)
        place = end if one is None else one.end
        hint = _HINT.search(text, place)
    return found


def _first(text: str, start: int, end: int) -> Identifier | None:
    """Return the first identifier that starts between two places."""
    for begin in _START.finditer(text, start, end):
        if _DULL.match(text, begin.start()):
            continue
        match = _master(is_ascii=text.isascii()).match(text, begin.start())
        one = None if match is None else _classified(text, match)
        if one is not None:
            return one
    return None


def placeholder(kind: str, number: int | None = None) -> str:
    """Return the placeholder of an identifier.

    Examples
    --------
    >>> placeholder("EMAIL"), placeholder("EMAIL", 2)
    ('<EMAIL>', '<EMAIL_2>')
    """
    return f"<{kind}>" if number is None else f"<{kind}_{number}>"


def is_placeholder(written: str) -> bool:
    """Whether this is a placeholder of an identifier."""
    return _PLACEHOLDER.fullmatch(written) is not None


def _classified(text: str, match: regex.Match[str]) -> Identifier | None:  # noqa: PLR0911 - one for each form
    """Return the identifier that a match is, deciding what the form leaves open; None if it is none."""
    form, start, end = match.lastgroup or "", match.start(), match.end()
    if form == "placeholder":
        return Identifier(text[start + 1 : end - 1].partition("_")[0], start, end)
    if form in MARKS:
        return Identifier("MARKUP", start, end) if is_markup(match.group()) else None
    if form in ("URL", "domain", "PATH", "EMAIL"):
        kept = text[start:end].rstrip(_TRAILING)
        return Identifier("URL" if form == "domain" else form, start, start + len(kept)) if kept else None
    if form == "iban":
        return _iban(text, start, end)
    if form == "digits":
        if text[start] == "(" and match.group().count("(") > match.group().count(")"):  # a bracket around a number
            return None
        kind = _kind_of_digits(match.group())
        value = _VALUE.match(text, start) if kind is None else None
        return Identifier("NUMBER", start, value.end()) if value else Identifier(kind, start, end) if kind else None
    if form == "NUMBER":
        plain = match.group()
        is_id = plain.isdecimal() and (len(plain) > 6 or (len(plain) > 1 and unicodedata.decimal(plain[0]) == 0))
        return Identifier("ID" if is_id else "NUMBER", start, end)
    return Identifier(form, start, end)


def _iban(text: str, start: int, end: int) -> Identifier:
    """Return the longest run of groups with an IBAN's check digits; without one, an ID (or HEX) of that form."""
    groups = [place for place in range(start, end) if text[place] in " -"]
    for until in [end, *reversed(groups)]:
        code = text[start:until]
        is_one = code.isupper() or code.islower()  # else a word after a code would pass for its end 1 time in 97
        if len(code) >= 15 and is_one and _has_iban_digits(code):
            return Identifier("IBAN", start, until)
    # Words after a code are not part of it.
    ends = [until for until in [*groups, end] if _GROUP.search(text[start:until].rsplit(maxsplit=1)[-1])]
    kind = "HEX" if _ALL_HEX.fullmatch(text, start, ends[-1]) else "ID"
    return Identifier(kind, start, ends[-1])


def _kind_of_digits(written: str) -> str | None:  # noqa: PLR0911 - one for each form
    """Return the kind of some groups of digits: a card, a phone, an ID, or None for plain numbers."""
    groups: list[str] = _GROUP.findall(written)
    # `regex` knows the digits of more scripts than Python does; those count as 0.
    digits = "".join(str(unicodedata.decimal(one, 0)) for group in groups for one in group)
    marks = set(_GROUP.sub("", written))
    if 13 <= len(digits) <= 19 and marks <= {" ", "-"} and _has_card_digit(digits):
        return "CARD"
    if written[0] == "+" or (written[0] == "(" and len(groups) > 1):
        return "PHONE" if len(digits) <= 15 else "ID"
    sizes = [len(group) for group in groups]
    if len(groups) == 1:
        if len(digits) < 7 and digits[0] != "0":
            return None
        return "PHONE" if digits[0] == "0" and len(digits) in (10, 11) else "ID"
    if {".", ","} >= marks and sizes[0] <= 3 and set(sizes[1:]) == {3}:
        return None  # thousands
    if len(digits) < 7 or all(len(group) == 4 and group[:2] in ("18", "19", "20", "21") for group in groups):
        return None  # years, ranges
    if sizes == [3, 2, 4] and marks == {"-"}:
        return "ID"  # social security
    if digits[0] == "0" or sizes in ([3, 3, 4], [3, 4], [1, 3, 3, 4], [4, 4]):
        return "PHONE" if len(digits) <= 15 else "ID"
    if marks <= {" ", "\u00a0", "\u202f", "\u2009"} and (len(digits) < 8 or max(sizes) > 4 or min(sizes) < 2):
        return None  # a series of numbers
    return "PHONE" if len(digits) <= 15 else "ID"


def _has_card_digit(digits: str) -> bool:
    """Whether the last digit is the Luhn check digit (ISO/IEC 7812): every second digit doubled, from the right."""
    doubled = [sum(divmod(2 * int(one), 10)) for one in digits[-2::-2]]
    return (sum(map(int, digits[::-2])) + sum(doubled)) % 10 == 0


def _has_iban_digits(written: str) -> bool:
    """Whether the check digits are right (ISO 7064, mod 97-10): letters count from 10, and the first four go last."""
    plain = "".join(filter(str.isalnum, written))
    return int("".join(str(int(one, 36)) for one in plain[4:] + plain[:4])) % 97 == 1
