"""Presidio's contract: the answers of its own engine, and ours to veil."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from threading import Event
from typing import Any

import pytest

from tests.service.conftest import Answer, Service, running
from tests.serving import noting_threads
from wordveil.service import Key, Settings
from wordveil.service.keys import hash_key

#: Looked for and not loaded: it loads spaCy, which takes each process that collects the tests seconds.
pytestmark = pytest.mark.skipif(
    find_spec("presidio_anonymizer") is None, reason="Presidio's contract is not tested: it is not installed"
)

TEXT = "On Monday Mary Jones of Harbour Road wrote to mary@example.org; Mary Jones knows."
VEIL = {"type": "veil", "epsilon": 0.2}


def found(what: str, kind: str = "PERSON", score: float = 0.8, after: int = 0) -> dict[str, Any]:
    start = TEXT.index(what, after)
    return {"start": start, "end": start + len(what), "score": score, "entity_type": kind}


def anonymize(service: Service, *results: dict[str, Any], **fields: Any) -> Answer:
    return service.post("/anonymize", {"text": TEXT, "analyzer_results": list(results), **fields})


OVERLAPS: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "contained": [found("Mary Jones"), found("Mary"), found("Jones", score=0.9)],
    "contained, other kinds": [found("Mary Jones", "NAME"), found("Mary", "FIRST_NAME"), found("Jones", "LAST", 0.9)],
    "crossing": [found("Mary Jones of", "A"), found("of Harbour Road", "B", 0.9)],
    "the same place": [found("Mary Jones", "A", 0.5), found("Mary Jones", "B", 0.6)],
    "beside one another": [found("Mary"), found("Jones")],
    "unsorted": [found("mary@example.org", "EMAIL"), found("Monday", "DATE")],
}
OPERATORS: dict[str, Any] = {
    "none": None,
    "replace": {"DEFAULT": {"type": "replace", "new_value": "X"}, "B": {"type": "redact"}},
    "mask": {"DEFAULT": {"type": "mask", "masking_char": "*", "chars_to_mask": 4, "from_end": True}},
    "hash": {"DEFAULT": {"type": "hash", "hash_type": "sha512", "salt": "0123456789abcdef"}},
    "keep": {"A": {"type": "keep"}, "PERSON": {"type": "keep"}},
}


@pytest.mark.parametrize("operators", OPERATORS)
def test_the_answers_are_those_of_presidio(service: Service, operators: str) -> None:
    from presidio_anonymizer import AnonymizerEngine
    from presidio_anonymizer.entities import OperatorConfig, RecognizerResult

    for results in OVERLAPS.values():
        how = OPERATORS[operators]
        configs = how and {name: OperatorConfig.from_json(dict(one)) for name, one in how.items()}
        given = [RecognizerResult.from_json(one) for one in results]
        theirs = AnonymizerEngine().anonymize(TEXT, given, configs)
        ours = anonymize(service, *results, anonymizers=how)
        assert (ours.status, ours.json) == (200, json.loads(theirs.to_json()))


def test_one_draw_for_an_entity(service: Service) -> None:
    second = found("Mary Jones", after=40)
    results = [found("Mary Jones"), second, found("mary@example.org", "EMAIL"), found("Monday", "DATE")]
    got = anonymize(service, *results, anonymizers={"DEFAULT": {"type": "redact"}, "PERSON": VEIL, "EMAIL": VEIL}).json
    *_, last, mail, first, day = (got["text"][one["start"] : one["end"]] for one in got["items"])
    assert first == last  # one person, one draw
    assert len(first.split()) == 1
    assert first.lower() not in ("mary", "jones")
    assert (mail, day) == ("<EMAIL>", "")
    assert got["text"] == f"On  {first} of Harbour Road wrote to <EMAIL>; {first} knows."
    assert [one["operator"] for one in got["items"]] == ["veil", "veil", "veil", "redact"]


def test_several_ways_to_veil(service: Service) -> None:
    ways = {"PERSON": VEIL, "ROAD": {"type": "veil", "epsilon": 0.5, "mechanism": "laplace", "space": "toy.txt"}}
    got = anonymize(service, found("Mary Jones"), found("Harbour Road", "ROAD"), anonymizers=ways)
    assert got.status == 200
    assert "Harbour" not in got.json["text"]


def test_the_rest_of_the_contract(service: Service) -> None:
    assert service.get("/health").body == b"Presidio Anonymizer service is up"
    listed = service.get("/anonymizers").json
    assert {"hash", "mask", "redact", "replace", "keep", "veil"} <= set(listed)
    assert "custom" not in listed


def test_what_was_encrypted_can_be_undone(service: Service) -> None:
    secrets = {"DEFAULT": "1" * 16, "TITLE": "2" * 16}
    results = [found("Mary Jones"), found("Harbour Road", "TITLE")]
    hidden = anonymize(
        service, *results, anonymizers={name: {"type": "encrypt", "key": key} for name, key in secrets.items()}
    ).json

    def undo(**fields: Any) -> Answer:
        return service.post("/deanonymize", {"text": hidden["text"], "anonymizer_results": hidden["items"], **fields})

    decrypt = {name: {"type": "decrypt", "key": key} for name, key in secrets.items()}
    got = undo(deanonymizers=decrypt)
    assert (got.status, got.json["text"]) == (200, TEXT)
    assert {one["operator"] for one in got.json["items"]} == {"decrypt"}
    assert service.post("/deanonymize", {"text": TEXT}).json == {"text": TEXT, "items": []}
    assert "decrypt" in service.get("/deanonymizers").json
    refused = [
        undo(),
        undo(deanonymizers={"DEFAULT": {"type": "veil"}}),
        undo(deanonymizers={"DEFAULT": {"type": "custom"}}),
        undo(deanonymizers={"DEFAULT": {"type": "decrypt", "key": "short"}}),
        undo(deanonymizers={"DEFAULT": {"type": "decrypt", "key": "3" * 16}}),
        undo(deanonymizers={"DEFAULT": {"type": "decrypt"}}),
        undo(anonymizer_results=[{"start": 0, "end": 5}], deanonymizers=decrypt),
        service.post("/deanonymize", {}),
    ]
    assert [answer.status for answer in refused] == [422, 422, 400, 422, 422, 422, 422, 400]
    assert all(list(answer.json) == ["error"] for answer in refused)


def test_what_would_take_long_is_refused(service: Service) -> None:
    text = "sea " * 5000

    def ask(many: int, long: int = 4, **operator: Any) -> Answer:
        results = [{"start": at, "end": at + long, "score": 0.5, "entity_type": f"A{at}"} for at in range(many)]
        return service.post("/anonymize", {"text": text, "analyzer_results": results, "anonymizers": operator})

    assert ask(400, 300).status == 200
    for refused in (ask(18_000), ask(4000, 16_000), ask(4000, DEFAULT={"type": "replace", "new_value": "a" * 9000})):
        assert (refused.status, list(refused.json)) == (413, ["error"])


CANARY = "zyqxcanary"
ONE = {"start": 0, "end": 2, "score": 0.5, "entity_type": "A"}
BAD: dict[str, tuple[Any, int]] = {
    "no JSON": (f'{{"text": "{CANARY}",}}'.encode(), 400),
    "nothing": ({}, 400),
    "a list": ([CANARY], 400),
    "custom": ({"anonymizers": {"DEFAULT": {"type": "custom", "lambda": CANARY}}, "analyzer_results": []}, 400),
    "no results": ({"text": CANARY}, 422),
    "an unknown operator": ({"anonymizers": {"A": {"type": CANARY}}, "analyzer_results": [ONE]}, 422),
    "no operator": ({"anonymizers": {"A": {"new_value": CANARY}}, "analyzer_results": [ONE]}, 422),
    "a hash": ({"anonymizers": {"A": {"type": "hash", "hash_type": CANARY}}, "analyzer_results": [ONE]}, 422),
    "a mask": ({"text": CANARY, "anonymizers": {"A": {"type": "mask"}}, "analyzer_results": [ONE]}, 422),
    "outside": ({"text": CANARY, "analyzer_results": [{**ONE, "end": 99}]}, 422),
    "backwards": ({"text": CANARY, "analyzer_results": [{**ONE, "start": 5}]}, 422),
    "types": ({"text": CANARY, "analyzer_results": [{**ONE, "start": CANARY}]}, 422),
    "scores": ({"text": CANARY, "analyzer_results": [ONE, {**ONE, "score": CANARY}]}, 422),
    "no text": ({"text": [CANARY], "analyzer_results": [ONE]}, 422),
    "no epsilon": ({"text": CANARY, "anonymizers": {"A": {"type": "veil"}}, "analyzer_results": [ONE]}, 422),
    "epsilon": ({"text": CANARY, "anonymizers": {"A": {**VEIL, "epsilon": 1e9}}, "analyzer_results": [ONE]}, 422),
    "deep": (b'{"text": ' + b"[" * 9000 + b"]" * 9000 + b"}", 400),
    "an option": ({"text": CANARY, "anonymizers": {"A": {**VEIL, CANARY: 1}}, "analyzer_results": [ONE]}, 422),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_are_said_as_presidio_does(service: Service, name: str, caplog: pytest.LogCaptureFixture) -> None:
    body, status = BAD[name]
    got = service.post("/anonymize", body)
    assert (got.status, list(got.json)) == (status, ["error"])
    assert CANARY.encode() not in got.body
    assert CANARY not in caplog.text


def test_no_entity_is_read_where_all_requests_pass(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    in_threads = noting_threads(monkeypatch, "wordveil.text.lookup.Lookup.head")
    assert anonymize(service, found("Mary Jones"), anonymizers={"DEFAULT": VEIL}).status == 200
    assert in_threads
    assert all(in_threads)
    in_threads.clear()
    long = "1 " * 20_001
    whole = {"start": 0, "end": len(long), "score": 1.0, "entity_type": "PERSON"}
    assert anonymize(service, whole, text=long, anonymizers={"DEFAULT": VEIL}).status == 413
    assert in_threads == []


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    key = Key("poor", hash_key("k"), budget=30.0)
    with running(Settings(keys=(key,), ledgers=str(tmp_path_factory.mktemp("ledgers")))) as one:
        yield one


def test_budgets(keyed: Service) -> None:
    def ask(operator: dict[str, Any], *what: str, key: str = "k") -> Answer:
        body = {"text": TEXT, "analyzer_results": [found(one) for one in what], "anonymizers": {"DEFAULT": operator}}
        return keyed.post("/anonymize", body, authorization=f"Bearer {key}")

    assert ask(VEIL, "Mary Jones", key="wrong").status == 401
    for kind in ("hash", "keep"):
        assert ask({"type": kind}, "Mary Jones").status == 403  # no price could be charged
    assert ask({"type": "redact"}, "Mary Jones").status == 200
    statuses = [ask({**VEIL, "epsilon": 1.0}, "Mary Jones").status for _ in range(12)]
    assert statuses == sorted(statuses)
    assert {200, 403} == set(statuses)
    assert keyed.get("/anonymizers").status == 401


def test_without_presidio(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordveil.service.presidio.find_spec", lambda _: None)
    got = service.get("/anonymizers")
    assert (got.status, list(got.json)) == (501, ["error"])


def test_others_are_answered_while_presidio_is_loaded(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, others, in_time = Event(), Event(), []

    def slow(name: str) -> Any:
        begun.set()
        in_time.append(others.wait(5.0))
        return find_spec(name)

    monkeypatch.setattr("wordveil.service.presidio.find_spec", slow)
    with ThreadPoolExecutor(1) as pool:
        for path in ("/anonymizers", "/deanonymizers"):
            begun.clear()
            others.clear()
            waits = pool.submit(service.get, path)
            begun.wait()
            assert service.get("/healthz").status == 200
            others.set()
            assert waits.result().status == 200
    assert all(in_time)
