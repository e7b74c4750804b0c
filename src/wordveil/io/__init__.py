"""Text, tables, JSON, Parquet, workbooks, mail and documents in and out: streaming and resumable, for jobs.

`formats` says what formats there are: `lines`, `tables`, `json_lines`, `json_arrays`, `parquet`, `workbooks`, `mail`
and `documents` read and write them, with `whole` for those that cannot be appended to, and `small` for many small files
at once. `streams` says how files are packed and encoded, `inputs` what a job reads, `job` what a job is, `common_words`
what it may learn beforehand, `workers` who veils, `checkpoint` and `output` how it survives a crash, and `report` what
is said about it.
"""

from wordveil.io.checkpoint import Tally
from wordveil.io.common_words import learn_common_words
from wordveil.io.formats import FORMATS, Position, Reading, format_named, format_of
from wordveil.io.inputs import Plan, check_fits, make_plan
from wordveil.io.job import FileJob, StreamJob
from wordveil.io.output import Destination
from wordveil.io.remote import is_remote, place, written_remotely
from wordveil.io.report import job_report, job_warnings, missing_promise, report_of
from wordveil.io.streams import check_encoding, detect_encoding, packing_of
from wordveil.io.workers import Veils

__all__ = [
    "FORMATS",
    "Destination",
    "FileJob",
    "Plan",
    "Position",
    "Reading",
    "StreamJob",
    "Tally",
    "Veils",
    "check_encoding",
    "check_fits",
    "detect_encoding",
    "format_named",
    "format_of",
    "is_remote",
    "job_report",
    "job_warnings",
    "learn_common_words",
    "make_plan",
    "missing_promise",
    "packing_of",
    "place",
    "report_of",
    "written_remotely",
]
