"""Where nothing can be served, nothing is started, and it is said in one line."""

from __future__ import annotations

import os
import socket
import threading
import time

import click
import pytest
from secrets_of_tests import SECRET

from webapp.cli.ports import check_free, netloc

pytestmark = pytest.mark.slow


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.fixture
def taken(listener):
    return listener.getsockname()[1]


@pytest.fixture
def run(command_line, tmp_path):
    """Run a command in a data folder of its own, that is not there yet."""
    environment = {key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "REDIS_URL"}}
    environment |= {"COMMONPLACE_HOME": str(tmp_path / "home"), "COMMONPLACE_SECRET_KEY": SECRET}

    def _run(*arguments):
        done = command_line([str(argument) for argument in arguments], environment)
        return done.returncode, done.stdout, done.stderr, (tmp_path / "home").exists()

    return _run


@pytest.mark.parametrize("command", ["up", "web"])
def test_a_port_that_is_taken_is_refused_before_anything_is_started(run, taken, command):
    said = f"Error: port {taken} is taken: choose another with --port\n"
    assert run(command, "--port", taken) == (1, "", said, False)


@pytest.mark.parametrize("command", ["up", "web"])
@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("nohost.invalid", "nohost.invalid:8877: there is no such host, choose another with --host"),
        ("a..b", "a..b:8877: there is no such host, choose another with --host"),
        ("192.0.2.1", "192.0.2.1:8877: the host is not this machine, choose another with --host"),
    ],
)
def test_a_host_that_cannot_be_served_at_is_refused_before_anything_is_started(run, command, host, said):
    error = f"Error: nothing can be served at {said}\n"
    assert run(command, "--host", host, "--port", 8877) == (1, "", error, False)


@pytest.mark.parametrize("command", ["up", "web"])
def test_a_host_that_is_empty_is_not_every_address(run, command):
    error = "Error: --host is empty: choose an address, 0.0.0.0 for all that this machine has\n"
    assert run(command, "--host", "", "--port", 8877) == (1, "", error, False)


def test_a_port_that_was_served_at_a_moment_ago_is_free(listener, taken):
    with socket.create_connection(("127.0.0.1", taken)) as client:
        # Whoever ends a connection first keeps its address for a while.
        listener.accept()[0].close()
        client.recv(1)
    listener.close()
    check_free("127.0.0.1", taken)


def test_a_port_that_becomes_free_is_waited_for(listener, taken):
    started = time.monotonic()
    threading.Timer(0.5, listener.close).start()
    check_free("127.0.0.1", taken, patience=60)
    assert 0.4 < time.monotonic() - started < 30
    with socket.create_server(("127.0.0.1", taken)), pytest.raises(click.ClickException, match="is taken"):
        check_free("127.0.0.1", taken)


@pytest.mark.parametrize("host", ["::1", "[::1]"])
def test_a_host_with_colons_stands_in_brackets(host):
    assert netloc(host, 8765) == "[::1]:8765"
