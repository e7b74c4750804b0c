"""What amplification is worth: every bound with its proof or its source beside it.

Throughout, `epsilon` is the local ε₀ of a record, `records` is how many records of one shape are mixed, `delta` is the
δ of the result, and `central` an ε of the result. A bound that is found by a search was itself checked.
"""

from wordveil.lac.bounds.local import (
    advanced,
    basic,
    check_delta,
    check_records,
    composed,
    grouped,
    local_epsilon,
    smallest_epsilon,
)
from wordveil.lac.bounds.sampling import check_threshold, sample_size, subsampled, thresholded, thresholded_delta
from wordveil.lac.bounds.shuffling import (
    blanket,
    blanket_delta,
    blanket_of_rows,
    clip_that_amplifies,
    clones,
    clones_delta,
    closed_form,
    closed_form_limit,
    pairwise,
    pairwise_delta,
)

__all__ = [
    "advanced",
    "basic",
    "blanket",
    "blanket_delta",
    "blanket_of_rows",
    "check_delta",
    "check_records",
    "check_threshold",
    "clip_that_amplifies",
    "clones",
    "clones_delta",
    "closed_form",
    "closed_form_limit",
    "composed",
    "grouped",
    "local_epsilon",
    "pairwise",
    "pairwise_delta",
    "sample_size",
    "smallest_epsilon",
    "subsampled",
    "thresholded",
    "thresholded_delta",
]
