"""Simulated figures against real draws, and the command that prints them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import make_space
from wordveil._mechanisms.exponential import Exponential
from wordveil._mechanisms.laplace import Laplace
from wordveil.cli import main
from wordveil.errors import OptionError
from wordveil.lac import bounds, dense_law, invert, simulate
from wordveil.lac.simulation import exact_epsilon, expected_error, zipfian

SPACE = make_space(20, 3)


def made(epsilon: float) -> Exponential:
    return Exponential(SPACE, epsilon, clip=3.0)


def test_the_expected_error_is_the_mean_error_of_real_draws() -> None:
    law, truth, generator = dense_law(made(2.0)), zipfian(20), np.random.default_rng(0)
    errors = []
    for _ in range(200):
        counts = generator.multinomial(20_000, truth @ law).astype(np.float64)
        errors.append(0.5 * np.abs(invert(counts, law).values / 20_000 - truth).sum())
    assert expected_error(truth, law, 20_000) == pytest.approx(np.mean(errors), rel=0.05)


def test_more_users_mean_more_privacy_and_less_error() -> None:
    points = simulate(made, 2.0, users=[10**3, 10**5, 10**7, 10**9])
    assert [point.users for point in points] == [10**3, 10**5, 10**7, 10**9]
    for name in ("central_epsilon", "no_privacy", "shuffled"):
        figures = [getattr(point, name) for point in points]
        assert figures == sorted(figures, reverse=True)
    for point in points:
        assert point.no_privacy <= point.shuffled <= point.local_only <= 1.0
        assert point.central_epsilon < point.local_epsilon <= bounds.local_epsilon(made(2.0))
    assert points[-1].shuffled < 0.01
    assert exact_epsilon(dense_law(made(2.0))) == points[0].local_epsilon


def test_only_exact_mechanisms_are_simulated() -> None:
    with pytest.raises(OptionError):
        simulate(lambda epsilon: Laplace(SPACE, epsilon), 1.0)


def command(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["lac", *arguments])
    out, err = capfd.readouterr()
    return int(caught.value.code or 0), out, err


def test_the_command_simulates(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = ["simulate", "--epsilon", "2", "--option", "clip=6", "--words", "30", "--records", "1000", "-n", "1000000"]
    status, out, _ = command(capfd, *asked, "--json", "--figure", str(tmp_path / "lac.svg"))
    assert status == 0
    assert [point["users"] for point in json.loads(out)["points"]] == [1000, 1_000_000]
    assert (tmp_path / "lac.svg").stat().st_size > 1000
    status, out, _ = command(capfd, *asked)
    assert status == 0
    assert "1,000,000" in out


def test_the_command_promises(capfd: pytest.CaptureFixture[str]) -> None:
    asked = ["promise", "--epsilon", "1", "--option", "clip=3", "--sample", "0.5", "--per-user", "2"]
    status, out, _ = command(capfd, *asked, "--json")
    assert status == 0
    assert json.loads(out)[0]["assumes"] == "if all 1,000,000 records have one shape and label"
    stages = json.loads(out)[0]["stages"]
    assert "if all 1,000,000 records have one shape and label" in stages[-1]["promises"][0]["source"]
    assert [stage["stage"] for stage in stages] == ["localizer", "subsample", "shuffle", "release"]
    assert stages[0]["promises"][0]["epsilon"] == 6.0
    assert stages[-1]["if_no_amplifier_is_trusted"]["epsilon"] == 6.0
    status, out, _ = command(capfd, "promise", "-e", "3", "-m", "graph", "--threshold", "60")
    assert status == 0
    assert "no amplification" in out
    assert "k-threshold, k = 60" in out
    assert "if no amplifier is trusted" in out
    assert "The shape of a record is" in out


@pytest.mark.parametrize(
    "wrong",
    [
        ["promise"],
        ["guess", "-e", "1"],
        ["promise", "-e", "1", "--words", "5"],
        ["simulate", "-e", "1", "--sample", "0.5"],
        ["simulate", "-e", "1", "--figure", "lac.txt"],
        ["promise", "-e", "1", "--delta", "2"],
    ],
)
def test_mistakes_are_told(wrong: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = command(capfd, *wrong)
    assert status == 2
    assert out == ""
    assert err.startswith("wordveil: ")
