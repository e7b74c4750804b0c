# mypy: ignore-errors
"""One round of shortest paths as a CUDA kernel, written in Triton."""

import triton
import triton.language as tl

__all__ = ["relax"]


@triton.jit
def relax(known, better, indptr, indices, lengths, words, BLOCK: tl.constexpr):
    """Write the shortest known path from one word to a block of others, or one over a neighbour if that is shorter."""
    word = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < words
    best = tl.load(known + word.to(tl.int64) * words + column, mask=inside, other=0.0)
    for place in range(tl.load(indptr + word), tl.load(indptr + word + 1)):
        neighbour = tl.load(indices + place).to(tl.int64)
        way = tl.load(known + neighbour * words + column, mask=inside, other=0.0) + tl.load(lengths + place)
        best = tl.minimum(best, way)
    tl.store(better + word.to(tl.int64) * words + column, best, mask=inside)
