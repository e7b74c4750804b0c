"""Texts by author, read from files of the forms that the collections have."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.lab.tasks.made_data import mail, write
from wordveil.errors import InputError
from wordveil.lab.experiments import corpora
from wordveil.lab.tasks import DataFolder

LETTERS = {"a": "first letter\n<NAME/> & co <not xml", "b": "second letter", "c": "third letter"}


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    train = "".join(mail(name, author, LETTERS[name]) for name, author in (("a", "x1"), ("b", "x1"), ("c", "x2")))
    write(tmp_path, "pan11/SmallTrain.xml", f"<training>\n{train}</training>")
    asked = "".join(f'<text file="Test//{name}.xml">\n  <body>unknown {name}</body>\n</text>\n' for name in "def")
    write(tmp_path, "pan11/SmallTest+.xml", asked)
    truth = (("d", "x2"), ("e", "stranger"), ("f", "x1"))
    write(tmp_path, "pan11/GroundTruthSmallTest+.xml", "".join(mail(name, author, None) for name, author in truth))
    for author in ("Dennis+Schwartz", "James+Berardinelli", "Scott+Renshaw", "Steve+Rhodes"):
        path = tmp_path / f"pang-lee-scale/{author}/subj.{author}.gz"
        path.parent.mkdir(parents=True)
        path.write_bytes(gzip.compress(f"one review by {author}\nanother one\n".encode()))
    for year, name in ((1800, "A"), (1801, "A"), (1802, "B")):
        write(tmp_path, f"sotu/{year}_{name}.json", json.dumps({"name": name, "text": f"address of {year}"}))
    return DataFolder(tmp_path)


def test_mail_is_read_with_its_authors_and_without_masks(data: DataFolder) -> None:
    found = corpora.pan11(data, "SmallTrain.xml")
    assert list(found.authors) == ["x1", "x1", "x2"]
    assert found.texts[0] == "first letter\n  & co <not xml"


def test_the_test_keeps_known_authors_only(data: DataFolder) -> None:
    found = corpora.pan11_test(data, corpora.pan11(data, "SmallTrain.xml"))
    assert dict(zip(found.texts, found.authors, strict=True)) == {"unknown d": "x2", "unknown f": "x1"}


def test_reviews_and_addresses(data: DataFolder) -> None:
    assert len(corpora.pang_lee(data)) == 8
    found = corpora.state_of_the_union(data, fewest=2)
    assert list(found.authors) == ["A", "A"]


def test_the_largest_authors_and_a_limit(data: DataFolder) -> None:
    whole = corpora.pan11(data, "SmallTrain.xml")
    assert set(corpora.largest_authors(whole, 1).authors) == {"x1"}
    few = corpora.limited(whole, 2)
    assert len(few) == 2
    assert set(zip(few.texts, few.authors, strict=True)) <= set(zip(whole.texts, whole.authors, strict=True))


def test_an_empty_collection_is_refused(data: DataFolder) -> None:
    write(data.path, "pan11/SmallTrain.xml", "<training></training>")
    with pytest.raises(InputError, match=r"SmallTrain\.xml"):
        corpora.pan11(data, "SmallTrain.xml")
