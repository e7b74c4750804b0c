"""Calibrations as jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.conftest import Service, running
from wordveil.client import Client, ServiceError
from wordveil.service import Settings


def test_a_calibration_runs_beside_requests_and_meets_its_target(service: Service, toy_file: Path) -> None:
    seen: list[float] = []
    found = Client(service.address).calibrate(
        lambda _, share: seen.append(share),
        space=toy_file.name,
        targets=[{"kind": "stays", "bound": 0.4}],
        points=3,
        words=60,
        adversary_words=60,
    )
    assert seen
    assert seen == sorted(seen)
    assert found["recommended_epsilon"] > 0
    at = next(one for one in found["measurements"] if one["epsilon"] == found["recommended_epsilon"])
    assert at["stays"]["worst"] <= 0.4


def test_a_job_that_cannot_be_done_says_why(service: Service) -> None:
    with pytest.raises(ServiceError) as refused:
        Client(service.address).calibrate(mechanism="hyperbolic")
    assert refused.value.status == 409  # before there is a job, as for a text
    with pytest.raises(ServiceError) as refused:
        Client(service.address).calibrate(space="toy.txt", options={"k": "many"})
    assert refused.value.status == 422
    assert "k" in str(refused.value)


def test_a_calibration_keeps_to_the_range_of_epsilon(toy_file: Path) -> None:
    with running(Settings(spaces=(str(toy_file),), largest_epsilon=4.0, smallest_epsilon=1.0)) as one:
        for epsilons in ([2.0, 4.5], [0.5]):
            refused = one.post("/v1/calibrate", {"epsilons": epsilons})
            assert refused.status == 422
            assert "epsilon" in refused.sentence
        assert one.post("/v1/calibrate", {"epsilons": [1.0, 4.0]}).status == 202


def test_a_job_that_takes_too_long_is_given_up(toy_file: Path) -> None:
    settings = Settings(spaces=(str(toy_file),), job_timeout=0.01)
    with running(settings) as one, pytest.raises(ServiceError):
        Client(one.address).calibrate(points=2)


def test_jobs_that_are_not_there_and_too_many(toy_file: Path) -> None:
    with running(Settings(spaces=(str(toy_file),), jobs=1)) as one:
        for name in ("nothing", "..%2F..%2Fetc%2Fpasswd", "a" * 22):
            assert one.get(f"/v1/calibrate/{name}").status == 404
        began = one.post("/v1/calibrate", {"points": 2})
        assert began.status == 202
        assert began.headers["location"] == f"/v1/calibrate/{began.json['id']}"
        assert one.get(began.headers["location"]).json["status"] in ("waiting", "running", "done")
        assert one.post("/v1/calibrate", {"points": 2}).status == 503
