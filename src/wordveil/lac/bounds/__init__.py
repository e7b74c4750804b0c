"""What amplification is worth: every bound with its proof or its source beside it."""

from wordveil.lac.bounds.blanket import blanket, blanket_delta, blanket_of_rows
from wordveil.lac.bounds.clones import clones, clones_delta, closed_form, closed_form_limit
from wordveil.lac.bounds.composition import advanced, basic, composed, grouped
from wordveil.lac.bounds.local import channel_epsilon, clip_that_amplifies, floor_of, local_epsilon
from wordveil.lac.bounds.pairwise import pairwise, pairwise_delta
from wordveil.lac.bounds.subsampling import sample_size, subsampled
from wordveil.lac.bounds.thresholds import check_threshold, thresholded, thresholded_delta

__all__ = [
    "advanced",
    "basic",
    "blanket",
    "blanket_delta",
    "blanket_of_rows",
    "channel_epsilon",
    "check_threshold",
    "clip_that_amplifies",
    "clones",
    "clones_delta",
    "closed_form",
    "closed_form_limit",
    "composed",
    "floor_of",
    "grouped",
    "local_epsilon",
    "pairwise",
    "pairwise_delta",
    "sample_size",
    "subsampled",
    "thresholded",
    "thresholded_delta",
]
