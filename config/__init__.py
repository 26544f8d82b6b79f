"""Settings, parsed once from the environment. Imports nothing of ours; only wsgi, webapp and tasks import it."""

from config.settings import ConfigError, DataFolderError, Settings, load, names, redis_url, unread

__all__ = ["ConfigError", "DataFolderError", "Settings", "load", "names", "redis_url", "unread"]
