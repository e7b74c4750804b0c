"""Which tests share a process, and what begins first; for pytest-xdist.

The marks of ``--dist loadgroup`` are not used: xdist writes the group into the name of a test, which pytest 9.2 no
longer lets it do, and then says nothing and shares nothing: each process had a cluster of Spark and a Chromium.
"""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScopeScheduling

#: What takes about four seconds of a processor or more, from the longest to the shortest, and so begins first: the last
#: to end would else end alone. The rest follows in order.
LONGEST = (
    "tests/spark/test_cluster.py", "tests/spark/test_files.py", "tests/spark/test_frames.py",
    "tests/spark/test_streams.py", "tests/spark/test_tasks.py", "tests/test_documents.py",
    "tests/lab/experiments/test_experiments.py", "tests/service/test_page.py", "tests/audit/test_auditor.py",
    "tests/audit/test_callables.py", "tests/audit/test_strangers.py", "tests/service/test_processes.py",
    "tests/cli/test_privatize.py", "tests/plan/test_trial.py", "tests/test_leaks.py", "tests/reading/test_context.py",
    "tests/cli/test_plan.py", "tests/text/test_once.py", "tests/cli/test_serve.py", "tests/io/test_workers.py",
    "tests/cli/test_read.py", "tests/mechanisms/test_rows.py", "tests/reading/test_language.py",
    "tests/cli/test_compare.py", "tests/lac/test_crowd.py", "tests/adapters/test_sklearn.py",
    "tests/text/test_torture.py", "tests/service/test_connections.py", "tests/attacks/test_context.py",
    "tests/io/test_faults.py", "tests/lab/experiments/test_frontier_search.py", "tests/calibration/test_estimates.py",
    "tests/reading/test_reader.py", "tests/text/test_veil.py", "tests/service/test_stream.py",
    "tests/service/test_api.py", "tests/noise/test_entropy.py", "tests/service/test_litellm.py",
    "tests/engines/test_approximate.py", "tests/cli/test_calibrate.py", "tests/test_examples.py",
)  # fmt: skip
#: Files and folders that share more than a file does: a cluster of Spark, and one of PostgreSQL.
_TOGETHER = {
    "tests/spark/": "spark",
    "tests/lac/test_postgres.py": "postgres",
    "tests/service/test_budgets.py": "postgres",
}
#: Files whose tests are long and share nothing: each goes to whoever is free.
_APART = ("tests/test_documents.py",)


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
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
