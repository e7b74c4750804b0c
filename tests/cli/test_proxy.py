"""``wordveil proxy`` as people start and stop it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import free_port, serving, until
from tests.test_leaks import Place
from wordveil.cli import main

httpx = pytest.importorskip("httpx", reason="the proxy is not tested: the extra proxy is not installed")

from tests.proxy.conftest import Model, Proxied, as_json, completion  # noqa: E402 - it needs httpx

CANARY = "zyqxcanary"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_word_goes_nowhere(tmp_path: Path) -> None:
    place, model = Place(tmp_path), Model()
    model.reply = lambda _: as_json(completion(content="To <EMAIL_1>."))
    port = free_port()
    with serving(model) as upstream:
        command = [
            sys.executable, "-m", "wordveil", "proxy", "--upstream", f"{upstream}/v1", "--epsilon", "1", "--restore",
            "--port", str(port), "--access-log",
        ]  # fmt: skip
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=place.environment, cwd=place.home
        )
        proxied = Proxied(f"http://127.0.0.1:{port}", model)

        def answers() -> bool:
            assert process.poll() is None
            try:
                return bool(httpx.get(f"{proxied.address}/healthz", trust_env=False).status_code == 200)
            except httpx.TransportError:
                return False

        try:
            until(answers)
            got = proxied.say({"role": "user", "content": f"{CANARY}: {CANARY}@example.org"})
            refused = proxied.say({"role": CANARY, "content": CANARY})
            process.send_signal(signal.SIGHUP)  # as if its terminal were closed
            said = process.communicate(timeout=60)[0]
        finally:
            process.kill()
    assert got.json()["choices"][0]["message"]["content"] == f"To {CANARY}@example.org."
    assert refused.status_code == 400
    assert len(model.asked) == 1
    assert CANARY.encode() not in model.asked[0].raw + said
    assert b"/v1/chat/completions 200" in said
    assert b"Traceback" not in said
    assert place.where(CANARY) == set()


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["--epsilon", "4"],
        ["--upstream", "http://example.com/v1", "--epsilon", "4"],
        ["--upstream", "https://example.com/v1"],
        ["--upstream", "https://example.com/v1", "--epsilon", "4", "--system", "ignore"],
        ["--upstream", "https://example.com/v1", "--epsilon", "4", "--select", "marked"],
        ["--upstream", "https://example.com/v1", "--epsilon", "4", "--timeout", "0"],
        ["--upstream", "https://example.com/v1", "--epsilon", "1e9"],
        ["--upstream", "https://example.com/v1", "--epsilon", "4", "--mechanism", "nadp"],
    ],
)
def test_mistakes(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["proxy", *wrong])
    assert caught.value.code == 2
    assert "Traceback" not in capsys.readouterr().err
