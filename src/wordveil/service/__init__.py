"""The HTTP service and its page; needs the extra ``serve``."""

from wordveil.service.settings import Key, Settings

__all__ = ["Key", "Settings"]
