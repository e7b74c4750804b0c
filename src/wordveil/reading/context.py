"""The context reader: reads each veiled place using the whole text.

A small network gives ``p(w | the rest)``, and a place with the output y is read as ``p(w | the rest)·Pr[M(w)=y]``. The
network is fitted on the release alone, by the marginal likelihood of each output given the other places,
``log Σ_w p(w | the rest)·Pr[M(w)=y]``. The law of the mechanism turns a prediction of the originals, which are hidden,
into one of the outputs, which are known. So it needs no clean text and no labels.

On the bundled embedding the network starts from bundled weights, pretrained on public text. These can read without a
fit; a fit adapts them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil._mechanisms import Mechanism
from wordveil.errors import FileError, InputError, OptionError
from wordveil.extras import needs
from wordveil.noise import Entropy
from wordveil.progress import Watch, ignore, within
from wordveil.reading.kinds import Basis, Floats, Ids, Means, Population, Vectors
from wordveil.reading.network import PADDING, Size, bundled_weights, make_network
from wordveil.reading.places import LEFT_ALONE, VEILED, Places
from wordveil.reading.seen import Seen, Windows, runs

if TYPE_CHECKING:
    import torch

__all__ = ["Context", "Schedule", "as_released"]

_READ_WORDS = 2048  # words read at once
# One window in 10 is held out of 200 windows or more, one in 5 of 50 or more, to detect overfitting; with fewer
# windows, none.
_ASIDE = ((200, 10), (50, 5))
_WARM = 50  # steps of warm-up
# A GPU takes as long for a step on few words as on several times as many, and what is learnt is the same.
_WIDER = 4
_TRUSTS = tuple(np.arange(0.1, 1.45, 0.1).round(1).tolist())


_Part = tuple[int, NDArray[np.int64]]  # the number of a `Seen`, and some of its windows


class Schedule(NamedTuple):
    """How a network is fitted."""

    passes: float = 4.0  # passes over each text
    # The least and the most steps.
    least: int = 200
    most: int = 1200
    batch: int = 1024  # words per step, approximately
    # The largest learning rate from scratch, and from pretrained weights.
    rate: float = 1e-3
    tuning_rate: float = 3e-4
    decay: float = 0.1  # weight decay
    dropout: float = 0.1
    # How often to evaluate held-out texts, and after how many evaluations without a gain to stop.
    looks: int = 20
    patience: int = 5
    seconds: float = math.inf  # a time limit
    # The number of words, the likeliest ones, considered as originals during the fit and when reading.
    candidates: int = 8192
    read_candidates: int = 16384


class Context(Population):
    """Reads each veiled place using the whole text, by a network fitted on the release alone.

    If there are only a few texts, the bundled weights are used unchanged.
    """

    name = "context"
    size = Size()
    schedule = Schedule()

    def __init__(self, basis: Basis) -> None:
        needs("torch", "gpu", "the context reader")
        super().__init__(basis)
        import torch  # noqa: PLC0415 - an extra, and slow to import

        self._torch = torch
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._network: Any = None
        self._trust = 1.0
        self._points: Means | None = None
        # the pretrained weights that every fit starts from, if there are any
        self._start = bundled_weights(basis.points)
        if self._start is not None:
            self._restore(*self._start)

    @property
    def prior(self) -> Floats:
        """The probability of every word at a veiled place: as estimated from the release, or the public prior."""
        if self._learnt is None and self._start is None:
            raise OptionError("a context reader must be fitted on veiled texts before it can read.")
        return self.basis.prior if self._learnt is None else self._learnt

    def without_context(self) -> Population:
        """Return the kind that looks up each output by itself, under the frequencies learnt here."""
        return Population.from_state(self.basis, {"learnt": self.prior})

    def tune(self, steps: int | None, candidates: int | None, device: str | None, *, fresh: bool) -> None:
        """Change how the network learns; see `Reader.tune`."""
        if steps is not None:
            self.schedule = self.schedule._replace(least=min(steps, self.schedule.least), most=steps)
        if candidates is not None:
            self.schedule = self.schedule._replace(candidates=candidates, read_candidates=candidates)
        if fresh:
            self._network = self._start = None
        if device is not None:
            self._device = device
            self._network = None if self._network is None else self._network.to(device)

    # ------------------------------------------------------------------------------------------------ learning

    def train(self, places: Places, watch: Watch = ignore) -> None:
        """Pretrain on clean public texts: veil them, and learn to find the originals."""
        veiled = as_released(self.basis.law.mechanism, places, self.basis.prior > 0)
        self.begin()
        before, self._learnt = self._learnt, self.basis.prior  # these texts are public, so use the public prior
        try:
            seen = self.prepare(veiled, places.ids, watch=within(watch, 0.0, 0.2))
            self.descend([seen], within(watch, 0.2, 1.0))
        finally:
            self._learnt = before
        self._start = self._network.size, self.weights()

    def fit(self, places: Places, watch: Watch = ignore) -> None:
        """Estimate word frequencies, then fit the network to each output given the other places."""
        super().fit(places, within(watch, 0.0, 0.1))
        self._points = None
        self.begin()
        if not self.schedule.most:
            return
        seen = self.prepare(places, watch=within(watch, 0.1, 0.2))
        if self._start is not None and len(seen.windows.starts) < _ASIDE[-1][0]:
            return  # a fit to so few texts would overfit; the pretrained weights are better
        self._trust = self.descend([seen], within(watch, 0.2, 1.0))

    @property
    def _plan(self) -> Schedule:
        """The schedule on this device: on a GPU as many passes, in fewer steps on more words each."""
        plan, wider = self.schedule, 1 if self._device == "cpu" else _WIDER
        return plan._replace(
            batch=wider * plan.batch, least=math.ceil(plan.least / wider), most=math.ceil(plan.most / wider)
        )

    def begin(self) -> None:
        """Reset the network to the pretrained weights, or to random ones if there are none."""
        if self._start is not None:
            self._restore(*self._start)
            return
        with self._torch.random.fork_rng(devices=[]):
            self._torch.manual_seed(0)
            self._network = make_network(self.size, self.basis.points.shape[1]).to(self._device)

    def descend(self, seen: Sequence[Seen], watch: Watch = ignore, schedule: Schedule | None = None) -> float:
        """Fit the network, keep the weights that are best on held-out texts, and return how far to trust it.

        `seen` are the texts, under one or more mechanisms. The trust scales the logits.
        """
        torch, plan = self._torch, schedule or self._plan
        generator = np.random.default_rng(0)
        learn, aside = [], []
        for number, one in enumerate(seen):
            order = generator.permutation(len(one.windows.starts))
            kept = next((len(order) // part for least, part in _ASIDE if len(order) >= least), 0)
            aside += [(number, part) for part in runs(one.windows, np.sort(order[:kept]), plan.batch)]
            learn.append(order[kept:])
        words = sum(int((s.windows.stops - s.windows.starts)[o].sum()) for s, o in zip(seen, learn, strict=True))
        if not words:
            raise InputError("cannot fit the reader: no text has a veiled word.")
        steps = int(np.clip(plan.passes * words / plan.batch, plan.least, plan.most))
        optimiser = torch.optim.AdamW(
            self._network.parameters(),
            lr=plan.rate if self._start is None else plan.tuning_rate,
            betas=(0.9, 0.98),
            weight_decay=plan.decay,
        )
        largest, begun, done = optimiser.param_groups[0]["lr"], time.monotonic(), 0.0
        best, kept_weights, since = math.inf, None, 0
        queue: list[_Part] = []
        self._network.set_dropout(plan.dropout)
        with torch.random.fork_rng(devices=[] if self._device == "cpu" else None):
            torch.manual_seed(0)
            for step in range(steps):
                done = max(step / steps, (time.monotonic() - begun) / plan.seconds)
                if done >= 1.0:
                    break
                falling = 0.5 + 0.5 * math.cos(math.pi * done)
                optimiser.param_groups[0]["lr"] = largest * min((step + 1) / _WARM, falling)
                if aside and step % max(1, steps // plan.looks) == 0:
                    now = self._loss_aside(seen, aside)[0]
                    since += 1
                    if now < best:
                        best, since = now, 0
                        kept_weights = {name: one.detach().clone() for name, one in self._network.state_dict().items()}
                    if since > plan.patience:
                        break
                if not queue:
                    queue = [
                        (number, part)
                        for number, (one, order) in enumerate(zip(seen, learn, strict=True))
                        for part in runs(one.windows, order, plan.batch, generator)
                    ]
                    generator.shuffle(queue)
                number, part = queue.pop()
                self._network.train()
                loss = next(self._losses(seen[number], seen[number].windows.take(part), (1.0,))).mean()
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self._network.parameters(), 1.0)
                optimiser.step()
                watch("fitting the network", done)
        if aside and self._loss_aside(seen, aside)[0] >= best:
            self._network.load_state_dict(kept_weights)
        self._network.eval()
        watch("fitting the network", 1.0)
        return _TRUSTS[int(np.argmin(self._loss_aside(seen, aside, _TRUSTS)))] if aside else 1.0

    def _losses(self, seen: Seen, windows: Windows, trusts: Sequence[float]) -> Iterator[torch.Tensor]:
        """Yield the negative log-likelihood of each veiled place's output, or of its original if that is known.

        There is one tensor for each of the `trusts`, which share the pass of the network.
        """
        torch = self._torch
        with self._halved():
            answers, places = self._answers(seen, windows)
            products = answers @ self._network.embed(seen.words).T
        products = products.float()
        evidence = None if seen.truth is not None else seen.evidence(places)
        for trust in trusts:
            logits = trust * products + seen.log_prior
            if evidence is not None:
                yield torch.logsumexp(logits, dim=1) - torch.logsumexp(logits + evidence, dim=1)
            elif seen.truth is not None:
                truth = seen.truth[places]
                yield torch.nn.functional.cross_entropy(logits, truth, reduction="none", ignore_index=-1)

    def _halved(self) -> torch.autocast:
        """Compute in bfloat16 if the device supports it, which is about twice as fast."""
        torch = self._torch
        fast = self._device != "cpu" or torch.cpu._is_avx512_bf16_supported()
        return torch.autocast(self._device.partition(":")[0], dtype=torch.bfloat16, enabled=fast)

    def _loss_aside(
        self, seen: Sequence[Seen], parts: Sequence[_Part], trusts: Sequence[float] = (1.0,)
    ) -> NDArray[np.float64]:
        """Return the mean loss over these parts at each of the `trusts`."""
        self._network.eval()
        totals, count = np.zeros(len(trusts)), 0
        with self._torch.no_grad():
            for number, part in parts:
                found = list(self._losses(seen[number], seen[number].windows.take(part), trusts))
                totals += self._torch.stack([losses.sum() for losses in found]).double().cpu().numpy()
                count += len(found[0])
        return totals / max(1, count)

    # ------------------------------------------------------------------------------------------------ reading

    def means(self, places: Places, watch: Watch = ignore) -> Vectors:
        """Return the mean vector of the word behind each veiled place."""
        return self.read(places, watch)[0]

    def read(self, places: Places, watch: Watch = ignore) -> tuple[Vectors, Ids]:
        """Return the mean vectors and the likeliest words in one pass of the network."""
        own = self._torch.as_tensor(self.basis.vectors, device=self._device)
        count = len(places.veiled)
        found, best = np.empty((count, own.shape[1]), dtype=np.float32), np.empty(count, dtype=np.int64)
        for ranks, candidates, chances in self._read(places, watch):
            found[ranks] = (chances @ own[candidates]).cpu().numpy()
            best[ranks] = candidates[chances.topk(1, dim=1)[1][:, 0]].cpu().numpy()
        return found, best

    def posterior(self, places: Places, top: int, watch: Watch = ignore) -> tuple[Ids, Floats]:
        """Return the likeliest words behind each veiled place and their probabilities."""
        count = len(places.veiled)
        words, found = np.zeros((count, top), dtype=np.int64), np.zeros((count, top))
        for ranks, candidates, chances in self._read(places, watch):
            shown = min(top, len(candidates))
            values, which = chances.topk(shown, dim=1)
            words[ranks, :shown] = candidates[which].cpu().numpy()
            found[ranks, :shown] = values.cpu().numpy()
            if shown < top:  # padding with words that are not candidates
                rest = np.setdiff1d(np.arange(len(self.prior)), candidates.cpu().numpy())
                words[ranks, shown:] = rest[: top - shown]
        return words, found

    def best(self, places: Places, watch: Watch = ignore) -> Ids:
        """Return the likeliest word behind each veiled place."""
        return self.posterior(places, 1, watch)[0][:, 0]

    def _read(self, places: Places, watch: Watch) -> Iterator[tuple[NDArray[np.int64], torch.Tensor, torch.Tensor]]:
        """Yield, for batches of veiled places, their ranks, the candidate words, and the candidates' probabilities."""
        torch = self._torch
        seen = self.prepare(places, count=self.schedule.read_candidates, watch=within(watch, 0.0, 0.5))
        rank = np.cumsum(places.kinds == VEILED) - 1
        draws = places.draws if self.basis.once else None
        parts = runs(seen.windows, np.arange(len(seen.windows.starts)), _READ_WORDS)
        self._network.eval()
        with torch.no_grad():
            words = self._network.embed(seen.words)
            for number, part in enumerate(parts):
                with self._halved():
                    answers, which = self._answers(seen, seen.windows.take(part))
                logits = self._trust * (answers.float() @ words.T)
                if draws is not None:
                    # Places that show the same draw share their contexts. The logits are averaged, not added: places of
                    # one text depend on much the same words, so adding would be overconfident.
                    shown = np.unique(draws[rank[which.cpu().numpy()]], return_inverse=True)[1].ravel()
                    shared = torch.as_tensor(shown, device=logits.device)
                    logits = torch.zeros_like(logits).index_add_(0, shared, logits)[shared]
                    logits /= torch.bincount(shared)[shared][:, None]
                logits += seen.log_prior + seen.evidence(which)
                yield rank[which.cpu().numpy()], seen.candidates, torch.softmax(logits, dim=1)
                watch("reading", 0.5 + 0.5 * (number + 1) / len(parts))

    # ------------------------------------------------------------------------------------------ what it is shown

    def prepare(
        self,
        places: Places,
        truth: NDArray[np.int64] | None = None,
        *,
        count: int | None = None,
        watch: Watch = ignore,
    ) -> Seen:
        """Convert texts to the form that the network reads.

        `truth` are the originals, if they are known; `count` is the number of candidate words.
        """
        return Seen(
            self.basis,
            places,
            self.prior,
            count or self.schedule.candidates,
            means=lambda outputs: self.known_means(outputs, watch),
            truth=truth,
            device=self._device,
        )

    def known_means(self, outputs: NDArray[np.int64], watch: Watch = ignore) -> Vectors:
        """Return the mean vector behind each row of outputs, in the vectors of the space."""
        if outputs.shape[1] > 1:
            return self.given_means(outputs, self.basis.points, watch)
        if self._points is None:
            self._points = Means(replace(self.basis, vectors=self.basis.points), self.prior, cached=False)
        return self._points.of(outputs[:, 0], watch)

    def _answers(self, seen: Seen, windows: Windows) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the network's answer for each veiled place of some windows, and the indices of these places."""
        torch, device = self._torch, self._device
        longest = int((windows.stops - windows.starts).max())
        starts, stops, firsts, lasts = (torch.as_tensor(part, device=device)[:, None] for part in windows)
        index = starts + torch.arange(longest, device=device)
        inside = index < stops
        index = torch.where(inside, index, starts)
        kinds = torch.where(inside, seen.kinds[index], PADDING)
        answers = self._network(seen.features(index), kinds, seen.gaps[:, index])
        asked = (kinds == VEILED) & (index >= firsts) & (index < lasts)
        return answers[asked], index[asked]

    # ------------------------------------------------------------------------------------------------ keeping

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the frequencies and the weights."""
        if self._learnt is None:
            return {}
        weights = {f"weights.{name}": part for name, part in self.weights().items()}
        return {**weights, "learnt": self.prior, "trust": np.array(self._trust), "size": np.array(self._network.size)}

    def weights(self) -> dict[str, NDArray[Any]]:
        """Return the weights of the network."""
        return {name: part.cpu().numpy() for name, part in self._network.state_dict().items()}

    @classmethod
    def from_state(cls, basis: Basis, state: Mapping[str, NDArray[Any]]) -> Context:
        """Restore a kind from its `state`."""
        kind = cls(basis)
        if "learnt" in state:
            kind._learn(Population.from_state(basis, {"learnt": state["learnt"]}).prior)
            try:
                weights = {name.partition(".")[2]: part for name, part in state.items() if name.startswith("weights.")}
                kind._restore(Size._make(int(one) for one in state["size"].tolist()), weights)
                kind._trust = float(state["trust"])
            except (KeyError, RuntimeError, TypeError, ValueError):
                raise FileError("the saved network is damaged; fit and save the reader again.") from None
        return kind

    def __getstate__(self) -> dict[str, Any]:
        # Modules are made in a function, so they cannot be pickled; and a GPU may not be there where this is opened.
        kept = {name: one for name, one in vars(self).items() if name not in ("_torch", "_device", "_network")}
        return {**kept, "network": None if self._network is None else (self._network.size, self.weights())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        network = state.pop("network")
        Context.__init__(self, state["basis"])
        vars(self).update(state)
        if network is None:
            self._network = None
        else:
            self._restore(*network)

    def _restore(self, size: Size, weights: Mapping[str, NDArray[Any]]) -> None:
        network = make_network(size, self.basis.points.shape[1])
        network.load_state_dict({name: self._torch.as_tensor(part).float() for name, part in weights.items()})
        self._network = network.to(self._device).eval()


def as_released(mechanism: Mechanism[Any], places: Places, possible: NDArray[np.bool_]) -> Places:
    """Veil clean texts; a drawn word that the selection would leave alone looks as if it had been left alone."""
    drawn = places.ids.copy()
    drawn[places.veiled] = mechanism.draw(places.ids[places.veiled], Entropy())
    looks_alone = (places.kinds == VEILED) & ~possible[drawn]
    return replace(places, ids=drawn, kinds=np.where(looks_alone, LEFT_ALONE, places.kinds).astype(np.uint8))
