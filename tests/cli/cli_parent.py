"""A process that has the command line imported and forks for each command: most of a short command's time is imports.

Each line of standard input is a JSON object with the arguments, the environment, and the files for the output; each
line of standard output is the status that the command ended with. A command has a process of its own, and ends as the
interpreter does.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import sys
from typing import TypedDict

import memory.preferences.preferences
import memory.record.audit
import memory.storage.schema
import tasks.app
import tasks.runtime
import webapp.cli.main

# Imported for the commands, and not used here.
LOADED = (
    memory.record.audit,
    memory.preferences.preferences,
    memory.storage.schema,
    tasks.app,
    tasks.runtime,
    webapp.cli.main,
)
LONGEST = 120  # seconds


class Job(TypedDict):
    """A command to run: its arguments and environment, and the files for what it says."""

    arguments: list[str]
    environment: dict[str, str]
    stdout: str
    stderr: str


def become(job: Job) -> None:
    """Run the command in this process, which is a child."""
    signal.alarm(LONGEST)
    for number, path in enumerate((os.devnull, job["stdout"], job["stderr"])):
        os.dup2(os.open(path, os.O_RDWR), number)
    os.environ.clear()
    os.environ.update(job["environment"])
    sys.argv[1:] = job["arguments"]
    runpy.run_module("webapp.cli", run_name="__main__", alter_sys=True)


def main() -> None:
    """Run one command after the other until there are no more."""
    while line := sys.stdin.readline():
        job = json.loads(line)
        child = os.fork()
        if not child:
            become(job)
            return
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()


# Or each child would copy all that is imported, only to look through it for garbage when it ends.
gc.freeze()
main()
