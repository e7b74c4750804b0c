"""``python -m wordveil`` is the command ``wordveil``; ``spark-submit`` is given the path of this file."""

import sys
from pathlib import Path

# Run by its path, Python would look for every module in this folder first, where `io` and `text` mean something else.
if __name__ == "__main__" and sys.path and Path(sys.path[0] or ".").resolve() == Path(__file__).resolve().parent:
    del sys.path[0]

from wordveil.cli import main

if __name__ == "__main__":
    main()
