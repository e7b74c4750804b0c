"""Text, CSV, JSON lines and Parquet in and out: streaming and resumable, behind ``wordveil privatize``.

`formats` says what formats there are (`lines`, `tables`, `json_lines` and `parquet` read and write them), `inputs` what
a job reads, `job` what a job is, `workers` who veils, `checkpoint` and `output` how it survives a crash, and `report`
what is said about it.
"""

from wordveil.io.checkpoint import Tally
from wordveil.io.formats import FORMATS, Position, Reading, format_named, format_of
from wordveil.io.inputs import Plan, make_plan
from wordveil.io.job import FileJob, StreamJob, learn_common_words
from wordveil.io.output import Destination
from wordveil.io.report import job_report, missing_promise
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
    "format_named",
    "format_of",
    "job_report",
    "learn_common_words",
    "make_plan",
    "missing_promise",
]
