"""Noise and nearest words on a CUDA device, with PyTorch and Triton.

Everything but the Triton kernels also runs on PyTorch's CPU tensors, and is tested there.
"""

from wordveil.engines.gpu.certified_search import CertifiedSearch, DoubleSearch
from wordveil.engines.gpu.chacha import keystream
from wordveil.engines.gpu.spaces import check_cuda, on_device

__all__ = ["CertifiedSearch", "DoubleSearch", "check_cuda", "keystream", "on_device"]
