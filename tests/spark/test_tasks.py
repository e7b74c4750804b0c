"""What a task does with its batches, without a cluster: the same rows are drawn alike, and no others."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from tests.conftest import ALPHA
from wordveil.errors import InputError
from wordveil.spark.tasks import Recipe, veil_batches
from wordveil.text import Once


def recipe(toy: dict[str, Any], secret: bytes = b"s" * 32, **settings: Any) -> Recipe:
    once = settings.pop("once", "record")
    return Recipe(
        toy["mechanism"], toy["epsilon"], toy["space"], (), None, False, None if once is None else Once(once, seed=1),
        {"case": "lower", **settings}, secret,
    )  # fmt: skip


def veiled(how: Recipe, *batches: pa.RecordBatch, places: tuple[int, ...] = (0,), whose: int | None = None) -> Any:
    done = list(veil_batches(iter(batches), pickle.dumps(how), places, whose, "counted"))
    return pa.Table.from_batches(done)


def batch(*texts: str | None, kind: Any = None) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(texts, kind or pa.string())], names=["text"])


@pytest.mark.parametrize("once", ["record", None])
def test_the_same_rows_are_drawn_alike_and_no_others(toy: dict[str, Any], words: list[str], once: str | None) -> None:
    rows = [" ".join(words[n : n + 5]) for n in range(40)]
    how = recipe(toy, once=once)
    first = veiled(how, batch(*rows), batch(*rows))
    assert veiled(how, batch(*rows), batch(*rows)) == first
    texts = first.column(0).to_pylist()
    assert texts[:40] != texts[40:]  # equal batches of a partition are drawn apart
    others = [
        veiled(recipe(toy, b"t" * 32, once=once), batch(*rows)),
        veiled(how, batch(*rows[:-1], rows[0])),  # one text is another: nothing is drawn with the same numbers
        veiled(how, batch(*reversed(rows)), batch()).slice(0),
    ]
    for other in others:
        same = [one == two for one, two in zip(texts, other.column(0).to_pylist(), strict=False)]
        assert sum(same[:39]) < 5


def test_draws_have_the_law_of_the_mechanism(toy: dict[str, Any], words: list[str]) -> None:
    how = recipe(toy)
    mechanism: Any = how.made()
    place = 7
    drawn = veiled(how, batch(*[words[place]] * 4000)).column(0).to_pylist()
    expected = mechanism.probabilities(place) * len(drawn)
    counted = np.bincount([words.index(word) for word in drawn], minlength=len(words))
    common = expected > 5
    found = np.append(counted[common], counted[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    assert stats.chisquare(found, wanted).pvalue > ALPHA


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_nulls_slices_and_several_columns_keep_their_places(toy: dict[str, Any], words: list[str], kind: Any) -> None:
    left = pa.array([None, words[0], "", None, f"{words[1]} {words[2]}", words[3]], kind)
    right = pa.array([words[4], None, words[0], None, words[1], "x"], kind)
    ids = pa.array(range(6))
    whole = pa.RecordBatch.from_arrays([left, ids, right], names=["left", "id", "right"])
    out = veiled(recipe(toy), whole.slice(1, 4), places=(0, 2))
    assert out.schema.field(0).type == kind
    assert out.column("id").to_pylist() == [1, 2, 3, 4]
    sizes = [
        [None if text is None else len(text.split()) for text in out.column(place).to_pylist()] for place in (0, 2)
    ]
    assert sizes == [[1, 0, None, 2], [None, 1, None, 1]]
    first, *rest = out.column("counted").to_pylist()
    assert rest == [None] * 3
    assert first == [5, 0, 5, 0, 0, 0, 0, 0, 1, 4, 2]  # the last row has a word in both columns, which is drawn once
    nothing = veiled(recipe(toy), batch(None, None))
    assert nothing.column(0).to_pylist() == [None, None]


def test_a_person_is_known_in_every_batch(toy: dict[str, Any], words: list[str]) -> None:
    text = " ".join(words[:8])
    rows = pa.RecordBatch.from_pydict({"text": [text] * 4, "who": ["ann", None, "ann", None]})
    out = veiled(recipe(toy, once="person"), rows, rows, whose=1)
    texts = out.column("text").to_pylist()
    assert len({texts[0], texts[2], texts[4], texts[6]}) == 1
    assert len({texts[1], texts[3], texts[5], texts[7]}) == 4
    assert veiled(recipe(toy, once="person"), rows, rows, whose=1) == out


def test_bytes_that_are_no_text_are_refused(toy: dict[str, Any]) -> None:
    bad = pa.array([b"a ship", b"zyqxcanary \xff"], pa.binary()).view(pa.string())
    with pytest.raises(InputError) as caught:
        veiled(recipe(toy), pa.RecordBatch.from_arrays([bad], names=["text"]))
    assert "canary" not in str(caught.value)
