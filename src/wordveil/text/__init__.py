"""Texts in, veiled texts out."""

from wordveil.text.rare_words import NgramTree, RareWords
from wordveil.text.release import Counts, Release, Replacement, Shape
from wordveil.text.report import Report
from wordveil.text.selection import SELECTIONS, Document, stop_words
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
    "Report",
    "Shape",
    "Tokens",
    "Veil",
    "stop_words",
    "tokenise",
]
