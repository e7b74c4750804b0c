"""Where PyTorch trains a model."""

from __future__ import annotations

from typing import Any

__all__ = ["training_device"]


def training_device() -> Any:
    """Return the CUDA device if there is one, else the processor."""
    import torch  # noqa: PLC0415 - an extra, and slow to import

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
