"""A small network that predicts the word at each place of a text from all other places.

The prediction for a place must not depend on the place's own output. One pass gives the predictions for all places:

- Two *towers* with shared weights read the text: one sees what stands before each word, the other what stands after.
- *Questions*, one per place, attend to the forward tower before the place and to the backward tower after it. So
  nothing they see has seen the place itself.
- The answer to a question is a vector. Its products with the word vectors, put through a small network of their own,
  are added to the log frequencies of the words.

The network knows words only by their vectors, so it works with any part of the vocabulary it was trained on.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.reading.places import GAPS
from wordveil.spaces.space import DATA

if TYPE_CHECKING:
    import torch

__all__ = ["PADDING", "Size", "bundled_weights", "make_network"]

PADDING = 3  # the kind of padding, after the three kinds of places


class Size(NamedTuple):
    """The size of the network."""

    # of every layer
    width: int = 256
    heads: int = 4
    # numbers of layers
    towers: int = 3
    questions: int = 2
    words: int = 192  # the dimension in which answers and words are compared


def bundled_weights(points: NDArray[np.float32]) -> tuple[Size, dict[str, NDArray[Any]]] | None:
    """Return the pretrained network, if it was trained with these vectors; None if not."""
    file = DATA / "reader" / "weights.npz"
    own = np.load(DATA / "glove-50k" / "vectors.npy", mmap_mode="r")
    if not file.exists() or points.shape[1] != own.shape[1]:
        return None
    known = np.unique(_fingerprints(own))
    if not np.isin(_fingerprints(points), known).all():
        return None
    with np.load(file) as found:
        weights = dict(found)
    return Size._make(weights.pop("size").tolist()), weights


def _fingerprints(points: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a hash of the first components of each vector."""
    first = np.ascontiguousarray(points[:, :8], dtype=np.float32).view(np.uint64)
    found = first[:, 0].copy()
    for column in first.T[1:]:
        found = found * np.uint64(0x9E3779B97F4A7C15) ^ column
    return found


def make_network(size: Size, dimension: int) -> Any:
    """Make a network for words with vectors of this dimension; before training all its answers are 0."""
    return _classes()["Network"](size, dimension)


@cache
def _classes() -> dict[str, Any]:
    """Define the modules when PyTorch is first needed: it is an extra, and slow to import."""
    import torch  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415
    from torch.nn import functional  # noqa: PLC0415

    class Attention(nn.Module):  # type: ignore[misc]
        """Attention with rotary position embeddings."""

        def __init__(self, size: Size) -> None:
            super().__init__()
            self.heads, self.drop = size.heads, nn.Dropout(0.0)
            self.ask = nn.Linear(size.width, size.width)
            self.offer = nn.Linear(size.width, 2 * size.width)
            self.leave = nn.Linear(size.width, size.width)

        def forward(
            self, asking: torch.Tensor, offered: torch.Tensor, turns: tuple[torch.Tensor, ...], allowed: torch.Tensor
        ) -> torch.Tensor:
            key, value = self.offer(offered).chunk(2, dim=-1)
            ask_turn, key_turn = turns
            found = functional.scaled_dot_product_attention(
                _turned(self._split(self.ask(asking)), ask_turn),
                _turned(self._split(key), key_turn),
                self._split(value),
                attn_mask=allowed[:, None],
                dropout_p=self.drop.p if self.training else 0.0,
            )
            return self.leave(found.transpose(1, 2).flatten(2))

        def _split(self, values: torch.Tensor) -> torch.Tensor:
            return values.unflatten(2, (self.heads, -1)).transpose(1, 2)

    class Block(nn.Module):  # type: ignore[misc]
        """A layer: attention, then a feed-forward network."""

        def __init__(self, size: Size) -> None:
            super().__init__()
            self.attention = Attention(size)
            self.before, self.offered, self.between = (nn.LayerNorm(size.width) for _ in range(3))
            self.inner = nn.Sequential(
                nn.Linear(size.width, 4 * size.width), nn.GELU(), nn.Linear(4 * size.width, size.width)
            )
            self.drop = nn.Dropout(0.0)

        def forward(
            self,
            asking: torch.Tensor,
            offered: torch.Tensor | None,
            turns: tuple[torch.Tensor, ...],
            allowed: torch.Tensor,
        ) -> torch.Tensor:
            own = self.before(asking)
            seen = own if offered is None else self.offered(offered)
            asking = asking + self.drop(self.attention(own, seen, turns, allowed))
            return asking + self.drop(self.inner(self.between(asking)))

    class Network(nn.Module):  # type: ignore[misc]
        """The network."""

        def __init__(self, size: Size, dimension: int) -> None:
            super().__init__()
            self.size = size
            self.enter = nn.Linear(2 * dimension, size.width)
            self.kind = nn.Embedding(PADDING + 1, size.width)
            self.before, self.after = nn.Embedding(GAPS, size.width), nn.Embedding(GAPS, size.width)
            self.direction = nn.Embedding(2, size.width)
            self.edge = nn.Parameter(torch.zeros(2, size.width))
            self.towers = nn.ModuleList(Block(size) for _ in range(size.towers))
            self.question = nn.Linear(2 * size.width, size.width)
            self.questions = nn.ModuleList(Block(size) for _ in range(size.questions))
            self.leave = nn.Sequential(nn.LayerNorm(size.width), nn.Linear(size.width, size.words))
            self.word = nn.Linear(dimension, size.words)
            self.word_inner = nn.Sequential(
                nn.Linear(dimension, size.width), nn.GELU(), nn.Linear(size.width, size.words)
            )
            self.drop = nn.Dropout(0.0)
            nn.init.zeros_(self.leave[1].weight)
            nn.init.zeros_(self.leave[1].bias)

        def forward(self, features: torch.Tensor, kinds: torch.Tensor, gaps: torch.Tensor) -> torch.Tensor:
            """Return the answer for every place.

            Parameters
            ----------
            features : tensor of shape (texts, places, 2 · dimension)
                For each place the vector of its word, and the mean vector of the word behind it.
            kinds : tensor of shape (texts, places)
                The kind of each place, or `PADDING`.
            gaps : tensor of shape (2, texts, places)
                The classes of what stands before and after each word.
            """
            count, longest = kinds.shape
            places = torch.arange(longest, device=kinds.device)
            present = kinds != PADDING
            around = self.before(gaps[0]) + self.after(gaps[1])
            inside = self.drop(self.enter(features) + self.kind(kinds) + around)
            both = torch.cat([inside + self.direction.weight[0], inside + self.direction.weight[1]])
            earlier = places[None, :] <= places[:, None]
            mask = torch.cat([earlier & present[:, None, :], earlier.T & present[:, None, :]])
            # every place, even padding, sees itself, so that no row of the mask is empty
            mask = mask | torch.eye(longest, dtype=torch.bool, device=kinds.device)
            turn = _turns(places, self.size, features.dtype)
            for block in self.towers:
                both = block(both, None, (turn, turn), mask)
            forward, backward = both[:count], both[count:]
            edges = self.edge.to(both.dtype)[:, None, None].expand(2, count, 1, -1)
            last = torch.nn.functional.pad(present[:, 1:], (0, 1))[..., None]
            left = torch.cat([edges[0], forward[:, :-1]], dim=1)
            right = torch.where(last, torch.cat([backward[:, 1:], edges[1]], dim=1), edges[1])
            asking = self.question(torch.cat([left, right], dim=2)) + around
            offered = torch.cat([forward, backward, edges[0]], dim=1)
            strictly = places[None, :] < places[:, None]
            seen = torch.cat([strictly & present[:, None, :], strictly.T & present[:, None, :]], dim=2)
            seen = torch.cat([seen, torch.ones_like(seen[..., :1])], dim=2)  # the edge is always visible
            turns = turn, _turns(torch.cat([places, places, places[:1]]), self.size, features.dtype)
            for block in self.questions:
                asking = block(asking, offered, turns, seen)
            return self.leave(asking)

        def set_dropout(self, share: float) -> None:
            """Set the dropout rate."""
            for part in self.modules():
                if isinstance(part, nn.Dropout):
                    part.p = share

        def embed(self, vectors: torch.Tensor) -> torch.Tensor:
            """Return the vectors that answers are multiplied with, one row per word."""
            return (self.word(vectors) + self.word_inner(vectors)) / math.sqrt(self.size.words)

    def _turned(values: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
        cosine, sine = turn
        one, two = values.chunk(2, dim=-1)
        return torch.cat([one * cosine - two * sine, two * cosine + one * sine], dim=-1)

    def _turns(places: torch.Tensor, size: Size, kind: torch.dtype) -> torch.Tensor:
        half = size.width // size.heads // 2
        speeds = 1000.0 ** -(torch.arange(half, device=places.device) / half)
        angles = places[:, None] * speeds
        return torch.stack([angles.cos(), angles.sin()]).to(kind)

    return {"Network": Network}
