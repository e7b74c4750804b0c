"""Reading a release: what its outputs say of the words behind them."""

from wordveil.reading.places import LEFT_ALONE, UNKNOWN, VEILED, Cutter, Places
from wordveil.reading.reader import Place, Reader

__all__ = ["LEFT_ALONE", "UNKNOWN", "VEILED", "Cutter", "Place", "Places", "Reader"]
