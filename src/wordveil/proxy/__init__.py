"""A proxy before a language model, which veils what users write on its way; needs the extra `proxy`."""

from wordveil.proxy.app import create_app
from wordveil.proxy.settings import Settings

__all__ = ["Settings", "create_app"]
