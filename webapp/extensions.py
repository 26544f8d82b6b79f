"""Flask's extensions, made once and bound to the app by the factory."""

from __future__ import annotations

from flask_sqlalchemy import SQLAlchemy
from htmx_flask import Htmx

from memory.models import Base

# The models are plain SQLAlchemy: Flask-SQLAlchemy owns the engine and the session of this process, no more.
db = SQLAlchemy(metadata=Base.metadata)
htmx = Htmx()
