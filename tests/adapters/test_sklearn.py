"""The scikit-learn transformers, with scikit-learn's own checks of estimators."""

from __future__ import annotations

import math
import pickle
from importlib.util import find_spec
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.later import later
from wordveil import InputError, Notion, OptionError, Reader, UnprovenError, mechanism
from wordveil.spaces import EuclideanSpace

sklearn = later("sklearn", reason="the scikit-learn adapter is not tested: scikit-learn is not installed")
adapter = later("wordveil.adapters.sklearn")
checks, compose, pipelines = (
    later("sklearn.utils.estimator_checks"),
    later("sklearn.compose"),
    later("sklearn.pipeline"),
)
features, linear_model = later("sklearn.feature_extraction.text"), later("sklearn.linear_model")

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
    monkeypatch.setattr("wordveil.adapters.sklearn.load_space", lambda _: toy)


@pytest.mark.usefixtures("_small_space")
@pytest.mark.filterwarnings("ignore")  # the checks warn of what they skip
@pytest.mark.parametrize(
    ("kind", "options"),
    [("VeilText", {"epsilon": 4.0}), ("ReadVeiled", {"epsilon": 4.0, "kind": "table"})],
    ids=["VeilText", "ReadVeiled"],
)
def test_the_checks_of_estimators(kind: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """They fit on numbers, so numbers are read as words here; everything else is as in use."""
    validate = adapter.validate_data

    def in_words(estimator: Any, X: Any, **how: Any) -> Any:
        cells = validate(estimator, X, **how)
        words = np.empty(cells.size, dtype=object)
        words[:] = [str(one) if isinstance(one, Real) and math.isfinite(one) else one for one in cells.ravel()]
        return words.reshape(cells.shape)

    monkeypatch.setattr("wordveil.adapters.sklearn.validate_data", in_words)
    made = getattr(adapter, kind)(**options)
    done = checks.check_estimator(made, expected_failed_checks=DO_NOT_APPLY, on_skip=None)
    passed = [check["check_name"] for check in done if check["status"] == "passed"]
    assert len(passed) > 25
    assert {"check_estimators_overwrite_params", "check_n_features_in", "check_set_params"} <= set(passed)


@pytest.mark.usefixtures("_small_space")
@pytest.mark.parametrize("kind", ["VeilText", "ReadVeiled"])
def test_without_numbers_read_as_words(kind: str) -> None:
    made = getattr(adapter, kind)(4.0)
    for wrong in ([1.0, 2.0], [["text", 3]], ["text", None], ["text", np.nan], "canary", [[["canary"]]]):
        with pytest.raises(InputError) as caught:
            made.fit(wrong)
        assert "canary" not in str(caught.value)


@pytest.mark.usefixtures("_small_space")
def test_the_shape_stays_and_is_kept_to() -> None:
    veil = adapter.VeilText(0.5).fit(["one", "two"])
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
    made = adapter.VeilText(1.5, mechanism="laplace", select="words", words=["zqa"])
    copy = sklearn.base.clone(made)
    assert copy.get_params() == made.get_params()
    assert (
        copy.set_params(epsilon=2.5, mechanism="exponential", options={"clip": 2.0}).fit(["x"]).veil_.mechanism.epsilon
        == 2.5
    )
    with pytest.raises(later("sklearn.exceptions").NotFittedError):
        adapter.VeilText(4.0).transform(["x"])
    fitted = adapter.VeilText(0.1, select="all").fit(["x"])
    texts = ["zqb"] * 100  # one draw each: within a text, equal words share theirs
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    assert not np.array_equal(again.transform(texts), fitted.transform(texts))  # a copy has a stream of its own


@pytest.mark.usefixtures("_small_space")
def test_options_reach_the_veil() -> None:
    text = ["a@b.net, a@b.net and 5 EUR"]
    assert adapter.VeilText(4.0).fit_transform(text)[0] == "<EMAIL>, <EMAIL> and <AMOUNT>"
    numbered = adapter.VeilText(4.0, numbered=True, numbers="drop", once="file").fit_transform(text)[0]
    first, second = numbered.removesuffix(" and").split(", ")
    assert first == second != "<EMAIL>"
    assert (
        adapter.VeilText(4.0, identifiers="drop", numbers="digits", stop_words=["and"])
        .fit_transform(text)[0]
        .startswith(",")
    )
    with pytest.raises(OptionError):
        adapter.VeilText(4.0, numbers="metric").fit(text)
    with pytest.raises(OptionError):
        adapter.VeilText(4.0, once="person").fit(text)


@pytest.mark.usefixtures("_small_space")
def test_promises() -> None:
    assert adapter.VeilText(4.0).fit(["x"]).veil_.guarantee.notion is Notion.METRIC
    first, second = (
        adapter.VeilText(4.0, random_state=3, select="all").fit_transform(["zqa zqb zqc"])[0] for _ in range(2)
    )
    assert first == second
    assert adapter.VeilText(4.0, random_state=3).fit(["x"]).veil_.guarantee.notion is Notion.NONE
    with pytest.raises(UnprovenError):
        adapter.VeilText(4.0, mechanism="jaccard").fit(["x"])
    assert adapter.VeilText(4.0, mechanism="jaccard", unproven=True).fit(["x"]).veil_.shortfall
    with pytest.raises(OptionError):
        adapter.VeilText(4.0, mechanism="nothing").fit(["x"])


@pytest.mark.usefixtures("_small_space")
def test_nobody_veils_or_reads_at_an_epsilon_that_was_not_chosen() -> None:
    for made in (adapter.VeilText(), adapter.ReadVeiled()):
        with pytest.raises(OptionError):
            made.fit(["zqa"])
        with pytest.raises(OptionError):
            sklearn.base.clone(made).set_params(epsilon=-1.0).fit(["zqa"])
        assert sklearn.base.clone(made).set_params(epsilon=2.0).fit(["zqa"])


@pytest.mark.usefixtures("_small_space")
def test_a_column_of_a_table() -> None:
    pandas = pytest.importorskip("pandas", reason="tables of pandas are not tested: pandas is not installed")
    table = pandas.DataFrame({"text": ["zqa zqb", "zqc"], "note": ["zqd", "zqe zqf"], "n": [1, 2]})
    veiled = adapter.VeilText(4.0).set_output(transform="pandas").fit_transform(table[["text", "note"]])
    assert veiled.columns.tolist() == ["text", "note"]
    assert veiled.index.equals(table.index)
    counted = compose.ColumnTransformer(
        [("words", pipelines.make_pipeline(adapter.VeilText(4.0), features.TfidfVectorizer()), "text")],
        remainder="passthrough",
    )
    assert counted.fit_transform(table.drop(columns="note")).shape[0] == 2


def test_a_classifier_of_veiled_texts() -> None:
    pipeline = pipelines.Pipeline(
        [
            ("veil", adapter.VeilText(epsilon=4)),
            ("count", features.TfidfVectorizer()),
            ("judge", linear_model.LogisticRegression()),
        ]
    )
    texts, labels = (GOOD + BAD) * 50, ([1] * len(GOOD) + [0] * len(BAD)) * 50
    assert 0.55 < pipeline.fit(texts, labels).score(texts, labels) <= 1.0


@pytest.mark.usefixtures("_small_space")
def test_reading_gives_what_a_reader_gives(toy: EuclideanSpace) -> None:
    veiled = ["zqa zqb, zqc", "", "zqd zqa"]
    for kind in ("population", "table"):
        read = adapter.ReadVeiled(3.0, select="all", kind=kind, options={"k": 5})
        found = read.fit_transform(veiled)
        reader = Reader(mechanism("graph", toy, epsilon=3.0, k=5), kind=kind, select="all").fit(veiled)
        assert np.array_equal(found, reader.transform(veiled))
        assert read.get_feature_names_out().tolist() == [f"text_{number}" for number in range(toy.dimension)]
    table = read.fit([["zqa", "zqb zqc"], ["zqd", ""]])
    assert table.n_features_in_ == 2
    assert table.transform([["zqa", "zqb"]]).shape == (1, 2 * toy.dimension)
    assert table.get_feature_names_out()[-1] == f"x1_{toy.dimension - 1}"
    with pytest.raises(InputError):
        table.transform(["canary"])
    with pytest.raises(InputError):
        adapter.ReadVeiled(4.0, select="all").fit(["", "…"])  # nothing to learn from


@pytest.mark.usefixtures("_small_space")
def test_parameters_clones_and_copies_of_what_reads() -> None:
    made = adapter.ReadVeiled(1.5, mechanism="exponential", prior=np.ones(60), select="all")
    copy = sklearn.base.clone(made)
    assert copy.get_params().keys() == made.get_params().keys()
    assert copy.set_params(epsilon=2.5, prior="uniform").fit(["zqa"]).reader_.mechanism.epsilon == 2.5
    again = pickle.loads(pickle.dumps(copy))  # noqa: S301
    assert np.allclose(again.transform(["zqa zqb"]), copy.transform(["zqa zqb"]))
    with pytest.raises(later("sklearn.exceptions").NotFittedError):
        adapter.ReadVeiled(4.0).transform(["zqa"])
    nothing = {"nothing": 1}
    for wrong in (
        {"kind": "nothing"}, {"select": "marked"}, {"mechanism": "nothing"}, {"reader_options": nothing},
        {"reader_options": "smollm2"}, {"reader_options": {"select": "all"}}, {"reader_options": {"kind": "table"}},
        {"reader_options": {"mechanism": "graph"}},
    ):  # fmt: skip
        with pytest.raises(OptionError):
            adapter.ReadVeiled(4.0, **wrong).fit(["zqa"])


@pytest.mark.usefixtures("_small_space")
def test_every_kind_of_reader_is_there(tmp_path: Path) -> None:
    public, veiled = tmp_path / "public.txt", ["zqa zqb zqc", "zqc zqa zqb"] * 3
    public.write_text("zqa zqb zqc\n" * 20, encoding="utf-8")
    kinds = [("language", {"model": str(public)})]
    if find_spec("torch") is not None:
        kinds.append(("context", {}))
    for kind, options in kinds:
        made = adapter.ReadVeiled(4.0, kind=kind, reader_options=options, select="all", force=True).fit(veiled)
        assert made.reader_.kind == kind
        again = pickle.loads(pickle.dumps(made))  # noqa: S301
        assert np.allclose(again.transform(veiled), made.transform(veiled), atol=1e-4)


def test_a_classifier_learns_more_from_what_was_read(glove: EuclideanSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trained and tested on veiled texts, and told how they were veiled by their report."""
    listed = {word for text in GOOD + BAD for word in text.replace(",", "").split()} & set(glove.vocabulary)
    small = glove.restrict(np.union1d(np.arange(2000), [glove.vocabulary.id(word) for word in listed]))
    monkeypatch.setattr("wordveil.adapters.sklearn.load_space", lambda _: small)
    generator = np.random.default_rng(0)
    words = [sorted({word for text in texts for word in text.replace(",", "").split()}) for texts in (GOOD, BAD)]
    labels = generator.integers(0, 2, 600)
    clean = [" ".join(generator.choice(words[1 - label], 6)) for label in labels.tolist()]
    veil = adapter.VeilText(4.0, random_state=1).fit(clean)
    veiled, report = veil.transform(clean), veil.veil_.report()
    as_it_stands = adapter.ReadVeiled(1e3, kind="table", force=True).fit_transform(veiled)

    def score(vectors: Any) -> float:
        half = len(labels) // 2
        judge = linear_model.LogisticRegression(max_iter=1000).fit(vectors[:half], labels[:half])
        return float(judge.score(vectors[half:], labels[half:]))

    with pytest.raises(OptionError):
        adapter.ReadVeiled(4.0, report=report, space="small").fit(veiled[:300])
    read = adapter.ReadVeiled(report=report, space="small").fit(veiled[:300]).transform(veiled)
    assert score(read) > score(as_it_stands) + 0.02
    pipeline = pipelines.make_pipeline(
        adapter.ReadVeiled(report=report, space="small"), linear_model.LogisticRegression(max_iter=1000)
    )
    assert pipeline.fit(veiled[:300], labels[:300]).score(veiled[300:], labels[300:]) == pytest.approx(score(read))


def test_texts_that_were_never_veiled_are_refused(glove: EuclideanSpace) -> None:
    common = [word for word in glove.vocabulary.take(np.arange(200, 1200)) if word.isalpha()]
    clean = [" ".join(common[n::40]) for n in range(40)]
    with pytest.raises(InputError) as caught:
        adapter.ReadVeiled(3.0, kind="table").fit(clean)
    assert not set(clean[0].split()) & set(str(caught.value).replace(",", "").split()) - {
        "that",
        "these",
        "them",
        "same",
    }
    assert adapter.ReadVeiled(3.0, kind="table", force=True).fit(clean).transform(clean[:1]).shape == (1, 100)
    veil = adapter.VeilText(3.0, random_state=1).fit(clean)
    reader = adapter.ReadVeiled(3.0, kind="table").fit(veil.transform(clean)).reader_
    assert reader.mechanism.blocked_checksum == veil.veil_.mechanism.blocked_checksum  # the law that drew


def test_a_row_is_a_record() -> None:
    table = np.array([["river mill", "mill river"]] * 5, dtype=object)
    veiled = adapter.VeilText(epsilon=1, case="lower").fit_transform(table)
    assert all(left.split() == right.split()[::-1] for left, right in veiled)
    assert len({left for left, _ in veiled}) > 1
    assert len({*adapter.VeilText(epsilon=1, once="file").fit_transform(table[:, 0])}) == 1
    with pytest.raises(OptionError):
        adapter.VeilText(4.0, once="person").fit(table)
