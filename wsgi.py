"""The WSGI entry point: `gunicorn wsgi:app`."""

import config
from tasks.runtime import build
from webapp import create_app
from webapp.observe import set_up_logging

settings = config.load()
set_up_logging(settings.log_level)
app = create_app(build(settings))
