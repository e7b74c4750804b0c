"""Releases of tasks: veiled as a veil does it, and read as a reader does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wordveil
from wordveil.errors import InputError, OptionError
from wordveil.lab.tasks import (
    AS_IT_STANDS,
    CLASSES,
    AveragedVectors,
    Reading,
    Task,
    TaskTexts,
    evaluate,
    load_task,
    read_back,
    readers_up_to,
)
from wordveil.lab.tasks.models import logistic_by_torch
from wordveil.reading import LEFT_ALONE, VEILED
from wordveil.spaces import EuclideanSpace


def made(texts: list[str]) -> Task:
    return Task("made", CLASSES, (texts,), np.zeros(len(texts)))


def test_readers_come_in_the_order_of_their_strength() -> None:
    assert readers_up_to("population") == ("table", "population")
    assert readers_up_to("context") == ("table", "population", "context")
    with pytest.raises(OptionError):
        readers_up_to("crystal ball")


def test_a_drawn_function_word_passes_for_one_left_alone(glove: EuclideanSpace) -> None:
    space = glove.restrict(np.arange(300))
    texts = TaskTexts(
        [made(["the government of the world", "president 1234567 unheard"] * 50)], space, select="content"
    )
    released = texts.veil(wordveil.mechanism("graph", space, epsilon=0.1), seed=1)
    drawn = texts.clean.kinds == VEILED
    assert 0 < (released.kinds[drawn] == LEFT_ALONE).mean() < 1
    assert (released.ids[texts.clean.kinds == LEFT_ALONE] == texts.clean.ids[texts.clean.kinds == LEFT_ALONE]).all()
    number, unheard = 6, 7  # a number stays unknown, a word outside the vocabulary is replaced by one inside
    assert released.ids[number] < 0 <= released.ids[unheard]


@pytest.mark.parametrize("name", ["population", "shipped"])
def test_what_is_read_is_what_a_reader_reads(glove: EuclideanSpace, name: str) -> None:
    space = glove.restrict(np.arange(2000))
    graph = wordveil.mechanism("graph", space, epsilon=5.0)
    texts = ["two people met the president", "a company in the city", "three years of war"] * 20
    veiled = [one.text for one in wordveil.Veil(graph, seed=3).many(texts)]
    table = TaskTexts([made(veiled)], space, select="content")
    reader = Reading().reader(name, graph, "content", space.matrix)
    vectors, guesses = reader.fit_places(table.clean).read(table.clean)
    assert np.allclose(vectors, reader.fit(veiled).transform(veiled), atol=1e-5)
    assert (guesses == reader.guesses(table.clean)).all()


def test_reading_keeps_more_than_the_drawn_words(data: Path, topics: EuclideanSpace) -> None:
    task, model = load_task("trec6", data), AveragedVectors(topics)
    texts = TaskTexts([task], topics)
    found = texts.read(wordveil.mechanism("graph", topics, epsilon=4.0), model, Reading(), repeats=2)
    assert list(found) == [AS_IT_STANDS, "table", "population"]
    assert found["population"].outcomes[0].score >= found[AS_IT_STANDS].outcomes[0].score
    assert all(0.0 < one.guessed.low < one.guessed.high < 1.0 for one in found.values())
    assert found["table"].outcomes[0].answers.shape == (2, len(task.tested))
    with pytest.raises(InputError):
        _ = TaskTexts([made(["unheard"])], topics).chances


def test_texts_can_be_read_back_for_models_of_words(data: Path, topics: EuclideanSpace) -> None:
    task, model = load_task("mr", data), AveragedVectors(topics)
    sure = wordveil.mechanism("graph", topics, epsilon=60.0)
    back = read_back(sure, "population", Reading(), vectors=topics.matrix)
    assert np.array_equal(evaluate(task, model, back, repeats=1).answers, evaluate(task, model).answers)


@pytest.mark.parametrize("classes", [2, 4])
def test_both_logistic_regressions_find_the_same_solution(classes: int) -> None:
    pytest.importorskip("torch")
    linear_model = pytest.importorskip("sklearn.linear_model")
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(classes, 5))
    labels = generator.integers(0, classes, 300).astype(np.float64)
    points = centres[labels.astype(np.int64)] + generator.normal(size=(300, 5))
    expected = (
        linear_model.LogisticRegression(C=0.1, max_iter=2000).fit(points[:200], labels[:200]).predict(points[200:])
    )
    assert (logistic_by_torch(points[:200], labels[:200], points[200:], 0.1, "cpu") == expected).mean() >= 0.99
