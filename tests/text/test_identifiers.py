"""What has the form of an identifier is found, whole, in linear time."""

import time
from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from wordveil.text.forms import INSIDE, SPELLS
from wordveil.text.identifiers import KINDS, find_identifiers, is_placeholder, markup_kept, placeholder

FOUND = {
    "EMAIL": ["will.may@over.com", "will@localhost", "<EMAIL>", "<EMAIL_3>", "will [at] over [dot] com", "ann@例え.jp"],
    "URL": ["https://over.com/all?me=who#now", "www.me.org", "over.com/me", "mailto:all@me.us", "ftp://a:b@c.de/f"],
    "HANDLE": ["@will", "will_may", "u/all", "me#1234"],
    "PHONE": [
        "+44 20 7946 0958",
        "(020) 7946 0958",
        "020 7946 0958",
        "555-1234",
        "06 12 34 56 78",
        "+49 (0)30 123456-78",
    ],
    "CARD": ["4111 1111 1111 1111", "4111111111111111", "3782-822463-10005"],
    "IBAN": ["GB82 WEST 1234 5698 7654 32", "DE89370400440532013000"],
    "IP": ["192.168.0.1", "10.0.0.1:8080", "2001:db8::1", "fe80::1%eth0"],
    "UUID": ["550e8400-e29b-41d4-a716-446655440000"],
    "HEX": ["deadbeef01", "0xff", "00:1a:2b:3c:4d:5e"],
    "POSTCODE": ["SW1A 1AA", "K1A 0B1", "90210-1234", "CA 90210"],
    "DATE": [
        "12 May 2021",
        "May 5th",
        "May 5, 2021",
        "2021-01-31",
        "3/4/21",
        "12.05.2021",
        "1st of June",
        "12-Jan-2020",
    ],
    "TIME": ["12:30", "12:30:45", "5 pm", "17h30", "5:15 p.m"],
    "AMOUNT": ["$1,234.50", "12 €", "EUR 5k", "US$3", "3.2m USD"],
    "NUMBER": ["42", "1,000", "3.5", "87th", "½", "٣٤", "12,000.50", "1962"],
    "ID": ["ORD-12345", "123-45-6789", "12345678", "#4711", "007", "4111 1111 1111 1112"],
    "PATH": ["/home/will/me", "~/all", "C:\\will\\may.txt", "report.pdf", "me.and.you.docx", "\\\\host\\share"],
    "MARKUP": [
        "<p>",
        "</div>",
        "<a href=\"x\" title='all > me'>",
        "<br/>",
        "&amp;",
        "&#65;",
        "<Smith>",
        "<!DOCTYPE html>",
    ],
}
NOTHING = [
    "and/or",
    "he/she",
    "U.S.",
    "e.g. this",
    "a.m.",
    "It left. The dog",
    "covid",
    "g20",
    "mp3",
    "(all)",
    "we'll",
    "<all of it>",
    "a < b > c",
    "don't",
    "state-of-the-art",
    "A & B",
    "AT&T",
    "Москва",
    "☃ №",
]

# Each is repeated to a long text in which a pattern that tried from every place would need hours.
HOSTILE = [
    "@",
    "a.",
    "<",
    "<a ",
    '<a "',
    "<a '",
    "&",
    "&#1",
    "1",
    "1.",
    "1 ",
    "1,",
    "/",
    "/a",
    "a/",
    "_",
    "a_",
    ":",
    "a:",
    "\\\\",
    "a-",
    "a1",
    "+",
    "(",
    "a@",
    ".a@.",
    "http://",
    "www.",
    "May 1 ",
    "$1",
    "A1",
    "1e",
    "a.com",
    "GB82 ",
    "AB12CD34",
    "1\u0301",
    "a [at] ",
    "#1",
    "a#",
    "1/",
    "1-",
    "::",
    "<!",
    "<?a",
    "[at",
    "a.b@",
]


ASCII = [one for ones in FOUND.values() for one in ones if one.isascii()] + NOTHING + [
    "mar", "US", "(", "[at]", "to:", "x", "5", "12", "1,5", "$", "-", "/", ".", "_", "#", "&", "<", ">", "@",
]  # fmt: skip
ascii_texts = st.lists(
    st.tuples(
        st.one_of(
            st.sampled_from([one for one in ASCII if one.isascii()]),
            st.text(st.characters(max_codepoint=127), max_size=5),
        ),
        st.sampled_from(["", " ", " ", "  ", "\n", ", ", "-", "/"]),
    ),
    max_size=8,
).map(lambda some: "".join(map("".join, some)))


@given(text=ascii_texts)
def test_texts_of_ascii_are_read_as_all_others(text: str) -> None:
    # What stands far behind, and between brackets that close nothing, changes nothing before it.
    far = text + " \n" * 300 + "é"
    assert find_identifiers(text) == find_identifiers(far)


def test_every_kind_has_its_examples() -> None:
    assert set(FOUND) == set(KINDS)


@pytest.mark.parametrize(("kind", "written"), [(kind, one) for kind, all_ in FOUND.items() for one in all_])
@pytest.mark.parametrize("around", ["{}", "Then {} was there.", "({})", "{}, and so on\n"])
def test_whole_identifiers_are_found(kind: str, written: str, around: str) -> None:
    text = around.format(written)
    assert [(one.kind, text[one.start : one.end]) for one in find_identifiers(text)] == [(kind, written)]


@pytest.mark.parametrize("text", NOTHING)
def test_words_are_not_identifiers(text: str) -> None:
    assert find_identifiers(text) == []


def test_headers_of_mails_are_markup() -> None:
    text = "From: Will <w@over.com>\nSubject: all of it"
    assert [(one.kind, text[one.start : one.end]) for one in find_identifiers(text)] == [
        ("MARKUP", "From:"),
        ("EMAIL", "w@over.com"),
        ("MARKUP", "Subject:"),
    ]


@given(st.text() | st.from_regex(r"[<>@/\\._:a-z0-9 &;#$()+-]{0,60}", fullmatch=True))
def test_what_is_found_is_in_order_and_never_half_a_word(text: str) -> None:
    found = find_identifiers(text)
    assert all(one.kind in KINDS and one.start < one.end for one in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
    inside, spells = regex.compile(f"[{INSIDE}]"), regex.compile(f"[{SPELLS}]")
    for kind, start, end in found:
        if kind != "TIME":  # the T between a date and a time belongs to neither
            assert not (start and inside.match(text[start - 1]) and spells.match(text[start]))
        if kind != "DATE":
            assert not (end < len(text) and spells.match(text[end - 1]) and inside.match(text[end]))


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_is_linear(unit: str) -> None:
    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        start = time.process_time()
        find_identifiers(text)
        return time.process_time() - start

    # Were it quadratic, sixteen times the text would take 256 times as long.
    assert seconds(16_000) < 64 * max(seconds(1_000), 0.002)


@given(st.sampled_from(KINDS), st.none() | st.integers(1, 10**9 - 1))
def test_a_placeholder_is_an_identifier_of_its_own_kind(kind: str, number: int | None) -> None:
    written = placeholder(kind, number)
    assert is_placeholder(written)
    assert find_identifiers(f"x {written}.") == [(kind, 2, 2 + len(written))]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ('<A href="https://ann.example" title="all">', "<a>"),
        ("</P>", "</p>"),
        ("<ann>", None),
        ("<x:will a='b'>", None),
        ("&nbsp;", "\u00a0"),
        ("&lt;", "&lt;"),
        ("&#87;", None),
        ("&eacute;", None),
        ("SUBJECT:", "Subject:"),
        ("<!DOCTYPE will>", None),
    ],
)
def test_what_of_markup_is_kept_says_nothing_of_the_text(written: str, kept: str | None) -> None:
    assert markup_kept(written) == kept


def test_words_after_an_iban_are_no_part_of_it() -> None:
    """Some of them make right check digits of it, once in 97 times."""
    for word in ("that", "your", "from", "with", "have", "this", "they", "when", "were", "been", "into", "than"):
        for code in ("GB82WEST12345698765432", "LT311725937860579403", "VG19UHUG7669784873428333"):
            text = f"It is {code} {word} now on."
            found = [(one.kind, text[one.start : one.end]) for one in find_identifiers(text)]
            assert found == [("IBAN", code)]
