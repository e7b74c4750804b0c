"""Text, CSV, JSON lines and Parquet in and out: streaming and resumable, behind ``wordveil privatize``.

`formats` says what formats there are (`lines`, `tables`, `json_lines` and `parquet` read and write them), `inputs` what
a job reads, `job` what a job is, `workers` who veils, `checkpoint` and `output` how it survives a crash, and `report`
what is said about it.
"""

from wordveil.io.checkpoint import Tally
from wordveil.io.formats import FORMATS, Block, Format, Position, Reader, Reading, format_named, format_of
from wordveil.io.inputs import Piece, Plan, make_plan
from wordveil.io.job import FileJob, JobWatch, StreamJob, learn_common_words
from wordveil.io.output import Destination, FileWriter, Writer
from wordveil.io.report import job_report, missing_promise
from wordveil.io.workers import Veils

__all__ = [
    "FORMATS",
    "Block",
    "Destination",
    "FileJob",
    "FileWriter",
    "Format",
    "JobWatch",
    "Piece",
    "Plan",
    "Position",
    "Reader",
    "Reading",
    "StreamJob",
    "Tally",
    "Veils",
    "Writer",
    "format_named",
    "format_of",
    "job_report",
    "learn_common_words",
    "make_plan",
    "missing_promise",
]
