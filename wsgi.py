"""The WSGI entry point: `gunicorn wsgi:app`."""

import config
from tasks.runtime import build
from webapp.factory import create_app
from webapp.logs import set_up_logging
from webapp.observe import request_id

settings = config.load()
set_up_logging(settings.log_level, request_id)
app = create_app(build(settings))
