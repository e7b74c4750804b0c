"""``python -m wordveil`` is the command ``wordveil``."""

from wordveil.cli import main

if __name__ == "__main__":
    main()
