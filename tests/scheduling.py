"""Which tests share a process, and what begins first; for pytest-xdist.

The marks of ``--dist loadgroup`` are not used: xdist writes the group into the name of a test, which pytest 9.2 no
longer lets it do, and then says nothing and shares nothing: each process had a cluster of Spark and a Chromium.
"""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScopeScheduling

#: What takes longest, and so begins first: the last to end would else end alone. The rest follows in order.
LONGEST = (
    "tests/spark/test_cluster.py", "tests/spark/test_files.py", "tests/spark/test_frames.py",
    "tests/spark/test_streams.py", "tests/spark/test_tasks.py", "tests/test_documents.py", "tests/service/test_page.py",
    "tests/plan/test_trial.py", "tests/lab/experiments/test_experiments.py", "tests/reading/test_context.py",
    "tests/reading/test_language.py",
)  # fmt: skip
#: Files and folders that share more than a file does: a cluster of Spark, and one of PostgreSQL.
_TOGETHER = {
    "tests/spark/": "spark",
    "tests/lac/test_postgres.py": "postgres",
    "tests/service/test_budgets.py": "postgres",
}
#: Files whose tests are long and share nothing: each goes to whoever is free.
_APART = ("tests/test_documents.py",)


class ByFile(LoadScopeScheduling):
    """Gives a process a file at a time, so that what a file shares is made once."""

    def __init__(self, config: Any, log: Any) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # it would begin with the most tests, not the longest

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        for place, group in _TOGETHER.items():
            if file.startswith(place):
                return group
        return nodeid if file in _APART else file
