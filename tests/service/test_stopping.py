"""SIGTERM while requests are coming in: whoever was charged is answered, and nothing comes out raw."""

from __future__ import annotations

from pathlib import Path

from benchmarks.faults import stopped_service


def test_a_service_that_is_stopped_under_load_answers_what_it_took(tmp_path: Path) -> None:
    found = stopped_service(1, tmp_path, rounds=1)
    assert found.is_good, found
    assert found.records > 0
