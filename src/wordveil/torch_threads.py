"""How many threads PyTorch may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["one_torch_thread"]


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Keep PyTorch to one thread: the steps of a small model are so short that handing them out costs more."""
    import torch  # noqa: PLC0415 - an extra, and slow to import

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
