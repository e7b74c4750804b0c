"""Canary words sent to a real service in every way: they must not be in its answers, figures, log or files."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.parse import quote

import pytest

from tests.service.conftest import Answer, Service, write_space
from tests.serving import free_port, until
from tests.test_leaks import Place

OUT = "zyqxcanary"
POLICIES = ("replace", "drop", "keep")


def sent(service: Service) -> dict[str, Answer]:
    """Send canaries in every place, and return the answers by what was done."""
    text, way = f"{OUT} met {OUT.upper()} 7", {"epsilon": 1.0, "space": "toy.txt"}
    lines = [json.dumps({"id": 1, "text": text}), f'{{"text": "{OUT}', json.dumps({"text": [OUT], OUT: OUT})]
    stream = "/v1/privatize/stream?epsilon=1&space=toy.txt&select=all&oov="
    answers = {
        f"{oov} {select}": service.post("/v1/privatize", {"text": text, "oov": oov, "select": select, **way})
        for oov in POLICIES
        for select in ("all", "content", "marked")
    }
    for oov in POLICIES:
        answers[f"stream {oov}"] = service.call(
            "POST", stream + oov, "\n".join(lines).encode(), content_type="application/x-ndjson"
        )
    bad_bodies = {
        "no JSON": f'{{"text": "{OUT}'.encode(),
        "no UTF-8": OUT.encode() + b"\xff",
        "a field": json.dumps({"text": OUT, OUT: 1, **way}).encode(),
        "a value": json.dumps({"text": OUT, **way, "select": OUT}).encode(),
        "an option": json.dumps({"text": OUT, **way, "options": {OUT: OUT}}).encode(),
        "a list": json.dumps({"text": OUT, **way, "words": [OUT]}).encode(),
        "a mark": json.dumps({"text": f"[[{OUT}", **way, "select": "marked"}).encode(),
        "too long": json.dumps({"text": f"{OUT} " * 150_000, **way}).encode(),
    }
    for name, body in bad_bodies.items():
        answers[f"bad {name}"] = service.call("POST", "/v1/privatize", body, content_type="application/json")
    answers["bad kind"] = service.call("POST", "/v1/privatize", OUT.encode(), content_type=f"text/{OUT}")
    answers["bad word"] = service.post("/v1/words", {"word": OUT, **way})
    answers["bad address"] = service.get(f"/v1/words/{OUT}?epsilon=1&space={OUT}")
    answers["bad path"] = service.get(f"/{quote(OUT)}/%00{OUT}")
    answers["bad host"] = service.get("/v1/spaces", Host=f"{OUT}.example")
    answers["bad calibration"] = service.post("/v1/calibrate", {"mechanism": OUT, "space": OUT})
    answers["bad job"] = service.get(f"/v1/calibrate/{OUT}")
    answers["metrics"] = service.get("/metrics")
    return answers


def is_ready(service: Service, server: subprocess.Popen[bytes]) -> bool:
    assert server.poll() is None
    with suppress(URLError, ConnectionError):
        return service.get("/readyz").status == 200
    return False


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_canaries_come_back_only_where_the_policy_lets_them(tmp_path: Path) -> None:
    place = Place(tmp_path)
    space = write_space(place.job)
    port = free_port()
    settings = {"WORDVEIL_SERVE_SPACES": str(space), "WORDVEIL_SERVE_ACCESS_LOG": "1", "WORDVEIL_SERVE_OPTIONS": "1"}
    server = subprocess.Popen(
        [sys.executable, "-m", "wordveil", "serve", "--port", str(port)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=place.environment | settings, cwd=place.home,
    )  # fmt: skip
    service = Service(f"http://127.0.0.1:{port}")
    try:
        until(lambda: is_ready(service, server))
        answers = sent(service)
        during = place.where(OUT)
        server.send_signal(signal.SIGTERM)
        said = server.communicate(timeout=60)[0]
    finally:
        server.kill()
    assert b"POST /v1/privatize 200" in said  # the log was on
    assert b"ERROR" not in said
    # A stream that keeps unknown words, and texts in which nothing is marked, give the word back; nothing else does.
    allowed = {"keep all", "keep content", "stream keep", *(f"{oov} marked" for oov in POLICIES)}
    assert {name for name, answer in answers.items() if OUT.encode() in answer.body.lower()} == allowed
    assert all(OUT not in str(answer.headers).lower() for answer in answers.values())
    for name, answer in answers.items():
        assert (answer.status >= 400) == name.startswith("bad"), (name, answer.status)
        if name.startswith("bad"):
            assert answer.sentence.count(". ") == 0
    assert during == set()
    assert place.where(OUT, said) == set()
    assert list(place.temporary.iterdir()) == []
