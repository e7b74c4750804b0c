"""The example that a newcomer runs."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest


def test_the_survey_shows_true_noisy_and_recovered_counts(capsys: pytest.CaptureFixture[str]) -> None:
    found = spec_from_file_location("survey", Path(__file__).parents[2] / "examples" / "survey.py")
    assert found is not None
    assert found.loader is not None
    survey = module_from_spec(found)
    found.loader.exec_module(survey)
    vars(survey)["PEOPLE"] = 20_000  # a fifth of those who are asked there
    survey.main()
    out = capsys.readouterr().out
    assert "if the shuffler is not trusted: ε = 4 " in out
    counted, recovered = (
        int(figure.replace(",", "")) for figure in re.findall(r"(\d[\d,]*) (?:as counted|recovered)", out)
    )
    assert recovered < 0.3 * counted  # 0.15 on average, and 0.02 more or less
