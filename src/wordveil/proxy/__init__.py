"""A proxy in front of a language model that veils what users write. Needs the extra `proxy`."""

from wordveil.proxy.app import create_app
from wordveil.proxy.settings import Settings

__all__ = ["Settings", "create_app"]
