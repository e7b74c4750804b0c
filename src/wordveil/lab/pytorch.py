"""Which device PyTorch trains the lab's small models on, and with how many threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def training_device() -> Any:
    """Return the CUDA device if there is one, otherwise the processor."""
    import torch  # noqa: PLC0415 - an extra, and slow to import

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def seeded_torch(seed: int) -> Iterator[None]:
    """Seed PyTorch and limit it to one thread. Restore both afterwards.

    The steps of a small model are so short that sharing them among threads costs more than it saves.
    """
    import torch  # noqa: PLC0415 - an extra, and slow to import

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(before)
