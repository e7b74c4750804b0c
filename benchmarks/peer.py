"""The peers on the same work: each in its own environment, through the interface that its users have.

- mldp-text takes one word per call.
- pypantera takes a table of texts. It compares all words of a text with all vectors at once, which takes V·d numbers
  of memory per word, so it gets texts of four words.
- dp-diffractor takes a list of texts.
- numpy takes one word per call and does what the papers' own code does: noise, distances to every vector, an argmin.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from wordveil.spaces import EuclideanSpace
from wordveil.spaces.files import write_vectors

__all__ = ["PEERS", "Rates", "environment", "numpy_rates", "rate_of", "rates_of", "settings"]

#: Words per second of each mechanism, or why it does not run.
Rates = dict[str, float | str]

#: The packages that run without a network, with the functions of `benchmarks.peer_calls` that call them.
PEERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "mldp-text": (
        "0.1.2",
        ("mldp_text_cmp", "mldp_text_vickrey", "mldp_text_mahalanobis", "mldp_text_gumbel", "mldp_text_tem"),
    ),
    "pypantera": (
        "1.0.2",
        (
            "pypantera_cmp", "pypantera_vickrey", "pypantera_mahalanobis", "pypantera_tem", "pypantera_santext",
            "pypantera_custext",
        ),
    ),
    "dp-diffractor": ("0.2.1", ("diffractor_geometric", "diffractor_tem")),
}  # fmt: skip

_HERE = Path(__file__).parent
_FORMATS = {"mldp-text": "word2vec-binary", "pypantera": "glove", "dp-diffractor": "word2vec"}


def rates_of(peer: str, space: EuclideanSpace, words: Sequence[str], epsilon: float, clock: str = "wall") -> Rates:
    """Return words per second of each of a peer's mechanisms on our vocabulary, or why it does not run."""
    return {name: rate_of(peer, name, space, words, epsilon, clock) for name in PEERS[peer][1]}


def rate_of(
    peer: str, name: str, space: EuclideanSpace, words: Sequence[str], epsilon: float, clock: str
) -> float | str:
    """Return the same for one mechanism."""
    return _timed(environment(peer), name, settings(peer, space, epsilon), words, clock)


def numpy_rates(space: EuclideanSpace, words: Sequence[str], epsilon: float, clock: str = "wall") -> Rates:
    """Return words per second of plain numpy, with one word per call."""
    path = _folder(".data") / f"{space.name.replace(' ', '-')}.npz"
    np.savez(path, matrix=space.matrix, words=np.array(space.vocabulary.words))
    found = {"PEER_VECTORS": str(path), "PEER_EPSILON": str(epsilon)}
    names = ("numpy_laplace", "numpy_exponential")
    return {name: _timed(Path(sys.executable), name, found, words, clock) for name in names}


def environment(peer: str) -> Path:
    """Return the interpreter that has a peer. Install the peer if it is not there yet."""
    home = _HERE / f".peer-{peer}"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", f"{peer}=={PEERS[peer][0]}"], check=True)
    return python


def settings(peer: str, space: EuclideanSpace, epsilon: float) -> dict[str, str]:
    """Return the variables that tell `benchmarks.peer_calls` what to call. Writes the embedding to a file."""
    folder = _folder(f".peer-{peer}")
    name = f"vectors-{len(space)}-{space.dimension}"
    # One thread each: on a busy machine, the threads of a matrix product wait for one another, and waiting counts.
    found = {"PEER_EPSILON": repr(float(epsilon)), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if peer == "dp-diffractor":
        home = _folder(f".peer-{peer}", name)
        path = _folder(f".peer-{peer}", name, ".cache", "diffractor") / "glove-wiki-gigaword-300.txt"
        _stand_in_for_downloads(home / "nltk_data")
        found |= {"HOME": str(home), "NLTK_DATA": str(home / "nltk_data")}
    else:
        path = folder / name
    write_vectors(path, space.vocabulary.words, space.matrix, format=_FORMATS[peer])
    return {**found, "PEER_VECTORS": str(path)}


def _stand_in_for_downloads(folder: Path) -> None:
    """Write what dp-diffractor would download from NLTK: a sentence splitter without abbreviations, no stop words."""
    tables = folder / "tokenizers" / "punkt_tab" / "english"
    tables.mkdir(parents=True, exist_ok=True)
    for name in ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab"):
        (tables / name).write_text("")
    lists = folder / "corpora" / "stopwords"
    lists.mkdir(parents=True, exist_ok=True)
    (lists / "english").write_text("the\n")


def _folder(*parts: str) -> Path:
    folder = _HERE.joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _timed(python: Path, name: str, found: dict[str, str], words: Sequence[str], clock: str) -> float | str:
    done = subprocess.run(
        [str(python), "-m", "benchmarks.peer_calls", name],
        input=json.dumps(list(words)), capture_output=True, text=True, check=True, cwd=_HERE.parent,
        env={**os.environ, **found},
    )  # fmt: skip
    told = json.loads(done.stdout.splitlines()[-1])
    return f"does not run: {told['failed']}" if "failed" in told else float(told[clock])
