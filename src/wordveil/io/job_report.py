"""The privacy report of a whole job."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

import wordveil
from wordveil.io.plan import Plan
from wordveil.io.records import Reading
from wordveil.io.tally import Tally
from wordveil.text import Report, Veil

__all__ = ["job_report"]


def job_report(veil: Veil, plan: Plan, reading: Reading, tally: Tally) -> dict[str, Any]:
    """Say what a job did, what it promises and what it does not protect, in plain values.

    Parameters
    ----------
    veil : Veil
        What veiled the texts.
    plan : Plan
        The inputs.
    reading : Reading
        How they were read.
    tally : Tally
        The sums over the whole job.
    """
    facts = Report.of(veil, tally.counts, tally.worst_words)
    return {
        **facts,
        "policies": _policies(facts),
        "not_protected": [*facts["not_protected"], *_not_protected(plan)],
        "job": {
            "records": tally.records,
            "files": tally.files,
            "skipped_files": list(plan.skipped),
            "formats": sorted({piece.format.name for piece in plan.pieces}),
            "columns": list(reading.columns),
            "encoding_errors": reading.encoding_errors,
            "batch_words": reading.batch_words,
            "seconds": round(tally.seconds, 3),
            "words_per_second": round(tally.words_per_second),
            "runs": tally.runs,
        },
        "versions": {
            "wordveil": wordveil.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
    }


def _policies(facts: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Say which option had which effect on how many words."""
    counts = facts["counts"]
    outside = {
        "replace": {"words_drawn": counts["outside"], "numbers_drawn": counts["numbers"]},
        "drop": {"words_dropped": counts["dropped"]},
        "keep": {"words_released_as_they_are": counts["kept_raw"]},
    }
    return {
        f"mechanism {facts['mechanism']}": {"words_drawn": counts["drawn"]},
        f"select {facts['select']}": {"words_released_as_they_are": counts["left_alone"]},
        f"oov {facts['oov']}": outside[facts["oov"]],
    }


def _not_protected(plan: Plan) -> list[str]:
    sentences = ["How many records there are, and their order, is released as it is."]
    if any(piece.format.has_columns for piece in plan.pieces):
        sentences.append("Every other column or key, and which values are null, is released as it is.")
    if plan.folder:
        sentences.append("The names of the files are released as they are.")
    return sentences
