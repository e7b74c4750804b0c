"""The client, where no other test has used it."""

from __future__ import annotations

import pytest

from tests.service.conftest import Service
from wordveil.client import Client
from wordveil.errors import WordveilError
from wordveil.guarantee import Notion


def test_texts_words_and_what_there_is(service: Service) -> None:
    client = Client(service.address)
    one = client.privatize("The ship sails.", epsilon=3.0)
    assert one.text.startswith("The ")
    assert one.guarantee.notion is Notion.METRIC
    assert one.replacements[0]["start"] == 4
    many = client.privatize_many(["The ship.", "A sea."], epsilon=3.0, select="words", words=["sea"])
    assert many[0].text == "The ship."
    assert 0 < client.word("harbour", epsilon=3.0)["stays"] < 1
    assert client.mechanisms()[0]["name"] == "graph"
    assert client.spaces()[0]["name"] == "glove-50k"


def test_what_is_wrong_is_an_error_of_ours(service: Service) -> None:
    with pytest.raises(WordveilError, match=r"between 0\.01"):
        Client(service.address).privatize("sea", epsilon=1001.0)
    with pytest.raises(WordveilError, match=r"127\.0\.0\.1:9 does not answer"):
        Client("http://127.0.0.1:9").mechanisms()
