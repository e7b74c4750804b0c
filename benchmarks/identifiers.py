"""What recognisers find of made-up identifiers: ours beside Presidio's patterns, phonenumbers and python-stdnum.

python -m benchmarks.identifiers            # needs presidio-analyzer, which brings phonenumbers, and python-stdnum
python -m benchmarks.identifiers --missed   # also shows some of what ours do not find

Phone numbers are the examples of phonenumbers for every region, as written there, abroad and without spaces. Cards have
the prefixes and lengths of ten networks, and IBANs the lengths and letters of every country that python-stdnum knows.
An identifier is "hidden" if every letter and digit of it is found as something, and "named" if the whole of it is found
as what it is. The last line counts what is found in sentences whose numbers identify nothing.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import phonenumbers
import tldextract
from phonenumbers import PhoneNumberFormat, PhoneNumberType
from presidio_analyzer import EntityRecognizer
from presidio_analyzer.predefined_recognizers import (
    CreditCardRecognizer,
    EmailRecognizer,
    IbanRecognizer,
    IpRecognizer,
    PhoneRecognizer,
    UrlRecognizer,
)
from stdnum import iban, luhn, numdb

from wordveil.text.identifiers import VALUES, _has_card_digit, _has_iban_digits, find_identifiers

_NETWORKS = (
    ("4", 16), ("51", 16), ("2221", 16), ("34", 15), ("37", 15), ("6011", 16), ("3528", 16), ("30", 14), ("6759", 18),
    ("62", 19),
)  # fmt: skip
_SENTENCES = ("Please use {} from now on.", "It is {}, as I said.", "Reference: {}", "({})", "Mine is {}.")
_PLAIN = (
    "In 2019 and 2020 it grew by 3.5 to 4.2 percent.", "We sold 12,000 units, then 1,250,000 more.",
    "Version 2.10.3 came after 2.9.12.", "The score was 21-19, 18-21, 21-15.", "Room 404 is on floor 4 of 12.",
    "Between 1914-1918 and 1939-1945 the border moved.", "It weighs 2.5 kg and costs 19.99.",
    "Pages 120 to 135 are gone.", "He ran 42.195 km in 2 hours 8 minutes.", "The ratio was 16:9, later 4:3.",
    "Chapter 3, section 2, line 14.", "Add 250 g of flour, 2 eggs and 1 l of milk.",
    "From 9 to 5, 7 days a week, 365 days a year.",
    "The temperature fell from 21 to -3 degrees.", "Of 1 000 000 people 500 000 voted.", "3 in 10, or 30%, said yes.",
)  # fmt: skip
_OTHERS = {
    "EMAIL": [
        "will.may@over.com", "a@b.co", "jane+news@mail.example.org", "o'hara@example.ie", "x_y-z@sub.example.co.uk",
        "info@münchen.example", "root@[192.168.2.1]", "will [at] over [dot] com", "jane (at) example.com",
    ],
    "URL": [
        "https://example.com/a?b=c#d", "http://localhost:8080/x", "www.example.org", "example.com/me", "ftp://host.example/f",
        "over.com", "https://user:pw@host.example/", "mailto:jane@example.com", "https://例え.example/パス",
    ],
    "IP": ["10.0.0.1", "192.168.2.1:8080", "2001:db8::1", "fe80::1%eth0", "::1", "10.0.0.0/8", "::ffff:10.1.2.3"],
}  # fmt: skip


class Example(NamedTuple):
    """An identifier in a sentence."""

    kind: str
    text: str
    start: int
    end: int
    region: str = ""


Found = Iterator[tuple[str, int, int]]


def _phones() -> Iterator[tuple[str, str, str]]:
    forms = (PhoneNumberFormat.NATIONAL, PhoneNumberFormat.INTERNATIONAL, PhoneNumberFormat.E164)
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        for kind in (PhoneNumberType.FIXED_LINE, PhoneNumberType.MOBILE):
            number = phonenumbers.example_number_for_type(region, kind)
            if number is None:
                continue
            for form, name in zip(forms, ("at home", "abroad", "in one"), strict=True):
                yield f"PHONE {name}", phonenumbers.format_number(number, form), region


def _cards(pick: random.Random) -> Iterator[tuple[str, str, str]]:
    for prefix, length in _NETWORKS * 10:
        digits = prefix + "".join(pick.choices("0123456789", k=length - len(prefix) - 1))
        digits += luhn.calc_check_digit(digits)
        cuts = (4, 10) if length in (14, 15) else range(4, length, 4)
        groups = [digits[a:b] for a, b in zip((0, *cuts), (*cuts, length), strict=True)]
        for between in ("", " ", "-"):
            yield "CARD", between.join(groups), ""


def _ibans(pick: random.Random) -> Iterator[tuple[str, str, str]]:
    kinds = {"n": "0123456789", "a": "ABCDEFGHJKLMNPRSTUVW", "c": "0123456789ABCDEFGHJK"}
    table = numdb.get("iban")
    for first in range(26 * 26):
        country = chr(65 + first // 26) + chr(65 + first % 26)
        structure = table.info(f"{country}00")[0][1].get("bban", "")
        for _ in range(2 if structure else 0):
            parts = re.findall(r"(\d+)!?([nac])", structure)
            body = "".join("".join(pick.choices(kinds[kind], k=int(size))) for size, kind in parts)
            whole = country + iban.calc_check_digits(f"{country}00{body}") + body
            for written in (whole, " ".join(whole[at : at + 4] for at in range(0, len(whole), 4))):
                yield "IBAN", written, country


def examples(seed: int = 0) -> list[Example]:
    """Make up identifiers, each in a sentence."""
    pick = random.Random(seed)  # noqa: S311 - no secrets
    others = ((kind, one, "") for kind, listed in _OTHERS.items() for one in listed)
    made = []
    for kind, written, region in (*_phones(), *_cards(pick), *_ibans(pick), *others):
        before, after = pick.choice(_SENTENCES).split("{}")
        made.append(Example(kind, before + written + after, len(before), len(before) + len(written), region))
    return made


def _ours(one: Example) -> Found:
    return ((found.kind, found.start, found.end) for found in find_identifiers(one.text))


def _presidio() -> Callable[[Example], Found]:
    names = {"PHONE_NUMBER": "PHONE", "CREDIT_CARD": "CARD", "IBAN_CODE": "IBAN", "EMAIL_ADDRESS": "EMAIL",
             "URL": "URL", "IP_ADDRESS": "IP"}  # fmt: skip
    kinds = (PhoneRecognizer, CreditCardRecognizer, IbanRecognizer, EmailRecognizer, UrlRecognizer, IpRecognizer)
    recognisers: list[EntityRecognizer] = [kind() for kind in kinds]
    # By default, the recogniser of e-mail addresses asks two sites for the endings of domains.
    tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=())

    def find(one: Example) -> Found:
        for recogniser in recognisers:
            for found in recogniser.analyze(one.text, recogniser.supported_entities, None):
                yield names[found.entity_type], found.start, found.end

    return find


def _matcher(*, told: bool) -> Callable[[Example], Found]:
    def find(one: Example) -> Found:
        for match in phonenumbers.PhoneNumberMatcher(one.text, one.region or "US" if told else None):
            yield "PHONE", match.start, match.end

    return find


def _is_hidden(one: Example, found: list[tuple[str, int, int]]) -> bool:
    places = {place for _, start, end in found for place in range(start, end)}
    return all(place in places for place in range(one.start, one.end) if one.text[place].isalnum())


def _is_named(one: Example, found: list[tuple[str, int, int]]) -> bool:
    kind, marks = one.kind.partition(" ")[0], "()[]+"  # these may belong to the sentence
    written = one.text[one.start : one.end].strip(marks)
    return any(name == kind and one.text[start:end].strip(marks) == written for name, start, end in found)


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--missed", action="store_true", help="show some of what ours do not hide or name")
    shows = parser.parse_args().missed
    made = examples()
    finders = {
        "wordveil": _ours,
        "Presidio": _presidio(),
        "phonenumbers": _matcher(told=False),
        "phonenumbers, told the country": _matcher(told=True),
    }
    print(f"{'':>16}" + "".join(f"{name:>34}" for name in finders))
    kinds = list(dict.fromkeys(one.kind for one in made))
    found: dict[str, list[list[tuple[str, int, int]]]] = {}
    spent = {}
    for name, find in finders.items():
        list(find(made[0]))
        begun = time.process_time()
        found[name] = [list(find(one)) for one in made]
        spent[name] = time.process_time() - begun
    for kind in kinds:
        own = [place for place, one in enumerate(made) if one.kind == kind]
        cells = []
        for name, seen in found.items():
            hidden, named = (
                sum(test(made[place], seen[place]) for place in own) / len(own) for test in (_is_hidden, _is_named)
            )
            is_for = "phone" not in name or kind.startswith("PHONE")
            cells.append(f"{hidden:.1%} hidden, {named:.1%} named" if is_for else "–")
        print(f"{kind:>12}{len(own):>4}" + "".join(f"{cell:>34}" for cell in cells))
    plain = [Example("", text, 0, 0) for text in _PLAIN]
    alarms = {
        name: sum(1 for one in plain for kind, *_ in find(one) if kind not in VALUES) for name, find in finders.items()
    }
    print(f"{'false alarms':>16}" + "".join(f"{alarms[name]:>34}" for name in finders))
    print(f"{'CPU ms a text':>16}" + "".join(f"{1000 * spent[name] / len(made):>34.3f}" for name in finders))
    tried = [one.text[one.start : one.end] for one in made if one.kind in ("CARD", "IBAN")]
    tried += [one[:-1] + str((int(one[-1]) + 1) % 10) for one in tried if one[-1].isdigit()]
    digits = [one for one in map(_bare, tried) if one.isdigit()]
    agree = sum(_has_card_digit(one) == luhn.is_valid(one) for one in digits)
    print(f"check digits of cards: as python-stdnum says for {agree} of {len(digits)}, right and wrong")
    codes = [one for one in map(_bare, tried) if not one.isdigit()]
    agree = sum(_has_iban_digits(one) == iban.is_valid(one, check_country=False) for one in codes)
    print(f"check digits of IBANs: as python-stdnum says for {agree} of {len(codes)}, right and wrong")
    for one, ours in zip(made, found["wordveil"], strict=True) if shows else ():
        if not _is_hidden(one, ours) or not _is_named(one, ours):
            print(one.kind, one.region, repr(one.text), ours)


def _bare(written: str) -> str:
    return written.replace(" ", "").replace("-", "")


if __name__ == "__main__":
    main()
