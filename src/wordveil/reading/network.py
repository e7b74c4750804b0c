"""What a whole text says about each of its veiled words: a small network, fitted on a release alone.

The network sees the veiled text with some of its veiled words hidden and predicts, for each hidden place, how likely
every word is there. It never sees an original. What it is fitted by is the marginal likelihood of the outputs that were
hidden, ``log Σ_w p(w | the rest of the text)·Pr[M(w)=y]``: the law of the mechanism turns a prediction of originals
into a prediction of outputs, which are known. No clean text, no labels and no weights to ship are needed.

To read, every veiled place is hidden once, so that its own output counts once: through the law, beside the prediction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms.laws import Law
from wordveil.errors import InputError
from wordveil.parallel import blocks
from wordveil.progress import Watch, ignore
from wordveil.reading.places import UNKNOWN, VEILED

if TYPE_CHECKING:
    import torch

__all__ = ["ContextModel", "Passage", "Size"]

_HIDDEN, _PADDING = 3, 4

_HIDE = 0.3  # of the veiled places, in training
_PASSES = 4  # to read: each hides every fourth veiled place
_WINDOW, _OVERLAP = 128, 16
_LOG_FLOOR = -80.0  # of a probability, which half precision can hold
_ASIDE, _ENOUGH = 10, 200  # of so many texts one is kept aside, if there are enough
_LOOKS = 15  # at the texts kept aside, during a fit
_TRUSTS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1)
_LEAST_SHARE = 1e-6  # of the prior, for a word to be a candidate


class Passage(NamedTuple):
    """A text as the network reads it.

    Attributes
    ----------
    words : array of int
        For each place its word, as an id of the vocabulary; anything where it is unknown.
    kinds : array of int
        For each place LEFT_ALONE, VEILED or UNKNOWN.
    others : array of shape (draws, places) or None
        Other draws of the same text, if it was released several times.
    """

    words: NDArray[np.int64]
    kinds: NDArray[np.int64]
    others: NDArray[np.int64] | None = None


class Size(NamedTuple):
    """How large the network is, and how long it is fitted.

    Attributes
    ----------
    layers, width, heads : int
        Of the transformer.
    steps : int
        Of the fit on a release.
    batch : int
        Passages in a step.
    rate, decay, dropout : float
        The largest learning rate, the weight decay and the dropout.
    candidates : int
        How many words it chooses among at most: the likeliest ones.
    """

    layers: int = 3
    width: int = 192
    heads: int = 4
    steps: int = 2000
    batch: int = 64
    rate: float = 1e-3
    decay: float = 0.1
    dropout: float = 0.3
    candidates: int = 8192


class ContextModel:
    """Predicts the word behind every veiled place of a text, from the text and the law.

    Parameters
    ----------
    law : Law
        Of the mechanism that veiled the texts.
    vectors : array of shape (vocabulary, d)
        The vectors that words are known by.
    prior : array of float
        How likely every word of the vocabulary is; those too unlikely are not considered.
    size : Size
        How large the network is.
    device : str, optional
        Where PyTorch runs: ``cpu`` or ``cuda``; the GPU if there is one.
    seed : int
        Of the weights and of what is hidden.
    """

    def __init__(
        self,
        law: Law,
        vectors: NDArray[np.floating[Any]],
        prior: NDArray[np.float64],
        size: Size | None = None,
        *,
        device: str | None = None,
        seed: int = 0,
    ) -> None:
        import torch  # noqa: PLC0415 - an extra, and slow to import

        self._torch, self.law, self.size = torch, law, size or Size()
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._generator = np.random.default_rng(seed)
        torch.manual_seed(seed)
        share = prior / prior.sum()
        order = np.argsort(-share, kind="stable")[: self.size.candidates]
        self.candidates = np.sort(order[share[order] > min(_LEAST_SHARE, float(share.max()))])
        self._prior, self._table = share, vectors.astype(np.float32)
        self._vectors = torch.as_tensor(self._table, device=self.device)
        own = self._vectors[torch.as_tensor(self.candidates, device=self.device)]
        logs = torch.as_tensor(np.log(share[self.candidates]), dtype=torch.float32, device=self.device)
        self._log_prior, self.trust = logs, 1.0
        self._network = _network(torch, self.size, own, logs).to(self.device)
        self._rows: dict[int, int] = {}
        self._columns = torch.empty((0, len(self.candidates)), dtype=torch.float16, device=self.device)
        self._means = torch.empty((0, vectors.shape[1]), dtype=torch.float32, device=self.device)

    # ------------------------------------------------------------------------------------------------ fitting

    def fit(self, texts: Sequence[Passage], *, steps: int | None = None, watch: Watch = ignore) -> float:
        """Learn from a release, by the marginal likelihood of outputs that are hidden from the network.

        Parameters
        ----------
        texts : sequence of Passage
            The veiled texts.
        steps : int, optional
            How many steps to take.
        watch : callable
            Told how far it is.

        Returns
        -------
        float
            The mean loss of the last tenth of the steps, in nats for a hidden output.
        """
        self._look_up(np.unique(np.concatenate([p.words[p.kinds == VEILED] for p in texts] or [[]])), watch)

        def loss_of(chosen: list[Passage]) -> torch.Tensor:
            batch = self._batch(chosen, self._hide(chosen))
            logits = self._network(batch.features, batch.kinds, batch.hidden)
            outputs = np.concatenate([passage.words[hide] for passage, hide in zip(chosen, batch.hide, strict=True)])
            evidence = self._evidence(outputs)
            loss = self._torch.logsumexp(logits, dim=1) - self._torch.logsumexp(logits + evidence, dim=1)
            return loss.mean()

        windows = [window for text in texts for window, _ in _windows(text) if (window.kinds == VEILED).any()]
        self._generator.shuffle(windows)
        aside = windows[: max(1, len(windows) // _ASIDE)] if len(windows) >= _ENOUGH else []
        hidden = self._hide(aside)

        def unseen() -> float:
            return self._unseen_loss(aside, hidden)

        loss = self._descend(
            windows[len(aside) :],
            loss_of,
            steps or self.size.steps,
            watch,
            unseen if aside else None,
        )
        if aside:
            self.trust = min(_TRUSTS, key=lambda trust: self._unseen_loss(aside, hidden, trust))
        return loss

    def _unseen_loss(
        self, passages: Sequence[Passage], hide: list[NDArray[np.bool_]], trust: float | None = None
    ) -> float:
        """Return the mean loss on texts that were kept aside."""
        torch = self._torch
        before, self.trust = self.trust, self.trust if trust is None else trust
        self._network.eval()
        total, count = 0.0, 0
        with torch.no_grad():
            for part in blocks(len(passages), 4 * self.size.batch):
                batch = self._batch(passages[part], hide[part])
                logits = self._logits(batch)
                outputs = [passage.words[one] for passage, one in zip(passages[part], hide[part], strict=True)]
                evidence = self._evidence(np.concatenate(outputs))
                loss = torch.logsumexp(logits, dim=1) - torch.logsumexp(logits + evidence, dim=1)
                total, count = total + float(loss.sum()), count + len(loss)
        self._network.train()
        self.trust = before
        return total / max(1, count)

    def _logits(self, batch: _Batch) -> torch.Tensor:
        """Return the network's prediction, held back towards the prior as far as unseen texts ask."""
        logits: torch.Tensor = self._network(batch.features, batch.kinds, batch.hidden)
        return self._log_prior + self.trust * (logits - self._log_prior)

    def _descend(
        self,
        texts: Sequence[Passage],
        loss_of: Any,
        steps: int,
        watch: Watch,
        unseen: Callable[[], float] | None = None,
    ) -> float:
        torch = self._torch
        best, kept = math.inf, None
        cut = [window for text in texts for window, _ in _windows(text) if (window.kinds == VEILED).any()]
        if not cut:
            raise InputError("none of the texts has a veiled word to learn from.")
        self._network.train()
        optimiser = torch.optim.AdamW(self._network.parameters(), lr=self.size.rate, weight_decay=self.size.decay)
        warm = max(1, steps // 20)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda step: min((step + 1) / warm, 0.5 * (1.0 + math.cos(math.pi * step / steps)))
        )
        lengths = np.array([len(window.words) for window in cut])
        losses, order = [], np.empty(0, dtype=np.int64)
        for step in range(steps):
            if len(order) < self.size.batch:
                order = self._shuffled(lengths)
            some, order = order[: self.size.batch], order[self.size.batch :]
            optimiser.zero_grad(set_to_none=True)
            loss = loss_of([cut[place] for place in some])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self._network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            if step >= steps - max(1, steps // 10):
                losses.append(float(loss.detach()))
            if step % 10 == 0:
                watch("fitting the reader", step / steps)
            if unseen is not None and (step + 1) % max(1, steps // _LOOKS) == 0:
                now = unseen()
                if now < best:
                    best = now
                    kept = {name: part.detach().clone() for name, part in self._network.state_dict().items()}
        if kept is not None:  # the weights that served texts kept aside best
            self._network.load_state_dict(kept)
        watch("fitting the reader", 1.0)
        return float(np.mean(losses))

    def _shuffled(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return an order in which texts of like lengths meet in a batch, so that little of it is padding."""
        noise = self._generator.normal(scale=3.0, size=len(lengths))
        order = np.argsort(lengths + noise, kind="stable")
        parts = list(blocks(len(order), self.size.batch))
        self._generator.shuffle(parts)
        return np.concatenate([order[part] for part in parts] * max(1, -(-self.size.batch // len(order))))

    def _hide(self, passages: Sequence[Passage]) -> list[NDArray[np.bool_]]:
        hidden = []
        for passage in passages:
            veiled = np.flatnonzero(passage.kinds == VEILED)
            chosen = veiled[self._generator.random(len(veiled)) < _HIDE]
            if not len(chosen) and len(veiled):
                chosen = self._generator.choice(veiled, 1)
            hide = np.zeros(len(passage.kinds), dtype=np.bool_)
            hide[chosen] = True
            hidden.append(hide)
        return hidden

    # ------------------------------------------------------------------------------------------------ reading

    def means(self, passages: Sequence[Passage], watch: Watch = ignore) -> Iterator[NDArray[np.float32]]:
        """Yield for each text the mean vector of the word behind each of its veiled places."""
        own = self._vectors[self._torch.as_tensor(self.candidates, device=self.device)]
        return self._read_many(passages, lambda chances: (chances @ own,), watch)

    def likeliest(
        self, passages: Sequence[Passage], top: int = 1, watch: Watch = ignore
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Yield for each text the likeliest words behind each of its veiled places, and their probabilities.

        Parameters
        ----------
        passages : sequence of Passage
            The texts.
        top : int
            How many words for each place, likeliest first.
        watch : callable
            Told how far it is.
        """
        found = self._read_many(passages, lambda chances: chances.topk(min(top, len(self.candidates)), dim=1), watch)
        for both in found:
            half = both.shape[1] // 2
            yield self.candidates[np.rint(both[:, half:]).astype(np.int64)], both[:, :half].astype(np.float32)

    def _read_many(
        self,
        passages: Sequence[Passage],
        sum_up: Callable[[torch.Tensor], tuple[torch.Tensor, ...]],
        watch: Watch,
    ) -> Iterator[NDArray[Any]]:
        self._network.eval()
        for part in blocks(len(passages), 16 * self.size.batch):
            some = passages[part]
            seen = [p.words[p.kinds == VEILED] for p in some]
            seen += [p.others[:, p.kinds == VEILED].ravel() for p in some if p.others is not None]
            self._look_up(np.unique(np.concatenate(seen)) if seen else np.empty(0, dtype=np.int64), ignore)
            with self._torch.no_grad():
                yield from self._read(some, sum_up)
            watch("reading", part.stop / len(passages))

    def _read(
        self, passages: Sequence[Passage], sum_up: Callable[[torch.Tensor], tuple[torch.Tensor, ...]]
    ) -> list[NDArray[Any]]:
        jobs = []  # a window, what it hides, and where the answers go
        for number, passage in enumerate(passages):
            rank = np.cumsum(passage.kinds == VEILED) - 1
            for window, (start, first, last) in _windows(passage):
                veiled = np.flatnonzero(window.kinds == VEILED)
                veiled = veiled[(veiled >= first) & (veiled < last)]
                for turn in range(min(_PASSES, len(veiled))):
                    hide = np.zeros(len(window.kinds), dtype=np.bool_)
                    hide[veiled[turn::_PASSES]] = True
                    jobs.append((window, hide, number, rank[start + np.flatnonzero(hide)]))
        jobs.sort(key=lambda job: len(job[0].words))
        answers: list[NDArray[Any]] = []
        for part in blocks(len(jobs), 4 * self.size.batch):
            some = jobs[part]
            batch = self._batch([job[0] for job in some], [job[1] for job in some])
            logits = self._logits(batch)
            logits += self._evidence(np.concatenate([window.words[hide] for window, hide, _, _ in some]))
            for draw in range(max((0 if w.others is None else len(w.others)) for w, _, _, _ in some)):
                more = [
                    np.full(int(hide.sum()), -1) if w.others is None or len(w.others) <= draw else w.others[draw, hide]
                    for w, hide, _, _ in some
                ]
                logits += self._evidence(np.concatenate(more))
            parts = sum_up(self._torch.softmax(logits, dim=1))
            answers.append(np.concatenate([one.double().cpu().numpy() for one in parts], axis=1))
        whole = np.concatenate(answers) if answers else np.empty((0, 0))
        number_of = np.concatenate([np.full(len(rows), number) for _, _, number, rows in jobs] or [np.empty(0, int)])
        rank_of = np.concatenate([rows for _, _, _, rows in jobs] or [np.empty(0, int)])
        order = np.lexsort((rank_of, number_of))
        ends = np.cumsum([int((p.kinds == VEILED).sum()) for p in passages])
        return np.split(whole[order], ends[:-1])

    # ----------------------------------------------------------------------------------------------- batches

    def _look_up(self, outputs: NDArray[np.int64], watch: Watch) -> None:
        """Have the columns and posterior means of these outputs at hand."""
        torch = self._torch
        new = np.array([word for word in np.asarray(outputs).tolist() if word not in self._rows], dtype=np.int64)
        if not len(new):
            return
        prior = np.zeros(len(self.law))
        prior[self.candidates] = self._prior[self.candidates]
        columns = [self._columns]
        for part in blocks(len(new), 1024):
            logs = self.law.log_columns(new[part], self.candidates, prior=prior[self.candidates])
            columns.append(torch.as_tensor(np.maximum(logs, _LOG_FLOOR), dtype=torch.float16, device=self.device))
            watch("reading the law", part.stop / len(new))
        means = self.law.posterior_mean(self._table, prior, new)
        self._rows.update({int(word): len(self._rows) + place for place, word in enumerate(new)})
        self._columns = torch.cat(columns)
        self._means = torch.cat([self._means, torch.as_tensor(means, device=self.device)])

    def _evidence(self, outputs: NDArray[np.int64]) -> torch.Tensor:
        """Return ``ln Pr[M(w)=y]`` of the candidates, a row for each output; nothing is known of an output of -1."""
        rows = np.array([self._rows.get(int(word), -1) for word in outputs], dtype=np.int64)
        found = self._columns[self._torch.as_tensor(np.maximum(rows, 0), device=self.device)].float()
        found[self._torch.as_tensor(rows < 0, device=self.device)] = 0.0
        return found

    def _batch(self, passages: Sequence[Passage], hide: list[NDArray[np.bool_]]) -> _Batch:
        torch = self._torch
        longest = max(len(passage.words) for passage in passages)
        words = np.zeros((len(passages), longest), dtype=np.int64)
        kinds = np.full((len(passages), longest), _PADDING, dtype=np.int64)
        for row, (passage, hidden) in enumerate(zip(passages, hide, strict=True)):
            words[row, : len(passage.words)] = np.maximum(passage.words, 0)
            kinds[row, : len(passage.words)] = np.where(hidden, _HIDDEN, passage.kinds)
        missing = [word for word in np.unique(words[kinds == VEILED]).tolist() if word not in self._rows]
        if missing:
            self._look_up(np.array(missing), ignore)
        own = self._vectors[torch.as_tensor(words, device=self.device)]
        place = np.array([self._rows.get(word, 0) for word in words.ravel().tolist()]).reshape(words.shape)
        means = own.clone()
        veiled = torch.as_tensor(kinds == VEILED, device=self.device)
        if bool(veiled.any()):
            means[veiled] = self._means[torch.as_tensor(place, device=self.device)[veiled]]
        features = torch.cat([own, means], dim=2)
        features[torch.as_tensor(kinds >= UNKNOWN, device=self.device)] = 0.0
        hidden_places = torch.as_tensor(kinds == _HIDDEN, device=self.device)
        return _Batch(features, torch.as_tensor(kinds, device=self.device), hidden_places, hide)

    # ------------------------------------------------------------------------------------------------ keeping

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the weights and what they are about, as arrays."""
        weights = {f"weights.{name}": part.cpu().numpy() for name, part in self._network.state_dict().items()}
        return {**weights, "candidates": self.candidates, "trust": np.array(self.trust), "size": np.array(self.size)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take the weights that `state` gave."""
        if not np.array_equal(state["candidates"], self.candidates):
            raise InputError("these weights choose among other words; fit the reader again.")
        weights = {
            name.partition(".")[2]: self._torch.as_tensor(part)
            for name, part in state.items()
            if name.startswith("weights.")
        }
        self._network.load_state_dict(weights)
        self.trust = float(state["trust"])


class _Batch(NamedTuple):
    features: torch.Tensor
    kinds: torch.Tensor
    hidden: torch.Tensor
    hide: list[NDArray[np.bool_]]


def _windows(passage: Passage) -> Iterator[tuple[Passage, tuple[int, int, int]]]:
    """Cut a long text; yield each window with its start, and between which of its places it answers."""
    count = len(passage.words)
    if count <= _WINDOW:
        yield passage, (0, 0, count)
        return
    step = _WINDOW - 2 * _OVERLAP
    for start in range(0, count - 2 * _OVERLAP, step):
        stop = min(start + _WINDOW, count)
        others = None if passage.others is None else passage.others[:, start:stop]
        first = 0 if start == 0 else _OVERLAP
        last = stop - start if stop == count else _WINDOW - _OVERLAP
        yield Passage(passage.words[start:stop], passage.kinds[start:stop], others), (start, first, last)


def _network(torch: Any, size: Size, vectors: torch.Tensor, log_prior: torch.Tensor) -> Any:
    """Make the network: a transformer whose logits are products with the words' own vectors."""

    class Network(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            dimension = vectors.shape[1]
            scale = 1.0 / float(vectors.std())
            self.register_buffer("scale", torch.tensor(scale))
            self.enter = torch.nn.Linear(2 * dimension, size.width)
            self.kind = torch.nn.Embedding(5, size.width)
            self.place = torch.nn.Embedding(_WINDOW, size.width)
            layer = torch.nn.TransformerEncoderLayer(
                size.width, size.heads, 4 * size.width, size.dropout, "gelu", batch_first=True, norm_first=True
            )
            self.body = torch.nn.TransformerEncoder(layer, size.layers, enable_nested_tensor=False)
            self.leave = torch.nn.Sequential(torch.nn.LayerNorm(size.width), torch.nn.Linear(size.width, dimension))
            self.words = torch.nn.Parameter(vectors * scale, requires_grad=False)
            self.bias = torch.nn.Parameter(log_prior.clone())
            torch.nn.init.zeros_(self.leave[1].weight)  # it begins with the prior alone
            torch.nn.init.zeros_(self.leave[1].bias)

        def forward(self, features: torch.Tensor, kinds: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
            places = torch.arange(kinds.shape[1], device=kinds.device)
            inside = self.enter(features * self.scale) + self.kind(kinds) + self.place(places)
            out = self.body(inside, src_key_padding_mask=kinds == _PADDING)
            logits: torch.Tensor = self.leave(out[hidden]) @ self.words.T + self.bias
            return logits

    return Network()
