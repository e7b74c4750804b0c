"""``wordveil plot``: pictures that can be opened and that show what they should."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from wordveil.cli import main
from wordveil.errors import InputError, OptionError, SpaceError, WordveilError
from wordveil.lab.plots import draw_density, family, in_two_dimensions
from wordveil.spaces import PoincareSpace, Vocabulary

WORDS = ["thing", "animal", "dog", "cat", "poodle", "plant", "oak", "moon"]
IS_A = np.array([[1, 0], [2, 1], [3, 1], [4, 2], [5, 0], [6, 5]])


def space(dimension: int = 3) -> PoincareSpace:
    points = np.random.default_rng(0).normal(size=(len(WORDS), dimension))
    return PoincareSpace("small", Vocabulary(WORDS), points, is_a=IS_A)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    space().save(tmp_path / "space")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(["plot", *arguments])
    return int(left.value.code or 0), capsys.readouterr().err


def texts(path: Path) -> str:
    return " ".join(ElementTree.parse(path).getroot().itertext())  # noqa: S314 - our own file


def test_a_disk_shows_the_words_and_what_they_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    svg = folder / "disk.svg"
    code, err = run(
        capsys, "disk", "poodle", "oak", "--space", str(folder / "space"), "-o", str(svg), "--cloud", "poodle",
        "--epsilon", "1.5", "--draws", "200", "--seed", "1",
    )  # fmt: skip
    assert code == 0, err
    shown = texts(svg)
    for word in ("poodle", "dog", "animal", "thing", "oak", "plant"):
        assert word in shown
    for word in ("cat", "moon"):
        assert word not in shown
    assert "stays" in shown


def test_png(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    png = folder / "disk.png"
    code, err = run(capsys, "disk", "--below", "animal", "--space", str(folder / "space"), "-o", str(png))
    assert code == 0, err
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_families() -> None:
    made = space()
    assert [WORDS[i] for i in family(made, ["poodle"])] == ["thing", "animal", "dog", "poodle"]
    assert [WORDS[i] for i in family(made, [], below="animal", most=3)] == ["thing", "animal", "dog", "cat"]
    with pytest.raises(OptionError):
        family(made, [])
    with pytest.raises(WordveilError):
        family(made, ["unicorn"])
    with pytest.raises(SpaceError):
        family(PoincareSpace("bare", Vocabulary(WORDS), made.hyperboloid), ["dog"])


def test_a_layout_keeps_two_dimensions_and_learns_more() -> None:
    flat = space(2)
    ids = family(flat, ["poodle", "oak"])
    kept = in_two_dimensions(flat, ids)
    assert np.array_equal(kept.hyperboloid, flat.hyperboloid[ids])
    learnt = in_two_dimensions(space(5), ids)
    assert learnt.dimension == 2
    radii = dict(zip(learnt.vocabulary, learnt.radii, strict=True))
    assert radii["thing"] < radii["dog"]
    assert radii["thing"] < radii["oak"]
    with pytest.raises(InputError):
        in_two_dimensions(space(5), [7])


def test_density_curves_enclose_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for law, dimension, epsilons in (("icdm19", 1, [0.125, 8.0]), ("icdm19", 4, [1.0]), ("hyperbolic", 3, [4.0, 9.0])):
        for line in draw_density(law, epsilons, dimension).axes[0].get_lines():
            x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
            area = float(((y[1:] + y[:-1]) / 2 * np.diff(x)).sum())
            assert area == pytest.approx(1.0, abs=0.03)
    svg = folder / "density.svg"
    code, err = run(capsys, "density", "-o", str(svg))
    assert code == 0, err
    assert "ε = 0.125" in texts(svg)
    code, err = run(capsys, "density", "--law", "hyperbolic", "--dimension", "5", "-o", str(folder / "ours.png"))
    assert code == 0, err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["disk", "dog", "-o", "disk.gif"], "must end in"),
        (["disk", "dog", "-o", "nowhere/disk.png"], "nowhere"),
        (["disk", "dog", "--space", "glove-50k", "-o", "disk.png"], "Poincaré space"),
        (["density", "-o", "d.svg", "--law", "normal"], "icdm19, hyperbolic"),
        (["density", "-o", "d.svg", "-e", "0"], "above 0"),
        (["density", "-o", "d.svg", "--law", "hyperbolic", "--dimension", "5", "-e", "4"], "above 4"),
    ],
)
def test_mistakes_are_told(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, err = run(capsys, *arguments)
    assert code == 2
    assert told in err
