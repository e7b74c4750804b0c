"""Markup: the tags and entities of HTML and XML, and the headers of mails, and which of these can be kept."""

from __future__ import annotations

import html

import regex

from wordveil.text.forms import SPELLS

__all__ = ["MARKS", "is_markup", "markup_kept"]

# The elements of HTML, whose names say nothing of the text between them.
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

#: What marks look like. Each form stops at the next "<" at the latest, so that none is read twice from several places.
MARKS = {
    "tag": r"</?+(?P<name>[A-Za-z][A-Za-z0-9:.\-]*+)(?=[\s/>])(?P<attributes>(?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+)>",
    "doctype": r"<![A-Za-z]{1,20}\s[^<>]*+>|<\?[A-Za-z][^<>]*+\?>",
    "entity": r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});",
    "header": rf"(?m:^)(?i:{'|'.join(_HEADERS)}):(?=\s)",
}
_TAG, _ENTITY = regex.compile(MARKS["tag"]), regex.compile(MARKS["entity"])
_SPELLING = regex.compile(rf"[{SPELLS}]")


def is_markup(written: str) -> bool:
    """Whether what looks like a mark is one: a tag of HTML, or any with nothing but attributes; an entity there is."""
    tag = _TAG.fullmatch(written)
    if tag is not None and tag["name"].lower() not in _ELEMENTS:
        attributes = tag["attributes"].strip("/ \t\r\n")
        return not attributes or "=" in attributes
    return _ENTITY.fullmatch(written) is None or html.unescape(written) != written


def markup_kept(written: str) -> str | None:
    r"""Return what of a mark can be kept, since it says nothing of the text: None if nothing can.

    Of a tag that is its name, where it is one of HTML's; of an entity all, where it stands for no letter or digit; and
    the names of the headers of mails.

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
