"""Text, CSV, JSON lines and Parquet in and out: streaming, and resumable."""

from wordveil.io.common_words import learn_common_words
from wordveil.io.destination import Destination
from wordveil.io.formats import FORMATS, Format, format_named, format_of
from wordveil.io.job import FileJob, StreamJob, Watch
from wordveil.io.job_report import job_report
from wordveil.io.plan import Piece, Plan, make_plan
from wordveil.io.reader import Reader
from wordveil.io.records import Block, Position, Reading
from wordveil.io.tally import Tally
from wordveil.io.veils import Veils
from wordveil.io.writer import FileWriter, StreamWriter, Writer

__all__ = [
    "FORMATS",
    "Block",
    "Destination",
    "FileJob",
    "FileWriter",
    "Format",
    "Piece",
    "Plan",
    "Position",
    "Reader",
    "Reading",
    "StreamJob",
    "StreamWriter",
    "Tally",
    "Veils",
    "Watch",
    "Writer",
    "format_named",
    "format_of",
    "job_report",
    "learn_common_words",
    "make_plan",
]
