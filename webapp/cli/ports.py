"""The options of the commands that serve on a port."""

from __future__ import annotations

import click

HOST, PORT = "127.0.0.1", 8765

host_option = click.option("--host", default=HOST, show_default=True)
port_option = click.option("--port", default=PORT, show_default=True, type=click.IntRange(1, 65535))
