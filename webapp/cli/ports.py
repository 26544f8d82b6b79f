"""The options of the commands that serve on a port."""

from __future__ import annotations

import errno
import socket
import threading
import time
from contextlib import suppress

import click

HOST, PORT = "127.0.0.1", 8765
# How often a server that does not listen yet is asked again.
_ASKS_EVERY = 0.1  # seconds

host_option = click.option("--host", default=HOST, show_default=True)
port_option = click.option("--port", default=PORT, show_default=True, type=click.IntRange(1, 65535))


def netloc(host: str, port: int) -> str:
    """Return host and port as they stand in an address."""
    bare = host.strip("[]")
    return f"[{bare}]:{port}" if ":" in bare else f"{host}:{port}"


def check_free(host: str, port: int, *, patience: float = 0.0) -> None:
    """End the command where nothing can be served at this host and port.

    A port that is taken is asked for again for as many seconds as `patience` says.
    """
    if not host.strip():
        # The server would take an empty host for every address of this machine.
        raise click.ClickException("--host is empty: choose an address, 0.0.0.0 for all that this machine has")
    deadline = time.monotonic() + patience
    while (error := _refusal(host, port)) is not None:
        if not _is_taken(error):
            raise click.ClickException(f"nothing can be served at {netloc(host, port)}: {_reason(error)}") from error
        if time.monotonic() >= deadline:
            raise click.ClickException(f"port {port} is taken: choose another with --port") from error
        time.sleep(0.25)


def wait_for_answer(host: str, port: int, ended: threading.Event) -> bool:
    """Wait until a request is answered at this host and port; False if it has `ended` before."""
    while not ended.is_set():
        if _answers(host, port):
            return True
        ended.wait(_ASKS_EVERY)
    return False


def _answers(host: str, port: int) -> bool:
    # A server that listens and cannot answer yet is waited for, as it would have to answer each request that was given
    # up.
    with suppress(OSError), socket.create_connection((host.strip("[]"), port)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        return bool(connection.recv(1))
    return False


def _refusal(host: str, port: int) -> OSError | UnicodeError | None:
    bare = host.strip("[]")
    try:
        with socket.socket(socket.AF_INET6 if ":" in bare else socket.AF_INET, socket.SOCK_STREAM) as probe:
            # As gunicorn does: what a server before left behind does not count as taken.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((bare, port))
    except (OSError, UnicodeError) as error:
        return error
    return None


def _is_taken(error: OSError | UnicodeError) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EADDRINUSE


def _reason(error: OSError | UnicodeError) -> str:
    if isinstance(error, (UnicodeError, socket.gaierror)):
        return "there is no such host, choose another with --host"
    if error.errno == errno.EADDRNOTAVAIL:
        return "the host is not this machine, choose another with --host"
    if error.errno == errno.EACCES:
        return "the port may not be used by this account, choose another with --port"
    return error.strerror or str(error)
