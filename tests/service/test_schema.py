"""Everything that the OpenAPI page allows is answered as it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.service.conftest import Service, running
from wordveil.service import Settings

schemathesis = pytest.importorskip("schemathesis", reason="the API is not tested by its schema without schemathesis")


@schemathesis.serializer("text/csv", "application/x-ndjson")  # type: ignore[untyped-decorator]
def _lines(_: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


OPERATIONS = [
    ("POST", "/v1/privatize"),
    ("POST", "/v1/prepare"),
    ("POST", "/v1/price"),
    ("POST", "/v1/privatize/stream"),
    ("POST", "/v1/privatize/table"),
    ("GET", "/v1/budget"),
    ("GET", "/v1/mechanisms"),
    ("GET", "/v1/spaces"),
    ("GET", "/v1/words/{word}"),
    ("POST", "/v1/words"),
    ("GET", "/v1/explore"),
    ("POST", "/v1/explore"),
    ("POST", "/v1/calibrate"),
    ("GET", "/v1/calibrate/{id}"),
    ("GET", "/v1/tradeoffs"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
]


@pytest.fixture(scope="module")
def small(toy_file: Path) -> Iterator[Service]:
    with running(Settings(spaces=(str(toy_file),), jobs=10_000, options=True)) as one:
        yield one


def test_the_list_is_whole(small: Service) -> None:
    paths = small.get("/openapi.json").json["paths"]
    listed = [(method.upper(), path) for path, methods in paths.items() for method in methods]
    assert sorted(listed) == sorted(OPERATIONS)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_api_keeps_to_its_schema(small: Service, method: str, path: str) -> None:
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    described: Any = schemathesis.openapi.from_url(f"{small.address}/openapi.json")
    # What fits the schema may still be refused: a mechanism that does not go with a space, spans outside of a text.
    left_out = [positive_data_acceptance]

    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=described[path][method].as_strategy())
    def check(case: Any) -> None:
        case.call_and_validate(excluded_checks=left_out)

    check()


def test_the_examples_are_answered(service: Service) -> None:
    described = service.get("/openapi.json").json
    tried = 0
    for path, methods in described["paths"].items():
        for content_type, body in methods.get("post", {}).get("requestBody", {}).get("content", {}).items():
            schema = body["schema"]
            if "$ref" in schema:
                schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            for example in [body["example"]] if "example" in body else schema["examples"]:
                content = example.encode() if isinstance(example, str) else example
                query = "?epsilon=3" if isinstance(example, str) else ""
                query += "&column=text" if content_type == "text/csv" else ""
                assert service.post(path + query, content, content_type=content_type).status in (200, 202), path
                tried += 1
        for parameter in methods.get("get", {}).get("parameters", []):
            for example in parameter["schema"].get("examples", []) if parameter["in"] == "path" else []:
                assert service.get(path.replace(f"{{{parameter['name']}}}", example) + "?epsilon=3").status == 200
                tried += 1
    assert tried >= 7
