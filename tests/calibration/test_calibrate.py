"""A whole calibration: what it holds, that it goes on after a stop, its pictures and its page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import make_space
from wordveil.calibration import Effort, Measurement, Target, calibrate, figures, maker, meter_for
from wordveil.calibration.figures import Curve
from wordveil.calibration.page import page
from wordveil.errors import InputError, WordveilError

SPACE = make_space(70, 4, seed=41)
EFFORT = Effort(draws=50, near=5, similar=3)


def test_without_targets_it_tells_what_the_given_epsilons_mean() -> None:
    found = calibrate(meter_for(maker("graph", SPACE), SPACE, EFFORT), [2.0, 1.0])
    facts = found.to_dict()
    assert [one["epsilon"] for one in facts["measurements"]] == [1.0, 2.0]
    assert facts["recommended_epsilon"] is None
    assert facts["advice"] == []
    assert facts["measurements"][0]["strongest"]["attacker"] in " ".join(facts["measurements"][0]["meaning"]).lower()
    assert json.loads(json.dumps(facts)) == facts
    for part in ("stays", "distinct", "effective", "min_entropy", "support", "inputs", "alike", "near_loss"):
        summary = facts["measurements"][0][part]
        assert len(summary["worst_words"]) == 10
        assert list(summary["percentiles"]) == ["1", "5", "25", "50", "75", "95", "99"]


def test_with_targets_it_recommends_the_largest_epsilon_that_meets_all() -> None:
    targets = [Target("stays", 0.5), Target("adversary", 0.3)]
    found = calibrate(meter_for(maker("graph", SPACE), SPACE, EFFORT), targets=targets, points=4)
    assert found.recommended == min(answer.epsilon for answer in found.answers)
    assert all(target.value(found.at(found.recommended)) <= target.bound for target in targets)
    assert found.advice()[0] == f"Choose ε = {found.recommended:g}."
    assert 4 <= len(found.measurements) <= 5


def test_without_anything_the_strongest_attacker_may_guess_one_word_in_ten() -> None:
    found = calibrate(meter_for(maker("ring", SPACE), SPACE, EFFORT), points=3)
    assert [answer.target for answer in found.answers] == [Target("attacker", 0.1)]


def test_targets_that_cannot_be_met_are_said_to_be_so() -> None:
    impossible = calibrate(
        meter_for(maker("graph", SPACE), SPACE, EFFORT), [1.0], [Target("adversary", 1 / 71), Target("stays", 0.5)]
    )
    assert impossible.recommended is None
    assert len(impossible.advice()) == 1
    assert not impossible.to_dict()["targets"][0]["can_be_met"]
    idle = calibrate(meter_for(maker("graph", SPACE), SPACE, EFFORT), [1.0], [Target("alternatives", 0.5)])
    assert idle.recommended is None
    assert len(idle.advice()) == 1
    assert "infinity" not in json.dumps(idle.to_dict()).lower()


@pytest.mark.parametrize("name", ["graph", "exponential", "laplace", "vickrey"])
def test_a_measurement_comes_back_from_the_cache_as_it_was(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path))
    told: list[str] = []
    first = meter_for(maker(name, SPACE), SPACE, EFFORT).measure([1.0, 2.0])
    again = meter_for(maker(name, SPACE), SPACE, EFFORT, lambda what, _: told.append(what)).measure([2.0, 1.0])
    assert told == []
    for one, other in zip(first, reversed(again), strict=True):
        assert one.summary(SPACE.vocabulary) == other.summary(SPACE.vocabulary)
    others = meter_for(maker(name, SPACE), SPACE, Effort(draws=51, near=5, similar=3)).measure([1.0])[0]
    assert others.distinct.values.tolist() != first[0].distinct.values.tolist()
    assert all(path.name.startswith(("calibration-", "graph-", "ring-", "neighbours-")) for path in tmp_path.iterdir())


@pytest.mark.parametrize("name", ["graph", "exponential", "vickrey"])
def test_a_stopped_calibration_goes_on(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path))

    def stop(what: str, share: float) -> None:
        if share > 0.7:
            raise KeyboardInterrupt

    epsilons = [1.0, 1.5, 2.0]
    stopped = meter_for(maker(name, SPACE), SPACE, EFFORT, stop)
    with pytest.raises(KeyboardInterrupt):
        stopped.measure(epsilons)
    made: list[float] = []

    def watched(epsilon: float) -> object:
        made.append(epsilon)
        return maker(name, SPACE)(epsilon)

    meter = meter_for(watched, SPACE, EFFORT)  # type: ignore[arg-type]
    made.clear()
    found = meter.measure(epsilons)
    assert 1.0 not in made
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path / "fresh"))
    fresh = meter_for(maker(name, SPACE), SPACE, EFFORT).measure(epsilons)
    assert [one.stays.mean for one in found] == [one.stays.mean for one in fresh]


def test_the_blocks_of_a_stopped_pass_are_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path))

    def stop(what: str, share: float) -> None:
        if what == "learning to guess":
            raise KeyboardInterrupt

    def written(folder: Path) -> int:
        return (folder / "figures.npz").stat().st_mtime_ns

    with pytest.raises(KeyboardInterrupt):
        meter_for(maker("laplace", SPACE), SPACE, EFFORT, stop).measure([1.0])
    kept = {path: written(path) for path in tmp_path.iterdir()}
    assert kept
    found = []

    def look(what: str, share: float) -> None:
        if what == "learning to guess":
            found.append({path: written(path) for path in tmp_path.iterdir() if path in kept})

    meter_for(maker("laplace", SPACE), SPACE, EFFORT, look).measure([1.0])
    assert found[0] == kept
    assert not kept.keys() & set(tmp_path.iterdir())  # they are large


def test_arrays_and_back() -> None:
    found = meter_for(maker("laplace", SPACE), SPACE, EFFORT).measure([1.0])[0]
    back = Measurement.from_arrays(found.to_arrays())
    assert back.stays.again is not None
    assert back.summary(SPACE.vocabulary) == found.summary(SPACE.vocabulary)
    assert np.array_equal(back.stays.values, found.stays.values)


def test_example_words_must_be_known() -> None:
    meter = meter_for(maker("graph", SPACE), SPACE, EFFORT)
    known = SPACE.vocabulary[3]
    shown = calibrate(meter, [1.0], words=[known]).examples
    assert list(shown[1.0]) == [known]
    assert len(shown[1.0][known]) == 4
    with pytest.raises(InputError):
        calibrate(meter, [1.0], words=[known, "unheard-of"])


def test_pictures_are_written_as_they_are_named(tmp_path: Path) -> None:
    found = calibrate(meter_for(maker("graph", SPACE), SPACE, EFFORT), [1.0, 2.0])
    curve = Curve.from_dict(found.to_dict())
    drawn = {
        "histograms": figures.histograms(found.measurements, 50),
        "averages": figures.averages([curve, curve]),
        "panels": figures.panels([curve]),
    }
    for name, figure in drawn.items():
        for suffix, begins in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
            path = tmp_path / f"{name}{suffix}"
            figures.save(figure, path)
            assert path.read_bytes().startswith(begins)
    with pytest.raises(WordveilError):
        figures.save(drawn["panels"], tmp_path / "picture.pdf")
    with pytest.raises(WordveilError):
        figures.save(drawn["panels"], tmp_path / "nowhere" / "picture.png")


def test_other_json_is_not_taken_for_a_calibration() -> None:
    empty: dict[str, Any] = {"mechanism": "graph", "options": {}, "on": {"name": "x"}, "measurements": [{}]}
    for wrong in ({}, empty, {**empty, "options": None}):
        with pytest.raises(InputError):
            Curve.from_dict(wrong)


@pytest.mark.parametrize("name", ["graph", "laplace"])
def test_the_page_stands_alone_and_says_what_an_officer_needs(name: str) -> None:
    meter = meter_for(maker(name, SPACE), SPACE, EFFORT)
    found = calibrate(meter, [1.0, 2.0], [Target("stays", 0.5)], words=[SPACE.vocabulary[0]])
    text = page(found)
    assert text.count("<svg") == text.count("</svg>") == 3
    assert not re.search(r"(?:src|href)=[\"'](?!#)", text)  # nothing is fetched from elsewhere
    assert "@import" not in text
    for part in (
        "Recommendation",
        "The promise",
        "Examples",
        "Plausible deniability",
        "What is not protected",
        SPACE.checksum,
    ):
        assert part in text
    assert f"Choose ε = {found.recommended:g}." in text
    assert meter.make(found.recommended or 1.0).guarantee.sentence().split(",")[0] in text


def test_words_are_escaped_on_the_page() -> None:
    from wordveil.spaces import EuclideanSpace, Vocabulary

    words = ["<script>", "&amp;", "a", "b", "c"]
    space = EuclideanSpace("tags", Vocabulary(words), np.random.default_rng(0).normal(size=(5, 2)))
    text = page(calibrate(meter_for(maker("graph", space), space, EFFORT), [1.0], words=words[:2]))
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
