"""A veil for the adapters, under which hardly any word stays."""

from __future__ import annotations

import pytest

from wordveil import Veil, mechanism
from wordveil.spaces import EuclideanSpace


@pytest.fixture(scope="session")
def far(glove: EuclideanSpace) -> Veil:
    return Veil(mechanism("graph", glove, epsilon=0.2), select="all")
