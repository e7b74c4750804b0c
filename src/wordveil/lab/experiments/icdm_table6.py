"""ICDM Table VI: eight tasks with the paper's mechanism at three ε, between random words and clean text."""

from __future__ import annotations

from typing import Any

from wordveil._mechanisms import mechanism
from wordveil.lab.experiments.result import Cell, Result, Setting, Table
from wordveil.lab.tasks import AveragedVectors, Reader, Rewriter, Task, evaluate, load_task, random_words, veiled
from wordveil.noise import Entropy
from wordveil.spaces import EuclideanSpace, PoincareSpace, load_space
from wordveil.text import NgramTree, RareWords

__all__ = ["PUBLISHED_CLEAN", "run"]

_EPSILONS = (0.125, 1.0, 8.0)
_TREE, _BELOW = 5.0, 0.01
# random, ε = 1/8, 1, 8, and clean text read as averaged fastText vectors
_PAPER: dict[str, tuple[Cell, ...]] = {
    "mr": (58.19, 58.38, 63.56, 74.52, 78.20),
    "cr": (77.48, 83.21, 83.92, 85.19, 80.20),
    "mpqa": (84.27, 88.53, 88.62, 88.98, 88.00),
    "sst5": (30.81, 41.76, 42.40, 42.53, 45.10),
    "trec6": (75.20, 82.40, 82.40, 84.20, 83.40),
    "sick-e": (79.20, 81.00, 82.38, 82.34, 78.9),
    "mrpc": (69.86, 74.78, 75.07, 75.01, 74.40),
    "sts14": (17, 44, 45, 52, 65),
}
#: For each task the paper's score on clean text, read as averaged fastText vectors.
PUBLISHED_CLEAN = {name: scores[-1] for name, scores in _PAPER.items()}


def run(setting: Setting) -> Result:
    """Do the tasks on clean text, on random words, and on text veiled at each ε."""
    ball = load_space("wordnet-poincare")
    glove = load_space("glove-50k")
    model = AveragedVectors(Reader(glove))
    repeats = setting.pick(1, 3)
    rows: list[list[Cell]] = []
    facts = []
    for number, name in enumerate(_PAPER):
        setting.watch(name, number / len(_PAPER))
        task = load_task(name, setting.data)
        task = task.limited(1500, setting.seed) if setting.quick else task
        rewriters = _rewriters(task, ball, glove, setting.seed)
        outcomes = [evaluate(task, model, one, repeats=repeats, seed=setting.seed) for one in rewriters]
        found = [outcome.interval() for outcome in (*outcomes, evaluate(task, model, seed=setting.seed))]
        rows.append(
            [
                f"{task.name}, ours",
                *(f"{100 * one.value:.1f} [{100 * one.low:.1f}, {100 * one.high:.1f}]" for one in found),
            ]
        )
        rows.append([f"{task.name}, paper", *_PAPER[name]])
        facts.append({"task": task.name, "examples": len(task), "scores": [one.to_dict() for one in found]})
    return Result(
        [
            Table(
                "Accuracy in %; STS14: Pearson's r × 100",
                ("task", "random words", *(f"ε = {epsilon:g}" for epsilon in _EPSILONS), "clean"),
                rows,
            )
        ],
        "The paper's utility mostly rises with ε. Ours lies little above random words at every ε, because in our "
        "ball even ε = 8 changes nearly every word (icdm-fig5: one draw in a hundred stays, where the paper's Table "
        "IV has one in seven). What the paper calls rare is not said. In several rows its veiled text scores above "
        "its own clean text read as averaged fastText vectors, so a stronger encoder must have read the veiled text. "
        "Where random words score well, the task is decided by the words that are not veiled.",
        changed="Words of low transition probability are found as in the paper, by a private tree of word sequences "
        f"(ε = {_TREE:g} for a text, probability below {_BELOW:g}; the paper does not say which). WordNet's nouns and "
        "verbs in a 3-d ball stand for WebIsADb in 100-d, and words outside it stay as they are. Texts are read as "
        "averaged GloVe vectors, not by InferSent, SkipThought or fastText; the paper's last column is fastText's.",
        facts={"rows": facts, "repeats": repeats},
    )


def _rewriters(task: Task, ball: PoincareSpace, glove: EuclideanSpace, seed: int) -> list[Rewriter]:
    """Return what puts random words, or words drawn at each ε, in the place of rare ones."""
    texts = [text for column in task.columns for text in column]
    tree = NgramTree(glove.vocabulary, epsilon=_TREE, longest=3, words=20).grow(texts, Entropy(seed))
    chosen: dict[str, Any] = {"select": "rare", "rare": RareWords(tree, below=_BELOW), "oov": "keep"}
    made = [mechanism("hyperbolic-icdm19", ball, epsilon=epsilon) for epsilon in _EPSILONS]
    return [random_words(ball, **chosen), *(veiled(one, **chosen) for one in made)]
