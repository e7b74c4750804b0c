"""The scikit-learn transformer, with scikit-learn's own checks of estimators."""

from __future__ import annotations

import math
import pickle
from numbers import Real
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the scikit-learn adapter is not tested: scikit-learn is not installed")

from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import wordveil.adapters.sklearn as adapter
from wordveil import InputError, Notion, OptionError, UnprovenError
from wordveil.adapters.sklearn import VeilText
from wordveil.spaces import EuclideanSpace

GOOD = ["a wonderful film", "great acting and a lovely story", "brilliant, funny and moving", "an excellent picture"]
BAD = ["a terrible film", "awful acting and a boring story", "dull, slow and stupid", "a horrible picture"]

#: Checks of scikit-learn that cannot apply to an estimator of texts, with the reason.
DO_NOT_APPLY = {
    "check_complex_data": "a complex number is refused as any value that is not text, in other words",
    "check_estimators_nan_inf": "a number that is none is refused as any value that is not text, in other words",
    "check_estimators_pickle": "subtracts outputs, which are texts; pickling is tested below",
    "check_fit_idempotent": "subtracts outputs, which are texts and drawn again in every call",
    "check_fit1d": "texts one after another are the usual input",
    "check_fit2d_predict1d": "refused, in words that do not quote the texts",
}


@pytest.fixture
def _small_space(toy: EuclideanSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "load_space", lambda _: toy)


@pytest.mark.usefixtures("_small_space")
@pytest.mark.filterwarnings("ignore")  # the checks warn of what they skip
def test_the_checks_of_estimators(monkeypatch: pytest.MonkeyPatch) -> None:
    """They fit on numbers, so numbers are read as words here; everything else is as in use."""
    validate = vars(adapter)["validate_data"]

    def in_words(estimator: Any, X: Any, **how: Any) -> Any:
        cells = validate(estimator, X, **how)
        words = np.empty(cells.size, dtype=object)
        words[:] = [str(one) if isinstance(one, Real) and math.isfinite(one) else one for one in cells.ravel()]
        return words.reshape(cells.shape)

    monkeypatch.setattr(adapter, "validate_data", in_words)
    done = check_estimator(VeilText(), expected_failed_checks=DO_NOT_APPLY, on_skip=None)
    passed = [check["check_name"] for check in done if check["status"] == "passed"]
    assert len(passed) > 25
    assert {"check_estimators_overwrite_params", "check_n_features_in", "check_set_params"} <= set(passed)


@pytest.mark.usefixtures("_small_space")
def test_without_numbers_read_as_words() -> None:
    for wrong in ([1.0, 2.0], [["text", 3]], ["text", None], ["text", np.nan], "canary", [[["canary"]]]):
        with pytest.raises(InputError) as caught:
            VeilText().fit(wrong)
        assert "canary" not in str(caught.value)


@pytest.mark.usefixtures("_small_space")
def test_the_shape_stays_and_is_kept_to() -> None:
    veil = VeilText(0.5).fit(["one", "two"])
    assert veil.transform(["a b, c"]).shape == (1,)
    assert veil.get_feature_names_out().tolist() == ["text"]
    assert not hasattr(veil, "n_features_in_")
    with pytest.raises(InputError):
        veil.transform([["a", "b"]])
    veil.fit([["a", "b"]])
    assert veil.n_features_in_ == 2
    assert veil.get_feature_names_out().tolist() == ["x0", "x1"]
    assert veil.transform(np.array([["x y", ""], ["z", "w"]])).shape == (2, 2)
    with pytest.raises(InputError) as caught:
        veil.transform(["canary"])
    assert "canary" not in str(caught.value)
    assert not hasattr(veil.fit(["one"]), "n_features_in_")


@pytest.mark.usefixtures("_small_space")
def test_parameters_clones_and_copies() -> None:
    made = VeilText(1.5, mechanism="laplace", select="words", words=["zqa"])
    copy = clone(made)
    assert copy.get_params() == made.get_params()
    assert (
        copy.set_params(epsilon=2.5, mechanism="exponential", options={"clip": 2.0}).fit(["x"]).veil_.mechanism.epsilon
        == 2.5
    )
    with pytest.raises(NotFittedError):
        VeilText().transform(["x"])
    fitted = VeilText(0.1, select="all").fit(["x"])
    text = [" ".join(["zqb"] * 30)]
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    assert again.transform(text)[0] != fitted.transform(text)[0]  # a copy has a stream of its own


@pytest.mark.usefixtures("_small_space")
def test_promises() -> None:
    assert VeilText().fit(["x"]).veil_.guarantee.notion is Notion.METRIC
    first, second = (VeilText(random_state=3, select="all").fit_transform(["zqa zqb zqc"])[0] for _ in range(2))
    assert first == second
    assert VeilText(random_state=3).fit(["x"]).veil_.guarantee.notion is Notion.NONE
    with pytest.raises(UnprovenError):
        VeilText(mechanism="jaccard").fit(["x"])
    assert VeilText(mechanism="jaccard", unproven=True).fit(["x"]).veil_.shortfall
    with pytest.raises(OptionError):
        VeilText(mechanism="nothing").fit(["x"])


@pytest.mark.usefixtures("_small_space")
def test_a_column_of_a_table() -> None:
    pandas = pytest.importorskip("pandas", reason="tables of pandas are not tested: pandas is not installed")
    table = pandas.DataFrame({"text": ["zqa zqb", "zqc"], "note": ["zqd", "zqe zqf"], "n": [1, 2]})
    veiled = VeilText().set_output(transform="pandas").fit_transform(table[["text", "note"]])
    assert veiled.columns.tolist() == ["text", "note"]
    assert veiled.index.equals(table.index)
    counted = ColumnTransformer(
        [("words", make_pipeline(VeilText(), TfidfVectorizer()), "text")], remainder="passthrough"
    )
    assert counted.fit_transform(table.drop(columns="note")).shape[0] == 2


def test_a_classifier_of_veiled_texts() -> None:
    pipeline = Pipeline([("veil", VeilText(epsilon=4)), ("count", TfidfVectorizer()), ("judge", LogisticRegression())])
    texts, labels = (GOOD + BAD) * 50, ([1] * len(GOOD) + [0] * len(BAD)) * 50
    assert 0.55 < pipeline.fit(texts, labels).score(texts, labels) <= 1.0
