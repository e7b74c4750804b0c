"""The reader: its posterior is a probability, equals what Bayes says, and helps those who learn from a release."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import wordveil.reading.kinds as kinds_module
from tests.conftest import ALPHA, FLAT, make_space, names
from wordveil import (
    Document,
    Entropy,
    FileError,
    InputError,
    OptionError,
    Reader,
    SpaceError,
    Veil,
    WordveilError,
    load_space,
    mechanism,
)
from wordveil._mechanisms.laws import Effort
from wordveil.progress import ignore
from wordveil.stats import lower_bound, upper_bound

WORDS = 60
SPACE = make_space(WORDS)
NAMES = names(WORDS)
Floats = NDArray[np.float64]


def rank_prior(words: int = WORDS) -> Floats:
    prior = 1.0 / (np.arange(words) + 2.7)
    return np.asarray(prior / prior.sum())


def bayes(rows: Floats, prior: Floats, *outputs: int) -> Floats:
    joint = prior * np.prod([rows[:, output] for output in outputs], axis=0)
    return np.asarray(joint / joint.sum())


def text_of(ids: Any) -> str:
    return " ".join(NAMES[i] for i in np.asarray(ids).tolist())


def whole(reader: Reader, text: str, others: list[str] | None = None) -> Floats:
    """Return the whole posterior of every veiled place, a column for each word of the vocabulary."""
    index = {word: place for place, word in enumerate(reader.mechanism.space.vocabulary)}
    places = reader.posterior(text, top=len(index), others=others or [])
    found = np.zeros((len(places), len(index)))
    for row, place in enumerate(places):
        found[row, [index[word] for word in place.words]] = place.probabilities
    return found


@pytest.mark.parametrize("name", ["graph", "ring", "exponential", "truncated"])
@given(
    epsilon=st.floats(0.05, 8.0),
    seed=st.integers(0, 1000),
    impossible=st.integers(0, WORDS - 1),
    drawn=st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=3),
)
def test_the_posterior_is_what_bayes_says(
    name: str, epsilon: float, seed: int, impossible: int, drawn: list[int]
) -> None:
    made = mechanism(name, SPACE, epsilon=epsilon)
    rows = made.law().rows(np.arange(WORDS))
    prior = np.random.default_rng(seed).dirichlet(np.full(WORDS, 0.3))
    prior[np.random.default_rng(seed).permutation(WORDS)[:impossible]] = 0.0
    reader = Reader(made, prior=prior, select="all")
    found = whole(reader, text_of(drawn))
    assert found.sum(axis=1) == pytest.approx(np.ones(len(drawn)))
    with np.errstate(invalid="ignore"):
        exact = np.stack([bayes(rows, prior, output) for output in drawn])
    exact[np.isnan(exact).any(axis=1)] = prior / prior.sum()  # what no word can give says nothing
    # distances are in single precision, and an output's are not rounded as its words' are
    assert found == pytest.approx(exact, rel=3e-5, abs=1e-12)
    assert reader.transform([text_of(drawn)])[0] == pytest.approx((exact @ SPACE.matrix).mean(axis=0), abs=1e-3)


@given(st.lists(st.lists(st.integers(0, WORDS - 1), min_size=3, max_size=3), min_size=2, max_size=4))
def test_draws_of_one_text_add_up(draws: list[list[int]]) -> None:
    made = mechanism("graph", SPACE, epsilon=2.0)
    rows = made.law().rows(np.arange(WORDS))
    reader = Reader(made, select="all")
    text, *others = map(text_of, draws)
    found = whole(reader, text, others)
    exact = np.stack([bayes(rows, rank_prior(), *(draw[place] for draw in draws)) for place in range(3)])
    assert found == pytest.approx(exact, rel=1e-6, abs=1e-12)
    vectors = reader.transform([text, text], others=[others, []])
    assert vectors[0] == pytest.approx((exact @ SPACE.matrix).mean(axis=0), abs=1e-3)
    assert vectors[1] == pytest.approx(reader.transform([text])[0], abs=1e-5)
    best = reader.best(text, others=others).lower().split()
    chosen = [NAMES.index(word) for word in best]
    assert exact[np.arange(3), chosen] == pytest.approx(exact.max(axis=1))


@pytest.mark.parametrize("name", ["graph", "exponential"])
def test_nothing_is_learnt_where_nothing_is_revealed(name: str) -> None:
    reader = Reader(mechanism(name, SPACE, epsilon=1e-6), select="all")
    assert whole(reader, text_of([5, 40])) == pytest.approx(np.stack([rank_prior()] * 2), rel=1e-3)
    uniform = Reader(mechanism(name, SPACE, epsilon=1e-6), prior="uniform", select="all")
    assert whole(uniform, text_of([5]))[0] == pytest.approx(np.full(WORDS, 1 / WORDS), rel=1e-3)


@pytest.mark.parametrize("kind", ["table", "population"])
def test_what_is_said_to_be_likely_is_so(kind: str) -> None:
    """Among places whose best word is given 80 to 90%, about so many are right; and so in every other band."""
    space, count = make_space(300, 4), 40_000
    made = mechanism("graph", space, epsilon=8.0)
    generator = np.random.default_rng(1)
    originals = generator.choice(300, count, p=rank_prior(300))
    drawn = space.vocabulary.take(made.draw(originals, Entropy(2)))
    text = " ".join(drawn)
    reader = Reader(made, kind=kind, select="all", once=False).fit([text])
    places = reader.posterior(text, top=1)
    given_ = np.array([place.probabilities[0] for place in places])
    right = np.array([space.vocabulary.id(place.words[0]) for place in places]) == originals
    for low, high in pairwise([0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 1.01]):
        some = (given_ >= low) & (given_ < high)
        if some.sum() >= 200:
            # half a per cent more: the prior of a population is itself an estimate
            error = 4.0 * np.sqrt((given_[some] * (1.0 - given_[some])).sum()) / some.sum()
            assert abs(right[some].mean() - given_[some].mean()) < error + (0.02 if kind == "population" else 0.0)
    assert (given_ >= 0.8).sum() > 1000


def test_a_draw_that_shows_at_many_places_counts_once() -> None:
    made = mechanism("graph", SPACE, epsilon=4.0)
    few, many = ([text_of(first), text_of([7, 9])] for first in ([3, 5], [3] * 50 + [5]))
    once, again = (whole(Reader(made, kind="population", select="all").fit(some), text_of([3])) for some in (few, many))
    assert once == pytest.approx(again)
    each = Reader(made, kind="population", select="all", once=False).fit(many)
    assert whole(each, text_of([3])) != pytest.approx(once)
    told = Veil(made).report()
    assert Reader.of_report({**told, "once": None}, space=SPACE)._basis.once is False
    assert Reader.of_report(told, space=SPACE)._basis.once is True


def test_a_population_is_learnt_from_its_release() -> None:
    made = mechanism("graph", SPACE, epsilon=4.0)
    truth = np.random.default_rng(3).dirichlet(np.full(WORDS, 0.2))
    originals = np.random.default_rng(4).choice(WORDS, 20_000, p=truth)
    outputs = made.draw(originals, Entropy(5))
    texts = [text_of(outputs[start : start + 20]) for start in range(0, 20_000, 20)]
    told = []
    reader = Reader(made, kind="population", select="all")
    with pytest.raises(OptionError):
        reader.transform(["zqa"])
    reader.fit(texts[:500], watch=lambda what, share: told.append((what, share)))
    assert told[-1][1] == 1.0
    rows = made.law().rows(np.arange(WORDS))
    fresh = np.bincount(outputs[10_000:], minlength=WORDS)

    def likelihood(prior: Floats) -> float:
        return float(fresh @ np.log(prior @ rows))

    learnt = reader._kind.prior  # type: ignore[attr-defined]
    assert learnt.sum() == pytest.approx(1.0)
    assert likelihood(learnt) > likelihood(rank_prior()) + 100
    by_table = Reader(made, select="all")
    truths = [NAMES[word] for word in originals[10_000:].tolist()]

    def right(one: Reader) -> int:
        guessed = " ".join(release.text.lower() for release in one.rewrite(texts[500:])).split()
        return sum(guess == true for guess, true in zip(guessed, truths, strict=True))

    assert right(reader) > right(by_table)
    first = reader.transform(texts[:3])
    assert np.array_equal(reader.fit(texts[:500]).transform(texts[:3]), first)
    with pytest.raises(InputError):
        reader.fit(["", "…"])
    with pytest.raises(InputError):
        reader.fit([])
    assert by_table.fit([]) is by_table


def test_vectors_are_nearer_to_the_clean_ones_than_the_drawn_words(sample_csv: Path) -> None:
    import csv

    space = load_space("glove-50k").restrict(np.arange(3000))
    made = mechanism("graph", space, epsilon=5.0)
    with sample_csv.open(encoding="utf-8", newline="") as file:
        clean = [row["text"] for row in csv.DictReader(file)]
    veiled = [release.text for release in Veil(made, seed=1).many(clean)]
    plain = Reader(mechanism("graph", space, epsilon=1e3))  # reads words as they stand
    target, drawn = plain.transform(clean), plain.transform(veiled)
    table, population = Reader(made).transform(veiled), Reader(made, kind="population").fit_transform(veiled)
    mean = target.mean(axis=0)

    def cosine(vectors: NDArray[np.float32]) -> float:
        left, right = vectors - mean, target - mean
        lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        return float(((left * right).sum(axis=1)[lengths > 0] / lengths[lengths > 0]).mean())

    assert cosine(table) > cosine(drawn) + 0.02
    assert cosine(population) > cosine(drawn) + 0.02


def test_document_vectors_by_hand() -> None:
    space = load_space("glove-50k").restrict(np.arange(1000))
    made = mechanism("graph", space, epsilon=1e3)
    reader = Reader(made)
    found = reader.transform(["The city of xyzzy 12345!", "", "…", "xyzzy"])
    ids = [space.vocabulary.id(word) for word in ("the", "city", "of")]
    assert found.dtype == np.float32
    assert found.shape == (4, reader.dimension)
    assert found[0] == pytest.approx(space.matrix[ids].mean(axis=0), abs=1e-5)
    assert not found[1:].any()
    assert reader.transform([]).shape == (0, 100)
    long = ["city " * 50] * 4000  # several batches
    assert np.allclose(reader.transform(long), space.matrix[ids[1]], atol=1e-5)
    own = Reader(made, vectors=np.eye(1000)[:, :3]).transform(["the city"])
    assert own.shape == (1, 3)


def test_the_best_text_is_written_as_a_veil_writes() -> None:
    made = mechanism("graph", load_space("glove-50k").restrict(np.arange(1000)), epsilon=1e3)
    text = "The city. House 77 won't xyzzy!"
    assert Reader(made).best(text) == text.replace("House", "House")
    assert Reader(made, case="lower").best(text) == "The city. house 77 won't xyzzy!"
    places = Reader(made).posterior(text, top=3)
    assert [text[place.start : place.end] for place in places] == ["city", "House"]
    assert all(len(place.words) == 3 for place in places)


def test_spans_say_where_words_were_veiled() -> None:
    made = mechanism("graph", SPACE, epsilon=2.0)
    veil = Veil(made, select="words", words=["zqa", "zqb"], seed=1)
    release = veil("zqa zqc zqb")
    spans = tuple((one.new_start, one.new_end) for one in release.replacements)
    reader = Reader.of_report(veil.report(release), space=SPACE, words=["zqa", "zqb"])
    places = reader.posterior(Document(release.text, spans), top=WORDS)
    assert len(places) == 2
    for place in places:
        assert set(place.words[:2]) == {"zqa", "zqb"}
        assert sum(place.probabilities[:2]) == pytest.approx(1.0)
        assert not any(place.probabilities[2:])
    with pytest.raises(InputError):
        reader.best(release.text)


@pytest.mark.parametrize("name", FLAT)
def test_what_a_release_says_of_itself(name: str, tmp_path: Path) -> None:
    """Every mechanism is made again from its report, with its options, by file or by value."""
    made = mechanism(name, SPACE, epsilon=3.0)
    veil = Veil(made, select="all", case="lower", seed=1, unproven=True)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(veil.report(veil("zqa zqb"))), encoding="utf-8")
    effort = Effort(column_draws=2000)
    for report in (path, str(path), veil.report()):
        reader = Reader.of_report(report, space=SPACE, effort=effort)
        assert reader.mechanism.describe() == made.describe()
        assert reader.select == "all"
    assert sum(reader.posterior("zqa", top=WORDS)[0].probabilities) == pytest.approx(1.0)
    assert np.isfinite(reader.transform(["zqa zqb zqc"])).all()
    assert reader.best("zqa zqb").islower()


@pytest.mark.parametrize("name", ["graph", "exponential", "ring"])
def test_it_reads_by_exactly_the_law_that_drew(name: str, tmp_path: Path) -> None:
    """Without some words among the outputs the others are likelier: checked against Bayes' rule on counted draws."""
    small = SPACE.restrict(np.arange(12))
    words = list(small.vocabulary)
    blocked = [words[2], words[7]]
    veil = Veil(mechanism(name, small, epsilon=2.0), select="all", block=blocked, case="lower", once=None)
    drawn = veil.mechanism.draw(np.repeat(np.arange(12), 20_000), Entropy(3)).reshape(12, -1)
    rows = np.array([np.bincount(row, minlength=12) for row in drawn]) / 20_000
    assert not rows[:, [2, 7]].any()
    reader = Reader.of_report(veil.report(), space=small, block=blocked, prior="uniform")
    reader.save(tmp_path / "reader.npz")
    for one in (
        reader,
        Reader.load(tmp_path / "reader.npz", space=small),
        Reader(veil.mechanism, select="all", prior="uniform"),
    ):
        for output in (0, 3, 11):
            found = one.posterior(words[output], top=12)[0]
            told = dict(zip(found.words, found.probabilities, strict=True))
            expected = rows[:, output] / rows[:, output].sum()
            assert [told[word] for word in words] == pytest.approx(expected, abs=0.015)
            assert told[blocked[0]] > 0.0  # veiled like any other, though never drawn
    bare = Reader(mechanism(name, small, epsilon=2.0), select="all", prior="uniform")
    places = reader.cut([word for word in words if word not in blocked])
    assert not np.allclose(bare.likeliest(places, 12)[1], reader.likeliest(places, 12)[1], atol=1e-3)
    for wrong in (None, [words[1], words[2]], [words[2]]):
        with pytest.raises(OptionError):
            Reader.of_report(veil.report(), space=small, block=wrong)
    with pytest.raises(OptionError):
        Reader.of_report(Veil(mechanism(name, small, epsilon=2.0)).report(), space=small, block=blocked)


def test_reports_that_do_not_say_enough(tmp_path: Path) -> None:
    report = dict(Veil(mechanism("graph", SPACE, epsilon=2.0)).report())
    told = {**report, "space": dict(report["space"])}
    wrong: list[tuple[Any, type[WordveilError]]] = [
        ({}, InputError),
        ({**told, "mechanism": "nothing"}, OptionError),
        ({**told, "epsilon": None}, OptionError),
        ({**told, "epsilon": -1.0}, OptionError),
        ({**told, "epsilon": 1e300}, OptionError),
        ({**told, "options": {"first": 9.0}}, OptionError),
        ({**told, "options": {"other": 1}}, OptionError),
        ({**told, "options": None}, InputError),
        ({**told, "select": "marked"}, OptionError),
        ({**told, "select": "rare"}, OptionError),
        ({**told, "space": {**told["space"], "checksum": "0" * 64}}, SpaceError),
        ({**told, "select": None}, InputError),
    ]
    for facts, kind in wrong:
        with pytest.raises(kind):
            Reader.of_report(facts, space=SPACE)
    with pytest.raises(SpaceError):
        Reader.of_report(told)  # which space that was cannot be known
    with pytest.raises(SpaceError):
        Reader.of_report(told, space=make_space(WORDS, seed=9))
    (tmp_path / "no.json").write_text("[]")
    for name in ("no.json", "missing.json"):
        with pytest.raises(FileError):
            Reader.of_report(tmp_path / name)


def test_a_report_that_an_editor_saved_with_a_mark_is_read(tmp_path: Path) -> None:
    report = Veil(mechanism("graph", SPACE, epsilon=2.0)).report()
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report), encoding="utf-8-sig")
    assert Reader.of_report(path, space=SPACE).mechanism.epsilon == 2.0


def test_a_report_on_the_bundled_space_needs_no_more(tmp_path: Path) -> None:
    for normalise, name in ((False, "graph"), (True, "exponential")):
        made = mechanism(name, load_space("glove-50k", normalise=normalise), epsilon=4.0)
        assert Reader.of_report(Veil(made).report()).mechanism.describe() == made.describe()


@pytest.mark.parametrize("kind", ["table", "population"])
@pytest.mark.parametrize("prior", ["space", "array"])
def test_saving_and_loading(kind: str, prior: str, tmp_path: Path) -> None:
    made = mechanism("graph", SPACE, epsilon=2.0)
    chosen: Any = rank_prior()[::-1].copy() if prior == "array" else prior
    text = text_of([1, 5, 1, 7, 30])
    path = tmp_path / "reader.npz"
    reader = Reader(made, kind=kind, prior=chosen, select="all", case="lower", vectors=np.eye(WORDS)[:, :7])
    reader.save(path)  # before it has learnt anything
    assert Reader.load(path, space=SPACE).kind == kind
    expected = reader.fit([text]).transform([text])
    reader.save(path)
    again = Reader.load(path, space=SPACE)
    assert again.transform([text]) == pytest.approx(expected)
    assert again.best(text) == reader.best(text)
    assert whole(again, text) == pytest.approx(whole(reader, text))
    assert again.transform([text_of([40])]) == pytest.approx(reader.transform([text_of([40])]))
    assert [one.name for one in tmp_path.iterdir()] == ["reader.npz"]
    with pytest.raises(SpaceError):
        Reader.load(path, space=make_space(WORDS, seed=3))
    content = path.read_bytes()
    for damaged in (b"", content[:100], content[: len(content) // 2], _flipped(content), b"\x93NUMPY" + content[6:]):
        (tmp_path / "damaged.npz").write_bytes(damaged)
        with pytest.raises(FileError):
            Reader.load(tmp_path / "damaged.npz", space=SPACE)
    np.savez(tmp_path / "other.npz", vectors=np.eye(2))
    np.save(tmp_path / "other.npy", np.eye(2))
    for name in ("other.npz", "other.npy", "missing.npz"):
        with pytest.raises(FileError):
            Reader.load(tmp_path / name, space=SPACE)
    with pytest.raises(FileError):
        reader.save(tmp_path / "missing" / "reader.npz")
    with pytest.raises(OptionError):
        reader.save(None)  # type: ignore[arg-type]


def _flipped(content: bytes) -> bytes:
    """Flip a bit of the largest array."""
    place = max((match.end() for match in re.finditer(rb"\x93NUMPY[^\n]*\n", content)), default=0) + 3
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def test_a_public_table_is_cached_once_it_is_worth_it_and_a_population_never(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path))
    made = mechanism("exponential", SPACE, epsilon=1.25)
    text = text_of([3, 4, 5, 6, 7, 8])

    def entries() -> list[str]:
        return [one.name for one in tmp_path.iterdir() if one.name.startswith("reading-")]

    alone = Reader(made, select="all").transform([text_of([3])])
    assert entries() == []
    first = Reader(made, select="all").transform([text])
    assert len(entries()) == 1
    assert Reader(made, select="all").transform([text_of([3])]) == pytest.approx(alone, rel=1e-5)
    monkeypatch.setattr(type(made.law()), "posterior_mean", None)  # not to be computed again
    assert np.array_equal(Reader(made, select="all").transform([text]), first)
    monkeypatch.undo()
    monkeypatch.setenv("WORDVEIL_CACHE", str(tmp_path))
    Reader(made, select="all").transform([text])
    other = mechanism("exponential", SPACE, epsilon=1.5)
    for reader in (
        Reader(made, select="all", prior="uniform"),
        Reader(other, select="all"),
        Reader(made, select="all", vectors=np.eye(WORDS)),
    ):
        before = len(entries())
        reader.transform([text])
        assert len(entries()) == before + 1
    reference = tmp_path / "reference.txt"
    reference.write_text("zqa zqb zqa", encoding="utf-8")
    before = len(entries())
    Reader(made, select="all", kind="population").fit_transform([text])
    Reader(made, select="all", prior=reference).transform([text])
    Reader(made, select="all", prior=rank_prior()).transform([text])
    assert len(entries()) == before


def test_priors_from_files(tmp_path: Path) -> None:
    made = mechanism("graph", SPACE, epsilon=1e-6)  # reveals nothing, so that the posterior is the prior
    text, listed = tmp_path / "text.txt", tmp_path / "list.tsv"
    text.write_text("zqd zqd zqd, zqe!\nunheard zqd\n" * 100, encoding="utf-8")
    listed.write_text("zqd\t400\nzqe\t100\nunheard\t100\n", encoding="utf-8")
    for path in (text, listed):
        found = whole(Reader(made, prior=path, select="all"), "zqz")
        assert not found.size  # zqz is no word of this space
        found = whole(Reader(made, prior=str(path), select="all"), "zqa")[0]
        assert found[3] == pytest.approx(0.8, abs=0.01)
        assert found[4] == pytest.approx(0.2, abs=0.01)
        assert (found > 0).all()
    wrong = tmp_path / "wrong"
    wrong.write_text("unheard of", encoding="utf-8")
    with pytest.raises(InputError):
        Reader(made, prior=wrong)
    wrong.write_bytes(b"\xff\xfe")
    for path in (wrong, tmp_path / "missing"):
        with pytest.raises(FileError):
            Reader(made, prior=path)
    listed.write_text("zqd 4\n" * 200 + "and so on\n", encoding="utf-8")
    with pytest.raises(FileError):
        Reader(made, prior=listed)


def test_wrong_options_and_texts() -> None:
    made = mechanism("graph", SPACE, epsilon=2.0)
    wrong: list[dict[str, Any]] = [
        {"kind": "nothing"},
        {"prior": np.ones(3)},
        {"prior": np.zeros(WORDS)},
        {"prior": np.full(WORDS, np.nan)},
        {"prior": 3},
        {"select": "marked"},
        {"select": "words"},
        {"case": "nothing"},
        {"vectors": np.ones(WORDS)},
        {"vectors": np.ones((3, 3))},
        {"vectors": np.full((WORDS, 2), np.inf)},
        {"vectors": np.full((WORDS, 2), "text")},
    ]
    for options in wrong:
        with pytest.raises(OptionError):
            Reader(made, **options)
    with pytest.raises(OptionError):
        Reader("graph")  # type: ignore[arg-type]
    reader = Reader(made, select="all")
    for call in (
        lambda: reader.transform("canary"),
        lambda: reader.fit("canary"),
        lambda: reader.transform([None]),  # type: ignore[list-item]
        lambda: reader.posterior(None),  # type: ignore[arg-type]
        lambda: reader.posterior("zqa", others="zqb"),
        lambda: reader.best("zqa zqb canary", others=["zqa zqb"]),
        lambda: reader.transform(["zqa"], others=[]),
    ):
        with pytest.raises(InputError) as refused:
            call()
        assert "canary" not in str(refused.value)
    with pytest.raises(OptionError):
        reader.posterior("zqa", top=0)
    assert len(reader.posterior("zqa", top=10**6)[0].words) == WORDS
    assert "table" in repr(reader)


def test_a_space_without_vectors_needs_some() -> None:
    made = mechanism("graph", SPACE, epsilon=2.0)
    alone = type(made.space)("alone", SPACE.vocabulary, made.space.indptr, made.space.indices)
    bare = mechanism("graph", alone, epsilon=2.0)
    with pytest.raises(SpaceError):
        Reader(bare)
    assert Reader(bare, select="all", vectors=np.eye(WORDS)).transform(["zqa"]).sum() == pytest.approx(1.0)


def test_a_mechanism_of_ones_own_is_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type(mechanism("exponential", SPACE, epsilon=2.0))
    own = type("Own", (kind,), {"__module__": "elsewhere"})
    monkeypatch.setattr(kinds_module, "cached_arrays", None)
    made = own(SPACE, 2.0)
    assert np.isfinite(Reader(made, select="all").fit([], watch=ignore).transform(["zqa"])).all()


def test_shares_come_with_their_interval() -> None:
    """The share of right guesses among fresh draws lies where the success of the best guess says."""
    made = mechanism("graph", SPACE, epsilon=3.0)
    originals = np.random.default_rng(7).choice(WORDS, 20_000, p=rank_prior())
    text = text_of(made.draw(originals, Entropy(8)))
    guessed = Reader(made, select="all", case="lower").best(text).split()
    success = made.law().best_guess(rank_prior()).success.value
    right = sum(guess == NAMES[true] for guess, true in zip(guessed, originals.tolist(), strict=True))
    assert lower_bound(right, len(originals), ALPHA) < success < upper_bound(right, len(originals), ALPHA)


@pytest.mark.parametrize("count", [5, 60])  # few of the words, which are then all that is looked at, and all of them
@pytest.mark.parametrize("kind", ["table", "population"])
def test_the_guess_is_the_likeliest_word_however_many_words_came_out(kind: str, count: int) -> None:
    reader = Reader(mechanism("graph", SPACE, epsilon=2.0), kind=kind, select="all", prior=rank_prior())
    places = reader.cut([text_of(np.arange(count))])
    reader.fit_places(places)
    assert reader.guesses(places).tolist() == reader.likeliest(places, 1)[0][:, 0].tolist()


def test_a_reader_without_context_knows_as_much_of_frequencies() -> None:
    pytest.importorskip("torch")
    texts = [text_of(row) for row in np.random.default_rng(1).integers(0, WORDS, (40, 6))]
    made = mechanism("graph", SPACE, epsilon=3.0)
    fitted = {kind: Reader(made, kind=kind, select="all", prior=rank_prior()) for kind in ("population", "context")}
    fitted["context"].tune(steps=1, fresh=True)
    places = fitted["context"].cut(texts)
    for reader in fitted.values():
        reader.fit_places(places)
    weaker = fitted["context"].without_context()
    assert weaker.kind == "population"
    assert fitted["context"].kind == "context"
    assert np.array_equal(weaker.likeliest(places, 3)[1], fitted["population"].likeliest(places, 3)[1])
