"""Made data and a small space of topics, for all experiments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.tasks.made_data import COMMON, make_corpora, make_data, topic_space
from wordveil.spaces import EuclideanSpace


@pytest.fixture(autouse=True, scope="package")
def _rough_intervals() -> Iterator[None]:
    """Draw examples again a few times: how intervals come about is tested with the tasks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordveil.lab.tasks.task._RESAMPLES", 40)
        yield


@pytest.fixture(scope="session")
def topics() -> EuclideanSpace:
    return topic_space()


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def common_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return every data set of every experiment, in words that the bundled spaces know."""
    return make_corpora(make_data(tmp_path_factory.mktemp("common"), 20, COMMON))
