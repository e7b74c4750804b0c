"""What is called in a peer's own environment, without wordveil: its mechanisms, through the interface for its users.

The audit names one of these functions. ``python -m benchmarks.peer_calls FUNCTION`` times one on the words that it
reads. ``$PEER_VECTORS`` is the embedding and ``$PEER_EPSILON`` the ε. Options are the packages' defaults, except for
the vocabulary.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: How many words a text has for a package that takes texts: pypantera holds V·d numbers for each word of a text.
TOGETHER = 4
_SECONDS = 3.0  # of processor time
_PATIENCE = 120.0  # seconds by the clock


def _epsilon() -> float:
    return float(os.environ["PEER_EPSILON"])


def _vectors() -> str:
    return os.environ["PEER_VECTORS"]


# mldp-text takes one word per call.


@functools.cache
def _mldp_text(name: str) -> Any:
    import gensim.models
    import mldp_text

    vectors = gensim.models.KeyedVectors.load_word2vec_format(_vectors(), binary=True)
    vocabulary = {word: place for place, word in enumerate(vectors.index_to_key)}
    options = {"embedding_matrix": vectors, "vocab": vocabulary, "dim": vectors.vector_size}
    return getattr(mldp_text, name)(epsilon=_epsilon(), **options)


def mldp_text_cmp(word: str) -> str:
    """Add Laplace noise and take the nearest word."""
    return str(_mldp_text("MultivariateCalibrated").replace_word(word))


def mldp_text_gumbel(word: str) -> str:
    """Add truncated Gumbel noise to the distances of the nearest words."""
    return str(_mldp_text("TruncatedGumbel").replace_word(word))


def mldp_text_vickrey(word: str) -> str:
    """Add Laplace noise and take one of the nearest words."""
    return str(_mldp_text("VickreyMechanism").replace_word(word))


def mldp_text_mahalanobis(word: str) -> str:
    """Add elliptical noise and take the nearest word."""
    return str(_mldp_text("Mahalanobis").replace_word(word))


def mldp_text_tem(word: str) -> str:
    """Draw by the truncated exponential mechanism."""
    return str(_mldp_text("TEM").replace_word(word))


# pypantera takes a table of texts.


@functools.cache
def _pypantera(module: str, name: str) -> Any:
    import importlib

    kind = getattr(importlib.import_module(f"src.{module}"), name)
    options = {"lam": 1.0, "t": 0.5, "beta": 0.05, "k": 20, "distance": "euclidean"}  # it has no defaults
    return kind({"embPath": _vectors(), "epsilon": _epsilon(), **options})


def _obfuscated(module: str, name: str, texts: list[str]) -> list[str]:
    import pandas

    table = pandas.DataFrame({"id": range(len(texts)), "text": texts})
    found = _pypantera(module, name).obfuscateText(table, 1)["obfuscatedText"]
    return [one[0] if isinstance(one, list) else str(one) for one in found]


def pypantera_cmp(texts: list[str]) -> list[str]:
    """Add Laplace noise and take the nearest word."""
    return _obfuscated("EmbeddingPerturbationMechanism.cmp", "CMP", texts)


def pypantera_mahalanobis(texts: list[str]) -> list[str]:
    """Add elliptical noise and take the nearest word."""
    return _obfuscated("EmbeddingPerturbationMechanism.mahalanobis", "Mahalanobis", texts)


def pypantera_vickrey(texts: list[str]) -> list[str]:
    """Add Laplace noise and take one of the two nearest words."""
    return _obfuscated("EmbeddingPerturbationMechanism.vickrey", "VickreyCMP", texts)


def pypantera_tem(texts: list[str]) -> list[str]:
    """Draw by the truncated exponential mechanism."""
    return _obfuscated("SamplingPerturbationMechanism.tem", "TEM", texts)


def pypantera_santext(texts: list[str]) -> list[str]:
    """Draw by the exponential mechanism."""
    return _obfuscated("SamplingPerturbationMechanism.santext", "SanText", texts)


def pypantera_custext(texts: list[str]) -> list[str]:
    """Draw one of the nearest words by the exponential mechanism."""
    return _obfuscated("SamplingPerturbationMechanism.custext", "CusText", texts)


# dp-diffractor takes a list of texts. It downloads embeddings and word lists unless it finds them in its folders.


@functools.cache
def _diffractor(method: str) -> Any:
    import diffractor

    chosen = diffractor.DiffractorConfig(
        method=method, epsilon=_epsilon(), replace_stopwords=True, verbose=False, **_seed()
    )
    return diffractor.Diffractor(chosen, ["glove-wiki-gigaword-300"])


def _seed() -> dict[str, int]:
    """Return a new seed for each process if that is asked for. The default, 42, would make all draws equal."""
    return {"seed": int.from_bytes(os.urandom(4), "big")} if os.environ.get("PEER_SEED") == "fresh" else {}


def diffractor_geometric(texts: list[str]) -> list[str]:
    """Move geometric steps along a list."""
    return list(map(str, _diffractor("geometric").rewrite(texts)))


def diffractor_tem(texts: list[str]) -> list[str]:
    """Draw by the truncated exponential mechanism along a list."""
    return list(map(str, _diffractor("TEM").rewrite(texts)))


def diffractor_list(_: str) -> str:
    """Return the words in the order of the list."""
    return " ".join(_diffractor("geometric").mgr.lists[0])


# What the papers' own code does, with numpy.


@functools.cache
def _matrix() -> tuple[Any, dict[str, int], list[str], Any]:
    import numpy as np

    kept = np.load(_vectors())
    words = [str(word) for word in kept["words"]]
    return kept["matrix"], {word: place for place, word in enumerate(words)}, words, np.random.default_rng()


def numpy_laplace(word: str) -> str:
    """Add Laplace noise and take the nearest word."""
    import numpy as np

    matrix, place, words, generator = _matrix()
    direction = generator.normal(size=matrix.shape[1])
    length = generator.gamma(matrix.shape[1], 1.0 / _epsilon())
    point = matrix[place[word]] + length * direction / np.linalg.norm(direction)
    return words[int(np.linalg.norm(matrix - point, axis=1).argmin())]


def numpy_exponential(word: str) -> str:
    """Draw by the exponential mechanism."""
    import numpy as np

    matrix, place, words, generator = _matrix()
    weights = np.exp(-0.5 * _epsilon() * np.linalg.norm(matrix - matrix[place[word]], axis=1))
    return words[int(generator.choice(len(matrix), p=weights / weights.sum()))]


def _cpu() -> float:
    """Return the processor seconds of this process and its living children."""
    ticks = 0
    for child in multiprocessing.active_children():
        with contextlib.suppress(OSError):
            ticks += sum(map(int, Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def timed(function: Callable[[Any], Any], words: list[str]) -> dict[str, float]:
    """Return how many words per second a function replaces, by the clock and by the processor."""
    together = function.__annotations__.get("texts") is not None
    each = TOGETHER if together else 1
    calls = [words[start : start + each] for start in range(0, len(words) - each + 1, each)]
    given = [[" ".join(some)] if together else some[0] for some in calls]
    function(given[0])
    started, spent, done = time.perf_counter(), _cpu(), 0
    while _cpu() - spent < _SECONDS and time.perf_counter() - started < _PATIENCE:
        function(given[done % len(given)])
        done += 1
    return {"wall": each * done / (time.perf_counter() - started), "cpu": each * done / (_cpu() - spent)}


def main() -> None:
    """Time the named function on the words from standard input."""
    words = json.load(sys.stdin)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            found: dict[str, Any] = timed(globals()[sys.argv[1]], words)
    except Exception as error:  # noqa: BLE001 - whatever it raises, the package does not run
        found = {"failed": type(error).__name__}
    print(json.dumps(found), flush=True)
    os._exit(0)  # a pool of processes that a package leaves open would wait for itself


if __name__ == "__main__":
    main()
