"""Starting a command loads what that command needs, and little else."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import click
import pytest
from secrets_of_tests import SECRET

from webapp.cli.main import COMMANDS, main

# What searching, serving and migrating take; none of it is needed to make an account or a token.
HEAVY = {"alembic", "flask", "httpx", "huey", "numpy", "onnxruntime", "pydantic", "redis", "spacy", "torch"}
# Runs commands one after the other in one process, and prints what of the wanted names was loaded by then.
RUN = """
import json, sys
from webapp.cli import main
commands, names = json.loads(sys.argv[1])
for command in commands:
    main(command, standalone_mode=False)
print(json.dumps(sorted(set(names) & set(sys.modules))))
"""


@pytest.fixture
def loaded(home, database_url):
    environment = {
        **os.environ,
        "COMMONPLACE_HOME": str(home),
        "DATABASE_URL": database_url,
        "COMMONPLACE_SECRET_KEY": SECRET,
    }

    def run(*commands: list[str], names=frozenset(HEAVY)):
        arguments = json.dumps([commands, sorted(names)])
        command = [sys.executable, "-c", RUN, arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_accounts_and_tokens_are_made_without_loading_what_searches_or_serves(loaded, ada, runtime):
    assert (
        loaded(
            ["user", "create", "--email", "start@example.org", "--password", "long enough to be one"],
            ["user", "role", "--email", ada.email, "--role", "user"],
            ["token", "create", "--email", ada.email, "--name", "start"],
            ["audit", "verify", "--email", ada.email],
            ["export", "--email", ada.email],
        )
        == []
    )


def test_the_list_of_commands_is_written_without_a_database_driver(loaded):
    assert loaded(["--help"], names={*HEAVY, "sqlalchemy", "psycopg"}) == []


def test_looking_at_an_installation_loads_no_web_and_no_migrations(loaded):
    assert loaded(["doctor", "--help"], names={"alembic", "flask", "torch", "onnxruntime", "spacy"}) == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_list_of_commands_says_what_the_command_says_of_itself(name):
    command = main.get_command(click.Context(main), name)
    assert (command.name, COMMANDS[name].help) == (name, command.get_short_help_str(limit=200))


def test_a_command_that_there_is_not_is_refused_by_name():
    with pytest.raises(click.UsageError, match="No such command 'forget'"):
        main(["forget"], standalone_mode=False)
