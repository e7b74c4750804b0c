"""The peers on the same work: each in an environment of its own, through the interface that its users have.

- mldp-text 0.1.2 takes one word a call.
- pypantera 1.0.2 takes a table of texts; it compares all words of a text with all vectors at once, which takes
  V·d numbers of memory a word, so texts of four words are given.
- numpy, one word a call: what the papers' own code does, noise, distances to every vector and an argmin.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from wordveil.spaces import EuclideanSpace
from wordveil.spaces.files import write_vectors

__all__ = ["Rates", "numpy_rates", "peer_rates", "pypantera_rates"]

#: Words a second of each mechanism, or why it does not run.
Rates = dict[str, float | str]

_HERE = Path(__file__).parent

_TIMED = """
import contextlib, io, json, os, sys, time
path, dimension, words = sys.argv[1], int(sys.argv[2]), json.load(sys.stdin)
rates = {}

def timed(name, once, each=1):
    try:
        once(words[:each])
        started, done = time.perf_counter(), 0
        while time.perf_counter() - started < 4.0:
            start = done % (len(words) - each)
            once(words[start : start + each])
            done += each
        rates[name] = done / (time.perf_counter() - started)
    except Exception as error:
        rates[name] = "does not run: " + type(error).__name__
"""

_MLDP_TEXT = """
with contextlib.redirect_stdout(io.StringIO()):
    import gensim.models, mldp_text
    vectors = gensim.models.KeyedVectors.load_word2vec_format(path, binary=True)
    vocabulary = {word: place for place, word in enumerate(vectors.index_to_key)}
    for name in ("MultivariateCalibrated", "VickreyMechanism", "Mahalanobis", "TruncatedGumbel", "TEM"):
        options = {"embedding_matrix": vectors, "vocab": vocabulary}
        if name != "TEM":
            options["dim"] = dimension
        try:
            made = getattr(mldp_text, name)(epsilon=10, **options)
        except Exception as error:
            rates[name] = "does not run: " + type(error).__name__
        else:
            timed(name, lambda some: made.replace_word(some[0]))
"""

_PYPANTERA = """
with contextlib.redirect_stdout(io.StringIO()):
    import pandas
    from src.EmbeddingPerturbationMechanism.cmp import CMP
    from src.EmbeddingPerturbationMechanism.mahalanobis import Mahalanobis
    from src.EmbeddingPerturbationMechanism.vickrey import VickreyCMP
    from src.SamplingPerturbationMechanism.tem import TEM
    for kind in (CMP, Mahalanobis, VickreyCMP, TEM):
        try:
            made = kind({"embPath": path, "epsilon": 10.0, "lam": 1.0, "t": 0.5, "beta": 0.05})
        except Exception as error:
            rates[kind.__name__] = "does not run: " + type(error).__name__
        else:
            text = lambda some: pandas.DataFrame({"id": [0], "text": [" ".join(some)]})
            timed(kind.__name__, lambda some: made.obfuscateText(text(some), 1), each=4)
"""

_NUMPY = """
import numpy as np
vectors = np.load(path)
generator = np.random.default_rng(0)

def laplace(some):
    direction = generator.normal(size=dimension)
    point = vectors[some[0]] + generator.gamma(dimension, 0.1) * direction / np.linalg.norm(direction)
    return np.linalg.norm(vectors - point, axis=1).argmin()

def exponential(some):
    weights = np.exp(-5.0 * np.linalg.norm(vectors - vectors[some[0]], axis=1))
    return generator.choice(len(vectors), p=weights / weights.sum())

timed("laplace", laplace)
timed("exponential", exponential)
"""


def peer_rates(space: EuclideanSpace, words: list[str]) -> Rates:
    """Return words a second of each of mldp-text's mechanisms on our vocabulary, or why it does not run."""
    python = _environment(".peer", "mldp-text==0.1.2")
    path = _HERE / ".peer" / "vectors.bin"
    if not path.exists():
        write_vectors(path, space.vocabulary.words, space.matrix, format="word2vec-binary")
    return _run(python, _MLDP_TEXT, path, space, words)


def pypantera_rates(space: EuclideanSpace, words: list[str]) -> Rates:
    """Return words a second of each of pypantera's mechanisms on our vocabulary, or why it does not run."""
    python = _environment(".peer-pypantera", "pypantera==1.0.2")
    path = _HERE / ".peer-pypantera" / "vectors.txt"
    if not path.exists():
        write_vectors(path, space.vocabulary.words, space.matrix, format="glove")
    return _run(python, _PYPANTERA, path, space, words)


def numpy_rates(space: EuclideanSpace, words: list[str]) -> Rates:
    """Return words a second of plain numpy, one word a call."""
    path = _HERE / ".data" / f"{space.name}.npy"
    path.parent.mkdir(exist_ok=True)
    np.save(path, space.matrix)
    return _run(Path(sys.executable), _NUMPY, path, space, [space.vocabulary.id(word) for word in words])


def _environment(name: str, package: str) -> Path:
    home = _HERE / name
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", package], check=True)
    return python


def _run(python: Path, script: str, path: Path, space: EuclideanSpace, words: Sequence[str | int]) -> Rates:
    done = subprocess.run(
        [str(python), "-c", _TIMED + script + "\nprint(json.dumps(rates))\n", str(path), str(space.dimension)],
        input=json.dumps(list(words)), capture_output=True, text=True, check=True,
    )  # fmt: skip
    rates: Rates = json.loads(done.stdout.splitlines()[-1])
    return rates
