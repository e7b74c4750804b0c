"""The examples of wordveil as a filter, each run where its library is installed."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.service.conftest import Service
from wordveil import Veil, mechanism
from wordveil.spaces import EuclideanSpace

EXAMPLES = Path(__file__).parents[2] / "examples"

# Other people's libraries warn on import, of themselves.
pytestmark = pytest.mark.filterwarnings("ignore")


def load(name: str, *needed: str) -> dict[str, Any]:
    """Load an example, or skip where a library that it needs is missing."""
    for library in needed:
        pytest.importorskip(library, reason=f"examples/{name} is not tested: {library} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return runpy.run_path(str(EXAMPLES / name))


@pytest.fixture
def far(glove: EuclideanSpace) -> Veil:
    """A veil under which hardly any word stays."""
    return Veil(mechanism("graph", glove, epsilon=0.2), select="all")


def test_pandas(far: Veil, capsys: pytest.CaptureFixture[str]) -> None:
    example = load("pandas_column.py", "pandas")
    import pandas as pd

    table = pd.DataFrame({"n": [1, 2, 3], "text": ["red ship", None, "blue sea, sky"]}, index=[5, 7, 9])
    veiled = example["veil_column"](table, "text", far)
    assert veiled["n"].tolist() == [1, 2, 3]
    assert veiled["text"].isna().tolist() == [False, True, False]
    assert re.fullmatch(r"\S+ \S+, \S+", veiled["text"][9])
    assert veiled["text"][9] != table["text"][9]
    example["main"]()
    assert "at most 404" in capsys.readouterr().out


def test_scikit_learn(capsys: pytest.CaptureFixture[str]) -> None:
    example = load("sklearn_pipeline.py", "sklearn")
    example["main"]()
    right = int(re.findall(r"(\d+)%", capsys.readouterr().out)[0])
    assert 55 < right <= 100  # better than guessing, on words that were drawn anew
    from sklearn.base import clone

    assert clone(example["VeilTransformer"](epsilon=1.5)).get_params()["epsilon"] == 1.5


def test_hugging_face(far: Veil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    example = load("huggingface_map.py", "datasets")
    from datasets import Dataset

    dataset = Dataset.from_dict({"text": ["red ship, blue sea"] * 5, "label": list(range(5))})
    once, twice = (example["veil_dataset"](dataset, "text", far) for _ in range(2))
    assert once["label"] == dataset["label"]
    assert once["text"] != twice["text"]  # drawn anew, not from a cache
    assert all(re.fullmatch(r"\S+ \S+, \S+ \S+", text) for text in once["text"])


def test_presidio(far: Veil) -> None:
    example = load("presidio_operator.py", "presidio_analyzer", "presidio_anonymizer")
    analyzer = example["make_analyzer"](["Mary Jones"])
    veiled = example["veil_names"]("On Monday Mary Jones wrote a letter.", analyzer, far)
    name = re.fullmatch(r"On Monday (\S+ \S+) wrote a letter\.", veiled)
    assert name
    assert name[1] != "Mary Jones"
    with pytest.raises(TypeError, match=r"wordveil\.Veil"):
        example["WordveilOperator"]().validate({})


@pytest.mark.parametrize("by", ["itself", "a service"])
def test_a_shell_pipe(service: Service, by: str) -> None:
    if by == "a service" and shutil.which("curl") is None:
        pytest.skip("the pipe through a service is not tested: curl is not installed")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "EPSILON": "1",
    }
    if by == "a service":
        environment["WORDVEIL_URL"] = service.address
    text = "The ship, the sea.\n\nThe harbour.\n"
    done = subprocess.run(
        ["sh", EXAMPLES / "shell_pipe.sh"], input=text, capture_output=True, text=True, env=environment, check=True
    )
    assert re.fullmatch(r"The \S+, the \S+\.\n\nThe \S+\.\n", done.stdout)
