"""The API as callers use it, over real connections."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import chisquare

from tests.conftest import make_space, names
from tests.service.conftest import Service, running, write_space
from tests.serving import PATIENCE, noting_threads, until
from wordveil import mechanism
from wordveil._mechanisms import MECHANISMS, Mechanism
from wordveil.guarantee import Guarantee, Notion
from wordveil.noise import Entropy
from wordveil.service import Settings
from wordveil.service.guard import Guard
from wordveil.service.keys import Keys
from wordveil.service.words import word_facts

SECRET = "xylophonist-77"  # noqa: S105 - a word of a private text


def test_equal_words_are_drawn_once_where_it_is_asked_for(service: Service) -> None:
    text = "zqa zqb zqa"

    def ask(**how: object) -> list[list[str]]:
        told = service.post("/v1/privatize", {"epsilon": 0.5, "select": "all", "case": "lower", **how}).json
        return [one["text"].split() for one in told["results"]]

    assert all(first == third for first, _, third in ask(text=[text] * 8))
    assert any(first != third for first, _, third in ask(text=[text] * 20, once=None))
    assert len({tuple(words) for words in ask(text=[text] * 8, once="file")}) == 1
    assert len({tuple(ask(text=[text], once="file")[0]) for _ in range(8)}) > 1  # of each request anew
    people = ["ann", "bob", None, "ann", None, "bob"] * 3
    veiled = ask(text=[text] * 18, once="person", people=people)
    kinds = {who: {tuple(words) for words, whose in zip(veiled, people, strict=True) if whose == who} for who in people}
    assert (len(kinds["ann"]), len(kinds["bob"])) == (1, 1)
    assert len(kinds[None]) > 1
    for wrong in ({"once": "person"}, {"people": ["ann"]}, {"once": "person", "people": []}, {"once": "day"}):
        assert service.post("/v1/privatize", {"text": text, "epsilon": 0.5, **wrong}).status == 422


def test_what_is_not_a_word_is_treated_as_asked(service: Service) -> None:
    text = "zqa to ann@home.net or ann@home.net, 120 EUR"

    def ask(**how: object) -> str:
        body = {"text": text, "epsilon": 0.5, "case": "lower", **how}
        return str(service.post("/v1/privatize", body).json["results"][0]["text"].partition(" to ")[2])

    assert ask() == "<EMAIL> or <EMAIL>, <AMOUNT>"
    assert ask(numbered=True) == "<EMAIL_1> or <EMAIL_1>, <AMOUNT>"
    assert ask(identifiers="drop", numbers="drop").startswith("or")
    assert ask(select="words", words=["zqa"]) == "<EMAIL> or <EMAIL>, 120 EUR"
    assert ask(select="words", words=["zqa"], identifiers="selected") == "ann@home.net or ann@home.net, 120 EUR"
    assert ask(language="de") != ask()  # "to" and "or" are no function words there
    line = json.dumps({"text": text}).encode()
    told = service.post(
        "/v1/privatize/stream?epsilon=0.5&numbered=true&numbers=drop", line, content_type="application/x-ndjson"
    )
    assert b"<EMAIL_1> or <EMAIL_1>" in told.body
    for wrong in ({"numbers": "metric"}, {"identifiers": "selected"}, {"language": "xx"}, {"block": ["zqa"]}):
        assert service.post("/v1/privatize", {"text": text, "epsilon": 0.5, **wrong}).status == 422


@pytest.mark.parametrize(("once", "kinds"), [("file", 1), ("person", 2), ("none", 4)])
def test_a_stream_draws_once_too(service: Service, once: str, kinds: int) -> None:
    lines = [json.dumps({"text": "zqa zqb zqc", "person": who}) for who in ("ann", "bob") * 6]
    answer = service.post(
        f"/v1/privatize/stream?epsilon=0.5&select=all&once={once}",
        "\n".join(lines).encode(),
        content_type="application/x-ndjson",
    )
    veiled = {json.loads(line)["text"] for line in answer.body.splitlines()}
    assert len(veiled) == kinds if kinds < 4 else len(veiled) >= kinds


def test_one_text_comes_back_with_places_and_promise(service: Service) -> None:
    text = "The committee 😀 met in Paris."
    told = service.post("/v1/privatize", {"text": text, "epsilon": 3.0}).json
    (result,) = told["results"]
    promise = Guarantee.from_dict(told["guarantee"])
    assert promise.notion is Notion.METRIC
    assert promise.epsilon == 3.0
    assert [text[one["start"] : one["end"]] for one in result["replacements"]] == ["committee", "met", "Paris"]
    rebuilt, place = "", 0
    for one in result["replacements"]:
        rebuilt += text[place : one["start"]] + result["text"][one["new_start"] : one["new_end"]]
        place = one["end"]
    assert rebuilt + text[place:] == result["text"]
    assert told["counts"]["drawn"] == 3
    assert told["budget_left"] is None


def test_a_batch_keeps_its_order_and_options_work(service: Service) -> None:
    told = service.post(
        "/v1/privatize", {"text": ["One, two!", "", "Three?"], "epsilon": 3.0, "select": "all", "case": "lower"}
    ).json
    texts = [result["text"] for result in told["results"]]
    assert len(texts) == 3
    assert texts[0].endswith("!")
    assert texts[1] == ""
    assert texts[2] == texts[2].lower()
    kept = service.post("/v1/privatize", {"text": "Zqxqj came.", "epsilon": 3.0, "oov": "keep"}).json
    assert kept["results"][0]["text"].startswith("Zqxqj")
    assert kept["guarantee"]["notion"] == "none"
    assert kept["guarantee"]["epsilon"] is None


def test_the_selections(service: Service) -> None:
    def veil(**asked: Any) -> list[tuple[int, int]]:
        told = service.post("/v1/privatize", {"epsilon": 0.1, **asked}).json
        return [(one["start"], one["end"]) for one in told["results"][0]["replacements"]]

    assert veil(text="A ship and a boat.", select="words", words=["boat"]) == [(13, 17)]
    assert veil(text="A ship and a boat.", select="spans", spans=[[[2, 6]]]) == [(2, 6)]
    assert veil(text="A [[ship]] and a boat.", select="marked") == [(2, 6)]


def test_draws_follow_the_law_of_the_mechanism(service: Service, toy_file: Path) -> None:
    word, count = names(60)[7], 2000
    told = service.post(
        "/v1/privatize",
        {
            "text": " ".join([word] * count),
            "epsilon": 2.0,
            "mechanism": "graph",
            "space": toy_file.name,
            "case": "lower",
            "once": None,
        },
    ).json
    made = mechanism("graph", make_space(), epsilon=2.0)
    expected = made.probabilities(word) * count  # type: ignore[attr-defined]
    ids = [made.space.vocabulary.id(one) for one in told["results"][0]["text"].split()]
    seen = np.bincount(ids, minlength=60)
    often = expected >= 5
    observed = np.append(seen[often], seen[~often].sum())
    # The service draws from the system and takes no seed, so this must be nearly impossible to fail by chance.
    assert chisquare(observed, np.append(expected[often], expected[~often].sum())).pvalue > 1e-9


def test_requests_at_the_same_time_get_their_own_answers(service: Service) -> None:
    def ask(number: int) -> bool:
        text = f"The [{number}] ship, the [{number}] sea."
        if number % 10 == 3:  # refused, in the middle of a batch of good ones
            return service.post("/v1/privatize", {"text": "[[open", "epsilon": 3.0, "select": "marked"}).status == 422
        told = service.post("/v1/privatize", {"text": text, "epsilon": 3.0, "select": "words", "words": ["ship"]}).json
        return told["results"][0]["text"].count(f"[{number}]") == 2 and told["counts"]["drawn"] == 1

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(32)))
    figures = service.get("/metrics").body.decode()
    assert 'wordveil_requests_total{route="/v1/privatize",status="200"}' in figures
    assert "wordveil_batch_texts_count" in figures


def test_one_bad_text_does_not_spoil_those_drawn_with_it(service: Service) -> None:
    body = {"epsilon": 3.0, "select": "marked"}

    def ask(number: int) -> int:
        text = "a [[ship]] sails" if number % 2 else "a [[ship sails"
        return service.post("/v1/privatize", {"text": text, **body}).status

    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(ask, range(64)))
    assert statuses == [422, 200] * 32


def test_what_there_is(service: Service) -> None:
    listed = service.get("/v1/mechanisms").json
    assert [one["name"] for one in listed if one["default"]] == ["graph"]
    assert {"audit", "promises", "largest_epsilon"} <= set(listed[0])
    kinds = {one["name"]: one["kinds"] for one in listed}
    assert (kinds["graph"], kinds["laplace"]) == (["vectors", "hyperbolic"], ["vectors"])
    assert kinds["hyperbolic"] == ["hyperbolic"]
    assert "elastic" not in kinds  # takes minutes to make
    spaces = service.get("/v1/spaces").json
    assert [(one["name"], one["default"], one["words"]) for one in spaces] == [
        ("glove-50k", True, 50_000),
        ("toy.txt", False, 60),
    ]
    assert service.get("/healthz").body == b"ok"
    assert service.get("/readyz").body == b"ready"
    for path in ("/healthz", "/readyz"):
        head = service.call("HEAD", path)
        assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(service.get(path).body)))
    assert service.get("/openapi.json").json["paths"]["/v1/privatize"]["post"]["requestBody"]
    curve = service.get("/v1/tradeoffs?mechanism=graph").json
    assert len(curve["points"]) >= 5
    assert curve["points"] == sorted(curve["points"], key=lambda point: point["adversary"])
    assert service.get("/v1/tradeoffs?mechanism=graph&space=toy.txt").json["points"] == []


@pytest.mark.parametrize("how", ["address", "body"])
def test_a_word_and_its_distribution(service: Service, toy_file: Path, how: str) -> None:
    word = names(60)[5]
    if how == "address":
        told = service.get(f"/v1/words/{word}?epsilon=2&space={toy_file.name}&top=60").json
    else:
        told = service.post("/v1/words", {"word": word.upper(), "epsilon": 2.0, "space": "toy.txt", "top": 60}).json
    made = mechanism("graph", make_space(), epsilon=2.0)
    exact = made.probabilities(word)  # type: ignore[attr-defined]
    assert told["stays"] == pytest.approx(exact[5])
    given = {one["word"]: one["probability"] for one in told["outputs"]}
    assert given == pytest.approx(dict(zip(names(60), exact.tolist(), strict=True)))
    assert told["distinct_in_1000_draws"] == pytest.approx((1 - (1 - exact) ** 1000).sum())
    assert told["neighbours"][0]["distance"] == 1.0
    nodes, edges = told["map"]["nodes"], told["map"]["edges"]
    assert nodes[0] == {"word": word, "ring": 0, "probability": pytest.approx(exact[5]), "x": None, "y": None}
    near = {node["word"] for node in nodes if node["ring"] == 1}
    assert near == {one["word"] for one in told["neighbours"] if one["distance"] == 1.0}
    assert all({nodes[a]["ring"], nodes[b]["ring"]} != {0, 2} for a, b in edges)


def test_a_word_under_noise_is_counted_from_draws(service: Service) -> None:
    told = service.post("/v1/words", {"word": "sea", "epsilon": 500.0, "mechanism": "laplace"}).json
    assert not told["exact"]
    assert told["stays"] == 1.0


def test_an_unknown_word_is_not_found_and_not_quoted(service: Service) -> None:
    answer = service.post("/v1/words", {"word": SECRET, "epsilon": 2.0})
    assert answer.status == 404
    assert SECRET not in answer.sentence


#: What is asked, the status, and what the sentence must name: a field or a limit.
BAD: list[tuple[str, Any, int, str]] = [
    ("/v1/privatize", b"{", 400, "JSON"),
    ("/v1/privatize", {"text": SECRET}, 422, "epsilon"),
    ("/v1/privatize", {"epsilon": 3.0, "text": {SECRET: SECRET}}, 422, "text"),
    ("/v1/privatize", {"epsilon": 3.0, "text": SECRET, SECRET: 1}, 422, ""),
    ("/v1/privatize", {"epsilon": SECRET, "text": SECRET}, 422, "epsilon"),
    ("/v1/privatize", b'{"epsilon": NaN, "text": ""}', 422, "epsilon"),
    ("/v1/privatize", {"epsilon": -1.0, "text": SECRET}, 422, "epsilon"),
    ("/v1/privatize", {"epsilon": 5000.0, "text": SECRET}, 422, "1000"),
    ("/v1/privatize", {"epsilon": 3.0, "text": SECRET, "mechanism": SECRET}, 422, "mechanism"),
    ("/v1/privatize", {"epsilon": 3.0, "text": SECRET, "space": SECRET}, 422, "glove-50k"),
    ("/v1/privatize", {"epsilon": 3.0, "text": SECRET, "select": "words"}, 422, "words"),
    ("/v1/privatize", {"epsilon": 3.0, "text": SECRET, "select": "rare"}, 422, "rare"),
    ("/v1/privatize", {"epsilon": 3.0, "text": SECRET, "select": "spans", "spans": []}, 422, "spans"),
    ("/v1/privatize", {"epsilon": 3.0, "text": SECRET, "select": "spans", "spans": [[[0, 999]]]}, 422, "span"),
    ("/v1/privatize", {"epsilon": 3.0, "text": f"[[{SECRET}", "select": "marked"}, 422, "[["),
    ("/v1/privatize", {"epsilon": 3.0, "text": SECRET, "options": {"secretly": 1}}, 422, "k"),
    ("/v1/privatize", {"epsilon": 3.0, "text": SECRET, "options": {"k": "many"}}, 409, "k"),
    ("/v1/privatize", {"epsilon": 3.0, "text": SECRET, "mechanism": "hyperbolic"}, 409, "hyperbolic"),
    ("/v1/privatize", {"epsilon": 3.0, "text": SECRET * 100_000}, 413, "1,048,576"),
    ("/v1/privatize", {"epsilon": 3.0, "text": "sea " * 20_001}, 413, "20,000"),
    ("/v1/privatize", {"epsilon": 3.0, "text": [""] * 1001}, 413, "1,000"),
    ("/v1/words/sea", {"text": SECRET}, 405, ""),
    ("/v1/calibrate", {"words": 0}, 422, "words"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "status", "named"), BAD)
def test_refusals_say_why_and_quote_nothing(
    service: Service,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    path: str,
    body: Any,
    status: int,
    named: str,
) -> None:
    with caplog.at_level(logging.DEBUG):
        answer = service.post(path, body)
    assert answer.status == status
    assert named in answer.sentence
    printed = capfd.readouterr()
    for told in (answer.body.decode(), caplog.text, printed.out, printed.err):
        assert SECRET not in told


def test_an_address_that_is_not_there(service: Service) -> None:
    answer = service.get(f"/v1/{SECRET}")
    assert answer.status == 404
    assert SECRET not in answer.sentence


@pytest.mark.parametrize(
    ("address", "query", "takes"),
    [
        ("/v1/privatize/stream", f"epsilon=3&selct={SECRET}", "case, epsilon, identifiers, language"),
        ("/v1/privatize/stream", f"epsilon=3&{SECRET}=all", "epsilon"),
        ("/v1/privatize/stream", "epsilon=0.5&epsilon=900", ""),
        ("/v1/words/sea", f"epsilon=3&mechansim={SECRET}", "epsilon, mechanism, space, top"),
        ("/v1/words/sea", "epsilon=3&top=1&top=2", ""),
        ("/v1/tradeoffs", f"{SECRET}=", "mechanism, space"),
        ("/v1/mechanisms", f"{SECRET}", ""),
        ("/v1/privatize", "epsilon=3", ""),
    ],
)
def test_an_option_that_would_not_count_is_refused(service: Service, address: str, query: str, takes: str) -> None:
    if address.startswith("/v1/privatize"):
        kind = "application/x-ndjson" if address.endswith("stream") else "application/json"
        answer = service.post(f"{address}?{query}", b'{"text": "sea", "epsilon": 3}', content_type=kind)
    else:
        answer = service.get(f"{address}?{query}")
    assert answer.status == 422
    assert takes in answer.sentence
    assert SECRET not in answer.sentence


def test_a_fault_inside_tells_and_logs_nothing_of_the_text(
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def broken(self: object, texts: list[Any]) -> None:
        raise KeyError(texts[0].text)

    monkeypatch.setattr("wordveil.text.Veil.together", broken)
    with caplog.at_level(logging.DEBUG):
        answer = service.post("/v1/privatize", {"text": SECRET, "epsilon": 3.0})
    assert answer.status == 500
    until(lambda: "KeyError" in caplog.text)  # it is logged after it is answered
    printed = capfd.readouterr()
    assert SECRET not in caplog.text + printed.out + printed.err + answer.body.decode()


def test_the_access_log_has_the_route_and_not_the_word(toy_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    # The line is written after the answer: the level must outlive the service, which ends its requests before it stops.
    with caplog.at_level(logging.INFO), running(Settings(spaces=(str(toy_file),), access_log=True)) as one:
        one.get(f"/v1/words/{SECRET}?epsilon=2")
    assert "GET /v1/words/{word} 404" in caplog.text
    assert SECRET not in caplog.text


def test_other_sites_cannot_use_it_from_a_browser(service: Service) -> None:
    assert service.post("/v1/privatize", b"{}", content_type="text/plain").status == 415
    strange = service.get("/v1/mechanisms", host="rebound.example")
    assert strange.status == 421
    assert "rebound" not in strange.sentence
    page = service.get("/")
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert "access-control-allow-origin" not in service.get("/v1/mechanisms").headers


def test_a_websocket_is_closed_before_anything_else_sees_it(toy_file: Path) -> None:
    seen: list[str] = []
    sent: list[Any] = []

    async def inner(scope: Any, *_: Any) -> None:
        seen.append(scope["type"])

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    settings = Settings(spaces=(str(toy_file),))
    guard = Guard(inner, settings, Keys(settings))
    asyncio.run(guard({"type": "websocket", "path": "/v1/privatize", "headers": []}, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"]
    assert seen == []


def test_a_body_of_unknown_length_is_cut_off(service: Service) -> None:
    connection = HTTPConnection(service.address.removeprefix("http://"), timeout=30)
    for body, status in ((b'{"epsilon": 3.0, "text": "sea"}', 200), (b'{"text": "' + b"a" * 1_500_000, 413)):
        pieces = (body[start : start + 100_000] for start in range(0, len(body), 100_000))
        connection.request("POST", "/v1/privatize", pieces, {"Content-Type": "application/json"}, encode_chunked=True)
        answer = connection.getresponse()
        told = json.load(answer)
        assert answer.status == status
    assert told["status"] == 413
    connection.close()


class Gate(NamedTuple):
    """What every draw goes through."""

    is_open: threading.Event
    reached: threading.Event


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Hold every draw while the gate is shut; it is open at first."""
    from wordveil.text import Veil

    made, draw = Gate(threading.Event(), threading.Event()), Veil.together
    made.is_open.set()

    def held(self: Veil, texts: Any) -> Any:
        made.reached.set()
        assert made.is_open.wait(PATIENCE)
        return draw(self, texts)

    monkeypatch.setattr(Veil, "together", held)
    return made


def in_progress(one: Service) -> float:
    """Return how many requests the process is working on, without the one that asks."""
    return float(re.findall(rb"^wordveil_requests_in_progress (\S+)$", one.get("/metrics").body, re.MULTILINE)[0]) - 1


def test_too_many_at_once_are_told_to_come_back(toy_file: Path, gate: Gate) -> None:
    with running(Settings(spaces=(str(toy_file),), requests=3)) as one, ThreadPoolExecutor(3) as pool:
        gate.is_open.clear()
        others = in_progress(one)
        asked = [pool.submit(one.post, "/v1/privatize", {"text": "zqa", "epsilon": 2.0}) for _ in range(3)]
        until(lambda: in_progress(one) >= others + 3)
        for answer in (one.get("/v1/mechanisms"), one.post("/v1/privatize", {"text": SECRET * 50_000})):
            assert answer.status == 503
            assert int(answer.headers["retry-after"]) >= 1
            assert answer.headers["cache-control"] == "no-store"
            assert answer.sentence
        assert one.get("/healthz").status == 200  # whoever watches it must not be turned away
        assert b"wordveil_refused_total" in one.get("/metrics").body
        gate.is_open.set()
        assert [one.result().status for one in asked] == [200] * 3


def test_a_mechanism_that_takes_long_to_make_is_made_once_and_holds_up_no_other(
    toy_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready, made = threading.Event(), []

    def slow(name: str, *how: Any, **options: Any) -> Any:
        if name == "laplace":
            made.append(name)
            assert ready.wait(PATIENCE)
        return mechanism(name, *how, **options)

    monkeypatch.setattr("wordveil.service.state.mechanism", slow)
    ask = {"word": names(60)[5], "epsilon": 2.0}
    with running(Settings(spaces=(str(toy_file),))) as one, ThreadPoolExecutor(40) as pool:
        others = in_progress(one)
        how = {"epsilon": 2.0, "mechanism": "laplace"}
        asked = [pool.submit(one.post, "/v1/words", {**ask, **how}) for _ in range(20)]
        asked += [
            pool.submit(one.post, "/v1/privatize", {"text": "zqa", "select": select, **more, **how})
            for select, more in [("all", {}), ("words", {"words": ["zqa"]})] * 10
        ]
        until(lambda: in_progress(one) >= others + 40)
        assert one.post("/v1/words", ask).status == 200
        ready.set()
        assert [one.result().status for one in asked] == [200] * 40
    assert len(made) == 1


def test_what_takes_too_long_is_given_up(toy_file: Path, gate: Gate) -> None:
    with running(Settings(spaces=(str(toy_file),), timeout=0.3)) as one:
        gate.is_open.clear()
        answer = one.post("/v1/privatize", {"text": "zqa", "epsilon": 2.0})
        assert answer.status == 503
        gate.is_open.set()
        until(lambda: one.post("/v1/privatize", {"text": "zqa", "epsilon": 2.0}).status == 200)


def test_a_body_that_dribbles_in_is_given_up(toy_file: Path) -> None:
    with running(Settings(spaces=(str(toy_file),), timeout=0.3)) as one:
        for length in ("Content-Length: 20", "Transfer-Encoding: chunked"):
            with socket.create_connection(("127.0.0.1", int(one.address.rpartition(":")[2])), timeout=10) as sock:
                head = ["POST /v1/privatize HTTP/1.1", "Host: localhost", "Content-Type: application/json", length]
                sock.sendall("\r\n".join([*head, "", ""]).encode())
                assert b" 503 " in sock.recv(100)


def test_requests_in_progress_are_finished_before_it_stops(toy_file: Path, gate: Gate) -> None:
    with ThreadPoolExecutor(1) as pool:
        with running(Settings(spaces=(str(toy_file),))) as one:
            gate.is_open.clear()
            gate.reached.clear()
            asked = pool.submit(one.post, "/v1/privatize", {"text": "zqa", "epsilon": 2.0})
            assert gate.reached.wait(PATIENCE)
            threading.Timer(0.5, gate.is_open.set).start()  # by then it was told to stop
        assert asked.result().status == 200


def test_only_what_the_settings_allow(toy_file: Path) -> None:
    allowed = Settings(spaces=(str(toy_file),), mechanisms=("ring",), largest_epsilon=2.0, words=5, texts=2)
    with running(allowed) as one:
        assert [m["name"] for m in one.get("/v1/mechanisms").json] == ["ring"]
        ask = {"text": "zqa zqb", "mechanism": "ring", "epsilon": 1.0}
        assert one.post("/v1/privatize", ask).status == 200
        refused: list[tuple[dict[str, Any], int, str]] = [
            ({"options": {"k": 2}}, 422, "options"),
            ({"mechanism": "graph"}, 422, "ring"),
            ({"epsilon": 3.0}, 422, "epsilon"),
            ({"text": ["zqa " * 3] * 2}, 413, "5"),
            ({"text": ["a"] * 3}, 413, "2"),
        ]
        for how, status, named in refused:
            answer = one.post("/v1/privatize", {**ask, **how})
            assert (answer.status, named in answer.sentence) == (status, True)
        assert one.post("/v1/calibrate", {"mechanism": "graph"}).status == 422


def test_what_takes_long_is_not_done_where_all_requests_pass(toy_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = ("wordveil.text.tokens.find_identifiers", "wordveil.service.texts.header_of")
    in_threads = noting_threads(monkeypatch, *slow)
    with running(Settings(spaces=(str(toy_file),), words=1000)) as one:
        in_threads.clear()
        assert one.post("/v1/privatize", {"text": "1 " * 1001, "epsilon": 2.0}).status == 413
        line = b'{"text": "%s"}\n' % (b"1 " * 1001)
        lines = one.post("/v1/privatize/stream?epsilon=2", line, content_type="application/x-ndjson")
        assert lines.json["problem"]["status"] == 413
        assert in_threads == []  # what is too long is not read any further
        table = b"id,text\n1,zqa zqb\n"
        assert one.post("/v1/privatize/table?column=text&epsilon=2", table, content_type="text/csv").status == 200
        assert in_threads
        assert all(in_threads)


def test_a_flood_of_words_does_not_hold_up_charges(toy_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, facts = threading.Event(), word_facts

    def slow(*given: Any) -> Any:
        assert go_on.wait(PATIENCE)
        return facts(*given)

    monkeypatch.setattr("wordveil.service.explore.word_facts", slow)
    with running(Settings(spaces=(str(toy_file),))) as one, ThreadPoolExecutor(70) as pool:
        others = in_progress(one)
        asked = [pool.submit(one.post, "/v1/words", {"word": "zqa", "epsilon": 2.0}) for _ in range(64)]
        try:
            until(lambda: in_progress(one) - others == 64)
            assert one.post("/v1/privatize", {"text": "zqa", "epsilon": 2.0, "conversation": "mine"}).status == 200
            until(lambda: one.post("/v1/words", {"word": "zqa", "epsilon": 2.0}).status == 503)
        finally:
            go_on.set()
        assert {found.result().status for found in asked} == {200}


def test_a_space_that_went_away_is_a_fault_that_names_no_file(tmp_path: Path) -> None:
    gone = write_space(tmp_path)
    with running(Settings(spaces=("glove-50k", str(gone)))) as one:
        gone.unlink()
        for answer in (one.get("/v1/spaces"), one.post("/v1/words", {"word": "a", "epsilon": 2.0, "space": gone.name})):
            assert answer.status == 500
            assert str(tmp_path) not in answer.sentence


UNPROVEN = {"nadp", "jaccard", "remapped", "custext", "santext-plus", "tem-quotient"}


def test_unproven_mechanisms_are_refused_everywhere_unless_they_are_allowed(toy_file: Path) -> None:
    ask = {"mechanism": "jaccard", "epsilon": 4.0}
    lines = "/v1/privatize/stream?mechanism=jaccard&epsilon=4"
    for unproven, status in ((False, 403), (True, 200)):
        with running(Settings(spaces=(str(toy_file),), unproven=unproven)) as one:
            answers = [
                one.post("/v1/privatize", {"text": "zqa", **ask}),
                one.post(lines, b'{"text": "zqa"}', content_type="application/x-ndjson"),
                one.post("/v1/words", {"word": "zqa", **ask}),
                one.get("/v1/words/zqa?mechanism=jaccard&epsilon=4"),
            ]
            assert [answer.status for answer in answers] == [status] * 4
            begun = one.post("/v1/calibrate", {"mechanism": "jaccard", "epsilons": [4.0], "words": 5})
            assert begun.status == (202 if unproven else 403)
            listed = one.get("/v1/mechanisms").json
            assert {facts["name"] for facts in listed if facts["unproven"]} >= (UNPROVEN if unproven else set())
            assert unproven or not any(facts["unproven"] for facts in listed)
            if unproven:
                assert answers[0].json["guarantee"]["notion"] == "none"
                assert answers[2].json["guarantee"]["notion"] == "none"
                nadp = one.post("/v1/privatize", {"text": "zqa", **ask, "mechanism": "nadp"}).json["guarantee"]
                assert mechanism("nadp", make_space(), epsilon=4.0).shortfall in nadp["caveats"]


def test_an_unproven_mechanism_with_options_that_protect_every_word_is_served(toy_file: Path) -> None:
    with running(Settings(spaces=(str(toy_file),), options=True)) as one:
        ask = {"text": "zqa", "mechanism": "nadp", "epsilon": 4.0}
        assert one.post("/v1/privatize", ask).status == 403
        assert one.post("/v1/privatize", {**ask, "options": {"join": True}}).status == 200


def test_a_mechanism_that_is_registered_later_is_served_everywhere(
    toy_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Coin(Mechanism[Any]):
        """Keeps a word or draws any, whatever its neighbours."""

        name, family, source = "coin", "for this test", "this test"
        summary, in_brief = "keeps a word or draws any", "ε per unit"

        @property
        def guarantee(self) -> Guarantee:
            return self.make_guarantee()

        def draw(self, ids: Any, entropy: Entropy | None = None) -> Any:
            drawn = (entropy or Entropy()).generator.integers(0, len(self.space), len(ids))
            return np.where(drawn % 2 == 0, ids, drawn)

    monkeypatch.setitem(MECHANISMS, "coin", Coin)
    with running(Settings(spaces=(str(toy_file),))) as one:
        (facts,) = [facts for facts in one.get("/v1/mechanisms").json if facts["name"] == "coin"]
        assert (facts["kinds"], facts["unproven"]) == (["vectors", "hyperbolic"], False)
        ask = {"mechanism": "coin", "epsilon": 2.0}
        assert one.post("/v1/privatize", {"text": "zqa zqb", **ask}).json["counts"]["drawn"] == 2
        told = one.post("/v1/words", {"word": "zqa", **ask}).json
        assert not told["exact"]
        assert told["map"]["nodes"]
        assert one.get("/v1/tradeoffs?mechanism=coin").json["points"] == []
        assert one.post("/v1/calibrate", {"mechanism": "coin"}).status == 202
        described = one.get("/openapi.json").json["components"]["schemas"]["WordRequest"]
        assert "coin" in described["properties"]["mechanism"]["enum"]


def test_exploring_is_told_with_its_attacker_and_without_a_text(service: Service) -> None:
    asked = {"text": "The committee met in Paris. Zqxjv wrote to a@b.org.", "epsilon": 4.0, "draw": "one"}
    while (told := service.post("/v1/explore", asked).json)["preparing"]:
        pass  # each answer waits for the reader for a while
    assert told["attacker"]["reader"] in ("context", "table")
    places = [piece for piece in told["pieces"] if piece.get("kind")]
    assert [piece["kind"] for piece in places] == ["drawn", "drawn", "drawn", "outside", "drawn", "identifiers"]
    words = [piece for piece in places if piece["kind"] == "drawn"]
    assert told["guessed"] == sum(piece["right"] for piece in words)
    assert all(piece["right"] == (piece["guess"] == piece["was"].lower()) for piece in words)
    assert told["loss"] == pytest.approx(
        service.post("/v1/price", {"text": asked["text"], "epsilon": 4.0}).json["price"]
    )
    assert "text" not in told

    def drawn(draw: str) -> list[str]:
        return [piece.get("drawn") for piece in service.post("/v1/explore", {**asked, "draw": draw}).json["pieces"]]

    assert drawn("one") == drawn("one")
    assert len({tuple(drawn(str(number))) for number in range(5)}) > 1


def test_a_mechanism_known_by_drawing_alone_is_attacked_by_who_learnt_it(service: Service) -> None:
    asked = {"text": "zqa zqb zqc", "epsilon": 9.0, "draw": "1", "mechanism": "laplace", "space": "toy.txt"}
    nobody = service.post("/v1/explore", {**asked, "guess": False}).json
    assert (nobody["attacker"], nobody["guessed"], nobody["preparing"]) == (None, None, False)
    while (told := service.post("/v1/explore", asked).json)["preparing"]:
        assert 0.0 <= told["progress"] <= 1.0
    assert told["attacker"]["reader"] == "table"
    assert "draws" in told["attacker"]["name"]
    words = [piece for piece in told["pieces"] if piece.get("kind") == "drawn"]
    assert len(words) == told["words"] == 3
    assert all(0.0 < piece["chance"] <= 1.0 for piece in words)
    assert told["guessed"] == sum(piece["guess"] == piece["was"] for piece in words)
