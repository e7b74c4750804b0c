"""Classifiers: logistic regression on mean vectors, or a bidirectional LSTM on the words in order."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wordveil.errors import OptionError
from wordveil.extras import needs
from wordveil.lab.pytorch import seeded_torch, training_device
from wordveil.lab.tasks.task import Task
from wordveil.parallel import narrow_blas
from wordveil.spaces import EuclideanSpace
from wordveil.text import tokenise

_STRENGTH = 0.1  # the C of logistic regression
_BATCH = 64
_RATE = 2e-3


def cosines(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the cosine of each row with the row beside it; 0 if one of them is zero."""
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    products = np.einsum("ij,ij->i", left, right)
    return np.divide(products, lengths, out=np.zeros(len(left)), where=lengths > 0)


class Model(ABC):
    """Learns classes from texts, which it reads through public word vectors, as an analyst would."""

    def __init__(self, space: EuclideanSpace) -> None:
        self.space = space

    def ids(self, text: str) -> list[int]:
        """Return the ids of the known words, in order."""
        get = self.space.vocabulary.ids.get
        pieces, keys = tokenise(text)
        found = (get(word, get(key, -1)) for word, key in zip(pieces[1::2], keys, strict=True))
        return [place for place in found if place >= 0]

    def known(self, task: Task) -> Task:
        """Return the task without examples in which a text has no known word."""
        heard = [[bool(self.ids(text)) for text in column] for column in task.columns]
        return task.only(np.flatnonzero(np.all(heard, axis=0)))

    def means(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the mean vector of each text as a row; zeros for a text without a known word."""
        rows = [self.ids(text) for text in texts]
        lengths = np.array([len(row) for row in rows])
        words = np.fromiter((place for row in rows for place in row), np.int64, count=int(lengths.sum()))
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        counts = csr_array((np.ones(len(words), np.float32), words, indptr), shape=(len(rows), len(self.space)))
        return np.asarray(counts @ self.space.matrix / np.maximum(lengths, 1)[:, None], dtype=np.float32)

    @abstractmethod
    def features(self, columns: Sequence[Sequence[str]]) -> NDArray[Any]:
        """Return the features of the examples, a row each."""

    @abstractmethod
    def predict(
        self, train: NDArray[Any], labels: NDArray[np.float64], test: NDArray[Any], seed: int
    ) -> NDArray[np.float64]:
        """Learn from examples with their classes, and predict those of others."""


class AveragedVectors(Model):
    """Logistic regression on the mean vector of a text; for a pair of texts, on ``|a-b|`` and ``a*b``."""

    def features(self, columns: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        """Return the features of the examples, a row each."""
        return self.joined([self.means(column) for column in columns])

    def joined(self, means: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return the features of examples whose texts have these mean vectors, an array for each column."""
        if len(means) == 1:
            return means[0]
        left, right = means
        return np.concatenate([np.abs(left - right), left * right], axis=1)

    def predict(
        self, train: NDArray[Any], labels: NDArray[np.float64], test: NDArray[Any], seed: int
    ) -> NDArray[np.float64]:
        """Learn from examples with their classes, and predict those of others."""
        if len(np.unique(labels)) == 1:
            return np.full(len(test), labels[0])
        # On one scale, the solver needs few steps, and the same C means the same for every mechanism.
        middle, spread = train.mean(axis=0, dtype=np.float64), train.std(axis=0, dtype=np.float64)
        spread[spread == 0.0] = 1.0
        learnt, tested = (train - middle) / spread, (test - middle) / spread
        if _has_only_torch() or ("torch" in sys.modules and training_device().type == "cuda"):
            return logistic_by_torch(learnt, labels, tested, _STRENGTH, training_device().type)
        needs("sklearn", "tasks", "this task")
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - an extra

        fitted = LogisticRegression(C=_STRENGTH, max_iter=2000, random_state=seed)
        with narrow_blas:  # the products are so small that threads would only wait
            fitted.fit(learnt, labels)
        return np.asarray(fitted.predict(tested), dtype=np.float64)


def _has_only_torch() -> bool:
    return find_spec("sklearn") is None and find_spec("torch") is not None


def logistic_by_torch(
    train: NDArray[np.float64], labels: NDArray[np.float64], test: NDArray[np.float64], strength: float, device: str
) -> NDArray[np.float64]:
    """Do what scikit-learn's logistic regression does, with PyTorch, which can use a GPU. The optimum is unique.

    The objective is the sum of the losses times `strength`, plus half the squared weights without the intercepts. With
    two classes there is one vector of weights, with more there is one for each.
    """
    import torch  # noqa: PLC0415 - an extra, and slow to import

    classes, targets = np.unique(labels, return_inverse=True)
    outputs = 1 if len(classes) == 2 else len(classes)
    seen = torch.as_tensor(train, dtype=torch.float64, device=device)
    gold = torch.as_tensor(targets, device=device)
    weights = torch.zeros((train.shape[1], outputs), dtype=torch.float64, device=device, requires_grad=True)
    ends = torch.zeros(outputs, dtype=torch.float64, device=device, requires_grad=True)
    solver = torch.optim.LBFGS(
        [weights, ends], max_iter=500, tolerance_grad=1e-6, tolerance_change=1e-10, line_search_fn="strong_wolfe"
    )

    def loss() -> Any:
        solver.zero_grad()
        scores = seen @ weights + ends
        if outputs == 1:
            wrong = torch.nn.functional.binary_cross_entropy_with_logits(scores[:, 0], gold.double(), reduction="sum")
        else:
            wrong = torch.nn.functional.cross_entropy(scores, gold, reduction="sum")
        found = (wrong + 0.5 / strength * weights.square().sum()) / len(gold)
        found.backward()
        return found

    solver.step(loss)
    with torch.no_grad():
        scores = torch.as_tensor(test, dtype=torch.float64, device=device) @ weights + ends
        chosen = (scores[:, 0] > 0).long() if outputs == 1 else scores.argmax(dim=1)
    return np.asarray(classes[chosen.cpu().numpy()], dtype=np.float64)


class BiLstm(Model):
    """A bidirectional LSTM over fixed word vectors, with the maximum of its states over the text (PyTorch)."""

    def __init__(self, space: EuclideanSpace, *, words: int = 120, hidden: int = 64, epochs: int = 4) -> None:
        super().__init__(space)
        needs("torch", "gpu", "the biLSTM")
        self.words, self.hidden, self.epochs = words, hidden, epochs

    def features(self, columns: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """Return the ids of the first words of each text plus 1, padded with 0."""
        if len(columns) != 1:
            raise OptionError("the biLSTM classifies single texts, not pairs.")
        rows = [self.ids(text)[: self.words] for text in columns[0]]
        padded = np.zeros((len(rows), max([1, *map(len, rows)])), dtype=np.int64)
        for row, ids in zip(padded, rows, strict=True):
            row[: len(ids)] = np.array(ids, dtype=np.int64) + 1
        return padded

    def predict(
        self, train: NDArray[Any], labels: NDArray[np.float64], test: NDArray[Any], seed: int
    ) -> NDArray[np.float64]:
        """Learn from examples with their classes, and predict those of others."""
        import torch  # noqa: PLC0415 - an extra, and slow to import

        classes, targets = np.unique(labels, return_inverse=True)
        with seeded_torch(seed):
            device = training_device()
            network = self._network(len(classes)).to(device)
            optimiser = torch.optim.Adam([one for one in network.parameters() if one.requires_grad], lr=_RATE)
            answers = torch.from_numpy(targets.astype(np.int64)).to(device)
            generator = np.random.default_rng(seed)
            network.train()
            for _ in range(self.epochs):
                for batch in _batches(train, generator):
                    optimiser.zero_grad()
                    loss = torch.nn.functional.cross_entropy(_scores(network, train[batch], device), answers[batch])
                    loss.backward()
                    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                    optimiser.step()
            network.eval()
            with torch.no_grad():
                told = [
                    _scores(network, test[start : start + 256], device).argmax(dim=1).cpu().numpy()
                    for start in range(0, len(test), 256)
                ]
        return np.asarray(classes[np.concatenate(told)], dtype=np.float64)

    def _network(self, classes: int) -> Any:
        import torch  # noqa: PLC0415 - an extra, and slow to import
        from torch import nn  # noqa: PLC0415

        vectors = self.space.matrix
        padded = np.concatenate([np.zeros((1, vectors.shape[1]), np.float32), vectors])
        return nn.ModuleDict(
            {
                "words": nn.Embedding.from_pretrained(torch.from_numpy(padded), freeze=True, padding_idx=0),
                "states": nn.LSTM(vectors.shape[1], self.hidden, batch_first=True, bidirectional=True),
                "drop": nn.Dropout(0.3),
                "out": nn.Linear(2 * self.hidden, classes),
            }
        )


def _scores(network: Any, rows: NDArray[np.int64], device: Any) -> Any:
    """Return the network's score of every class for rows of ids."""
    import torch  # noqa: PLC0415 - an extra, and slow to import

    ids = torch.from_numpy(rows[:, : max(1, int((rows > 0).sum(axis=1).max()))]).to(device)
    states, _ = network["states"](network["words"](ids))
    states = states.masked_fill((ids == 0).unsqueeze(2), -1.0)  # states lie between -1 and 1
    return network["out"](network["drop"](states.amax(dim=1)))


def _batches(rows: NDArray[np.int64], generator: np.random.Generator) -> list[NDArray[np.int64]]:
    """Cut the texts into batches of about equal length, in random order, so that short texts cost little."""
    lengths = (rows > 0).sum(axis=1) + generator.uniform(0, 4, len(rows))
    order = np.argsort(lengths)
    batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
    return [batches[place] for place in generator.permutation(len(batches))]
