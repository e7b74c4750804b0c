"""Texts in, veiled texts out."""

from wordveil.text.ngram_tree import NgramTree
from wordveil.text.rare_words import RareWords
from wordveil.text.release import Counts, Release, Replacement
from wordveil.text.report import plain_words, report
from wordveil.text.selection import SELECTIONS, Document, stop_words
from wordveil.text.shape import Shape
from wordveil.text.tokens import Tokens, tokenise
from wordveil.text.veil import BATCH_WORDS, Veil

__all__ = [
    "BATCH_WORDS",
    "SELECTIONS",
    "Counts",
    "Document",
    "NgramTree",
    "RareWords",
    "Release",
    "Replacement",
    "Shape",
    "Tokens",
    "Veil",
    "plain_words",
    "report",
    "stop_words",
    "tokenise",
]
