"""The search for a better default: its matrices are wordveil's own, and its spaces are what they are said to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from tests.conftest import ALPHA, make_space
from tests.lab.tasks.made_data import topic_space
from wordveil._mechanisms import mechanism
from wordveil.lab.tasks import AveragedVectors, Reading, TaskTexts, evaluate, load_task
from wordveil.spaces.graph import build_graph
from wordveil.stats import Estimate

torch = pytest.importorskip("torch", reason="the search for a better default was not tested: torch is not installed")

from benchmarks.frontier_search import graphs  # noqa: E402
from benchmarks.frontier_search.candidates import DEFAULT, FORMER, Entry, entries  # noqa: E402
from benchmarks.frontier_search.channels import Candidate, Sampler, probabilities, success  # noqa: E402
from benchmarks.frontier_search.checks import differences  # noqa: E402
from benchmarks.frontier_search.ground import Ground  # noqa: E402
from benchmarks.frontier_search.hierarchies import cluster_distance  # noqa: E402
from benchmarks.frontier_search.mechanism import ChannelMechanism  # noqa: E402
from benchmarks.frontier_search.paths import shortest_paths  # noqa: E402
from benchmarks.frontier_search.search import Comparison, Row, leading  # noqa: E402
from benchmarks.frontier_search.table import line, tables  # noqa: E402

WORDS = 120


@pytest.fixture(scope="module")
def ground() -> Ground:
    return Ground(make_space(WORDS), "cpu")


@pytest.fixture(scope="module")
def topics() -> Ground:
    return Ground(topic_space(), "cpu")


def test_the_default_as_a_matrix_is_the_mechanism(ground: Ground) -> None:
    assert max(differences(ground).values()) < 1e-4


@pytest.mark.parametrize("k", [2, 5, 10])
def test_neighbours_are_joined_as_the_space_of_the_graph_does(ground: Ground, k: int) -> None:
    indptr, indices = build_graph(ground.space, k)
    expected = {(row, int(one)) for row in range(WORDS) for one in indices[indptr[row] : indptr[row + 1]] if row < one}
    assert {(int(a), int(b)) for a, b in graphs.connected(ground, graphs.nearest(ground, k))} == expected


def test_mutual_neighbours_are_on_each_others_lists(ground: Ground) -> None:
    listed = [set(row) for row in ground.listed[:, :8].tolist()]
    expected = {(a, b) for a in range(WORDS) for b in listed[a] if a in listed[b]}
    assert {(a, b) for a, b in graphs.mutual(ground, 8).tolist()} == expected


def test_a_hub_is_less_similar(ground: Ground) -> None:
    cosines = ground.space.directions @ ground.space.directions.T
    np.fill_diagonal(cosines, -np.inf)
    scores = 2 * cosines - np.sort(cosines, axis=1)[:, -10:].mean(axis=1)
    expected = {(row, one) for row in range(WORDS) for one in np.argsort(-scores[row])[:6].tolist()}
    assert {(a, b) for a, b in graphs.hubless(ground, 6).tolist()} == expected


def test_neighbours_of_one_direction_are_passed_over(ground: Ground) -> None:
    taken: dict[int, list[int]] = {row: [] for row in range(WORDS)}
    cosines = ground.space.directions @ ground.space.directions.T
    for row in range(WORDS):
        for one in ground.listed[row, :20].tolist():
            if len(taken[row]) < 4 and all(cosines[one, other] <= cosines[row, one] for other in taken[row]):
                taken[row].append(one)
    expected = {(row, one) for row, ones in taken.items() for one in ones}
    found = {(a, b) for a, b in graphs.spread(ground, 4, 20).tolist()}
    assert len(found ^ expected) <= 2  # where two cosines are equal but for rounding


def test_spanning_trees_share_no_edge(ground: Ground) -> None:
    pairs = graphs.spanning_trees(ground, 3)
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert len(graphs.spanning_trees(ground, 1)) == WORDS - 1


@pytest.mark.parametrize("trees", [1, 4])
def test_clusters_grow_slowly(ground: Ground, trees: int) -> None:
    apart = cluster_distance(ground, trees, seed=3).numpy()
    assert np.array_equal(apart, apart.T)
    assert not apart.diagonal().any()
    assert apart[~np.eye(WORDS, dtype=bool)].min() > 0
    if trees == 1:
        for other in range(WORDS):
            assert (apart <= np.maximum(apart[:, other, None], apart[other])).all()
        for radius in np.unique(apart):
            assert (apart <= radius).sum(axis=1).max() <= 2**radius * (1 + 1e-6)


def test_every_candidate_is_made_from_a_metric(ground: Ground) -> None:
    tried = entries(wordnet=False)
    assert len(tried) >= 40
    assert len({entry.label for entry in tried}) == len(tried)
    for entry in tried:
        cost = entry.make(ground).cost.numpy().astype(np.float64)
        assert np.allclose(cost, cost.T, atol=1e-5), entry.label
        assert not cost.diagonal().any(), entry.label
        # What the proof of the promise needs: no input changes a cost by more than its distance, which is at most the
        # cost and what was free of it.
        free = 4.0 if "4 free" in entry.label else 2.0 if "2 free" in entry.label else 1.0
        for other in range(0, WORDS, 7):
            assert (np.abs(cost - cost[other]).max(axis=1) <= cost[other] + free + 1e-5).all(), entry.label


def test_the_promise_holds_in_hops(ground: Ground) -> None:
    pairs = graphs.connected(ground, graphs.nearest(ground, 3))
    hops = shortest_paths(WORDS, pairs, graphs.unit(ground, pairs), "cpu")
    prior = torch.linspace(0, -2, WORDS)
    logs = probabilities(Candidate.free(hops, 0.5, prior), 3.0).log().numpy()
    for word in range(WORDS):
        assert (np.abs(logs - logs[word]).max(axis=1) <= 3.0 * hops[word].numpy() + 1e-4).all()


def test_a_quick_search_has_every_family() -> None:
    quick, everyone = entries(wordnet=False, quick=True), entries(wordnet=False)
    assert {entry.family for entry in quick} == {entry.family for entry in everyone}
    assert {DEFAULT, FORMER} <= {entry.label for entry in quick}
    assert len(quick) < len(everyone) / 2
    assert len(entries(wordnet=True)) > len(everyone)


def test_synonyms_are_words_of_one_synset(tmp_path: Path, glove: Any) -> None:
    synset = "00000001 05 n 03 ship 0 vessel 0 unheard_of 0 000 | a craft\n"
    (tmp_path / "data.noun").write_text(synset, encoding="utf-8")
    (tmp_path / "data.verb").write_text("00000002 30 v 01 sail 0 000 01 + 01 00 | travel\n", encoding="utf-8")
    small = Ground(glove.restrict(np.array([glove.vocabulary.id(word) for word in ("sail", "ship", "vessel")])), "cpu")
    assert Ground(small.space, "cpu", tmp_path).synonyms.tolist() == [[1, 2], [2, 1]]
    assert not len(small.synonyms)


def test_draws_follow_the_channel() -> None:
    generator = torch.Generator().manual_seed(1)
    channel = 0.01 + torch.rand((30, 30), generator=generator, dtype=torch.float64) ** 3
    channel /= channel.sum(dim=1, keepdim=True)
    draw = Sampler(channel)
    for word in (0, 17, 29):
        drawn = draw(torch.full((40_000,), word), generator)
        counts = torch.bincount(drawn, minlength=30).numpy()
        assert chisquare(counts, 40_000 * channel[word].numpy()).pvalue > ALPHA


def test_the_best_guess_is_counted() -> None:
    channel = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.5, 0.3], [0.0, 0.5, 0.5]])
    assert success(channel, torch.tensor([0.5, 0.3, 0.2])) == pytest.approx(0.45 + 0.15 + 0.1)


@pytest.mark.parametrize("name", ["mr", "trec6", "sick-e"])
def test_a_channel_that_keeps_every_word_leaves_the_tasks_as_they_are(topics: Ground, data: Path, name: str) -> None:
    task = load_task(name, data)
    model, texts = AveragedVectors(topics.space), TaskTexts([task], topics.space)
    expected = evaluate(task, model).answers
    random, clean = texts.ends(model, repeats=1, seed=0)
    assert np.array_equal(clean[0].answers, expected)
    assert random[0].score < clean[0].score
    keeping = ChannelMechanism(topics.space, torch.eye(len(topics)), 1.0)
    for read in texts.read(keeping, model, Reading(("table", "population")), repeats=2).values():
        assert np.array_equal(read.outcomes[0].answers, np.repeat(expected, 2, axis=0))
        assert read.guessed.value == 1.0


def test_the_law_of_a_channel_is_that_of_the_mechanism(ground: Ground) -> None:
    channel = probabilities(entries(wordnet=False)[0].make(ground), 4.0)
    ours = ChannelMechanism(ground.space, channel, 4.0).law()
    theirs = mechanism("graph", ground.space, epsilon=4.0).law()
    outputs, prior = np.array([3, 17, 99]), np.linspace(1.0, 2.0, WORDS) / np.linspace(1.0, 2.0, WORDS).sum()
    assert np.allclose(ours.log_columns(outputs), theirs.log_columns(outputs), atol=1e-4)
    vectors = ground.space.matrix
    assert np.allclose(
        ours.posterior_mean(vectors, prior, outputs), theirs.posterior_mean(vectors, prior, outputs), atol=1e-4
    )
    counts = np.random.default_rng(1).integers(0, 50, WORDS)
    assert np.allclose(ours.explain_counts(counts, prior), theirs.explain_counts(counts, prior), atol=1e-5)
    mine, known = ours.best_guess(prior), theirs.best_guess(prior)
    assert mine.success.value == pytest.approx(known.success.value, rel=1e-5)
    assert (mine.words == known.words).mean() > 0.95  # but for what rounding decides


def test_candidates_are_compared_at_the_same_success(topics: Ground, data: Path) -> None:
    comparison = Comparison(topics, [load_task(name, data) for name in ("mr", "cr")], repeats=2)
    tried = [entry for entry in entries(wordnet=False, quick=True) if entry.family != "hierarchical spaces"]
    blind = Entry("none", "tells nothing", lambda ground: Candidate(torch.zeros((len(ground), len(ground)))))
    rows = list(comparison.rows([blind, *reversed(tried)], (0.25,)))
    assert rows[0].label == DEFAULT
    assert rows[0].gain is None
    assert {row.label for row in rows} == {entry.label for entry in tried}  # what tells nothing never gets so far
    for row in rows:
        made = next(entry for entry in tried if entry.label == row.label).make(topics)
        assert success(probabilities(made, row.epsilon), comparison.chances) == pytest.approx(0.25, rel=0.0021)
        assert row.share == pytest.approx(np.mean(list(row.shares.values())))
        if row.gain is not None:
            assert row.gain.value == pytest.approx(row.share - rows[0].share)
            assert row.gain.low <= row.gain.value <= row.gain.high


def test_those_go_on_that_lead_at_no_worse_near_loss_or_at_any() -> None:
    def row(label: str, near_loss: float, share: float) -> Row:
        return Row("", label, 0.25, 1.0, 0.25, 0.1, 0.1, near_loss, share, {}, Estimate(0, 0, 0), {})

    fair = [row(f"fair {number}", 3.0, 0.1 * number) for number in range(5)]
    loud = [row(f"loud {number}", 5.0, 0.5 + 0.1 * number) for number in range(5)]
    found = leading([row(FORMER, 8.0, 0.9), *fair, row(DEFAULT, 3.0, 0.4), *loud])
    assert found == [DEFAULT, FORMER, "fair 4", "fair 3", "fair 2", "loud 4", "loud 3", "loud 2"]


@pytest.mark.parametrize(("name", "part"), [("search.json", 0), ("search-context.json", 2)])
def test_the_page_shows_what_the_search_found(name: str, part: int) -> None:
    docs = Path(__file__).parents[3] / "docs"
    facts = json.loads((docs / name).read_text(encoding="utf-8"))
    rows = [Row.from_dict(one) for part in facts["compared"].values() for one in part["rows"]]
    whole = (docs / "search.md").read_text(encoding="utf-8")
    page = whole.partition("## At equal success of an attacker in context")[part].splitlines()
    shown = [told for told in page if told.startswith("| ") and not told.startswith("| family ")]
    assert shown == [line(row) for row in rows]
    assert all(told in tables(facts) for told in shown)
    assert {row.label for row in rows} <= {entry.label for entry in entries(wordnet=True)}
    assert DEFAULT in {row.label for row in rows}
