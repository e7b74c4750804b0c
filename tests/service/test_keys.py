"""Who may call, and how much they may spend."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.service.conftest import Answer, Service, running
from wordveil import load_space, mechanism
from wordveil.client import Client, ServiceError
from wordveil.service import Key, Settings
from wordveil.service.keys import hash_key, new_key

ASK = {"text": "zqa zqb", "epsilon": 2.0}
WORDS = ["zqa", "zqb", "zqc", "zqd", "zqe", "zqf"]  # equal ones of a text are drawn, and paid for, once


def test_keys_are_long_and_kept_as_hashes() -> None:
    first, second = new_key(), new_key()
    assert first != second
    assert len(first) > 40
    assert first not in hash_key(first)


def test_a_known_key_opens_the_api_and_nothing_else_does(toy_file: Path) -> None:
    ann, bob = new_key(), new_key()
    settings = Settings(spaces=(str(toy_file),), keys=(Key("ann", hash_key(ann)), Key("bob", hash_key(bob))))
    with running(settings) as one:
        for key in (ann, bob):
            assert one.post("/v1/privatize", ASK, authorization=f"Bearer {key}").status == 200
        refused = [
            {},
            {"authorization": f"Basic {ann}"},
            {"authorization": f"Bearer {ann}x"},
            {"authorization": "Bearer"},
        ]
        for headers in refused:
            answer = one.post("/v1/privatize", ASK, **headers)
            assert answer.status == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert ann not in answer.sentence
        for path in ("/healthz", "/", "/openapi.json"):
            assert one.get(path).status == 200
        assert one.get("/v1/mechanisms").status == 401
        described = one.get("/openapi.json").json
        assert described["paths"]["/v1/privatize"]["post"]["security"] == [{"key": []}]
        assert Client(one.address, bob).privatize("zqa", epsilon=2.0).guarantee.epsilon == 2.0
        with pytest.raises(ServiceError) as keyless:
            Client(one.address).call("/v1/mechanisms")
        assert keyless.value.status == 401


def test_figures_of_callers_are_for_the_operator_alone(toy_file: Path) -> None:
    ann, operator = new_key(), new_key()
    local = Settings(spaces=(str(toy_file),))
    with_keys = local.model_copy(update={"keys": (Key("ann", hash_key(ann)),)})
    # (settings, who may see the figures: nobody in particular, a caller, the operator)
    cases = [
        (local, (200, 200, 200)),
        (with_keys, (401, 401, 401)),
        (with_keys.model_copy(update={"metrics_hash": hash_key(operator)}), (401, 401, 200)),
        (local.model_copy(update={"metrics_hash": hash_key(operator)}), (401, 401, 200)),
    ]
    for settings, statuses in cases:
        with running(settings) as one:
            asked: list[dict[str, str]] = [
                {},
                {"authorization": f"Bearer {ann}"},
                {"authorization": f"Bearer {operator}"},
            ]
            answers = [one.get("/metrics", **headers) for headers in asked]
            assert tuple(answer.status for answer in answers) == statuses
            assert all("metrics_hash" in answer.sentence for answer in answers if answer.status == 401)
            assert [one.get(path).status for path in ("/healthz", "/readyz")] == [200, 200]
            described = one.get("/openapi.json").json["paths"]["/metrics"]["get"]
            assert ("security" in described) == (401 in statuses)


def price(toy_file: Path) -> float:
    """Return what a draw costs at ε = 2."""
    return float(mechanism("graph", load_space(toy_file), epsilon=2.0).largest_loss)


def draws_left(answer: Answer, toy_file: Path) -> int | None:
    """Return for how many draws what is left suffices; None if it is not said."""
    left = answer.json.get("budget_left")
    return None if left is None else int(left / price(toy_file))


def spending(toy_file: Path, folder: Path, key: str) -> Settings:
    """Let a key pay for five draws at ε = 2."""
    budget = 5 * (price(toy_file) + 1e-9)  # charges are rounded up
    return Settings(spaces=(str(toy_file),), keys=(Key("ann", hash_key(key), budget),), ledgers=str(folder))


def test_a_budget_is_spent_word_by_word_and_survives_a_restart(toy_file: Path, tmp_path: Path) -> None:
    key = new_key()

    def ask(one: Service, text: str) -> tuple[int, int | None]:
        answer = one.post("/v1/privatize", {"text": text, "epsilon": 2.0}, authorization=f"Bearer {key}")
        return answer.status, draws_left(answer, toy_file)

    with running(spending(toy_file, tmp_path / "ledgers", key)) as one:
        assert ask(one, "zqa, zqb") == (200, 3)
        assert ask(one, "unknown words cost nothing") == (200, 3)
    with running(spending(toy_file, tmp_path / "ledgers", key)) as one:
        assert ask(one, "zqa zqb zqc zqd") == (403, None)
        assert ask(one, "zqa zqb zqc") == (200, 0)
        refused = one.post("/v1/privatize", ASK, authorization=f"Bearer {key}")
        assert refused.status == 403
        assert "results" not in refused.json


def test_a_key_with_a_budget_gets_nothing_that_cannot_be_counted(toy_file: Path, tmp_path: Path) -> None:
    key = new_key()
    with running(spending(toy_file, tmp_path, key)) as one:
        cases: list[dict[str, str]] = [{"oov": "keep"}, {"mechanism": "gaussian"}, {"case": "copy"}]
        for how in cases:
            refused = [
                one.post("/v1/privatize", {**ASK, **how}, authorization=f"Bearer {key}"),
                one.post(
                    f"/v1/privatize/stream?epsilon=2&{urlencode(how)}",
                    b'{"text": "zqa"}',
                    content_type="application/x-ndjson",
                    authorization=f"Bearer {key}",
                ),
            ]
            assert [answer.status for answer in refused] == [403, 403]
        assert one.post("/v1/privatize", {**ASK, "case": "lower"}, authorization=f"Bearer {key}").status == 200


def test_a_stream_ends_when_the_budget_does(toy_file: Path, tmp_path: Path) -> None:
    key = new_key()
    with running(spending(toy_file, tmp_path, key)) as one:
        lines = b'{"text": "zqa zqb zqc zqd zqe zqf"}\n'
        answer = one.post(
            "/v1/privatize/stream?epsilon=2", lines, content_type="application/x-ndjson", authorization=f"Bearer {key}"
        )
        (told,) = (json.loads(line) for line in answer.body.splitlines())
        assert told["problem"]["status"] == 403
        with pytest.raises(ServiceError) as refused:
            list(Client(one.address, key).stream(["zqa zqb", "zqa zqb zqc zqd"], epsilon=2, letters=1))
        assert refused.value.status == 403


@pytest.mark.parametrize(("costs", "fit"), [([1] * 20, 5), ([2, 0, 2, 3, 1], 3), ([1] * 5, 5), ([6], 0), ([0] * 9, 9)])
def test_lines_that_the_budget_suffices_for_are_released(
    toy_file: Path, tmp_path: Path, costs: list[int], fit: int
) -> None:
    key = new_key()
    with running(spending(toy_file, tmp_path, key)) as one:
        lines = [json.dumps({"id": number, "text": " ".join(WORDS[:cost] * 2)}) for number, cost in enumerate(costs)]
        answer = one.post(
            "/v1/privatize/stream?epsilon=2",
            "\n".join(lines).encode(),
            content_type="application/x-ndjson",
            authorization=f"Bearer {key}",
        )
        told = [json.loads(line) for line in answer.body.splitlines()]
        assert [one["id"] for one in told] == list(range(min(fit + 1, len(costs))))
        assert all("text" in one for one in told[:fit])
        for stopped in told[fit:]:
            assert stopped["problem"]["status"] == 403
            assert "text" not in stopped
        left = draws_left(one.post("/v1/privatize", {**ASK, "text": ""}, authorization=f"Bearer {key}"), toy_file)
        assert left == 5 - sum(costs[:fit])  # what was released, and no more


def test_whoever_is_charged_has_an_answer_however_long_the_ledger_takes(toy_file: Path, tmp_path: Path) -> None:
    key = new_key()
    settings = spending(toy_file, tmp_path, key).model_copy(update={"timeout": 0.5})
    with running(settings) as one:
        assert draws_left(one.post("/v1/privatize", ASK, authorization=f"Bearer {key}"), toy_file) == 3
        with closing(sqlite3.connect(tmp_path / "ann.db", isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            release = threading.Timer(1.5, other.execute, ("ROLLBACK",))
            release.start()
            answer = one.post("/v1/privatize", ASK, authorization=f"Bearer {key}")
            release.join()
        assert (answer.status, draws_left(answer, toy_file)) == (200, 1)


def test_what_cannot_be_answered_is_not_charged(toy_file: Path, tmp_path: Path) -> None:
    key = new_key()
    with running(spending(toy_file, tmp_path, key)) as one:
        broken = b'{"text": "\\ud800 [[zqa]]", "epsilon": 2, "select": "marked"}'
        refused = one.post("/v1/privatize", broken, authorization=f"Bearer {key}")
        assert refused.status == 422
        assert draws_left(one.post("/v1/privatize", ASK, authorization=f"Bearer {key}"), toy_file) == 3


def test_a_ledger_is_for_its_owner(toy_file: Path, tmp_path: Path) -> None:
    with running(spending(toy_file, tmp_path, new_key())):
        assert (tmp_path / "ann.db").stat().st_mode & 0o077 == 0
