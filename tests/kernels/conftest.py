"""Every kind of code that this machine runs, and numpy."""

from __future__ import annotations

import pytest

from wordveil.kernels import kinds


@pytest.fixture(params=[*kinds(), "off"])
def code(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with each kind of compiled code, and with none."""
    monkeypatch.setenv("WORDVEIL_KERNELS", request.param)
    return str(request.param)
