"""The privacy report of a whole job, and the warning where something is not promised."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

import wordveil
from wordveil.guarantee import Notion
from wordveil.io.checkpoint import Tally
from wordveil.io.formats import TABLES, Reading
from wordveil.io.inputs import Plan
from wordveil.io.streams import packing_of
from wordveil.text import Report, Veil
from wordveil.text.remarks import remarks

__all__ = ["FIRST_LINE", "job_report", "job_warnings", "missing_promise", "report_of"]

#: What a report says of a table whose first line is not veiled.
FIRST_LINE = "The first line of a table is released as it is: it is taken for the names of the columns."


def job_report(
    veil: Veil, plan: Plan, reading: Reading, tally: Tally, digest: str | list[str] | None = None
) -> dict[str, Any]:
    """Return what a job did, what it promises and what it does not protect, as plain values.

    `digest`: the SHA-256 of what was released, or of each of its files, without their names, which may be private.
    """
    job = {
        "records": tally.records,
        "files": tally.files,
        "skipped_files": list(plan.skipped),
        "formats": sorted({piece.format.name for piece in plan.pieces}),
        "packing": sorted({packing_of(piece.place) for piece in plan.pieces if piece.place} - {""}),
        "encoding": reading.encoding if any(piece.format.is_encoded for piece in plan.pieces) else None,
        "left_out": sorted({piece.format.leaves_out for piece in plan.pieces} - {""}),
        "columns": list(reading.columns),
        "header": reading.header if _has_tables(plan) else None,
        "missing": reading.missing,
        "records_without_a_key": tally.passed,
        "person": reading.person,
        "encoding_errors": reading.encoding_errors,
        "batch_words": reading.batch_words,
        "output_sha256": digest,
    }
    facts = report_of(veil, tally, _not_protected(plan, reading), job)
    return {**facts, "warnings": [*_passed(tally), *facts["warnings"]]}


def report_of(veil: Veil, tally: Tally, released: list[str], job: dict[str, Any]) -> dict[str, Any]:
    """Return the report of a job from what it counted, what else it releases, and what is said of it."""
    facts = Report.of(veil, tally.counts, tally.worst_words)
    return {
        **facts,
        "policies": _policies(facts),
        "not_protected": [*facts["not_protected"], *released],
        "job": {
            **job,
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


def job_warnings(veil: Veil, tally: Tally) -> list[str]:
    """Return what the report of a job warns of."""
    return [*_passed(tally), *remarks(veil, tally.counts)]


def _passed(tally: Tally) -> list[str]:
    """Say how many records were released without a text that was to be veiled."""
    if not tally.passed:
        return []
    some = f"{tally.passed:,} of {tally.records:,} records"
    return [
        f"{some} lack a key that was to be veiled and were passed on without it: if its text stands in them under "
        "another name, it is released as it is."
    ]


def missing_promise(veil: Veil) -> str:
    """Say in a line what is not promised of a release that has no guarantee, or not for every word; "" for others."""
    shortfall, promise = veil.mechanism.shortfall, veil.guarantee
    if promise.notion is not Notion.NONE:
        return shortfall
    bare = veil.mechanism.guarantee
    said = [] if bare.notion is Notion.NONE and shortfall else [promise.sentence()]  # else the shortfall says so
    said += [shortfall, *(caveat for caveat in promise.caveats if caveat not in (*bare.caveats, shortfall))]
    return " ".join(filter(None, said))


def _policies(facts: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return which option had which effect on how many words."""
    counts = facts["counts"]
    outside = {
        "replace": {"words_drawn": counts["outside"]},
        "drop": {"words_dropped": counts["dropped"]},
        "keep": {"words_released_as_they_are": counts["kept_raw"]},
    }
    return {
        f"mechanism {facts['mechanism']}": {"words_drawn": counts["drawn"]},
        f"select {facts['select']}": {"words_released_as_they_are": counts["left_alone"]},
        f"oov {facts['oov']}": outside[facts["oov"]],
        f"numbers {facts['numbers']}": {"numbers_replaced": counts["numbers"]},
        f"identifiers {facts['identifiers']}": {"identifiers_replaced": counts["identifiers"]},
    }


def _has_tables(plan: Plan) -> bool:
    return any(piece.format.name in TABLES for piece in plan.pieces)


def _not_protected(plan: Plan, reading: Reading) -> list[str]:
    sentences = ["The number of records and their order are released as they are."]
    if any(piece.format.has_columns for piece in plan.pieces):
        sentences.append("All other columns and keys, and which values are null, are released as they are.")
    if _has_tables(plan) and reading.header != "no":
        sentences.append(FIRST_LINE)
    if plan.is_many:
        sentences.append("The names of the files are released as they are.")
    return sentences
