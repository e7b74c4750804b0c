"""The HTTP service and its web page. Needs the extra ``serve``."""

from wordveil.service.settings import Key, Settings

__all__ = ["Key", "Settings"]
