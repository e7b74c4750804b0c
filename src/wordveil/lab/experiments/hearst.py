"""A ball of words from Hearst's patterns, as the ICDM paper has one from WebIsADb."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from wordveil.cache import cached_folder
from wordveil.io.checkpoint import digest_of
from wordveil.lab.experiments.result import Setting
from wordveil.lab.training.pairs import Pairs, read_pairs
from wordveil.lab.training.trainer import Settings, train
from wordveil.lab.training.writing import write_trained
from wordveil.progress import Watch
from wordveil.spaces import PoincareSpace, load_space
from wordveil.text import stop_words

__all__ = ["DIMENSION", "hearst_ball"]

#: The paper's dimension.
DIMENSION = 100

_FILE = "hearst/hearst_counts.txt.gz"
_SEEN, _LINKS = 5, 2
_EPOCHS = 40


def hearst_ball(setting: Setting) -> PoincareSpace:
    """Train the ball on the pairs of the data folder, or take it from the cache.

    Pairs seen at least five times between words of ``glove-50k`` that are in two or more of them.

    Parameters
    ----------
    setting : Setting
        How the experiment is run.
    """
    pairs = read_pairs(setting.data.path / _FILE)
    known = load_space("glove-50k").vocabulary.ids
    pairs = pairs.filtered(min_count=_SEEN, vocabulary=known, leave_out=stop_words(), min_links=_LINKS)
    settings = Settings(DIMENSION, epochs=_EPOCHS, negatives=20, seed=setting.seed)
    key = f"hearst-{digest_of([pairs.checksum, asdict(settings)])}"
    folder = cached_folder(key, lambda empty: _fill(empty, pairs, settings, setting.watch))
    ball = load_space(str(folder))
    if not isinstance(ball, PoincareSpace):
        raise TypeError("what was trained is no Poincaré space")
    return ball


def _fill(folder: Path, pairs: Pairs, settings: Settings, watch: Watch) -> None:
    trained = train(
        pairs,
        settings,
        device="cpu",  # the same points wherever it runs
        tell=lambda now: watch("training the ball", now.epoch / settings.epochs),
    )
    write_trained(folder, trained, pairs, asdict(settings))
