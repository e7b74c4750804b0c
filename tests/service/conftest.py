"""A real server on a free port of this machine, in a thread."""

from __future__ import annotations

import json
import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.conftest import make_space
from tests.serving import PATIENCE, serving
from wordveil.service import Settings
from wordveil.service.app import create_app
from wordveil.service.connections import Connection


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def sentence(self) -> str:
        """The sentence of a problem, after checking that it is one."""
        told = self.json
        assert self.headers["content-type"] == "application/problem+json"
        assert told["status"] == self.status
        assert told["detail"].endswith(".")
        return str(told["detail"])


class Service(NamedTuple):
    """A running service."""

    address: str

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            named.setdefault("content-type", "application/json")
        request = Request(self.address + path, content, named, method=method)  # noqa: S310 - our own server
        try:
            with urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
                return Answer(answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read())
        except HTTPError as error:
            with error:
                return Answer(error.code, {k.lower(): v for k, v in error.headers.items()}, error.read())

    def get(self, path: str, **headers: str) -> Answer:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.call("POST", path, body, **headers)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Tell a failure in the browser plainly: where Playwright runs, pytest's own way breaks down in CPython's ast."""
    try:
        return (yield)
    except Exception:
        if "open_page" not in pyfuncitem.fixturenames:
            raise
        told = traceback.format_exc()
    pytest.fail(told, pytrace=False)


@contextmanager
def running(settings: Settings) -> Iterator[Service]:
    """Run a service until the end of the block."""
    with serving(create_app(settings), http=Connection, proxy_headers=False) as address:
        yield Service(address)


def write_space(folder: Path, words: int = 60) -> Path:
    """Write a small embedding file."""
    space = make_space(words)
    path = folder / "toy.txt"
    lines = (f"{word} {' '.join(map(str, row))}" for word, row in zip(space.vocabulary, space.matrix, strict=True))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def toy_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_space(tmp_path_factory.mktemp("space"))


@pytest.fixture(scope="session")
def service(toy_file: Path) -> Iterator[Service]:
    """The service with the bundled space, and a small one besides."""
    with running(Settings(spaces=("glove-50k", str(toy_file)), options=True)) as one:
        yield one
