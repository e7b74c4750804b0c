"""Poincaré embeddings learnt from IS-A pairs, on the processor and on CUDA."""

from wordveil.lab.training.evaluation import hyperlex, read_hyperlex, reconstruction
from wordveil.lab.training.pairs import Pairs, read_pairs, write_pairs
from wordveil.lab.training.trainer import Progress, Trained, Training, to_space, train, write_forms, write_trained
from wordveil.lab.training.wordnet import PARTS, Synset, WordNet, synset_pairs, word_pairs

__all__ = [
    "PARTS", "Pairs", "Progress", "Synset", "Trained", "Training", "WordNet", "hyperlex", "read_hyperlex", "read_pairs",
    "reconstruction", "synset_pairs", "to_space", "train", "word_pairs", "write_forms", "write_pairs", "write_trained",
]  # fmt: skip
