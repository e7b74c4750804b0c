"""The example that a newcomer runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest


def test_the_survey_shows_true_noisy_and_recovered_counts(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "survey.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "if the shuffler is not trusted: ε = 4 " in out
    counted, recovered = (
        int(figure.replace(",", "")) for figure in re.findall(r"(\d[\d,]*) (?:as counted|recovered)", out)
    )
    assert recovered < 0.25 * counted
