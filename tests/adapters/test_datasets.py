"""Hugging Face datasets, in memory and streamed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wordveil import InputError, OptionError, Veil

# The library warns on import, of itself.
pytestmark = pytest.mark.filterwarnings("ignore")
TEXTS = ["red ship, blue sea"] * 4 + [None]


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("datasets", reason="the datasets adapter is not tested: datasets is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HOME", str(tmp_path_factory.mktemp("hub")))
        patch.setenv("HF_HUB_OFFLINE", "1")
        import wordveil.adapters.datasets as module

        yield module


def check(rows: list[dict[str, Any]]) -> None:
    assert [row["label"] for row in rows] == list(range(5))
    assert rows[-1]["text"] is None
    assert all(re.fullmatch(r"\S+ \S+, \S+ \S+", row["text"]) for row in rows[:-1])
    assert TEXTS[0] not in [row["text"] for row in rows]


def test_in_memory(adapter: Any, far: Veil) -> None:
    from datasets import Dataset, Features, Value

    features = Features({"text": Value("large_string"), "label": Value("int8")})
    dataset = Dataset.from_dict({"text": TEXTS, "label": list(range(5))}, features=features)
    once, twice = (adapter.privatize(dataset, far, "text", batch_size=2) for _ in range(2))
    check(list(once))
    assert once.features == features
    assert list(once["text"]) != list(twice["text"])  # drawn again, not from a cache
    assert once._fingerprint != twice._fingerprint


def test_on_disk(adapter: Any, far: Veil, tmp_path: Path) -> None:
    from datasets import Dataset, load_from_disk

    Dataset.from_dict({"text": TEXTS, "label": list(range(5))}).save_to_disk(tmp_path / "set")
    dataset = load_from_disk(str(tmp_path / "set"))
    once, twice = (adapter.privatize(dataset, far, ["text"], keep_in_memory=False) for _ in range(2))
    check(list(once))
    assert list(once["text"]) != list(twice["text"])


def test_streamed(adapter: Any, far: Veil) -> None:
    from datasets import Dataset, IterableDataset

    stream = Dataset.from_dict({"text": TEXTS, "label": list(range(5))}).to_iterable_dataset()
    check(list(adapter.privatize(stream, far, "text", batch_size=3)))
    unknown = IterableDataset.from_generator(lambda: iter([{"text": "red ship", "label": 0}]))  # without features
    assert next(iter(adapter.privatize(unknown, far, "text")))["label"] == 0


def test_a_dictionary_of_parts(adapter: Any, far: Veil) -> None:
    from datasets import Dataset, DatasetDict

    part = Dataset.from_dict({"text": TEXTS, "label": list(range(5))})
    veiled = adapter.privatize(DatasetDict(train=part, test=part), far, "text")
    assert isinstance(veiled, DatasetDict)
    check(list(veiled["test"]))


def test_what_is_refused(adapter: Any, far: Veil) -> None:
    from datasets import Dataset

    dataset = Dataset.from_dict({"text": ["red"], "label": [1]})
    with pytest.raises(OptionError):
        adapter.privatize(dataset, far, "missing")
    for wrong in ([far, []], ["text", far], [4, "text"]):  # the originals must not come back as if they were veiled
        with pytest.raises(OptionError):
            adapter.privatize(dataset, *wrong)
    with pytest.raises(OptionError):
        adapter.privatize([{"text": "red"}], far, "text")
    with pytest.raises(InputError):
        adapter.privatize(dataset, far, "label")
