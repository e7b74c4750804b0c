"""A small generative model of words: what the membership auditor audits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import WordveilError
from wordveil.extras import needs, one_torch_thread, training_device
from wordveil.text import tokenise

__all__ = ["Lexicon", "ModelSettings", "WordModel"]

_PADDING, _START, _UNKNOWN, _SPECIAL = 0, 1, 2, 3


class Lexicon:
    """The words that a model knows: the most frequent ones of a public text.

    Parameters
    ----------
    texts : iterable of str
        The text.
    words : int
        How many words at most.
    """

    def __init__(self, texts: Iterable[str], words: int) -> None:
        counted = Counter(key for text in texts for key in tokenise(text).keys)
        kept = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:words]
        if not kept:
            raise WordveilError("the reference texts have no words to learn from.")
        self._places = {word: place for place, (word, _) in enumerate(kept, _SPECIAL)}

    def __len__(self) -> int:
        return len(self._places) + _SPECIAL

    def pieces(self, texts: Iterable[str], longest: int) -> list[list[int]]:
        """Return the texts as numbers of words, cut into pieces."""
        found = []
        for text in texts:
            numbers = [self._places.get(key, _UNKNOWN) for key in tokenise(text).keys]
            found += [numbers[start : start + longest] for start in range(0, len(numbers), longest)]
        return found


@dataclass(frozen=True)
class ModelSettings:
    """How a model is made and trained.

    Parameters
    ----------
    words : int
        How many words it knows.
    width : int
        The size of its word vectors and of its state.
    epochs : int
        How often it sees its texts.
    batch : int
        How many pieces of text make a step.
    rate : float
        The learning rate (Adam).
    longest : int
        A text is cut into pieces of so many words.
    """

    words: int = 5000
    width: int = 96
    epochs: int = 20
    batch: int = 32
    rate: float = 4e-3
    longest: int = 24

    def __post_init__(self) -> None:
        if min(self.words, self.width, self.epochs, self.batch, self.longest) < 1 or not self.rate > 0:
            raise WordveilError("the settings of a word model must all be above 0.")


class WordModel:
    """Predicts the next word of a text with a gated recurrent network (GRU), in PyTorch, on CUDA if it is there.

    Parameters
    ----------
    lexicon : Lexicon
        The words it knows.
    settings : ModelSettings
        How it is made.
    seed : int
        Of its beginning and of the order of training.
    """

    def __init__(self, lexicon: Lexicon, settings: ModelSettings, seed: int = 0) -> None:
        needs("torch", "gpu", "this attack")
        self.lexicon, self.settings, self.seed = lexicon, settings, seed

    def fit(self, texts: Sequence[str]) -> WordModel:
        """Train on texts."""
        import torch  # noqa: PLC0415 - an extra, and slow to import

        pieces = self.lexicon.pieces(texts, self.settings.longest)
        if not pieces:
            raise WordveilError("a word model cannot be trained on texts without words.")
        with torch.random.fork_rng(devices=[]), one_torch_thread():
            torch.manual_seed(self.seed)
            self._network = _network(len(self.lexicon), self.settings.width).to(training_device())
            optimiser = torch.optim.Adam(self._network.parameters(), lr=self.settings.rate)
            generator = np.random.default_rng(self.seed)
            for _ in range(self.settings.epochs):
                order = generator.permutation(len(pieces))
                for inputs, targets in self._batches([pieces[place] for place in order.tolist()]):
                    optimiser.zero_grad()
                    loss = torch.nn.functional.cross_entropy(
                        _expected(self._network, inputs).flatten(0, 1), targets.flatten(), ignore_index=_PADDING
                    )
                    loss.backward()
                    torch.nn.utils.clip_grad_norm_(self._network.parameters(), 1.0)
                    optimiser.step()
        return self

    def ranks(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the rank of every known word of the texts among all that the model expected there; 0 is the first."""
        import torch  # noqa: PLC0415 - an extra, and slow to import

        found = [np.empty(0, dtype=np.int64)]
        with torch.no_grad(), one_torch_thread():
            for inputs, targets in self._batches(self.lexicon.pieces(texts, self.settings.longest)):
                known = targets >= _SPECIAL
                scores = _expected(self._network, inputs)[known][:, _SPECIAL:]
                own = scores.gather(1, (targets[known] - _SPECIAL)[:, None])
                found.append((scores > own).sum(dim=1).cpu().numpy().astype(np.int64))
        return np.concatenate(found)

    def _batches(self, pieces: list[list[int]]) -> Iterator[tuple[Any, Any]]:
        import torch  # noqa: PLC0415 - an extra, and slow to import

        device = training_device()
        for start in range(0, len(pieces), self.settings.batch):
            part = pieces[start : start + self.settings.batch]
            padded = torch.zeros(len(part), max(map(len, part)) + 1, dtype=torch.int64)
            padded[:, 0] = _START
            for row, piece in enumerate(part):
                padded[row, 1 : len(piece) + 1] = torch.tensor(piece)
            padded = padded.to(device)
            yield padded[:, :-1], padded[:, 1:]


def _network(words: int, width: int) -> Any:
    from torch import nn  # noqa: PLC0415 - an extra, and slow to import

    return nn.ModuleDict(
        {
            "vectors": nn.Embedding(words, width),
            "states": nn.GRU(width, width, batch_first=True),
            "scores": nn.Linear(width, words),
        }
    )


def _expected(network: Any, inputs: Any) -> Any:
    """Return a score of every word at every place of the inputs."""
    states, _ = network["states"](network["vectors"](inputs))
    return network["scores"](states)
