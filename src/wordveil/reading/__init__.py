"""Reads a release: computes what its outputs say about the words behind them."""

from wordveil.reading.places import LEFT_ALONE, UNKNOWN, VEILED, Cutter, Places
from wordveil.reading.reader import Place, Reader

__all__ = ["LEFT_ALONE", "UNKNOWN", "VEILED", "Cutter", "Place", "Places", "Reader"]
