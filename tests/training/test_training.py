"""Learning a hierarchy, on the CPU, through the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wordveil.cli import main
from wordveil.mechanisms import Hyperbolic
from wordveil.noise import Entropy
from wordveil.spaces import PoincareSpace, load_space


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Write the pairs of a tree of 40 nodes."""
    rows: list[str] = []

    def grow(node: str, depth: int) -> None:
        for letter in "pqr" if depth else "":
            rows.append(f"{node}{letter}\t{node}")
            grow(node + letter, depth - 1)

    grow("z", 3)
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    printed = capsys.readouterr()
    return int(caught.value.code or 0), printed.out, printed.err


@pytest.mark.parametrize("geometry", ["lorentz", "poincare"])
def test_a_tree_is_learnt(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], geometry: str) -> None:
    folder = tmp_path / "space"
    options = ["--dim", "5", "--closure", "--epochs", "300", "--geometry", geometry, "--device", "cpu", "--quiet"]
    code, out, err = run(capsys, "train", str(tree), "-o", str(folder), *options, "--json")
    assert code == 0, err
    facts = json.loads(out)
    assert facts["words"] == 40
    assert next(value for key, value in facts.items() if "precision" in key or key == "map") > 0.8
    space = load_space(folder)
    assert isinstance(space, PoincareSpace)
    assert space.dimension == 5
    # What is above lies nearer the origin, and a node nearer its parent than a random other node.
    names = space.vocabulary.words
    depth = np.array([len(name) for name in names])
    assert space.radii[depth == 1].mean() < space.radii[depth == 4].mean()
    rows = space.distances(np.arange(40))
    parents = {place: names.index(name[:-1]) for place, name in enumerate(names) if len(name) > 1}
    ranks = [(rows[child] < rows[child, parent]).sum() for child, parent in parents.items()]
    assert np.mean(ranks) < 8
    drawn = Hyperbolic(space, 5.0).draw(np.arange(40), Entropy(1))
    assert ((drawn >= 0) & (drawn < 40)).all()


def test_the_same_seed_learns_the_same(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spaces = []
    for name in ("one", "two"):
        options = ["--dim", "2", "--epochs", "10", "--device", "cpu", "--quiet", "--seed", "4"]
        assert run(capsys, "train", str(tree), "-o", str(tmp_path / name), *options)[0] == 0
        spaces.append(load_space(tmp_path / name))
    assert spaces[0].checksum == spaces[1].checksum


def test_mistakes(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["train", "-o", str(tmp_path / "x")],
        ["train", str(tmp_path / "missing.tsv"), "-o", str(tmp_path / "x")],
        ["train", str(tree), "-o", str(tmp_path / "x"), "--geometry", "round"],
        ["train", str(tree), "-o", str(tmp_path / "x"), "--dim", "0"],
        ["train", "--wordnet", str(tmp_path), "-o", str(tmp_path / "x")],
    ):
        code, _, err = run(capsys, *arguments)
        assert code == 2, arguments
        assert err.startswith("wordveil: ")
        assert err.count("\n") == 1
