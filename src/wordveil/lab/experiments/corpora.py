"""Collections of texts by author, read from the data folder."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from wordveil.errors import InputError
from wordveil.lab.attacks import Corpus
from wordveil.lab.tasks import DataFolder

# The files are not well-formed XML, so only the few marks that matter are parsed.
_TEXT = re.compile(r'<text file="[^"]*?([^"/]+)">(.*?)</text>', re.DOTALL)
_AUTHOR = re.compile(r'<author id="([^"]+)"\s*/>')
_BODY = re.compile(r"<body>(.*?)</body>", re.DOTALL)
_MARK = re.compile(r"<[A-Z]+/>")
_REVIEWERS = ("Dennis+Schwartz", "James+Berardinelli", "Scott+Renshaw", "Steve+Rhodes")


def pan11(data: DataFolder, name: str) -> Corpus:
    """Read a training file of PAN 2011: e-mail by author."""
    texts, authors = [], []
    for _, inside in _TEXT.findall(data.text(f"pan11/{name}")):
        author, body = _AUTHOR.search(inside), _BODY.search(inside)
        if author and body:
            authors.append(author[1])
            texts.append(_MARK.sub(" ", body[1]).strip())
    return _checked(Corpus(texts, authors), name)


def pan11_test(data: DataFolder, known: Corpus) -> Corpus:
    """Read the small test of PAN 2011, keeping only texts by known authors."""
    truth = {}
    for file, inside in _TEXT.findall(data.text("pan11/GroundTruthSmallTest+.xml")):
        author = _AUTHOR.search(inside)
        if author:
            truth[file] = author[1]
    texts, authors, among = [], [], set(known.authors)
    for file, inside in _TEXT.findall(data.text("pan11/SmallTest+.xml")):
        body = _BODY.search(inside)
        if body and truth.get(file) in among:
            authors.append(truth[file])
            texts.append(_MARK.sub(" ", body[1]).strip())
    return _checked(Corpus(texts, authors), "SmallTest+.xml")


def pang_lee(data: DataFolder) -> Corpus:
    """Read the film reviews of Pang & Lee's four authors."""
    texts, authors = [], []
    for author in _REVIEWERS:
        lines = data.lines(f"pang-lee-scale/{author}/subj.{author}.gz")
        texts += lines
        authors += [author] * len(lines)
    return _checked(Corpus(texts, authors), "pang-lee-scale")


def state_of_the_union(data: DataFolder, fewest: int = 4) -> Corpus:
    """Read the addresses of presidents who gave at least `fewest`."""
    addresses = [data.json(name) for name in data.files("sotu", ".json")]
    try:
        corpus = Corpus([one["text"] for one in addresses], [one["name"] for one in addresses])
    except (KeyError, TypeError):
        raise InputError("an address in sotu of the data folder has no text or no name.") from None
    counts = Counter(corpus.authors)
    return _checked(_only(corpus, {author for author, count in counts.items() if count >= fewest}), "sotu")


def largest_authors(corpus: Corpus, count: int) -> Corpus:
    """Keep the `count` authors with the most texts."""
    return _only(corpus, {author for author, _ in Counter(corpus.authors).most_common(count)})


def limited(corpus: Corpus, most: int, seed: int = 0) -> Corpus:
    """Keep at most `most` random texts."""
    places = np.sort(np.random.default_rng(seed).permutation(len(corpus))[:most]).tolist()
    return Corpus([corpus.texts[place] for place in places], [corpus.authors[place] for place in places])


def _only(corpus: Corpus, authors: set[str]) -> Corpus:
    kept = [(text, author) for text, author in zip(corpus.texts, corpus.authors, strict=True) if author in authors]
    return Corpus([text for text, _ in kept], [author for _, author in kept])


def _checked(corpus: Corpus, name: str) -> Corpus:
    if not len(corpus):
        raise InputError(f"no text with an author was found in {name} of the data folder.")
    return corpus
