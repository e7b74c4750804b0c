"""The command line, one file per command."""

from wordveil.cli.main import main

__all__ = ["main"]
