"""Wordveil on Spark: veil DataFrames and files, in batches or as growing tables.

**A record is released once.** Spark computes lazily, and more than once: after a failed task or a dead executor, for a
speculative copy of a slow task, or for a second action on the same DataFrame. So every function here that draws writes
its result once, into a folder that you name, and returns what it reads from there (`store`). Only one attempt of each
task gets into that folder, and none before the whole job is done.

**All attempts draw the same.** What a task draws follows from a secret of the job, the number of its partition and the
texts themselves, by a keyed hash (`tasks`). An attempt that reads the same rows in the same order writes the same
texts, so not even the temporary files of a failed attempt hold a second draw. docs/guarantees.md, "On a cluster", has
the proof.

**A space is sent once to each executor**, which maps it into memory (`sending`). A bundled one comes with the package.

**No promise about the crowd is computed here.** A row hides only among the rows that agree with it in every other
column and in everything that its veiled texts release unchanged. `wordveil.lac.bounds` needs the number of these rows,
not of all rows.
"""

from wordveil.spark.amplifiers import k_threshold, shuffle, subsample
from wordveil.spark.files import privatize_files
from wordveil.spark.frames import privatize
from wordveil.spark.streams import privatize_stream

__all__ = ["k_threshold", "privatize", "privatize_files", "privatize_stream", "shuffle", "subsample"]
