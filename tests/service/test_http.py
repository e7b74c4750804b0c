"""HTTP as specified: methods, codings, ids, other origins, rates, tables and the description of it all."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import zstandard

from tests.service.conftest import Service, running
from wordveil.errors import OptionError
from wordveil.service import Key, Settings, metrics
from wordveil.service.coding import unpacked
from wordveil.service.keys import hash_key, new_key
from wordveil.service.problems import CODES

ASK = {"text": "zqa zqb", "epsilon": 2.0}


@pytest.fixture(scope="module")
def plain(toy_file: Path) -> Iterator[Service]:
    with running(Settings(spaces=(str(toy_file),), origins=("https://app.example",), body_bytes=1 << 16)) as one:
        yield one


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/v1/privatize", 405, "OPTIONS, POST"),
        ("DELETE", "/v1/words/sea", 405, "GET, HEAD, OPTIONS"),
        ("PUT", "/openapi.json", 405, "GET, HEAD, OPTIONS"),
        ("PUT", "/", 405, "GET, HEAD, OPTIONS"),
        ("POST", "/nothing", 404, None),
        ("GET", "/v1/privatize/", 404, None),
        ("OPTIONS", "/v1/privatize", 204, "OPTIONS, POST"),
        ("OPTIONS", "/nothing", 404, None),
        ("HEAD", "/v1/mechanisms", 200, None),
        ("HEAD", "/v1/privatize", 405, "OPTIONS, POST"),
        ("HEAD", "/", 200, None),
        ("HEAD", "/healthz", 200, None),
    ],
)
def test_methods_are_told_truly(plain: Service, method: str, path: str, status: int, allow: str | None) -> None:
    headers = {"content_type": "application/json"} if method == "POST" else {}
    answer = plain.call(method, path, b"{}" if method in ("POST", "PUT") else None, **headers)
    assert answer.status == status
    assert answer.headers.get("allow") == allow
    if method == "HEAD":
        assert answer.body == b""
        assert int(answer.headers["content-length"]) > 0
    elif status >= 400:
        assert answer.sentence


def test_every_problem_has_a_stable_type_and_the_id_of_its_request(plain: Service) -> None:
    answers = [
        plain.get("/nothing"),
        plain.get("/healthz", host="evil.example"),
        plain.post("/v1/privatize", b"{"),
        plain.post("/v1/privatize", {**ASK, "epsilon": -1.0}),
        plain.post("/v1/privatize", b"x" * (1 << 17)),
        plain.post("/v1/privatize", b"{}", content_type="text/plain"),
        plain.post("/v1/privatize", {**ASK, "mechanism": "nadp"}),
    ]
    for answer in answers:
        told = answer.json
        assert CODES[told["code"]][0] == answer.status
        assert told["type"] == f"urn:wordveil:problem:{told['code']}"
        assert told["instance"] == f"urn:wordveil:request:{answer.headers['x-request-id']}"
    assert len({answer.headers["x-request-id"] for answer in answers}) == len(answers)
    assert all("wordveil-code" not in answer.headers for answer in answers)


@pytest.mark.parametrize("body", [b"{", b'{"text": "zqa', b"[" * 50_000, b'{"text": "\xff"}', b"9" * 9999])
def test_what_is_no_json_has_one_code(plain: Service, body: bytes) -> None:
    answer = plain.post("/v1/privatize", body)
    assert (answer.status, answer.json["code"]) == (400, "invalid-json")


def test_refusals_are_logged_without_what_was_sent(plain: Service, caplog: pytest.LogCaptureFixture) -> None:
    metrics._logged.clear()  # a line a second for each code
    with caplog.at_level("INFO"):
        for body in ({"text": "canaryword", "epsilon": -1.0}, {"canaryword": 1}, b'{"canaryword'):
            refused = plain.post("/v1/privatize?canaryword=1", body, x_canaryword="canaryword")
            assert refused.status >= 400
        plain.get("/canaryword")
    assert "invalid-value" in caplog.text
    assert "not-found" in caplog.text
    assert "canaryword" not in caplog.text


def test_a_callers_id_is_taken_if_no_word_can_be_in_it(plain: Service) -> None:
    given = "0af76519-16cd-43dd-8448-eb211c80319c"
    assert plain.get("/healthz", x_request_id=given).headers["x-request-id"] == given
    assert plain.get("/healthz", x_request_id="a secret harbour").headers["x-request-id"] != "a secret harbour"


PACK: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstandard.compress}


def unzstd(told: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(told)


UNPACK: dict[str, Callable[[bytes], bytes]] = {"gzip": lambda told: zlib.decompress(told, 31), "zstd": unzstd}


def test_pages_of_other_sites_have_nothing_made(plain: Service) -> None:
    for address in ("/v1/words/zqa?epsilon=2", "/v1/mechanisms"):
        assert plain.get(address, sec_fetch_site="cross-site", sec_fetch_mode="no-cors").json["code"] == "other-site"
        assert plain.get(address, sec_fetch_site="cross-site", origin="https://other.example").status == 403
        assert plain.get(address, sec_fetch_site="cross-site", origin="https://app.example").status == 200
        for site in ("same-origin", "same-site", "none"):
            assert plain.get(address, sec_fetch_site=site).status == 200
    assert plain.get("/", sec_fetch_site="cross-site", sec_fetch_mode="navigate").status == 200  # a link to the page
    assert plain.get("/healthz", sec_fetch_site="cross-site").status == 200


@pytest.mark.parametrize("coding", PACK)
def test_bodies_may_come_packed_and_a_bomb_is_refused(plain: Service, coding: str) -> None:
    pack = PACK[coding]

    def send(body: bytes, path: str = "/v1/privatize", **how: str) -> Any:
        return plain.post(path, body, **{"content_encoding": coding, **how})

    whole = pack(json.dumps(ASK).encode())
    assert send(whole).status == 200
    lines = pack(b'{"text": "zqa"}\n' * 300)
    streamed = send(lines, "/v1/privatize/stream?epsilon=2", content_type="application/x-ndjson")
    assert len(streamed.body.splitlines()) == 300
    assert send(pack(b" " * (64 << 20))).status == 413
    for broken in (whole[:-4], whole + b"more", b"not packed", whole + whole):
        assert send(broken).json["code"] == "invalid-encoding"
    other = send(whole, content_encoding="br")
    assert (other.status, other.headers["accept-encoding"]) == (415, "zstd, gzip")


@pytest.mark.parametrize("coding", PACK)
def test_a_packed_body_is_handed_on_in_small_pieces(coding: str) -> None:
    whole = b"\n" * (20 << 20) + b"end"  # a step of zstd gives megabytes of it, of which a stream cuts every line
    messages = iter([{"type": "http.request", "body": PACK[coding](whole), "more_body": False}])

    async def receive() -> Any:
        return next(messages)

    async def pieces() -> list[bytes]:
        found, more, unpack = list[bytes](), True, unpacked(receive, coding)
        while more:
            message = await unpack()
            found.append(message["body"])
            more = message["more_body"]
        return found

    found = asyncio.run(pieces())
    assert b"".join(found) == whole
    assert max(map(len, found)) <= 1 << 16


def test_a_zstd_body_cannot_make_the_service_remember_much(plain: Service) -> None:
    wide = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    body = packer.compress(json.dumps(ASK).encode()) + packer.flush()
    assert plain.post("/v1/privatize", body, content_encoding="zstd").json["code"] == "invalid-encoding"


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate", "gzip"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("zstd;q=0, gzip;q=0.5", "gzip"),
        ("identity", None),
        ("br, gzip;q=0", None),
    ],
)
def test_long_answers_are_packed_for_those_who_accept_it(plain: Service, accepted: str, coding: str | None) -> None:
    many = {"text": ["zqa zqb zqc"] * 100, "epsilon": 2.0}
    packed, short = (plain.post("/v1/privatize", body, accept_encoding=accepted) for body in (many, ASK))
    assert packed.headers.get("content-encoding") == coding
    assert len(json.loads(UNPACK[coding](packed.body) if coding else packed.body)["results"]) == 100
    assert "content-encoding" not in short.headers
    for told in (packed, short):
        assert "Accept-Encoding" in told.headers["vary"]
    streamed = plain.post(
        "/v1/privatize/stream?epsilon=2",
        b'{"text": "zqa"}\n' * 3,
        content_type="application/x-ndjson",
        accept_encoding=accepted,
    )
    assert len((UNPACK[coding](streamed.body) if coding else streamed.body).splitlines()) == 3


def test_pages_of_the_named_sites_alone_may_call(plain: Service) -> None:
    asked = {"origin": "https://app.example", "access_control_request_method": "POST"}
    preflight = plain.call("OPTIONS", "/v1/privatize", access_control_request_headers="authorization", **asked)
    assert preflight.status == 200
    assert preflight.headers["access-control-allow-origin"] == "https://app.example"
    answer = plain.post("/v1/privatize", ASK, origin="https://app.example")
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    assert "X-Request-ID" in answer.headers["access-control-expose-headers"]
    for other in (
        plain.post("/v1/privatize", ASK, origin="https://evil.example"),
        plain.call("OPTIONS", "/v1/privatize", **{**asked, "origin": "https://evil.example"}),
    ):
        assert "access-control-allow-origin" not in other.headers
    for wrong in ("app.example", "https://app.example/path", "*"):
        with pytest.raises(OptionError):
            Settings(origins=(wrong,))


def test_a_key_asks_as_often_as_its_rate_allows(toy_file: Path) -> None:
    slow, free = new_key(), new_key()
    keys = (Key("slow", hash_key(slow), rate=0.2), Key("free", hash_key(free)))
    with running(Settings(spaces=(str(toy_file),), keys=keys, metrics_hash=hash_key("m"))) as one:

        def ask(key: str) -> Any:
            return one.get("/v1/mechanisms", authorization=f"Bearer {key}")

        statuses = [ask(slow).status for _ in range(4)]
        assert statuses == [200, 200, 429, 429]  # ten seconds' worth at once
        refused = ask(slow)
        assert refused.json["code"] == "rate-limited"
        assert 1 <= int(refused.headers["retry-after"]) <= 5
        assert {ask(free).status for _ in range(4)} == {200}
        figures = one.get("/metrics", authorization="Bearer m").body.decode()
        assert 'wordveil_key_requests_total{key="slow",status="429"}' in figures  # the operator sees whose they are


BARE = "1,zqa came home to me again\r\n2,zqb and zqc were there\r\n"
TABLE = 'id,text,note\r\n1,"zqa, ""zqb""",zqa\r\n2,,"zqb\nzqa"\r\n'


def test_a_column_of_a_table_is_veiled_and_the_others_come_back(plain: Service) -> None:
    def send(body: bytes, **how: str) -> Any:
        asked = "&".join(
            f"{name}={quote(value)}" for name, value in {"column": "text", "epsilon": "0.1", **how}.items()
        )
        return plain.post(f"/v1/privatize/table?{asked}", body, content_type="text/csv")

    answer = send(TABLE.encode())
    assert answer.headers["content-type"].startswith("text/csv")
    assert json.loads(answer.headers["wordveil-guarantee"])["epsilon"] == 0.1
    assert re.fullmatch(
        r'id,text,note\r\n1,"zq\w+, ""zq\w+""",zqa\r\n2,,"zqb\nzqa"\r\n', answer.body.decode(), re.IGNORECASE
    )
    for wrong, how in [
        (b"", {}),
        (b"\xff\xfe", {}),
        (b"text,text\na,b\n", {}),
        (b"text,b\na\n", {}),
        (b'text\n"a', {}),
        (TABLE.encode(), {"column": "Text"}),
        (BARE.encode(), {"column": "zqa came home to me again"}),  # which would come back as it was
        (BARE.encode(), {"column": "3", "header": "no"}),
        (BARE.encode(), {"column": "2", "header": "maybe"}),
        (TABLE.encode(), {"select": "spans"}),
    ]:
        refused = send(wrong, **how)
        assert refused.status == 422
        assert "zqa" not in refused.sentence
    assert re.fullmatch(r"1,[^,]*\r\n2,[^,]*\r\n", send(BARE.encode(), column="2", header="no").body.decode())
    assert b"zqa came home" not in send(BARE.encode(), column="2", header="no").body
    asked = send(BARE.encode(), column="zqa came home to me again", header="yes").body
    assert asked.startswith(b"1,zqa came home to me again\r\n2,")


def test_the_description_has_names_headers_and_a_page_without_other_hosts(plain: Service) -> None:
    described = plain.get("/openapi.json").json
    operations = [one for methods in described["paths"].values() for one in methods.values()]
    names = [one["operationId"] for one in operations]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z_]+", name) for name in names)
    for one in operations:
        assert {"X-Request-ID"} <= set(one["responses"]["401"]["headers"])
        assert "Retry-After" in one["responses"]["503"]["headers"]
    page = plain.get("/docs")
    assert page.status == 200
    told = page.body.decode()
    assert not re.findall(r"<script|https?://", told)
    assert all(f'id="{name}"' in told for name in names)
    assert all(code in told for code in CODES)
    assert plain.get("/docs.css").headers["content-type"].startswith("text/css")


def test_the_page_of_the_service_has_every_code() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "service.md").read_text(encoding="utf-8")
    assert all(f"| `{code}` | {status} | {told} |" in page for code, (status, told) in CODES.items())


def test_metrics_are_by_key_and_code_and_of_processes_and_hold_no_user(toy_file: Path, tmp_path: Path) -> None:
    key, operator = new_key(), new_key()
    settings = Settings(
        spaces=(str(toy_file),),
        keys=(Key("metered", hash_key(key), 1000.0, user_budget=500.0),),
        ledgers=str(tmp_path),
        metrics_hash=hash_key(operator),
    )
    with running(settings) as one:
        asked = {**ASK, "user": "jane-doe", "conversation": "talk"}
        left = one.post("/v1/privatize", asked, authorization=f"Bearer {key}").json["budget_left"]
        assert one.post("/v1/privatize", ASK, authorization=f"Bearer {key}").status == 422
        told = one.get("/metrics", authorization=f"Bearer {operator}").body.decode()
        for line in (
            'wordveil_key_requests_total{key="metered",status="200"} 1.0',
            'wordveil_key_draws_total{key="metered"} 2.0',
            'wordveil_budget{key="metered"} 1000.0',
            f'wordveil_budget_left{{key="metered"}} {left + 500.0}',
            'wordveil_refused_total{code="user-required"}',
            "process_resident_memory_bytes{",
            "process_open_fds{",
        ):
            assert line in told
        assert "jane" not in told


def test_what_is_named_is_made_before_it_is_ready(toy_file: Path) -> None:
    settings = Settings(spaces=(str(toy_file),), warm=("laplace:1@toy.txt", "graph:3", "laplace:900"))
    with running(settings) as one:
        assert one.get("/readyz").status == 200
    for wrong in ("laplace", "unknown:3", "graph:0.001", "graph:3@elsewhere", "graph:nan"):
        with pytest.raises(OptionError):
            Settings(spaces=(str(toy_file),), warm=(wrong,))
