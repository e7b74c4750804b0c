from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.plan.desk import write_desk
from wordveil.calibration import Maker, maker
from wordveil.spaces import EuclideanSpace
from wordveil.text.tokens import tokenise

RECORDS = 160  #: of the desk


@pytest.fixture(autouse=True, scope="session")
def _few_words() -> Iterator[None]:
    """Look for few words, so that an attack takes no time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordveil.plan.trial._TARGETS", 300)
        patch.setattr("wordveil.plan.trial._AGAIN", 60)
        yield


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_desk(tmp_path_factory.mktemp("desk") / "tickets.csv", RECORDS)


@pytest.fixture(scope="session")
def small(glove: EuclideanSpace, desk: Path) -> EuclideanSpace:
    """The first words of the bundled space, and those of the desk."""
    words = set(tokenise(desk.read_text()).keys)
    known = [glove.vocabulary.id(word) for word in words if word in glove.vocabulary]
    return glove.restrict(np.union1d(np.arange(500), known))


@pytest.fixture(scope="session")
def make(small: EuclideanSpace) -> Maker:
    return maker("graph", small)
