"""Texts in, veiled texts out."""

from wordveil.text.languages import function_words, language_name, language_of, language_of_words, languages
from wordveil.text.once import SCOPES, Once
from wordveil.text.rare_words import NgramTree, RareWords
from wordveil.text.release import Counts, Release, Replacement, Shape
from wordveil.text.remarks import KEEPS_ALL, kept_share, told_before
from wordveil.text.report import Report
from wordveil.text.selection import SELECTIONS, Document, stop_words
from wordveil.text.tokens import Tokens, tokenise
from wordveil.text.veil import BATCH_WORDS, Veil

__all__ = [
    "BATCH_WORDS",
    "KEEPS_ALL",
    "SCOPES",
    "SELECTIONS",
    "Counts",
    "Document",
    "NgramTree",
    "Once",
    "RareWords",
    "Release",
    "Replacement",
    "Report",
    "Shape",
    "Tokens",
    "Veil",
    "function_words",
    "kept_share",
    "language_name",
    "language_of",
    "language_of_words",
    "languages",
    "stop_words",
    "tokenise",
    "told_before",
]
