"""An embedded database that dies while the process that would start it again ends."""

from __future__ import annotations

import signal
import subprocess
import sys

import psutil
import pytest

pytestmark = pytest.mark.slow

# Lets go of the database as any process does when it ends, and looks after it once more.
LEAVING = """
import sys
from pathlib import Path
from memory.server.embedded import EmbeddedServer
from webapp.cli.revive import revive_if_dead
server = EmbeddedServer(Path(sys.argv[1]))
server.release()
print(server.alive(), revive_if_dead(server), server.alive(), flush=True)
"""

# Ends in the middle of starting the database again.
REVIVING = """
import sys
import threading
import time
from pathlib import Path
import psutil
from memory.server.embedded import EmbeddedServer
from webapp.cli.revive import revive_if_dead
server = EmbeddedServer(Path(sys.argv[1]))
pid_file = server.folder / "postmaster.pid"
first = psutil.Process(int(pid_file.read_text().split()[0]))
first.send_signal(int(sys.argv[2]))
first.wait(60)
pid_file.unlink(missing_ok=True)
threading.Thread(target=revive_if_dead, args=[server], daemon=True).start()
while not pid_file.exists():
    time.sleep(0.001)
print("ends", flush=True)
"""

# Starts the database again, which fails at first, where the status of every child is taken, as gunicorn takes it. What
# the dead one has left is in the way, too: a statement that goes on, and the lock of a socket with another's number.
TAKING = """
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
import psutil
import psycopg
from memory.server.embedded import EmbeddedServer
from webapp.cli.revive import revive_if_dead
server = EmbeddedServer(Path(sys.argv[1]))
first = psutil.Process(int((server.folder / "postmaster.pid").read_text().split()[0]))
busy = psycopg.connect(server.url)
busy.pgconn.send_query(b"DO $$ BEGIN LOOP END LOOP; END $$")
busy.pgconn.flush()
while "DO" not in " ".join(psutil.Process(busy.info.backend_pid).cmdline()):
    time.sleep(0.01)
first.kill()
first.wait(60)
other = subprocess.Popen(["sleep", "60"], user=server._server.system_user)
(lock,) = server.folder.glob(".s.PGSQL.*.lock")
lock.write_text("\\n".join([str(other.pid), *lock.read_text().splitlines()[1:]]) + "\\n")
server.folder.chmod(0o777)
def take():
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            time.sleep(0.001)
threading.Thread(target=take, daemon=True).start()
reviving = threading.Thread(target=revive_if_dead, args=[server], daemon=True)
reviving.start()
while "invalid permissions" not in (server.folder / "log").read_text():
    time.sleep(0.01)
time.sleep(1)
print(server.alive(), flush=True)
server.folder.chmod(0o700)
reviving.join(60)
print(server.alive(), flush=True)
other.kill()
server.release()
"""

# Would start the database again where its folder was deleted.
DELETED = """
import shutil
import sys
from pathlib import Path
import psutil
from memory.server.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
first = psutil.Process(int((server.folder / "postmaster.pid").read_text().split()[0]))
first.kill()
first.wait(60)
shutil.rmtree(server.folder)
server.revive()
print(server.alive(), server.folder.exists(), flush=True)
"""


def ran(home, script, *arguments):
    command = [sys.executable, "-c", script, str(home), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=180)


def servers_of(home):
    named = [each for each in psutil.process_iter(["name", "cmdline"]) if "postgres" in (each.info["name"] or "")]
    return [each for each in named if str(home / "postgres") in (each.info["cmdline"] or [])]


def ended(home):
    """End what serves the folder, and tell how many did."""
    found = servers_of(home)
    for each in found:
        each.kill()
    return len(found)


def test_whoever_has_left_does_not_start_again_what_was_stopped_on_purpose(own_home):
    done = ran(own_home, LEAVING)
    assert (done.stdout, done.stderr, ended(own_home)) == ("False True False\n", "", 0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_ends_while_it_starts_the_database_again_leaves_none(own_home, number):
    done = ran(own_home, REVIVING, str(int(number)))
    assert (done.stdout, ended(own_home)) == ("ends\n", 0)
    assert done.returncode == 0


def test_a_database_that_does_not_start_at_first_is_started_where_statuses_are_lost_and_others_go_on(own_home):
    done = ran(own_home, TAKING)
    assert (done.stdout, ended(own_home)) == ("False\nTrue\n", 0), done.stderr


def test_no_database_is_started_in_a_folder_that_was_deleted(own_home):
    done = ran(own_home, DELETED)
    assert (done.stdout, done.returncode, ended(own_home)) == ("False False\n", 0, 0), done.stderr
