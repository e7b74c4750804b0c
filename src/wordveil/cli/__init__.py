"""The command line: one file a command."""

from wordveil.cli.main import main

__all__ = ["main"]
