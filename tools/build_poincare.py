"""Rebuild the bundled space wordnet-poincare from Debian's package wordnet-base, fetched by name.

    python tools/build_poincare.py                       # needs apt-get and dpkg-deb; minutes with CUDA, hours without
    python tools/build_poincare.py --wordnet FOLDER      # from WordNet's database files in a local folder
    python tools/build_poincare.py --check               # only check the files here against their checksum

Takes the nouns and verbs of WordNet 3.0 that are words of glove-50k, each in its commonest meaning. On a CUDA device
the order of additions varies. A rebuilt space is then as good as the bundled one, but not identical.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from wordveil.lab.training import Progress, Training, WordNet, reconstruction, to_space, train, word_pairs, write_forms
from wordveil.spaces import PoincareSpace, load_space
from wordveil.text import stop_words
from wordveil.text.lookup import BaseForms

PACKAGE = "wordnet-base=1:3.0-37"
NAME = "wordnet-poincare"
TARGET = Path(__file__).parent.parent / "src/wordveil/data" / NAME
#: Chosen by `python -m benchmarks.poincare dimensions`; see docs/hyperbolic.md.
SETTINGS = Training(dimension=3, sharpness=2.0, epochs=1000)


def fetch(scratch: Path) -> Path:
    """Unpack the Debian package and return the folder of the database files."""
    subprocess.run(["apt-get", "download", PACKAGE], cwd=scratch, check=True, capture_output=True)
    package = next(scratch.glob("*.deb"))
    subprocess.run(["dpkg-deb", "-x", str(package), str(scratch / "unpacked")], check=True)
    return scratch / "unpacked/usr/share/wordnet"


def tell(progress: Progress) -> None:
    """Print how far the training is."""
    if progress.sample is not None:
        found = progress.sample.mean_average_precision
        print(
            f"epoch {progress.epoch}, {progress.seconds:.0f} s: loss {progress.loss:.4f}, MAP {found:.3f}", flush=True
        )


def build(folder: Path) -> None:
    """Train the space, and write it with its irregular forms, its licence and its facts."""
    wordnet = WordNet(folder)
    words = load_space("glove-50k").vocabulary.words
    pairs = word_pairs(wordnet, words, leave_out=stop_words(), bases=BaseForms(folder).of)
    trained = train(pairs, SETTINGS, evaluate_every=100, tell=tell)
    found = reconstruction(trained.shape, trained.points, pairs)
    facts = {
        "source": f"nouns and verbs of WordNet 3.0 (Debian's {PACKAGE}) that are words of glove-50k",
        "licence": "WordNet 3.0 license",
        "sharpness": SETTINGS.sharpness,
        "pairs": len(pairs),
        "epochs": trained.epochs,
        "mean_rank": round(found.mean_rank, 3),
        "mean_average_precision": round(found.mean_average_precision, 4),
    }
    to_space(NAME, trained, pairs, facts).save(TARGET)
    write_forms(TARGET, wordnet)


def check() -> None:
    """Check the bundled files against their checksum."""
    space = PoincareSpace.load(TARGET)
    assert space.checksum == space.facts["checksum"], "words or coordinates differ from their checksum"
    print(f"{NAME}: {len(space)} words in {space.dimension} dimensions, checksum {space.checksum}")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="only check the files against their checksum")
    arguments.add_argument("--wordnet", type=Path, help="the folder of WordNet's database files, instead of a download")
    chosen = arguments.parse_args()
    if not chosen.check:
        with tempfile.TemporaryDirectory() as scratch_name:
            build(chosen.wordnet or fetch(Path(scratch_name)))
    check()
