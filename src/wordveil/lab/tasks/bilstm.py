"""The bidirectional LSTM, in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from wordveil.extras import one_torch_thread, training_device

__all__ = ["fit_predict"]

_BATCH = 64
_RATE = 2e-3


class _Network(nn.Module):  # type: ignore[misc]  # torch is not typed here
    def __init__(self, vectors: NDArray[np.float32], hidden: int, classes: int) -> None:
        super().__init__()
        padded = np.concatenate([np.zeros((1, vectors.shape[1]), np.float32), vectors])
        self.words = nn.Embedding.from_pretrained(torch.from_numpy(padded), freeze=True, padding_idx=0)
        self.lstm = nn.LSTM(vectors.shape[1], hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(2 * hidden, classes)

    def forward(self, ids: Any) -> Any:
        states, _ = self.lstm(self.words(ids))
        states = states.masked_fill((ids == 0).unsqueeze(2), -1.0)  # a state lies between -1 and 1
        return self.out(self.drop(states.amax(dim=1)))


def fit_predict(
    vectors: NDArray[np.float32],
    train: NDArray[np.int64],
    targets: NDArray[np.int64],
    test: NDArray[np.int64],
    *,
    hidden: int,
    epochs: int,
    seed: int,
) -> NDArray[np.int64]:
    """Train on rows of ids (0 is no word) with their classes, and tell the classes of others.

    Parameters
    ----------
    vectors : array of shape (words, dimension)
        The vector of id 1, 2, …; they are not trained.
    train, test : array of int
        A row of ids for each text.
    targets : array of int
        The classes of the training texts, from 0.
    hidden, epochs, seed : int
        The size of the state, how often to go through the texts, and which random numbers.
    """
    with torch.random.fork_rng(devices=[]), one_torch_thread():
        torch.manual_seed(seed)
        device = training_device()
        network = _Network(vectors, hidden, int(targets.max()) + 1).to(device)
        optimiser = torch.optim.Adam([one for one in network.parameters() if one.requires_grad], lr=_RATE)
        loss_of = nn.CrossEntropyLoss()
        answers = torch.from_numpy(targets.astype(np.int64)).to(device)
        generator = np.random.default_rng(seed)
        for _ in range(epochs):
            network.train()
            for batch in _batches(train, generator):
                optimiser.zero_grad()
                loss = loss_of(network(torch.from_numpy(_trimmed(train[batch])).to(device)), answers[batch])
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimiser.step()
        network.eval()
        with torch.no_grad():
            told = [
                network(torch.from_numpy(_trimmed(test[start : start + 256])).to(device)).argmax(dim=1).cpu().numpy()
                for start in range(0, len(test), 256)
            ]
        return np.concatenate(told)


def _batches(rows: NDArray[np.int64], generator: np.random.Generator) -> list[NDArray[np.int64]]:
    """Cut the texts into batches of about equal length, in random order: short texts then cost little."""
    lengths = (rows > 0).sum(axis=1) + generator.uniform(0, 4, len(rows))
    order = np.argsort(lengths)
    batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
    return [batches[place] for place in generator.permutation(len(batches))]


def _trimmed(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return rows[:, : max(1, int((rows > 0).sum(axis=1).max()))]
