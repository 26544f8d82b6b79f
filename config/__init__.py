"""Settings, parsed once from the environment. Imports nothing of ours; only wsgi, webapp and tasks import it."""

from config.settings import ConfigError, Settings, load

__all__ = ["ConfigError", "Settings", "load"]
