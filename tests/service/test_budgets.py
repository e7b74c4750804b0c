"""Draws that are kept for a conversation, and budgets of keys, end users and periods."""

from __future__ import annotations

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import Cluster
from tests.service.conftest import Answer, Service, running
from tests.service.streaming import LINES
from tests.service.test_keys import price
from tests.serving import until
from wordveil.client import Client, ServiceError
from wordveil.errors import OptionError
from wordveil.service import Key, Settings, metrics
from wordveil.service.budgets import Budgets, since
from wordveil.service.guard import STREAM
from wordveil.service.keys import hash_key, new_key
from wordveil.service.state import Batcher
from wordveil.service.sticky import Sticky

HISTORY = ["zqa zqb zqc", "zqd zqe", "zqa zqb zqc"]


def ask(one: Service, key: str, texts: list[str] | str, **how: Any) -> Answer:
    return one.post("/v1/privatize", {"text": texts, "epsilon": 2.0, **how}, authorization=f"Bearer {key}")


def texts_of(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.body
    return [one["text"] for one in answer.json["results"]]


def test_a_message_comes_out_as_it_did_in_its_conversation_alone(toy_file: Path, tmp_path: Path) -> None:
    ann, bob = new_key(), new_key()
    keys = (Key("ann", hash_key(ann)), Key("bob", hash_key(bob)))
    with running(Settings(spaces=(str(toy_file),), keys=keys)) as one:
        long = "zqa zqb zqc zqd zqe zqf zqg zqh zqi zqj zqk zql"  # two draws of it are never equal
        first = ask(one, ann, [long], conversation="c1", user="u")
        again = ask(one, ann, [long, "zqa", long], conversation="c1", user="u")
        assert texts_of(again)[::2] == texts_of(first) * 2
        assert again.json["results"][0] == first.json["results"][0]
        assert (first.json["reused"], again.json["reused"]) == (0, 2)
        others: list[tuple[str, dict[str, Any]]] = [
            (bob, {"conversation": "c1", "user": "u"}),  # another key
            (ann, {"conversation": "c1", "user": "v"}),  # another end user
            (ann, {"conversation": "c2", "user": "u"}),  # another conversation
            (ann, {"user": "u"}),  # none
            (ann, {"conversation": "c1", "user": "u", "epsilon": 2.5}),  # drawn in another way
            (ann, {"conversation": "c1", "user": "u", "select": "all"}),
        ]
        for key, how in others:
            told = ask(one, key, long, **how)
            assert texts_of(told) != texts_of(first)
            assert told.json["reused"] == 0


def test_words_of_a_conversation_can_be_drawn_once(toy_file: Path) -> None:
    with running(Settings(spaces=(str(toy_file),))) as one:

        def drawn(word: str, **how: Any) -> str:
            return texts_of(one.post("/v1/privatize", {"text": word, "epsilon": 0.1, **how}))[0].lower()

        same = {drawn(f"zqa{'.' * dots}", once="file", conversation="c").strip(".") for dots in range(12)}
        assert len(same) == 1
        assert len({drawn("zqa", once="file") for _ in range(12)}) > 1


def test_what_is_kept_has_no_text_and_no_name(toy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_RUN_FOLDER", str(tmp_path))
    monkeypatch.setenv("WORDVEIL_RUN_SECRET", "ab" * 32)
    with running(Settings(spaces=(str(toy_file),))) as one:
        body = {"text": "Zqaoriginal.", "epsilon": 2.0, "conversation": "talk-17", "user": "jane-doe"}
        first = one.post("/v1/privatize", body)
        written = b"".join(path.read_bytes() for path in tmp_path.glob("sticky.db*"))
        assert texts_of(first)[0].encode() in written
        for secret in (b"zqaoriginal", b"talk-17", b"jane-doe", bytes.fromhex("ab" * 32), b"ab" * 32):
            assert secret not in written.lower()
    with running(Settings(spaces=(str(toy_file),))) as other:  # another process of the same run
        assert texts_of(other.post("/v1/privatize", body)) == texts_of(first)
    monkeypatch.setenv("WORDVEIL_RUN_SECRET", "cd" * 32)
    with running(Settings(spaces=(str(toy_file),))) as stranger:  # the file without its secret
        assert stranger.post("/v1/privatize", body).json["reused"] == 0


def test_kept_draws_expire_and_are_bounded(toy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_RUN_FOLDER", str(tmp_path))
    settings = Settings(spaces=(str(toy_file),), sticky_seconds=1e-6, sticky_bytes=1 << 17, texts=2000)
    with running(settings) as one:
        body = {"text": "zqa", "epsilon": 2.0, "conversation": "c"}
        assert [one.post("/v1/privatize", body).json["reused"] for _ in range(2)] == [0, 0]
    with running(settings.model_copy(update={"sticky_seconds": 60.0})) as one:
        texts = [f"zqa {'.' * dots}" for dots in range(1000)]
        assert one.post("/v1/privatize", {**body, "text": texts}).status == 200
        assert one.post("/v1/privatize", {**body, "text": texts}).json["reused"] < 1000
    assert sum(path.stat().st_size for path in tmp_path.glob("sticky.db")) < 1 << 20


def settings_of(toy_file: Path, folder: Path, key: Key) -> Settings:
    return Settings(spaces=(str(toy_file),), keys=(key,), ledgers=str(folder))


def test_a_history_that_is_sent_again_costs_only_what_is_new(toy_file: Path, tmp_path: Path) -> None:
    key = new_key()
    budget = 8 * (price(toy_file) + 1e-9)
    with running(settings_of(toy_file, tmp_path, Key("ann", hash_key(key), budget))) as one:
        draws = []
        for turns in (1, 2, 3, 3):
            told = ask(one, key, HISTORY[:turns], conversation="c")
            draws.append(round((budget - told.json["budget_left"]) / price(toy_file)))
        assert draws == [3, 5, 5, 5]
        body = {"text": [*HISTORY, "zqf zqg"], "epsilon": 2.0, "conversation": "c"}
        told = one.post("/v1/price", body, authorization=f"Bearer {key}").json
        assert (told["draws"], told["fits"]) == (2, True)
        assert told["price"] == pytest.approx(2 * price(toy_file))
        body["text"] = "zqf zqg zqh zqi"
        assert not one.post("/v1/price", body, authorization=f"Bearer {key}").json["fits"]


def test_a_message_that_is_sent_twice_at_once_is_paid_for_once(
    toy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORDVEIL_RUN_FOLDER", str(tmp_path))
    monkeypatch.setenv("WORDVEIL_RUN_SECRET", "ab" * 32)
    key = new_key()
    settings = settings_of(toy_file, tmp_path / "ledgers", Key("ann", hash_key(key), 1e6))
    charge = Budgets.charge

    def slow(*given: Any) -> float:
        time.sleep(0.05)  # so that the others come meanwhile
        return charge(*given)

    monkeypatch.setattr(Budgets, "charge", slow)
    with running(settings) as one, running(settings) as other, ThreadPoolExecutor(8) as pool:
        for turns in (1, 2):  # the second overlaps with what is kept
            told = list(pool.map(lambda at: ask(at, key, HISTORY[:turns], conversation="c"), [one, other] * 4))  # noqa: B023
            assert len({json.dumps(texts_of(answer)) for answer in told}) == 1
        spent = 1e6 - told[0].json["budget_left"]
        assert round(spent / price(toy_file)) == 5  # three words, and two
        assert sum(answer.json["reused"] == 2 for answer in told) == 7


def test_refusals_of_one_message_do_not_wait_for_one_another(
    toy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = new_key()
    drawn = []
    draw = Batcher.__call__

    async def counted(batcher: Batcher, documents: Any) -> Any:
        drawn.append(len(documents))
        return await draw(batcher, documents)

    monkeypatch.setattr(Batcher, "__call__", counted)
    owner = Key("ann", hash_key(key), 4 * (price(toy_file) + 1e-9))
    with running(settings_of(toy_file, tmp_path, owner)) as one, ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda _: ask(one, key, HISTORY, conversation="c"), range(16)))
        assert {(answer.status, answer.json["code"]) for answer in told} == {(403, "over-budget")}
        assert told[0].json["needs"] == pytest.approx(5 * price(toy_file))
        assert drawn == []  # each was told without a draw, so nobody had to wait
        assert ask(one, key, HISTORY[:1], conversation="c").status == 200
        assert ask(one, key, HISTORY, conversation="c").json["needs"] == pytest.approx(2 * price(toy_file))


def test_whoever_died_with_a_claim_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sticky = Sticky(tmp_path, b"secret", 60.0, 1 << 20)
    one, other = sticky.digest("one"), sticky.digest("other")
    assert sticky.claim([one], b"dead") == {}
    assert sticky.claim([one, other], b"alive") is None
    assert sticky.claim([other], b"third") == {}  # nothing was claimed in part
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 61)
    assert sticky.claim([one, other], b"alive") == {}
    sticky.put({one: {"n": 1}})
    sticky.release(b"alive")
    assert sticky.claim([one, other], b"last") == {one: {"n": 1}}
    sticky.close()


def test_a_refusal_says_what_it_needs_what_there_is_and_what_would_fit(toy_file: Path, tmp_path: Path) -> None:
    key = new_key()
    budget = 3 * (price(toy_file) + 1e-9)
    with running(settings_of(toy_file, tmp_path, Key("ann", hash_key(key), budget))) as one:
        refused = ask(one, key, "zqa zqb zqc zqd zqe")
        assert refused.status == 403
        told = refused.json
        assert (told["code"], told["type"]) == ("over-budget", "urn:wordveil:problem:over-budget")
        assert told["needs"] == pytest.approx(5 * price(toy_file))
        assert told["has"] == pytest.approx(budget)
        fits = told["epsilon_that_fits"]
        assert f"ε ≤ {fits:g}" in refused.sentence
        assert 0.5 < fits < 1.3
        with pytest.raises(ServiceError) as told_again:
            Client(one.address, key).privatize("zqa zqb zqc zqd zqe", epsilon=2.0)
        assert told_again.value.code == "over-budget"
        assert ask(one, key, "zqa zqb zqc zqd zqe", epsilon=fits).status == 200  # and it does fit


def test_each_end_user_has_a_budget_beside_the_keys(toy_file: Path, tmp_path: Path) -> None:
    key, unit = new_key(), price(toy_file) + 1e-9
    owner = Key("app", hash_key(key), 7 * unit, "month", 4 * unit, "day")
    with running(settings_of(toy_file, tmp_path, owner)) as one:
        nobody = ask(one, key, "zqa")
        assert (nobody.status, nobody.json["code"]) == (422, "user-required")
        assert ask(one, key, "zqa zqb zqc", user="jane").status == 200
        assert ask(one, key, "zqa zqb", user="jane").status == 403
        assert ask(one, key, "zqa zqb zqc", user="john").status == 200
        short = ask(one, key, "zqa zqb", user="mary")  # her own budget would do
        assert (short.status, short.json["has"]) == (403, pytest.approx(unit))
        told = one.get("/v1/budget", authorization=f"Bearer {key}", wordveil_user="jane").json
        assert [(part["of"], part["period"], round(part["spent"] / unit)) for part in told["budgets"]] == [
            ("key", "month", 6),
            ("user", "day", 3),
        ]
        assert all(part["since"] == since(part["period"]) for part in told["budgets"])
        assert len(one.get("/v1/budget", authorization=f"Bearer {key}").json["budgets"]) == 1
        named = one.get(
            "/v1/budget", authorization=f"Bearer {key}", wordveil_user="jan\u00e9".encode().decode("latin-1")
        )
        assert named.json["budgets"][1]["left"] == pytest.approx(4 * unit)
        lines = [{"id": number, "text": "zqa", "user": user} for number, user in enumerate(["mary", None, "jane"])]
        answer = one.post(
            "/v1/privatize/stream?epsilon=2",
            "\n".join(map(json.dumps, lines)).encode(),
            content_type="application/x-ndjson",
            authorization=f"Bearer {key}",
        )
        told = [json.loads(line) for line in answer.body.splitlines()]
        assert [part.get("problem", {}).get("code") for part in told] == [None, "user-required", "over-budget"]


@pytest.mark.parametrize(
    ("period", "begun"),
    [("hour", "2026-11-18T04"), ("day", "2026-11-18T00"), ("week", "2026-11-16T00"), ("month", "2026-11-01T00")],
)
def test_periods_are_those_of_the_calendar(period: str, begun: str) -> None:
    now = datetime(2026, 11, 18, 4, 30, 12, 5, tzinfo=timezone.utc)
    assert since(period, now) == datetime.fromisoformat(f"{begun}:00:00+00:00").timestamp()
    assert since("", now) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"user_budget": -1.0},
        {"rate": 0.0},
        {"period": "day"},
        {"budget": 1.0, "period": "fortnight"},
        {"user_period": "day", "budget": 1.0},
        {"budget": "10"},
    ],
)
def test_budgets_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        Key("ann", hash_key("a key"), **wrong)


def test_services_on_several_machines_share_a_ledger(toy_file: Path, postgres: Cluster) -> None:
    key = new_key()
    budget = 20 * (price(toy_file) + 1e-9)
    settings = settings_of(toy_file, Path(), Key("ann", hash_key(key), budget, user_budget=budget))
    settings = settings.model_copy(update={"ledgers": postgres.address})
    with running(settings) as one, running(settings) as other, ThreadPoolExecutor(6) as pool:
        asked = pool.map(lambda number: ask((one, other)[number % 2], key, "zqa", user="jane"), range(30))
        assert Counter(answer.status for answer in asked) == {200: 20, 403: 10}
        assert ask(one, key, "zqa", user="john").json["has"] == pytest.approx(0.0, abs=1e-6)


def test_while_a_ledger_is_away_nothing_is_released_and_then_it_goes_on(
    toy_file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "_LOGGED_EVERY", 600.0)  # whoever asks again and again must not fill the disk
    metrics._logged.clear()
    key, place = new_key(), tmp_path / "ledgers"
    settings = settings_of(toy_file, place, Key("ann", hash_key(key), 1e6))
    with running(settings.model_copy(update={"metrics_hash": hash_key("m")})) as one:

        def asked() -> list[Answer]:
            line = b'{"text": "zqa"}'
            return [
                ask(one, key, "zqa"),
                ask(one, key, "zqa", conversation="c"),
                one.post("/v1/price", {"text": "zqa", "epsilon": 2.0}, authorization=f"Bearer {key}"),
                one.get("/v1/budget", authorization=f"Bearer {key}"),
                one.post(f"{STREAM}?epsilon=2", line, content_type=LINES, authorization=f"Bearer {key}"),
            ]

        place.rename(tmp_path / "away")
        with caplog.at_level("ERROR", "wordveil.service"):
            *refused, streamed = asked()
        assert [(told.status, told.json["code"]) for told in refused] == [(503, "ledger-unavailable")] * 4
        assert json.loads(streamed.body)["problem"]["code"] == "ledger-unavailable"
        assert len(caplog.records) == 1
        assert "ledgers" in caplog.text
        assert "zqa" not in caplog.text
        assert one.get("/metrics", authorization="Bearer m").status == 200
        (tmp_path / "away").rename(place)
        assert {told.status for told in asked()} == {200}


def test_a_database_that_went_away_is_found_again(toy_file: Path, postgres: Cluster) -> None:
    key = new_key()
    settings = settings_of(toy_file, Path(), Key("bob", hash_key(key), 1e6))
    with running(settings.model_copy(update={"ledgers": postgres.address})) as one:
        assert ask(one, key, "zqa").status == 200
        postgres.kill()
        try:
            assert ask(one, key, "zqa").json["code"] == "ledger-unavailable"
        finally:
            postgres.start()
        until(lambda: ask(one, key, "zqa").status == 200)
