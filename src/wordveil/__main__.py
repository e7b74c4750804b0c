"""Runs the command ``wordveil`` for ``python -m wordveil``; ``spark-submit`` takes the path of this file."""

import sys
from pathlib import Path

# If run by its path, Python would search this folder first, where `io` shadows the standard library.
if __name__ == "__main__" and sys.path and Path(sys.path[0] or ".").resolve() == Path(__file__).resolve().parent:
    del sys.path[0]

from wordveil.cli import main

if __name__ == "__main__":
    main()
