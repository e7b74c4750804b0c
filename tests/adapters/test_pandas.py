"""Columns of pandas."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.later import later
from wordveil import InputError, OptionError, Veil, mechanism
from wordveil.spaces import EuclideanSpace

pd = later("pandas", reason="the pandas adapter is not tested: pandas is not installed")
adapter = later("wordveil.adapters.pandas")


def missing() -> list[object]:
    return [None, float("nan"), pd.NA, pd.NaT]


def test_a_column(far: Veil) -> None:
    table = pd.DataFrame({"n": [1, 2, 3], "text": ["red ship", None, "blue sea, sky"]}, index=[5, 5, 9])
    before = table.copy()
    veiled = adapter.privatize(table, far, "text")
    assert veiled["n"].tolist() == [1, 2, 3]
    assert veiled.index.tolist() == [5, 5, 9]
    assert veiled["text"].isna().tolist() == [False, True, False]
    assert re.fullmatch(r"\S+ \S+, \S+", veiled["text"][9])
    assert veiled["text"][9] != table["text"][9]
    pd.testing.assert_frame_equal(table, before)


def test_missing_cells_stay_what_they_are(far: Veil) -> None:
    texts = pd.Series(["red ship", *missing(), ""], dtype=object, name="x")
    veiled = adapter.privatize(texts, far)
    assert veiled.name == "x"
    assert all(new is old for new, old in zip(veiled[1:5], texts[1:5], strict=True))
    assert veiled[5] == ""
    assert adapter.privatize(pd.Series([None, None], dtype=object), far).isna().all()
    assert adapter.privatize(pd.Series([], dtype=object), far).empty
    assert adapter.privatize(pd.Series([float("nan")]), far).isna().all()


def test_a_column_that_cannot_be_veiled_is_named(far: Veil) -> None:
    table = pd.DataFrame({"number": [1, 2], "text": ["red ship", "blue sea"]})
    with pytest.raises(InputError, match="'number'"):
        adapter.privatize(table, far, ["text", "number"])


@pytest.mark.parametrize("dtype", ["object", "string", "string[pyarrow]", "category"])
def test_the_dtype_stays(far: Veil, dtype: str) -> None:
    texts = pd.Series(["red ship", None, "red ship", "blue sea"], dtype=dtype)
    veiled = adapter.privatize(texts, far)
    assert veiled.isna().tolist() == [False, True, False, False]
    if dtype == "category":
        assert isinstance(veiled.dtype, pd.CategoricalDtype)
    else:
        assert veiled.dtype == texts.dtype


def test_the_categories_of_a_column_are_no_way_round_the_veil(far: Veil) -> None:
    texts = pd.Series(["canary ship"], dtype=pd.CategoricalDtype(["canary ship", "canary unused"]))
    assert "canary" not in repr(adapter.privatize(texts, far).cat.categories.tolist())


def test_several_columns_and_labels_of_any_kind(far: Veil) -> None:
    table = pd.DataFrame({0: ["red ship"], ("a", "b"): ["blue sea"], "c": ["green sky"]})
    table.columns = pd.Index([0, ("a", "b"), "c"], tupleize_cols=False)
    veiled = adapter.privatize(table, far, [0, ("a", "b")])
    assert veiled["c"].tolist() == ["green sky"]
    assert veiled.iloc[0, 0] != "red ship"
    assert veiled.iloc[0, 1] != "blue sea"


@pytest.mark.parametrize("cell", [3, ["canary"], b"canary"])
def test_a_cell_that_is_no_text_is_refused_without_quoting(far: Veil, cell: Any) -> None:
    with pytest.raises(InputError) as caught:
        adapter.privatize(pd.Series(["canary", cell], dtype=object), far)
    assert "canary" not in str(caught.value)
    with pytest.raises(InputError):
        adapter.privatize(pd.Series([1, 2]), far)


def test_wrong_columns(far: Veil) -> None:
    table = pd.DataFrame([["a", "b"]], columns=["x", "x"])
    for columns in ("x", "y", None, ["y"]):
        with pytest.raises(OptionError):
            adapter.privatize(table, far, columns)
    with pytest.raises(OptionError):
        adapter.privatize(table["x"].iloc[:, 0], far, "x")


def test_what_would_veil_nothing_is_refused(far: Veil) -> None:
    table: Any = pd.DataFrame({"x": ["red ship"]})
    for wrong in ([table, far, []], [table, far, ()], [table, "x", far], [table, 4, "x"], [table["x"], "x"]):
        with pytest.raises(OptionError):
            adapter.privatize(*wrong)
    with pytest.raises(OptionError):
        adapter.privatize(["red ship"], far, "x")


def test_equal_words_of_a_row_or_a_person_are_drawn_once(glove: EuclideanSpace) -> None:
    made = mechanism("graph", glove, epsilon=1.0)
    right = pd.Categorical(["mill river"] * 5)
    table = pd.DataFrame({"who": ["ann", "bob", "ann", None, None], "left": ["river mill"] * 5, "right": right})
    rows = adapter.privatize(table, Veil(made, case="lower"), ["left", "right"])
    for left, right in zip(rows["left"], rows["right"], strict=True):
        assert left.split() == right.split()[::-1]
    assert rows["left"].nunique() > 1
    once = Veil(made, once="person", case="lower")
    veiled = adapter.privatize(table, once, ["left"], person="who")["left"]
    assert veiled[0] == veiled[2] != veiled[1]
    assert veiled[3] != veiled[4]
    with pytest.raises(OptionError):
        adapter.privatize(table, once, ["left"])
    with pytest.raises(OptionError):
        adapter.privatize(table, Veil(made), ["left"], person="who")
