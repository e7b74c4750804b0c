"""A folder of made data and a space that fits it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.tasks.made_data import make_data, topic_space
from wordveil.spaces import EuclideanSpace


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def topics() -> EuclideanSpace:
    return topic_space()
