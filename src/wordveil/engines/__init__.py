"""Where a job runs: on this processor, or on a GPU; and how exactly the nearest word is searched."""

from wordveil.engines.approximate import approximately
from wordveil.engines.choosing import ENGINES, check_engine, check_runs, on_engine

__all__ = ["ENGINES", "approximately", "check_engine", "check_runs", "on_engine"]
